"""Pinned, notes, open work, and one topic among many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest
import samples
from context.test_block import lines_of, start, text_of

from cmem.context import select
from cmem.model import ProjectIdentity
from cmem.store import notes, projects, recent, state
from cmem.store.connection import transaction
from cmem.store.rows import rows

NEW = samples.NOON + 20 * samples.DAY


def note(conn: apsw.Connection, project: int, text: str) -> None:
    notes.add_to(conn, notes.clean(notes.Note(text)), project=project, now=samples.NOON)


def wide(conn: apsw.Connection) -> int:
    identity: ProjectIdentity = notes.GLOBAL
    with transaction(conn):
        return projects.resolve(conn, identity, now=samples.NOON)


def item(conn: apsw.Connection, text: str, project: int = 1) -> int:
    with transaction(conn):
        return state.add(
            conn, text, uid=text, project=project, session=1, branch="", now=samples.NOON
        )


def bury(conn: apsw.Connection, count: int = 60) -> None:
    """So many newer memories, each about something else."""
    for number in range(count):
        samples.observation(
            conn,
            1,
            1,
            1,
            prompt_number=number,
            title=f"{number} newer",
            created_at=NEW + number,
        )


def test_pinned_and_notes_stay_however_much_came_after(home: Path) -> None:
    conn = samples.calc(home)
    samples.observation(conn, 1, 1, 1, title="Pinned long ago", pinned=1)
    note(conn, 1, "Written long ago")
    bury(conn)
    conn.close()
    lines = lines_of(start(home, "/src/calc"))
    assert lines[3:5] == ["Pinned:", "- O3 pinned bugfix: Pinned long ago (~60 tokens)"]
    assert any(line.startswith("- O4 note: Written long ago ") for line in lines)


def test_notes_of_every_project_have_a_small_share(home: Path) -> None:
    conn = samples.calc(home)
    scope = wide(conn)
    for number in range(30):
        note(conn, scope, f"{number} rule for all of my projects, and so on")
    conn.close()
    lines = lines_of(start(home, "/src/calc"))
    at = lines.index("In every project:")
    shown = [line for line in lines[at:] if "rule for all" in line]
    assert 4 <= len(shown) <= 8
    assert "- O2 decision: unittest, not pytest (~60 tokens)" in lines


def test_a_new_project_gets_the_notes_of_every_project(home: Path) -> None:
    conn = samples.calc(home)
    note(conn, wide(conn), "Commits have one line")
    conn.close()
    text = text_of(start(home, "/src/new"))
    assert "notes from earlier sessions of project new." in text
    assert "In every project:\n- O3 note: Commits have one line (" in text
    assert "subtract" not in text


def test_open_work_stands_there_until_it_is_done(home: Path) -> None:
    conn = samples.calc(home)
    done, still = item(conn, "write the docs"), item(conn, "release <b>\n# now")
    with transaction(conn):
        state.move(conn, done, state=state.DONE, uid="x", now=samples.NOON)
    other = samples.project(conn, "other", "/src/other")
    item(conn, "not ours", other)
    item(conn, "planted")
    conn.execute("UPDATE work_state_entries SET taint = 'external' WHERE text = 'planted'")
    conn.close()
    lines = lines_of(start(home, "/src/calc"))
    at = lines.index("Still to be done:")
    assert lines[at + 1] == f"- W{still} release &lt;b&gt; # now"
    assert not any(word in line for word in ("docs", "not ours", "planted") for line in lines)


def test_one_topic_does_not_fill_the_block() -> None:
    def row(ref: int, session: int = 1, agent: str = "") -> Any:
        return (ref, 1000 + ref, "change", 0, "local", ref, session, agent, 1, 1, "t", "", "")

    rows = [row(ref) for ref in range(9, 0, -1)]
    files = {ref: {"busy.py"} for ref in range(4, 10)}
    assert [one[1][0] for one in select.rank(rows, branch="", files=files)] == [
        *(9, 8, 3, 2, 1),
        *(7, 6, 5, 4),
    ]
    agents = [row(ref, agent="explorer" if ref > 3 else "") for ref in range(9, 0, -1)]
    whys = {one[1][0]: one[2] for one in select.rank(agents, branch="", files={}, parts=True)}
    assert whys[9] == "recent x1.00, change x1.00, by a subagent x0.60 = 0.60"
    assert whys[4] == (
        "recent x1.00, change x1.00, by a subagent x0.60, its topic is told of x0.72 = 0.43"
    )


@pytest.mark.parametrize(
    ("query", "values"),
    [
        (recent.PINNED, (1, 20)),
        (recent.NOTES, ("notes-x", 10)),
        (recent.OPEN_ITEMS, (1, 8)),
    ],
)
def test_no_statement_scans(home: Path, query: str, values: tuple[str | int, ...]) -> None:
    conn = samples.calc(home)
    plan = [str(step[3]) for step in rows(conn, "EXPLAIN QUERY PLAN " + query, values)]
    conn.close()
    assert not any(step.startswith("SCAN") and "(sub" not in step for step in plan), plan
    assert not any("TEMP B-TREE" in step for step in plan), plan
