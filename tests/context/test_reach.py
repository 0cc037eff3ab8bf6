"""What is told however much came after it: of the branch, of others than subagents, of other
files than one, and of other sessions than the running one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest
import samples
from context.test_block import start, text_of

from cmem.context import gather
from cmem.store import connection, further, recent

MINUTE = 60_000
MAIN = ("/src/p", "/src/p/.git", "main", "")


def filled(
    conn: apsw.Connection, host_id: str, title: str, count: int, *, day: int, **values: Any
) -> int:
    """A session with so many memories, each in a turn and a file of its own."""
    folder = values.pop("cwd", "/src/p")
    began = samples.NOON + day * samples.DAY
    ref = samples.session(conn, 1, host_id, cwd=folder, started_at=began)
    for number in range(1, count + 1):
        row = {"files_modified": [f"{host_id}{number}.py"], **values}
        samples.observation(
            conn,
            1,
            ref,
            samples.turn(conn, ref, number),
            title=f"{title} {number}.",
            created_at=began + number * MINUTE,
            **row,
        )
    return ref


AFTER: dict[str, dict[str, Any]] = {
    "another branch": {"branch": "feat"},
    "subagents": {"branch": "main", "agent_type": "Explore", "agent_id": "x"},
    "subagents, nobody knows where": {"agent_type": "Explore", "agent_id": "x"},
    "one file": {"branch": "main", "files_modified": ["app.py"]},
    "one file, elsewhere": {"branch": "feat", "files_modified": ["app.py"]},
}


@pytest.mark.parametrize("name", AFTER)
def test_much_of_one_kind_does_not_hide_what_came_before(home: Path, name: str) -> None:
    conn = samples.open_store(home)
    samples.project(conn, "p", "/src/p")
    with conn:
        filled(conn, "old", "Was done", 20, day=0, branch="main")
        filled(conn, "new", "Came after", 60, day=1, **AFTER[name])
    conn.close()
    text = text_of(start(home, "/src/p", repo=MAIN))
    assert [text.count(f"Was done {number}.") for number in range(1, 21)] == [1] * 20
    assert pages(home, branch="main") <= 110


def test_work_on_a_branch_is_found_however_long_it_rested(home: Path) -> None:
    conn = samples.open_store(home)
    samples.project(conn, "p", "/src/p")
    with conn:
        filled(conn, "old", "Was done", 30, day=0, branch="main", narrative="a page " * 1000)
        for day in range(1, 9):
            filled(conn, f"n{day}", "Came after", 50, day=day, branch="feat")
    conn.close()
    text = text_of(start(home, "/src/p", repo=MAIN))
    assert text.count("Was done") == gather.ENOUGH
    assert "Was done 30." in text and "Was done 6." not in text
    assert pages(home, branch="main") <= 110


def test_a_folder_of_no_project_reaches_back_behind_other_folders(home: Path) -> None:
    conn = samples.open_store(home)
    samples.project(conn, "unsorted", "", "unsorted")
    with conn:
        filled(conn, "here", "Was done", 5, day=0, cwd="/tmp/here")
        filled(conn, "there", "Came after", 60, day=1, cwd="/tmp/there")
    conn.close()
    text = text_of(start(home, "/tmp/here"))
    assert (text.count("Was done"), text.count("Came after")) == (5, 0)


@pytest.mark.parametrize("source", ["resume", "compact"])
@pytest.mark.parametrize("own", [60, 600])
def test_what_others_did_is_told_behind_any_number_of_own_memories(
    home: Path, source: str, own: int
) -> None:
    conn = samples.open_store(home)
    samples.project(conn, "p", "/src/p")
    with conn:
        ref = filled(conn, "own", "Own", own, day=0)
        turn = samples.turn(conn, ref, own + 1)
        samples.prompt(conn, ref, turn, "Go on", prompt_number=own + 1)
        for number in range(8):
            at = samples.NOON + samples.DAY + number
            samples.summary(conn, 1, ref, turn, completed="Own", created_at=at, uid=f"s{number}")
        other = samples.session(conn, 1, "other", cwd="/src/p")
        turn = samples.turn(conn, other, 1)
        for number in range(5):
            at = samples.NOON + number + 1
            samples.observation(conn, 1, other, turn, title=f"Others {number}", created_at=at)
        samples.summary(conn, 1, other, turn, completed="Released", created_at=samples.NOON + 9)
    conn.close()
    text = text_of(start(home, "/src/p", source=source, session="own"))
    assert (text.count("Others "), text.count("completed: Released")) == (5, 1)
    assert pages(home, source=source, session="own") <= 110


def test_what_a_resume_has_no_room_for_is_counted(home: Path) -> None:
    conn = samples.open_store(home)
    samples.project(conn, "p", "/src/p")
    with conn:
        filled(conn, "own", "Own", 1, day=0)
        filled(conn, "other", "Others", 120, day=1)
    known = [f"O{number}" for number in range(2, 12)]

    def told(*ids: str) -> tuple[int, list[str]]:
        text = text_of(start(home, "/src/p", source="resume", session="own", known=set(ids)))
        rest = [line for line in text.split("\n") if line.startswith("Not shown")]
        return text.count("- O"), rest

    shown, rest = told(*known)
    assert rest == [f"Not shown: {110 - shown} more memories are stored; see cmem search."]
    everything = [f"O{number}" for number in range(2, 122)]
    assert start(home, "/src/p", source="resume", session="own", known=set(everything)) == {}
    # However many of the newest it was told before, what is left comes next.
    assert told(*everything[5:]) == (5, [])
    with conn:
        filled(conn, "more", "More", gather.COUNTED, day=2)
    conn.close()
    shown, rest = told()
    least = f"at least {gather.COUNTED - shown:,} more memories are stored"
    assert rest == [f"Not shown: {least}; see cmem search."]


def test_an_ordinary_start_asks_nothing_more(home: Path) -> None:
    conn = samples.open_store(home)
    samples.project(conn, "p", "/src/p")
    with conn:
        filled(conn, "old", "Was done", 60, day=0, branch="main")
    asked: list[str] = []

    def trace(_cursor: apsw.Cursor, statement: str, _values: object) -> bool:
        asked.append(statement)
        return True

    conn.exec_trace = trace
    gather.for_project(conn, 1, branch="main")
    assert not {recent.BRANCH, further.OTHERS} & set(asked)
    assert sum(" FROM observation_files " in one for one in asked) == 1
    gather.for_project(conn, 1, branch="feat")
    assert asked.count(recent.BRANCH) == 1
    conn.close()


def pages(home: Path, *, branch: str = "", **values: Any) -> int:
    """Pages of the file that reading for a start takes."""
    conn = connection.open_reader(str(home), index=False)
    assert conn is not None
    identity = ("/src/p", "path", "p", "/src/p", (("path", "/src/p"),))
    gather.for_directory(conn, identity, cwd="/src/p", branch=branch, **values)
    found = conn.status(apsw.SQLITE_DBSTATUS_CACHE_MISS)[0]
    conn.close()
    return found
