"""``list``, ``file``, ``session`` and ``timeline`` by time: the memory without a query."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import apsw
import pytest
import samples
from support import run_cmem, run_json

from cmem.store import renames

HOUR = samples.HOUR
NOW = time.time_ns() // 1_000_000


@pytest.fixture
def two(home: Path) -> apsw.Connection:
    """The project calc, and one more with memories of an hour and of nine days ago."""
    conn = samples.calc(home)
    other = samples.project(conn, "läden", "/src/läden")
    session = samples.session(
        conn, other, "b-session", started_at=NOW - 9 * samples.DAY, last_event_at=NOW - HOUR
    )
    turn = samples.turn(conn, session, 1)
    samples.prompt(conn, session, turn, "Why is the gate shut?", created_at=NOW - 9 * samples.DAY)
    samples.observation(
        conn, other, session, turn, type="decision", title="The gate stays", concepts=["gotcha"],
        files_modified=["src/old.py"], created_at=NOW - 9 * samples.DAY,
    )  # fmt: skip
    samples.observation(
        conn, other, session, turn, type="bugfix", title="The gate opens",
        files_modified=["src/new.py"], created_at=NOW - HOUR,
    )  # fmt: skip
    return conn


def titles(*args: str) -> list[str]:
    return [one["title"] for one in run_json(*args)["items"]]


@pytest.mark.parametrize(
    ("args", "found"),
    [
        ((), ["The gate opens", "The gate stays"]),
        (("--type", "decision"), ["The gate stays"]),
        (("--concept", "gotcha"), ["The gate stays"]),
        (("--since", "2d"), ["The gate opens"]),
        (("--until", "2d"), ["The gate stays"]),
        (("--limit", "1"), ["The gate opens"]),
        (("--kind", "prompt"), ["Why is the gate shut?"]),
    ],
)
def test_list_narrows_by_what_is_given(two: Any, args: tuple[str, ...], found: list[str]) -> None:
    assert titles("list", "--project", "läden", *args) == found
    assert two


def test_list_stays_in_the_project_unless_all_are_named(two: Any, tmp_path: Path) -> None:
    assert titles("list") == []
    assert titles("list", "--all-projects") == [
        "The gate opens",
        "The gate stays",
        "unittest, not pytest",
        "Fixed subtract",
    ]
    done = run_cmem("list")
    said = "cmem: nothing to list in unsorted; --all-projects looks in every project\n"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (0, b"", said)
    assert two
    assert tmp_path


def test_days_and_projects_are_headings(two: Any) -> None:
    day = time.strftime("%Y-%m-%d %A", time.localtime((NOW - HOUR) / 1000))
    told = run_cmem("list", "--project", "läden", "--since", "2d", "--by", "day").stdout.decode()
    assert told.splitlines()[0] == day
    assert told.splitlines()[1].startswith("  O4  ")
    told = run_cmem("list", "--all-projects", "--by", "project").stdout.decode()
    assert [line for line in told.splitlines() if not line.startswith(" ")] == ["calc", "läden"]
    wrong = run_cmem("list", "--by", "week")
    assert (wrong.returncode, wrong.stderr.decode()) == (2, "cmem: --by week: day or project\n")
    assert two


def test_timeline_of_a_time_is_in_time_order(two: Any) -> None:
    args = ("timeline", "--project", "läden")
    assert titles(*args, "--since", "10d") == [
        "Why is the gate shut?",
        "The gate stays",
        "The gate opens",
    ]
    assert titles(*args, "--since", "2d") == ["The gate opens"]
    told = run_cmem(*args, "--since", "2d", "--by", "day").stdout.decode().splitlines()
    assert len(told) == 2
    both = run_cmem("timeline", "O3", "--since", "2d")
    assert (both.returncode, both.stderr.decode()) == (
        2,
        "cmem: give either an anchor, or --since and --until\n",
    )
    assert two


def test_a_file_is_known_by_its_earlier_names_too(two: Any) -> None:
    assert titles("file", "src/new.py", "--project", "läden") == ["The gate opens"]
    samples.tool(
        two, 2, 2, "Bash", {"command": "cd src && git mv -f old.py new.py; ls"}, {"stdout": ""},
        cwd="/src/läden", uid="move", tool_use_id="toolu_move",
    )  # fmt: skip
    found = run_json("file", "src/new.py", "--project", "läden")
    assert [one["title"] for one in found["items"]] == ["The gate opens", "The gate stays"]
    assert (found["path"], found["earlier"]) == ("src/new.py", ["/src/läden/src/old.py"])
    told = run_cmem("file", "src/new.py", "--project", "läden").stdout.decode().splitlines()
    assert told[0] == "earlier: /src/läden/src/old.py"
    found = run_json("file", "old.py", "--all-projects")
    assert [one["title"] for one in found["items"]] == ["The gate opens", "The gate stays"]
    assert (found["earlier"], found["later"]) == ([], ["/src/läden/src/new.py"])
    told = run_cmem("file", "old.py", "--all-projects").stdout.decode().splitlines()
    assert told[0] == "later: /src/läden/src/new.py"
    nothing = run_cmem("file", "nowhere.py", "--project", "läden")
    assert (nothing.returncode, nothing.stdout, nothing.stderr.decode()) == (
        0,
        b"",
        "cmem: nothing known of nowhere.py in läden; --all-projects looks in every project\n",
    )


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("git mv a.py b.py", [("/p/a.py", "/p/b.py")]),
        ("mv 'a b.py' c.py && mv x y", [("/p/a b.py", "/p/c.py"), ("/p/x", "/p/y")]),
        ("mv a b lib/", [("/p/a", "/p/lib/a"), ("/p/b", "/p/lib/b")]),
        ("cd sub; mv ../a b", [("/p/a", "/p/sub/b")]),
        ("echo mv a b", []),
        ("mv a", []),
        ("mv 'unclosed", []),
        ("", []),
    ],
)
def test_moves_are_read_from_a_command_line(command: str, found: list[tuple[str, str]]) -> None:
    assert list(renames.moves(command, "/p")) == found


def test_sessions_are_listed_with_the_hosts_id_and_shown_in_order(two: Any) -> None:
    found = run_json("session", "list", "--all-projects")["sessions"]
    assert [(one["id"], one["host_session"], one["project"]) for one in found] == [
        ("N2", "b-session", "läden"),
        ("N1", "5f7d2c1a-0000-4000-8000-000000000001", "calc"),
    ]
    assert (found[0]["prompts"], found[0]["observations"]) == (1, 2)
    assert found[0]["request"] == "Why is the gate shut?"
    assert run_json("session", "list")["sessions"] == []
    since = run_json("session", "list", "--all-projects", "--since", "2d")["sessions"]
    assert [one["id"] for one in since] == ["N2"]
    shown = run_json("session", "show", "5f7d2c1a")
    assert shown["session"]["id"] == "N1"
    assert [one["id"] for one in shown["items"]] == ["P1", "O1", "O2", "S1"]
    tools = run_json("session", "show", "N1", "--kind", "tool")["items"]
    assert [one["id"] for one in tools] == ["T1", "T2"]
    unknown = run_cmem("session", "show", "N99")
    assert (unknown.returncode, unknown.stderr.decode()) == (
        1,
        "cmem: no such session: N99; `cmem session list` shows which there are\n",
    )
    assert two


def test_sessions_and_files_for_a_person(two: Any) -> None:
    told = run_cmem("session", "list", "--project", "läden").stdout.decode().splitlines()
    assert told == [
        f"N2  {time.strftime('%Y-%m-%d %H:%M', time.localtime((NOW - HOUR) / 1000))}  "
        "Why is the gate shut?",
        "    läden, claude-code, active: 1 prompt, 0 tool calls, 2 observations",
    ]
    shown = run_cmem("session", "show", "N2").stdout.decode().splitlines()
    assert shown[:2] == [
        "N2  Why is the gate shut?",
        "    läden, claude-code, active: b-session",
    ]
    assert two


def test_a_session_with_nothing_to_show_says_so_beside_its_head(two: Any) -> None:
    samples.session(two, 1, "empty")
    for flags, hint in (((), "; --kind tool shows its tool calls"), (("--kind", "tool"), "")):
        done = run_cmem("session", "show", "empty", *flags)
        assert done.stdout.decode().splitlines()[0] == "N3  (untitled)"
        assert done.stderr.decode() == f"cmem: nothing to show in N3{hint}\n"


def test_hidden_and_empty_sessions_are_not_listed(two: Any) -> None:
    samples.session(two, 1, "empty")
    run_json("forget", "--session", "b-session", "--yes")
    found = run_json("session", "list", "--all-projects")["sessions"]
    assert [one["id"] for one in found] == ["N1"]


RENAMES = {
    # Moves, the oldest first; the path asked for; what it was called before and afterwards.
    "a file": (["git mv a.py b.py", "mv b.py c.py"], "b.py", ["/p/a.py"], ["/p/c.py"]),
    "a folder": (["git mv src lib"], "lib/x/a.py", ["/p/src/x/a.py"], []),
    "a folder, by the old name": (["git mv src lib"], "src/a.py", [], ["/p/lib/a.py"]),
    "a folder, in full": (["mv src lib"], "/p/lib/a.py", ["/p/src/a.py"], []),
    "a folder and a file": (
        ["mv src lib", "mv lib/a.py lib/b.py"],
        "lib/b.py",
        ["/p/lib/a.py", "/p/src/a.py"],
        [],
    ),
    "into a folder that is there": (["mv a.py lib"], "lib/a.py", ["/p/a.py"], []),
    "into a folder, by the old name": (["mv a.py lib"], "a.py", [], ["/p/lib/a.py"]),
    "a folder into one": (["mv src lib"], "lib/src/a.py", ["/p/src/a.py"], []),
    "what was a file is no folder": (["mv a.py lib"], "lib/b.py", [], []),
    "a name with a dot in front": (["mv .env env"], "xenv", [], []),
    "there and back": (["mv a.py b.py", "mv b.py a.py"], "a.py", ["/p/b.py"], ["/p/b.py"]),
    "another file of this ending": (["mv xa.py b.py"], "a.py", [], []),
}


@pytest.mark.parametrize(("moves", "path", "earlier", "later"), RENAMES.values(), ids=RENAMES)
def test_names_of_a_file_at_other_times(
    home: Path, moves: list[str], path: str, earlier: list[str], later: list[str]
) -> None:
    conn = samples.open_store(home)
    project = samples.project(conn, "p", "/p")
    session = samples.session(conn, project, "s")
    turn = samples.turn(conn, session, 1)
    for number, command in enumerate(moves):
        samples.tool(
            conn, session, turn, "Bash", {"command": command}, {},
            cwd="/p", uid=command, tool_use_id=command, created_at=number,
        )  # fmt: skip
    assert renames.names(conn, [project], (path, f"/p/{path}")) == (earlier, later)
    conn.close()


@pytest.mark.parametrize(
    "args", [("list",), ("file", "x"), ("session", "list"), ("timeline", "--since", "7d")]
)
def test_without_a_memory_there_is_nothing_and_no_error(args: tuple[str, ...], home: Path) -> None:
    done = run_cmem(*args)
    told = (done.returncode, done.stdout, done.stderr.decode())
    assert told == (0, b"", "cmem: no memories yet\n")
    assert home
