"""What a model has made of imported transcripts on one machine, and a model on the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import scripted
import seeding
from machines import Machine, assert_alike, settle
from transcribed import FIXTURES, LATER, imported

from cmem import anew, budget, recompress, replan, settings
from cmem.model import Observed, SummaryUnit, TurnUnit
from cmem.observer.providers import PROVIDERS
from cmem.recompress import Options
from cmem.store import replacements
from cmem.store.places import Wanted

ALL = Wanted()
OPTIONS = Options(limits=budget.NO_LIMITS)
SAMPLE = FIXTURES / "claude-code" / "2.1.332"
BY = """SELECT generated_by_model, count(*) FROM observations WHERE hidden_at IS NULL
    AND superseded_by IS NULL GROUP BY 1"""
SUMMARIES_BY = """SELECT generated_by_model, count(*) FROM session_summaries
    WHERE hidden_at IS NULL AND instr(metadata, '"superseded_by"') = 0 GROUP BY 1"""


def chosen(one: Machine, model: str) -> settings.Settings:
    flags = {"provider": "scripted", "model": model}
    return settings.load(str(one.home), env={}, flags=flags, trusted_env=True)


def again(one: Machine, model: str, wanted: Wanted = ALL) -> anew.Report:
    return recompress.recompress(
        str(one.home), chosen(one, model), wanted, options=OPTIONS, clock=lambda: LATER
    )


class Named(scripted.Scripted):
    """Each model says something of its own."""

    def observe(self, unit: TurnUnit) -> Observed:
        found = super().observe(unit)
        drafts = [
            one._replace(title=f"{self.model}: {one.title}") for one in found.reply.observations
        ]
        return found._replace(reply=found.reply._replace(observations=tuple(drafts)))

    def summarise(self, unit: SummaryUnit) -> Observed:
        found = super().summarise(unit)
        told = seeding.SUMMARY._replace(request=self.model)
        return found._replace(reply=found.reply._replace(summary=told))


def undo(one: Machine) -> None:
    for (ref,) in one.conn.execute("SELECT id FROM sessions").fetchall():
        replacements.undo(one.conn, ref, now=LATER)


def shown(one: Machine) -> list[dict[Any, Any]]:
    return [dict(one.conn.execute(query).fetchall()) for query in (BY, SUMMARIES_BY)]


def test_what_a_model_has_made_elsewhere_is_not_paid_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = Named()
    monkeypatch.setitem(PROVIDERS, "scripted", lambda _settings: provider)
    a, b = Machine(tmp_path, "a"), Machine(tmp_path, "b")
    for one in (a, b):
        imported(one.home, SAMPLE)
        one.at(LATER)
    free = shown(a)
    provider.model = "first"
    made = again(a, "first").calls
    assert made > 2
    first = shown(a)
    assert all(one.keys() == {"first"} for one in first)
    settle(a, b, rounds=2)
    assert shown(b) == first
    for model in ("first", "second"):
        plan = replan.plan(str(b.home), chosen(b, model), ALL, options=OPTIONS)
        assert (plan.places, again(b, model).calls) == (0, 0)
    assert replan.glance(str(b.home), chosen(b, "second")) is None

    # Who names the session has it all the same, in the place of what came.
    provider.model = "second"
    sessions = b.conn.execute("SELECT id FROM sessions").fetchall()
    assert sum(again(b, "second", Wanted(ref)).calls for (ref,) in sessions) == made
    second = shown(b)
    assert [sum(one.values()) for one in second] == [sum(one.values()) for one in first]
    assert all(one.keys() == {"second"} for one in second)
    settle(b, a, rounds=2)
    assert shown(a) == second
    undo(b)
    settle(b, a, rounds=2)
    assert shown(a) == shown(b) == first

    # What was taken back there is not asked for again here either.
    undo(a)
    settle(a, b, rounds=2)
    assert shown(a) == shown(b) == free
    assert again(b, "first").calls == 0
    assert_alike(a, b)


def test_what_was_decided_before_the_first_sync_outdoes_the_same_row_untouched(
    tmp_path: Path,
) -> None:
    a, b = Machine(tmp_path, "a"), Machine(tmp_path, "b")
    for one in (a, b):
        imported(one.home, SAMPLE)
        one.at(LATER)
    changed = {}
    for one, ref in ((a, 1), (b, 2)):  # whoever has the greater name
        query = "SELECT uid FROM observations WHERE id = ?"
        changed[one.value(query, ref)] = f"said by {one.name}"
        one.edit(ref, f"said by {one.name}")
    settle(a, b, rounds=2)
    for one in (a, b):
        assert (
            changed.items()
            <= dict(one.conn.execute("SELECT uid, title FROM observations").fetchall()).items()
        )
    assert_alike(a, b)
