"""Which places are one project: real repositories, real hooks, then the store is asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from places import AT_ONCE, OTHER, SAME, Place, at, part, repository, visit
from support import run_json

from cmem import ingest
from cmem.store import connection, projects

NOW = 1_780_000_000_000


def roots(home: Path) -> list[int]:
    """The project of each session taken in so far."""
    conn = connection.open_writer(str(home), now=NOW)
    try:
        ingest.ingest(str(home), conn, now=NOW)
        rows = conn.execute("SELECT project_id FROM sessions ORDER BY content_session_id")
        return [projects.root(conn, row[0]) for row in rows.fetchall()]
    finally:
        conn.close()


def run(home: Path, made: Iterator[Place], *, at_once: bool) -> tuple[list[int], int]:
    count = 0
    for place in made:
        visit(home, place, f"s{count}")
        count += 1
        if at_once:
            roots(home)
    return roots(home), count


@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "later"])
@pytest.mark.parametrize("name", SAME)
def test_one_project(home: Path, tmp_path: Path, name: str, *, at_once: bool) -> None:
    found, count = run(home, SAME[name](tmp_path), at_once=at_once or name in AT_ONCE)
    assert count > 1
    assert found == [found[0]] * count


@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "later"])
@pytest.mark.parametrize("name", OTHER)
def test_different_projects(home: Path, tmp_path: Path, name: str, *, at_once: bool) -> None:
    found, count = run(home, OTHER[name](tmp_path), at_once=at_once)
    assert count > 1
    assert len(set(found)) == count


def test_a_sub_project_is_named_after_its_repository(home: Path, tmp_path: Path) -> None:
    work = repository(tmp_path / "mono", "https://example.org/T/Mono")
    visit(home, at(part(work / "api", 'project = "API  v2"\n')), "s0")
    roots(home)
    shown = run_json("project", "show", cwd=work / "api")
    picked = ("name", "key", "source", "root")
    assert [shown[key] for key in picked] == [
        "Mono/API v2",
        "example.org/t/mono#api v2",
        "git-remote",
        str(work),
    ]
    assert [(one["kind"], one["alias"]) for one in shown["aliases"]] == [
        ("git", f"{work}/.git#api v2"),
        ("remote", "example.org/t/mono#api v2"),
    ]
    assert run_json("search", "hello", cwd=work / "api")["hits"][0]["project"] == "Mono/API v2"
    assert run_json("search", "hello", cwd=work)["hits"] == []
