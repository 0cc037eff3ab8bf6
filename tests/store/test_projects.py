from __future__ import annotations

from pathlib import Path

import apsw
import pytest
import seeding

from cmem.model import ProjectIdentity
from cmem.store import connection, projects

NOW = seeding.T0


def identity(
    *,
    env: str = "",
    git: str = "",
    remote: str = "",
    path: str = "",
) -> ProjectIdentity:
    """An identity as it is made of what is known, strongest alias first."""
    aliases = (("env", env), ("git", git), ("remote", remote), ("path", path))
    known = tuple((kind, alias) for kind, alias in aliases if alias)
    source = "environment" if env else "git-remote" if remote else "path"
    key = env or remote or git or path
    return ProjectIdentity(key, source, key.rpartition("/")[2], path, known)


@pytest.fixture
def conn(home: Path) -> apsw.Connection:
    return seeding.open_store(home)


def resolve(conn: apsw.Connection, **known: str) -> int:
    return projects.resolve(conn, identity(**known), now=NOW)


def test_new_project_is_recorded_with_all_its_aliases(conn: apsw.Connection) -> None:
    found = resolve(conn, git="/p/.git", remote="host/o/calc", path="/p")
    assert conn.execute(
        "SELECT id, key, key_source, name, root, created_at FROM projects"
    ).fetchall() == [(found, "host/o/calc", "git-remote", "calc", "/p", NOW)]
    assert conn.execute("SELECT kind, alias FROM project_aliases ORDER BY 1").fetchall() == [
        ("git", "/p/.git"),
        ("path", "/p"),
        ("remote", "host/o/calc"),
    ]


def test_same_identity_is_the_same_project(conn: apsw.Connection) -> None:
    known = {"git": "/p/.git", "remote": "host/o/calc", "path": "/p"}
    assert resolve(conn, **known) == resolve(conn, **known)


def test_worktree_and_subdirectory_join_by_the_git_directory(conn: apsw.Connection) -> None:
    main = resolve(conn, git="/p/.git", path="/p")
    assert resolve(conn, git="/p/.git", path="/p-worktree") == main


def test_known_git_directory_keeps_its_project_whatever_its_remote_says(
    conn: apsw.Connection,
) -> None:
    ours = resolve(conn, git="/p/.git", remote="host/o/calc", path="/p")
    theirs = resolve(conn, git="/q/.git", remote="host/o/other", path="/q")
    assert resolve(conn, git="/p/.git", remote="host/o/other", path="/p") == ours
    assert resolve(conn, git="/q/.git", remote="host/o/other", path="/q") == theirs


def test_new_clone_joins_by_its_remote_old_or_new(conn: apsw.Connection) -> None:
    first = resolve(conn, git="/p/.git", remote="host/o/old-name", path="/p")
    resolve(conn, git="/p/.git", remote="host/o/new-name", path="/p")
    assert resolve(conn, git="/a/.git", remote="host/o/old-name", path="/a") == first
    assert resolve(conn, git="/b/.git", remote="host/o/new-name", path="/b") == first


def test_same_folder_name_is_another_project(conn: apsw.Connection) -> None:
    assert resolve(conn, path="/a/calc") != resolve(conn, path="/b/calc")


def test_folder_that_becomes_a_repository_stays_its_project(conn: apsw.Connection) -> None:
    folder = resolve(conn, path="/notes")
    assert resolve(conn, git="/notes/.git", path="/notes") == folder


def test_another_repository_at_a_removed_worktrees_path_is_new(conn: apsw.Connection) -> None:
    first = resolve(conn, git="/p/.git", path="/p")
    resolve(conn, git="/p/.git", path="/p-worktree")
    assert resolve(conn, git="/p-worktree/.git", path="/p-worktree") != first
    assert resolve(conn, path="/p-worktree") == first


def test_environment_wins_and_claims_only_its_name(conn: apsw.Connection) -> None:
    named = resolve(conn, env="env:big", git="/p/.git", path="/p")
    assert resolve(conn, env="env:big", git="/q/.git", path="/q") == named
    assert resolve(conn, git="/p/.git", path="/p") != named


def test_unsorted_is_one_project_without_aliases(conn: apsw.Connection) -> None:
    known = (("path", "/somewhere"),)
    unsorted = ProjectIdentity("unsorted", "unsorted", "unsorted", "", known)
    first = projects.resolve(conn, unsorted, now=NOW)
    assert projects.resolve(conn, unsorted._replace(aliases=()), now=NOW) == first
    assert conn.execute("SELECT count(*) FROM project_aliases").fetchall() == [(0,)]
    assert resolve(conn, path="/somewhere") != first


def test_reading_finds_what_writing_would_and_makes_nothing(home: Path) -> None:
    writer = seeding.open_store(home)
    known = identity(git="/p/.git", path="/p")
    made = projects.resolve(writer, known, now=NOW)
    reader = connection.open_reader(str(home))
    assert reader is not None
    assert projects.find_by_identity(reader, known) == made
    assert projects.find_by_identity(reader, identity(path="/elsewhere")) is None


def test_merged_project_counts_as_the_one_it_was_merged_into(conn: apsw.Connection) -> None:
    old, middle, root = (resolve(conn, path=f"/{name}") for name in ("old", "middle", "root"))
    other = resolve(conn, path="/other")
    conn.execute("UPDATE projects SET merged_into = ? WHERE id = ?", (middle, old))
    conn.execute("UPDATE projects SET merged_into = ? WHERE id = ?", (root, middle))
    assert resolve(conn, path="/old") == root
    assert projects.family(conn, old) == [root, old, middle]
    assert projects.family(conn, root) == [root, old, middle]
    assert projects.family(conn, other) == [other]
    assert projects.names(conn) == [(root, "root"), (other, "other")]
    assert projects.find_by_name(conn, "old") == [(root, "root")]


def test_ring_of_merges_ends(conn: apsw.Connection) -> None:
    first, second = resolve(conn, path="/a"), resolve(conn, path="/b")
    conn.execute("UPDATE projects SET merged_into = ? WHERE id = ?", (second, first))
    conn.execute("UPDATE projects SET merged_into = ? WHERE id = ?", (first, second))
    assert set(projects.family(conn, first)) == {first, second}


def test_find_by_name_takes_name_key_and_alias_in_any_case(conn: apsw.Connection) -> None:
    calc = resolve(conn, git="/p/.git", remote="host/o/calc", path="/p")
    twin = resolve(conn, path="/elsewhere/calc")
    assert projects.find_by_name(conn, "CALC") == [(calc, "calc"), (twin, "calc")]
    assert projects.find_by_name(conn, "host/O/Calc ") == [(calc, "calc")]
    assert projects.find_by_name(conn, "/p/.git") == [(calc, "calc")]
    assert projects.find_by_name(conn, "cal") == []
    assert projects.find_by_name(conn, " ") == []


def test_what_was_known_in_lower_case_is_the_folder_it_was_made_in(conn: apsw.Connection) -> None:
    def known(root: str, spelled: str) -> ProjectIdentity:
        aliases = (("git", f"{spelled}/.git"), ("path", spelled))
        return ProjectIdentity(f"{spelled}/.git", "path", "Calc", root, aliases)

    old = projects.resolve(conn, known("/src/Calc", "/src/calc"), now=1)
    assert projects.resolve(conn, known("/SRC/Calc", "/SRC/Calc"), now=2) != old
    assert projects.resolve(conn, known("/src/Calc", "/src/Calc"), now=2) == old
    assert old in [one for one, _ in projects.find_by_name(conn, "/src/Calc/.git")]
