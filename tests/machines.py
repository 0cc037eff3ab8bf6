"""Machines with a memory each, and one folder between them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import exported
import store_rows

from cmem.store import connection, edits, erase, forget, notes, state
from cmem.sync import run

T0 = store_rows.T0
DAY = store_rows.DAY


class Machine:
    """One home. ``skew``: how far its clock is wrong."""

    def __init__(self, root: Path, name: str, *, skew: int = 0) -> None:
        self.name, self.home, self.folder = name, root / name, root / "folder"
        self.folder.mkdir(exist_ok=True)
        self.home.mkdir(mode=0o700, exist_ok=True)
        self.skew, self.now = skew, T0
        self.conn = connection.open_writer(str(self.home), now=T0)
        self.conn.pragma("synchronous", 0)  # no test here is about a power cut

    def at(self, now: int) -> Machine:
        self.now = now + self.skew
        return self

    def sync(self, **more: Any) -> run.Report:
        return run.sync(str(self.home), self.conn, str(self.folder), now=self.now, **more)

    @property
    def own(self) -> Path:
        names = json.loads(self.value("SELECT value FROM meta WHERE key = 'sync_machine'"))
        return self.folder / f"cmem-{names['names'][0]}.jsonl"

    def value(self, query: str, *values: Any) -> Any:
        found = self.conn.execute(query, values).fetchall()
        return found[0][0] if found else None

    def note(self, text: str, **more: Any) -> int:
        note = notes.clean(notes.Note(text=text, **more))
        return notes.add(self.conn, note, identity=notes.GLOBAL, now=self.now).id

    def ref(self, title: str) -> int:
        return int(self.value("SELECT id FROM observations WHERE title = ?", title))

    def edit(self, ref: int, title: str) -> None:
        old = edits.words(self.conn, ref)
        assert old is not None
        edits.edit(self.conn, ref, old=old, new=old._replace(title=title), now=self.now)
        erase.finish(self.conn)

    def pin(self, ref: int, *, pinned: bool = True) -> None:
        edits.pin(self.conn, [ref], pinned=pinned)

    def hide(self, *refs: tuple[str, int]) -> None:
        forget.hide(self.conn, forget.plan(self.conn, refs), now=self.now)

    def erase(self, *refs: tuple[str, int]) -> None:
        erase.purge(self.conn, forget.plan(self.conn, refs), now=self.now)

    def erase_due(self) -> None:
        due = forget.due(self.conn, now=self.now)
        if due.total or due.turns:
            erase.purge(self.conn, due, now=self.now)

    def work(self) -> list[tuple[str, str]]:
        """Every item of open work with what became of it."""
        refs = [ref for (ref,) in self.conn.execute("SELECT id FROM projects")]
        return [(item[5], item[1]) for item in state.items(self.conn, refs, done=True)]

    def open_work(self, text: str) -> int:
        with connection.transaction(self.conn):
            project = self.value("SELECT id FROM projects WHERE key = 'global'")
            session = notes.session_of(self.conn, project, source="global", cwd="", now=self.now)
            return state.add(
                self.conn,
                text,
                uid=os.urandom(8).hex(),
                project=project,
                session=session.id,
                branch="",
                now=self.now,
            )

    def titles(self) -> list[str]:
        query = """SELECT title FROM observations WHERE hidden_at IS NULL
            AND superseded_by IS NULL ORDER BY title"""
        return [title for (title,) in self.conn.execute(query)]


def memory(one: Machine) -> list[dict[str, Any]]:
    """The whole memory as it is exported, but for folders, which are each machine's own."""
    found = [json.loads(line) for line in exported.export(one.conn).split(b"\n") if line]
    for record in found:
        if record["record"] == "project":
            record["aliases"] = [a[:2] for a in record["aliases"] if a[0] not in ("path", "git")]
            record.pop("root")
    return found


def assert_alike(*machines: Machine) -> None:
    """Everybody has the same memory, to the byte of what is exported."""
    first = memory(machines[0])
    for other in machines[1:]:
        second = memory(other)
        mine = [one for one in first if one not in second]
        theirs = [one for one in second if one not in first]
        assert not mine and not theirs, f"{machines[0].name}: {mine}\n{other.name}: {theirs}"
        assert second == first


def settle(*machines: Machine, rounds: int = 3) -> None:
    """Everybody syncs until nobody has news."""
    for _ in range(rounds):
        for one in machines:
            one.sync()


def texts(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


__all__ = ["DAY", "T0", "Machine", "assert_alike", "settle", "texts"]
