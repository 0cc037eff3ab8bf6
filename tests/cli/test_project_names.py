"""What ``--project`` names: one project or nothing, in every command that takes it."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
import samples
import support

from cmem.cli import spec
from cmem.store import projects

CAFE = ("Caf\u00e9", "cafe\u0301")  # one name in two forms of Unicode
# How each command that takes ``--project`` is called; {} is a file to write.
LINES = {
    "compress": ("--imported", "--dry-run"),
    "context": (),
    "context --write": ("--write", "{}"),
    "dedup": (),
    "dedup --apply": ("--apply", "all"),
    "export": ("{}", "--redacted"),
    "export --md": ("--md", "{}"),
    "file": ("calc.py",),
    "forget": ("--hard", "--yes"),
    "forget --match": ("--match", "secret", "--hard", "--yes"),
    "forget --undo": ("--undo",),
    "list": (),
    "note": ("Remember this.",),
    "search": ("plan",),
    "session list": (),
    "state add": ("Do this.",),
    "state list": (),
    "timeline": (),
    "timeline --since": ("--since", "2020-01-01"),
}
# What is not in the store yet has no number, and may be of any folder of that name.
IMPORTS = {f"import {host}" for host in ("claude-code", "codex", "gemini-cli")}


def add(conn: samples.apsw.Connection, name: str, root: str, title: str) -> int:
    """A project with one memory."""
    ref = samples.project(conn, name, root)
    session = samples.session(conn, ref, f"s{ref}", cwd=root)
    turn = samples.turn(conn, session, 1)
    samples.observation(conn, ref, session, turn, title=title)
    return ref


@pytest.fixture
def stored(home: Path) -> Path:
    """api (1) and API (2); one name in two forms (3, 4); web (5), which part (6) is part of."""
    conn = samples.open_store(home)
    add(conn, "api", "/p/api", "A public plan")
    add(conn, "API", "/q/api", "A secret plan")
    add(conn, CAFE[0], "/p/cafe", "A third plan")
    add(conn, CAFE[1], "/q/cafe", "A fourth plan")
    web = add(conn, "web", "/p/web", "A fifth plan")
    part = add(conn, "part", "/p/part", "A sixth plan")
    conn.execute("UPDATE projects SET merged_into = ? WHERE id = ?", (web, part)).fetchall()
    conn.close()
    return home


def run(*args: str) -> tuple[int, str, str]:
    done = support.run_cmem(*args)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def line(name: str, project: str, file: Path) -> list[str]:
    words = name.partition(" --")[0].split()
    given = [word.replace("{}", str(file)) for word in LINES[name]]
    return [*words, *given, "--project", project]


def titles() -> list[str]:
    found = support.run_json("list", "--all-projects", "--limit", "50")["items"]
    return sorted(one["title"] for one in found)


def test_every_command_that_names_a_project_is_here() -> None:
    takes = {one.name for one in spec.COMMANDS if "project" in [o.key for o in one.options]}
    assert takes - IMPORTS == {name.partition(" --")[0] for name in LINES}


def test_a_name_of_several_projects_is_refused(stored: Path, tmp_path: Path) -> None:
    before, file = titles(), tmp_path / "out.jsonl"
    told = {
        "Api": "1 (/p/api), 2 (/q/api)",
        CAFE[1].upper(): "3 (/p/cafe), 4 (/q/cafe)",
    }
    for name, (given, ones) in itertools.product(LINES, told.items()):
        said = f"cmem: {given} can be several projects: {ones}; give the number or the key\n"
        assert (name, *run(*line(name, given, file))) == (name, 1, "", said)
    assert (titles(), file.exists()) == (before, False)
    assert stored


def test_a_name_that_is_empty_is_no_project(stored: Path, tmp_path: Path) -> None:
    before, file = titles(), tmp_path / "out.jsonl"
    said = "cmem: --project needs the name of a project\n"
    for name, nothing in itertools.product(LINES, ("", "  ")):
        assert (name, *run(*line(name, nothing, file))) == (name, 2, "", said)
    for name in sorted(IMPORTS):
        assert run(*name.split(), str(tmp_path), "--project", "") == (2, "", said)
    assert (titles(), file.exists()) == (before, False)
    assert stored


def test_a_number_and_a_key_name_one_everywhere(stored: Path, tmp_path: Path) -> None:
    file = tmp_path / "out"
    file.mkdir()
    known = set(LINES) - {"forget --undo", "dedup --apply"}
    for name, project in itertools.product(sorted(known), ("2", "#2", "/q/api")):
        dry = ["--dry-run"] * ("forget" in name)
        code, out, err = run(*line(name, project, file / name), *dry)
        told = err.replace("; --all-projects looks in every project", "")
        assert (name, code, "project" in told) == (name, 0, False), (project, out, err)
        assert "public" not in out
    assert "public" not in (file / "export").read_text()
    assert stored


def test_forget_takes_the_one_that_is_named_and_says_which(stored: Path) -> None:
    assert run("forget", "--project", "2", "--hard") == (
        1,
        "",
        "cmem: nothing was forgotten: that would be 1 observation in API (2, /q/api); "
        "add --yes to do it\n",
    )
    assert run("forget", "--project", "2", "--hard", "--dry-run") == (
        0,
        "Would remove: 1 observation in API (2, /q/api).\n",
        "",
    )
    found = support.run_json("forget", "--match", "plan", "--dry-run")["projects"]
    assert [(one["id"], one["root"]) for one in found[::4]] == [(1, "/p/api"), (5, "/p/web")]
    assert run("forget", "--project", "/q/api", "--hard", "--yes")[0] == 0
    assert [one for one in titles() if "secret" in one or "public" in one] == ["A public plan"]
    assert stored


@pytest.mark.parametrize("name", ["forget", "export", "export --md"])
def test_a_part_of_another_project_does_not_stand_for_all_of_it(
    stored: Path, tmp_path: Path, name: str
) -> None:
    before, file = titles(), tmp_path / "out.jsonl"
    for given in ("part", "6", "/p/part"):
        assert run(*line(name, given, file)) == (
            1,
            "",
            f"cmem: {given} is part of web (5); name that to mean all of it, or make this one "
            "of its own: `cmem project unmerge 6`\n",
        )
    assert (titles(), file.exists()) == (before, False)
    assert run(*line(name, "web", file))[0] == 0
    assert stored


def test_a_name_in_a_query_means_all_and_says_so(stored: Path) -> None:
    def searched(*query: str) -> tuple[list[str], str]:
        done = support.run_cmem("search", *query, "--all", "--json")
        wide = support.run_cmem("search", *query, "--json")
        assert done.returncode == wide.returncode == 0
        hits = [one["title"] for one in json.loads(wide.stdout)["hits"]]
        return sorted(hits), wide.stderr.decode()

    said = "cmem: project:api is several projects, and means them all: 1 (/p/api), 2 (/q/api)\n"
    assert searched("project:api") == (["A public plan", "A secret plan"], said)
    assert searched("project:#2 plan") == (["A secret plan"], "")
    assert searched("project:1") == (["A public plan"], "")
    assert stored


def test_a_project_that_is_called_as_another_ones_number(stored: Path) -> None:
    conn = samples.open_store(stored)
    add(conn, "2", "/p/2", "A seventh plan")
    conn.close()
    assert run("list", "--project", "2") == (
        1,
        "",
        "cmem: 2 can be several projects: 2 (/q/api), 7 (/p/2); "
        "give '#2' for the number or the key\n",
    )
    assert support.run_json("list", "--project", "#2")["items"][0]["title"] == "A secret plan"
    assert support.run_json("project", "show", "#2")["id"] == 2
    assert run("project", "show", "2")[0] == 1


def test_what_is_spelled_exactly_counts_more_than_another_case(stored: Path) -> None:
    conn = samples.open_store(stored)
    upper = samples.project(conn, "other", "/P/API")
    for text, found in (("/p/api", [1]), ("/P/API", [upper]), ("/p/Api", [1, upper])):
        assert projects.called(conn, text) == found
    assert projects.called(conn, "web") == [5]
    assert projects.called(conn, "part", merged=True) == projects.called(conn, "part") == [6]
    assert projects.called(conn, "9" * 40) == projects.called(conn, "\u00b2") == []
    conn.close()
