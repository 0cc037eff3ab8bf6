"""A provider that answers as it is told, and a clock that stands still: runs without a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest
import seeding

from cmem import compress, settings
from cmem.model import Observed, Reply, SummaryUnit, TurnUnit, Usage
from cmem.observer.providers import PROVIDERS

Unit = TurnUnit | SummaryUnit
USAGE = Usage(900, 100, 0, 0, 0.01)


class Scripted:
    """Each call is noted with its unit; then ``act`` may raise, and the answer is one record."""

    def __init__(self, act: Callable[[Unit], None] = lambda _unit: None) -> None:
        self.act = act
        self.usage = USAGE
        self.model = "some-model"
        self.asked: list[Unit] = []

    def observe(self, unit: TurnUnit) -> Observed:
        self.asked.append(unit)
        self.act(unit)
        return self._answer(seeding.draft(f"{unit.prompt[:60]} ({unit.unit_id})"))

    def summarise(self, unit: SummaryUnit) -> Observed:
        self.asked.append(unit)
        self.act(unit)
        reply = Reply((), seeding.SUMMARY, None, ())
        return self._answer()._replace(reply=reply)

    def _answer(self, *drafts: object) -> Observed:
        reply = Reply(tuple(drafts), None, None, ())  # type: ignore[arg-type]
        return Observed(reply, self.usage, "scripted", self.model, "code/1", 1)


class World(NamedTuple):
    """A data home, its provider, and runs at any time."""

    home: Path
    provider: Scripted

    def run(
        self, now: int, options: compress.Options | None = None, **flags: str
    ) -> compress.Report:
        chosen = settings.load(
            str(self.home), env={}, flags={"provider": "scripted", **flags}, trusted_env=True
        )
        return compress.compress(
            str(self.home), chosen, options or compress.Options(), clock=lambda: now
        )

    def store(self) -> apsw.Connection:
        return seeding.open_store(self.home)

    def fill(self, turns: int, *, tools: int = 1) -> None:
        """So many closed turns of one session, put into the store directly."""
        conn = self.store()
        with conn:
            session = seeding.add_session(conn)
            # Never idle, so that no summary is asked for.
            conn.execute("UPDATE sessions SET last_event_at = ?", (2**50,))
            for number in range(1, turns + 1):
                turn = seeding.add_turn(conn, session, number, prompt=f"turn {number}")
                for _ in range(tools):
                    seeding.add_tool(conn, turn)
                seeding.add_unit(conn, turn)
        conn.close()


def world(home: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    provider = Scripted()
    monkeypatch.setitem(PROVIDERS, "scripted", lambda _settings: provider)
    return World(home, provider)
