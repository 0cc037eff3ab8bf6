"""What was forgotten stays gone, whatever comes after: long sequences drawn at random.

Each session tells words of its own, in the prompt, in a tool's answer and in the last message.
After every forgetting, and at the end, no file below the data home holds a piece of a word that
should be gone.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import seeding
from capturing import put
from exported import bring_in, export

from cmem import backup, compress, dedup, lock, paths, projects_admin, recompress, repair, restore
from cmem import forget as everywhere
from cmem.errors import CmemError
from cmem.settings import load
from cmem.store import connection, edits, forget, selecting, tending
from cmem.store import dedup as joining
from cmem.store.places import Wanted
from cmem.store.rows import rows

SEED = int(os.environ.get("CMEM_SEED", "20"))
STEPS, MANY = 20, 60
LETTERS = "bcdfghjklmnpqrstvwxz"


class World:
    """A data home, what was told to it, and what of that should be gone. Exports lie outside."""

    def __init__(self, home: Path, seed: int) -> None:
        self.home, self.chance = home, random.Random(seed)
        self.now = seeding.T0
        self.sessions: list[list[tuple[str, dict[str, Any], int]]] = []
        self.words: list[dict[str, str]] = []
        self.gone: set[str] = set()
        self.exports: list[bytes] = []
        self.done: list[str] = []
        self.settings = load(str(home), env={}, flags={"provider": "extract"}, trusted_env=True)

    def word(self) -> str:
        return "".join(self.chance.choices(LETTERS, k=24))

    def step(self, name: str) -> None:
        self.now += 60_000
        self.done.append(name)
        getattr(self, name)()

    def store(self) -> Any:
        return connection.open_writer(str(self.home), now=self.now)

    # --- what is told -------------------------------------------------------------------

    def capture(self) -> None:
        """A session of one turn in one of two projects."""
        number = len(self.sessions)
        said = {name: self.word() for name in ("prompt", "tool", "message")}
        folder = f"/home/dev/project{number % 2}"
        about = {"session_id": f"session-{number}", "cwd": folder, "prompt_id": f"p{number}"}
        made = [
            ("UserPromptSubmit", about | {"prompt": f"Never use {said['prompt']} again."}),
            (
                "PostToolUse",
                about
                | {
                    "tool_name": "Edit",
                    "tool_use_id": f"toolu_{number}",
                    "tool_input": {
                        "file_path": f"{folder}/a.py",
                        "old_string": "x = 1",
                        "new_string": f"x = '{said['tool']}'",
                    },
                    "tool_response": {"filePath": f"{folder}/a.py"},
                },
            ),
            (
                "Stop",
                about | {"last_assistant_message": f"Done: {said['message']} is the limit now."},
            ),
            ("SessionEnd", about | {"reason": "exit"}),
        ]
        events = [(event, fields, self.now + at) for at, (event, fields) in enumerate(made)]
        self.sessions.append(events)
        self.words.append(said)
        self._deliver(events)

    def deliver_again(self) -> None:
        """A host that tells it once more, as the same event or a copy of it in the spill folder."""
        if self.sessions:
            self._deliver(self.chance.choice(self.sessions))

    def _deliver(self, events: list[tuple[str, dict[str, Any], int]]) -> None:
        for event, fields, at in events:
            put(self.home, event, {"hook_event_name": event, **fields}, at)

    def set_aside(self) -> None:
        """An event that cannot be taken in."""
        known = [said["prompt"] for said in self.words if said["prompt"] not in self.gone]
        if not known:
            return
        folder = self.home / "spill" / "bad"
        folder.mkdir(parents=True, exist_ok=True)
        word = self.chance.choice(known)
        text = json.dumps({"x": f"odd {word}"})
        (folder / f"{self.now}.event").write_text(f"odd\n{text}", encoding="utf-8")

    # --- what is done with it -----------------------------------------------------------

    def compress(self) -> None:
        options = compress.Options(close_open=True)
        compress.compress(str(self.home), self.settings, options, clock=lambda: self.now)

    def reindex(self) -> None:
        if os.path.exists(paths.memory_db(str(self.home))):
            tending.rebuild(str(self.home), now=self.now)

    def back_up(self) -> None:
        if os.path.exists(paths.memory_db(str(self.home))):
            backup.take(str(self.home), "", now=self.now)

    def restore(self) -> None:
        found = [one.path for one in backup.listed(str(self.home)) if not one.damage]
        if found:
            source = self.chance.choice(found)
            self._locked(
                lambda: restore.restore(str(self.home), source, now=self.now, dry_run=False)
            )

    def repair(self) -> None:
        """The first page is lost; what is in the log is not."""
        path = paths.memory_db(str(self.home))
        if not os.path.exists(path):
            return
        with open(path, "r+b") as file:
            file.write(b"\0" * 4096)
        try:
            self._locked(lambda: repair.repair(str(self.home), now=self.now))
        except CmemError as error:
            assert "nothing in memory.db can be read" in str(error)
            restore.set_aside(str(self.home), now=self.now)

    def _locked(self, work: Callable[[], object]) -> None:
        held = lock.acquire(paths.lock_file(str(self.home)))
        assert held is not None
        try:
            work()
        finally:
            lock.release(held)

    def export(self) -> None:
        conn = self.store()
        self.exports.append(export(conn))
        conn.close()

    def import_(self) -> None:
        if self.exports:
            conn = self.store()
            bring_in(conn, self.chance.choice(self.exports), now=self.now)
            conn.close()

    def recompress(self) -> None:
        conn = self.store()
        found = [int(ref) for (ref,) in rows(conn, "SELECT id FROM sessions ORDER BY id")]
        conn.close()
        if not found:
            return
        session = self.chance.choice(found)
        if self.chance.random() < 0.3:
            recompress.undo(str(self.home), session, wait_s=1, now=self.now)
            return
        recompress.recompress(
            str(self.home),
            self.settings,
            Wanted(session),
            options=recompress.Options(),
            clock=lambda: self.now,
        )

    def dedup(self) -> None:
        conn = self.store()
        dedup.sweep(conn, now=self.now)
        query = """SELECT id FROM observations WHERE hidden_at IS NULL AND superseded_by IS NULL"""
        found = [int(ref) for (ref,) in rows(conn, query)]
        if len(found) > 1 and self.chance.random() < 0.3:
            older, newer = sorted(self.chance.sample(found, 2))
            edits.supersede(conn, older, newer)
        elif found:
            joining.part(conn, self.chance.choice(found), now=self.now)
        conn.close()

    def merge_projects(self) -> None:
        conn = self.store()
        found = [
            name for (name,) in rows(conn, "SELECT key FROM projects WHERE merged_into IS NULL")
        ]
        if len(found) > 1:
            one, other = (projects_admin.find(conn, key) for key in self.chance.sample(found, 2))
            projects_admin.merge(conn, one, other)
        conn.close()

    # --- forgetting ---------------------------------------------------------------------

    def forget(self) -> None:
        if not self.words:
            return
        number = self.chance.randrange(len(self.words))
        name = self.chance.choice(("prompt", "tool", "message", "session"))
        said = self.words[number]
        conn = self.store()
        if name == "session":
            query = "SELECT id FROM sessions WHERE content_session_id = ?"
            refs = [("N", int(ref)) for (ref,) in rows(conn, query, (f"session-{number}",))]
            gone = set(said.values()) if refs else set()
        else:
            chosen = selecting.choose(conn, selecting.Wanted(text=said[name].upper()))
            refs, gone = list(chosen.refs), {said[name]} if chosen.refs else set()
        # What waits in the mailbox is taken in first, as the command does.
        compress.ingest_only(str(self.home), "")
        plan = forget.plan(conn, refs)
        if self.chance.random() < 0.4:
            forget.hide(conn, plan, now=self.now)
            self.now += forget.UNDO_MS
            plan = forget.due(conn, now=self.now)
        everywhere.purge(str(self.home), conn, plan, now=self.now, word=said.get(name, ""))
        conn.close()
        self.gone |= gone
        self.check()

    def check(self) -> None:
        pieces = [word[at : at + 8] for word in self.gone for at in (0, 7, 16)]
        assert everywhere.scan(str(self.home), pieces) == [], self.done


def test_a_forgotten_word_is_in_no_file_whatever_comes_after(home: Path) -> None:
    play(home, SEED, STEPS)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEED + 1, SEED + 13))
def test_a_forgotten_word_is_in_no_file_in_long_sequences(home: Path, seed: int) -> None:
    play(home, seed, MANY)


def play(home: Path, seed: int, steps: int) -> None:
    world = World(home, seed)
    ways = {
        "capture": 4, "deliver_again": 4, "set_aside": 1, "compress": 5, "reindex": 1, "back_up": 2,
        "restore": 2, "repair": 1, "export": 2, "import_": 3, "recompress": 2, "dedup": 2,
        "merge_projects": 1, "forget": 4,
    }  # fmt: skip
    for name in ("capture", "capture", "compress", "export", "back_up"):
        world.step(name)
    for _ in range(steps):
        world.step(world.chance.choices(list(ways), list(ways.values()))[0])
    for name in ("forget", "deliver_again", "compress"):
        world.step(name)
    world.check()
    assert world.gone, world.done
