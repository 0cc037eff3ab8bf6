"""A file is called the same in every work tree of its project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from capturing import put

from cmem import ingest
from cmem.model import TurnUnit
from cmem.observer import extract
from cmem.observer.evidence import relative
from cmem.store import connection, units
from cmem.store.rows import rows

T = 1_764_424_800_000
MAIN = ("/w/calc", "/w/calc/.git", "main", "c0ffee")


@pytest.fixture
def conn(home: Path) -> Iterator[apsw.Connection]:
    store = connection.open_writer(str(home), now=T)
    yield store
    store.close()


def edit(
    home: Path, session: str, path: str, *, at: int, repo: tuple[str, str, str, str] = MAIN
) -> None:
    """One turn of a session that edits one file, in the work tree of ``repo``."""
    known: dict[str, Any] = {"session_id": session, "cwd": repo[0], "prompt_id": f"p{at}"}
    file = {"file_path": path, "old_string": "a", "new_string": "b"}
    put(home, "UserPromptSubmit", {**known, "prompt": f"do {at}"}, T + at, repo=repo)
    used = {"tool_name": "Edit", "tool_use_id": f"t{at}", "tool_input": file, "tool_response": {}}
    put(home, "PostToolUse", {**known, **used}, T + at + 1, repo=repo)
    put(home, "Stop", {**known, "last_assistant_message": f"Did {at}."}, T + at + 2, repo=repo)


def files(home: Path, conn: apsw.Connection) -> list[str]:
    """The file that each turn is told to have changed, oldest first."""
    ingest.ingest(str(home), conn, now=T + 100_000)
    query = "SELECT id FROM work_units WHERE kind = 'turn' ORDER BY id"
    found = []
    for (unit,) in rows(conn, query):
        turn = units.load(conn, unit, language="en")
        assert isinstance(turn, TurnUnit)
        for draft in extract.observe(turn).reply.observations:
            found += draft.files_modified
    return found


@pytest.mark.parametrize(
    ("tree", "path"),
    [
        ("/w/side", "/w/side/src/a.py"),
        ("/w/side", "src/a.py"),
        ("/w/calc/.claude/worktrees/side", "/w/calc/.claude/worktrees/side/src/a.py"),
    ],
)
@pytest.mark.parametrize("moved", [False, True])
def test_a_linked_work_tree_shares_its_files(
    home: Path, conn: apsw.Connection, tree: str, path: str, *, moved: bool
) -> None:
    """Whether the session began there or went there later."""
    edit(home, "s1", "/w/calc/src/a.py", at=0)
    edit(home, "s1" if moved else "s2", path, at=10, repo=(tree, MAIN[1], "side", "c0ffee"))
    assert files(home, conn) == ["src/a.py", "src/a.py"]


def test_another_repository_shares_nothing(home: Path, conn: apsw.Connection) -> None:
    edit(home, "s1", "/w/calc/src/a.py", at=0)
    edit(home, "s1", "/w/other/a.py", at=10, repo=("/w/other", "/w/other/.git", "main", "c0ffee"))
    assert files(home, conn) == ["src/a.py", "/w/other/a.py"]


def test_inner_folders_come_first() -> None:
    roots = ("/w/calc/trees/x", "/w/calc", "/")
    paths = ("/w/calc/trees/x/a.py", "/w/calc/trees/y", "/w/calculus", "b.py", "../z")
    found = [relative(path, roots=roots, cwd="/w/calc/sub") for path in paths]
    assert found == ["a.py", "trees/y", "/w/calculus", "sub/b.py", "z"]
