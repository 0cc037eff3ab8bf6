"""Folders that are no project: each is told what was captured in it, however much came of others
meanwhile, and nothing of those."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest
import samples
from context.test_block import lines_of, start, text_of
from context.test_reach import MINUTE, filled
from support import run_cmem, run_json

from cmem.context import health
from cmem.store import folder
from cmem.store.rows import rows

HERE, THERE = "/tmp/here", "/tmp/there"
OWN = "the one that goes on"


def store(home: Path) -> apsw.Connection:
    conn = samples.open_store(home)
    samples.project(conn, "unsorted", "", "unsorted")
    return conn


def memory(conn: apsw.Connection, host_id: str, title: str, **values: Any) -> int:
    """A session of its own with one memory."""
    cwd, at = values.pop("cwd", HERE), values.setdefault("created_at", samples.NOON)
    ref = samples.session(conn, 1, host_id, cwd=cwd, started_at=at, last_event_at=at)
    samples.observation(conn, 1, ref, samples.turn(conn, ref, 1), title=title, **values)
    return ref


def there(conn: apsw.Connection, count: int, *, day: int = 1, **values: Any) -> None:
    """So much of another folder, with a session for each ten."""
    for number in range(count // 10):
        filled(conn, f"there {day} {number}", "Elsewhere", 10, day=day, cwd=THERE, **values)


def titles(document: dict[str, Any]) -> list[str]:
    lines = [line for line in lines_of(document) if line.startswith("- O")]
    return [line.split(": ", 1)[1].rpartition(" (~")[0] for line in lines]


def test_one_memory_is_told_behind_any_number_of_other_folders(home: Path) -> None:
    conn = store(home)
    with conn:
        ref = memory(conn, "a", "Learned here")
        samples.summary(conn, 1, ref, 1, completed="Done here")
        there(conn, 300)
        for number in range(1, 11):
            samples.summary(conn, 1, number + 1, number + 1, completed="Elsewhere")
    conn.close()
    lines = lines_of(start(home, HERE))
    assert [line for line in lines if line.startswith(("- ", "Not shown"))] == [
        "- completed: Done here",
        "- O1 bugfix: Learned here (~60 tokens)",
    ]
    assert start(home, "/tmp/third") == {
        "systemMessage": f"cmem is on: nothing remembered for this folder yet{health.BEGIN}"
    }


def test_what_lasts_is_told_behind_newer_of_the_folder_and_of_others(home: Path) -> None:
    conn = store(home)
    with conn:
        memory(conn, "a", "Pinned here", pinned=1)
        memory(conn, "b", "Decided here", type="decision")
        filled(conn, "c", "Newer", 60, day=1, cwd=HERE)
        there(conn, 40, day=2, pinned=1)
        there(conn, 40, day=3, type="decision")
    conn.close()
    found = titles(start(home, HERE))
    assert {"Pinned here", "Decided here", "Newer 60."} <= set(found)
    assert not any("Elsewhere" in title for title in found)


def test_one_topic_of_the_folder_does_not_hide_what_came_before(home: Path) -> None:
    conn = store(home)
    with conn:
        filled(conn, "a", "Was done", 20, day=0, cwd=HERE)
        there(conn, 60, day=1)
        filled(conn, "b", "One file", 60, day=2, cwd=HERE, files_modified=["app.py"])
        there(conn, 200, day=3)
    conn.close()
    text = text_of(start(home, HERE))
    assert [text.count(f"Was done {number}.") for number in range(1, 21)] == [1] * 20
    assert "Elsewhere" not in text


@pytest.mark.parametrize(
    ("told", "outside", "rest", "of_outside"),
    [
        (60, 0, "", ""),
        (60, 7, "", "7"),
        (400, 0, "", ""),
        (501, 9, "at least ", "9"),
        (501, 501, "at least ", "at least 500"),
    ],
)
def test_what_is_not_shown_is_counted(
    home: Path, told: int, outside: int, rest: str, of_outside: str
) -> None:
    conn = store(home)
    with conn:
        filled(conn, "a", "Told", told, day=0, cwd=HERE)
        filled(conn, "b", "Outside", outside, day=1, cwd=HERE, taint="external")
        there(conn, 30, day=2)
        there(conn, 30, day=3, taint="external")
    conn.close()
    document = start(home, HERE)
    left = min(told, 500) - len(titles(document))
    wanted = [f"Not shown: {rest}{left} more memories are stored; see cmem search."]
    if of_outside:
        wanted.append(f"Not shown: {of_outside} from outside sources; see cmem search.")
    assert [line for line in lines_of(document) if line.startswith("Not shown")] == wanted


def test_it_is_said_where_all_came_from_outside(home: Path, tmp_path: Path) -> None:
    conn = store(home)
    memory(conn, "a", "Planted", taint="external", cwd=str(tmp_path))
    memory(conn, "b", "Elsewhere")
    conn.close()
    said = "1 memory of this folder, all from outside sources: see `cmem search`"
    assert start(home, str(tmp_path)) == {"systemMessage": f"cmem is on: {said}"}
    assert run_cmem("context", cwd=tmp_path).stdout.decode() == said + "\n"
    conn = samples.open_store(home)
    conn.execute("UPDATE sessions SET cwd = ?", (THERE,))
    conn.close()
    said = f"nothing remembered for this folder yet{health.BEGIN}"
    assert run_cmem("context", cwd=tmp_path).stdout.decode() == said + "\n"


def test_open_work_is_told_in_its_folder_and_in_no_other(home: Path, tmp_path: Path) -> None:
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    for place in (one, two, three):
        place.mkdir()
    ids = [
        run_json("state", "add", text, *options, cwd=place)["id"]
        for text, place, options in (
            ("in one", one, ()),
            ("in both", one, ()),
            ("in both", two, ()),
            ("in both", two, ("--project", "unsorted")),
            ("in two", two, ("--project", "unsorted")),
        )
    ]
    assert ids == ["W1", "W2", "W3", "W3", "W4"]

    def told(place: Path) -> list[str]:
        document = start(home, str(place))
        return [line for line in lines_of(document) if line.startswith("- W")]

    assert told(one) == ["- W2 in both", "- W1 in one"]
    assert told(two) == ["- W4 in two", "- W3 in both"]
    assert "hookSpecificOutput" not in start(home, str(three))
    run_json("state", "done", "W2")
    assert (told(one), len(told(two))) == (["- W1 in one"], 2)
    status = [run_cmem("statusline", cwd=place).stdout.decode() for place in (one, two, three)]
    assert status == [
        "cmem: unsorted · 0 memories · 1 to do\n",
        "cmem: unsorted · 0 memories · 2 to do\n",
        "cmem: unsorted · 0 memories\n",
    ]


def test_the_status_line_counts_what_the_folder_has(home: Path, tmp_path: Path) -> None:
    conn = store(home)
    memory(conn, "a", "Told", cwd=str(tmp_path))
    memory(conn, "b", "Outside", cwd=str(tmp_path), taint="external")
    memory(conn, "c", "Hidden", cwd=str(tmp_path), hidden_at=1)
    there(conn, 20)
    conn.close()
    assert run_cmem("statusline", cwd=tmp_path).stdout.decode() == ("cmem: unsorted · 2 memories\n")


@pytest.mark.parametrize("source", ["resume", "compact"])
def test_a_session_that_goes_on_is_told_of_its_folder(home: Path, source: str) -> None:
    conn = store(home)
    with conn:
        own = memory(conn, OWN, "Its own")
        samples.prompt(conn, own, 1, "Go on")
        later = samples.NOON + MINUTE
        other = memory(conn, "other", "Learned here", created_at=later)
        samples.summary(conn, 1, other, 2, completed="Done here", created_at=later)
        there(conn, 600)
        for number in range(1, 11):
            at = samples.NOON + samples.DAY
            samples.summary(conn, 1, number + 2, number + 2, completed="No", created_at=at)
    conn.close()
    text = text_of(start(home, HERE, source=source, session=OWN))
    assert (text.count("Learned here"), text.count("Done here")) == (1, 1)
    assert not any(word in text for word in ("Elsewhere", "completed: No", "Not shown"))


@pytest.mark.parametrize(
    ("query", "values"),
    [
        (folder.SESSIONS, (1, HERE, 9)),
        (folder.OF_SESSION, (1, 9, 9, -1, 48)),
        (folder.PINNED, (1, HERE, 20)),
        (folder.LASTING, (1, 9, HERE, 30)),
        (folder.SUMMARIES, ("[1]", 5)),
        (folder.OPEN_ITEMS, ("notes-x", -1, 8)),
        (folder.COUNT, ("[1]", 0, 501)),
        (folder.COUNT_EXTERNAL, (1, HERE, 501)),
    ],
)
def test_no_statement_scans_or_sorts(home: Path, query: str, values: tuple[Any, ...]) -> None:
    conn = samples.calc(home)
    plan = [str(step[3]) for step in rows(conn, "EXPLAIN QUERY PLAN " + query, values)]
    conn.close()
    walks = [step for step in plan if step.startswith("SCAN")]
    assert not [step for step in walks if "(sub" not in step and "VIRTUAL TABLE" not in step], plan
    assert not any("TEMP B-TREE" in step for step in plan), plan
