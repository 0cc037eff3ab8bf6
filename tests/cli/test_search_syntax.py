"""Filters and slips in the query, as the command takes and tells them."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
import samples
import support


@pytest.fixture
def stored(home: Path) -> Path:
    place = home.parent / "calc"
    place.mkdir()
    conn = samples.calc(home, str(place))
    conn.close()
    return place


def ids(place: Path, *words: str) -> list[str]:
    found = support.run_json("search", "--all-projects", *words, cwd=place)
    return sorted(hit["id"] for hit in found["hits"])


FILTERS = {
    ("subtract", "kind:prompt"): ["P1"],
    ("kind:prompt", "kind:tool", "subtract"): ["P1", "T1"],
    ("type:bugfix",): ["O1"],
    ("type:bugfix", "file:calc.py"): ["O1"],
    ("type:bugfix", "file:./calc.py"): ["O1"],
    ("--file", "./x/../calc.py", "--type", "bugfix"): ["O1"],
    ("subtract", "kind:tool", "file:calc.py"): ["T1"],
    ("subtract -type:bugfix",): ["P1", "S1", "T1"],
    (" -kind:tool -kind:prompt -type:summary",): ["O1", "O2"],
    ("subtract -file:./calc.py -session:N9",): ["P1", "S1"],
    ("--type", "bugfix", " -zebra"): ["O1"],
    ("type:bugfix -subtract",): [],
    (" -subtract",): ["O1", "P1", "S1", "T1"],
    ("file:calc.py", "type:decision"): [],
    ("subtract", "host:codex"): [],
    ("project:calc", "type:bugfix"): ["O1"],
    ("session:N1", "type:bugfix"): ["O1"],
    ("until:2001-01-01", "type:bugfix"): [],
    ("since:2001-01-01", "type:bugfix"): ["O1"],
    ("branch:nowhere", "subtract"): [],
    ("agent:Explore", "subtract"): [],
    ("--type", "bugfix", "type:decision"): ["O1"],
    ("--kind", "prompt", "kind:tool", "subtract"): ["P1"],
    ("subtract", "kind:zebra"): ["O1", "P1", "S1", "T1"],
    ("subtract", "since:banana"): ["O1", "P1", "S1", "T1"],
    ("subtract", "host:8080"): ["O1", "P1", "S1", "T1"],
    ("subtract", "project:zebra"): ["O1", "P1", "S1", "T1"],
    ("subtract", "session:zebra"): ["O1", "P1", "S1", "T1"],
    ("subtract", '"type:bugfix"'): ["O1", "P1", "S1", "T1"],
}


@pytest.mark.parametrize(("words", "expected"), FILTERS.items(), ids=str)
def test_filter_among_the_words(stored: Path, words: tuple[str, ...], expected: list[str]) -> None:
    assert ids(stored, *words) == expected


def test_an_argument_that_the_shell_has_unquoted_is_one_filter(stored: Path) -> None:
    support.run_cmem("project", "rename", "calc", "my calc", cwd=stored)
    support.run_cmem("note", "How to subtract", "--file", "docs/my notes.md", cwd=stored)
    found = support.run_json("search", "project:my calc", "subtract", cwd=stored)
    assert found["query"] == "project:my calc subtract"
    assert sorted(hit["id"] for hit in found["hits"]) == ["O1", "P1", "S1", "T1"]
    assert ids(stored, "subtract", " -project:my calc") == ["O3"]
    assert ids(stored, "subtract", "file:my notes.md") == ["O3"]
    assert ids(stored, "subtract", "since:last week") == ["O3"]
    assert ids(stored, "type:bugfix operands") == ids(stored, "type:bugfix", "operands") == ["O1"]


def test_options_are_filters_too(stored: Path) -> None:
    assert ids(stored, "--branch", "nowhere", "subtract") == []
    assert ids(stored, "--agent", "Explore") == []


def test_the_query_is_told_as_it_was_typed(stored: Path) -> None:
    found = support.run_json("search", "--all", "type:bugfix", "subtract", cwd=stored)
    assert found["query"] == "type:bugfix subtract"
    assert set(found) == {"query", "steps", "hits"}


def test_a_reversed_range_in_the_query_is_a_usage_error(stored: Path) -> None:
    done = support.run_cmem("search", "since:2026-02-02", "until:2026-01-01", "x", cwd=stored)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"the range is empty" in done.stderr


def test_what_was_shown_instead_is_said(stored: Path) -> None:
    found = support.run_json("search", "--all", "subtarct", cwd=stored)
    assert (found["steps"], found["replaced"]) == (["similar word"], {"subtarct": ["subtract"]})
    done = support.run_cmem("search", "--all", "subtarct", cwd=stored)
    assert done.stderr.decode() == "no results for subtarct, showing subtract\n"
    assert done.stdout.decode().count("\n") >= 4


def shown(place: Path, **variables: str) -> str:
    main, side = pty.openpty()
    command = [sys.executable, "-m", "cmem", "search", "--all", "operands", "type:bugfix"]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "200", **variables}
    done = subprocess.run(command, stdout=side, cwd=place, env=environment, check=True)
    os.close(side)
    assert done.returncode == 0
    text = os.read(main, 65536).decode()
    os.close(main)
    return text


def test_words_stand_out_on_a_terminal_only(stored: Path) -> None:
    piped = support.run_cmem("search", "--all", "bugfix", cwd=stored).stdout
    assert b"\x1b" not in piped
    assert "\x1b[" in shown(stored)
    assert "\x1b[33m" not in shown(stored, NO_COLOR="1")


def test_where_nothing_is_found_the_way_to_look_further_is_told(stored: Path) -> None:
    def told(*words: str) -> str:
        done = support.run_cmem("search", *words, cwd=stored)
        assert (done.returncode, done.stdout) == (0, b"")
        return done.stderr.decode().removeprefix("cmem: ")

    assert told("zebrafish") == "nothing found in unsorted; --all-projects looks in every project\n"
    assert told("--all-projects", "zebrafish") == "nothing found in all projects\n"
