from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cmem import here, project
from cmem.model import ProjectIdentity, Repo

NO_REPO = Repo("", "", "", "")


def identify(
    cwd: str, repo: Repo = NO_REPO, *, remote: str = "", env: str = "", temp: str = "/scratch"
) -> ProjectIdentity:
    found = project.identify_parts(
        cwd=cwd, repo=repo, remote=remote, project_env=env, user_home="/home/Ann", temp_dir=temp
    )
    return ProjectIdentity(*found)


def test_repository_with_a_remote_is_named_by_it() -> None:
    repo = Repo("/home/Ann/Calc", "/home/Ann/Calc/.git", "main", "abc")
    assert identify("/home/Ann/Calc/src", repo, remote="Example.org/ann/calc") == ProjectIdentity(
        key="example.org/ann/calc",
        source="git-remote",
        name="calc",
        root="/home/Ann/Calc",
        aliases=(
            ("git", "/home/Ann/Calc/.git"),
            ("remote", "example.org/ann/calc"),
            ("path", "/home/Ann/Calc"),
        ),
    )


def test_repository_without_a_remote_is_known_by_its_common_dir() -> None:
    repo = Repo("/home/Ann/Calc", "/home/Ann/Calc/.git", "main", "abc")
    assert identify("/home/Ann/Calc", repo) == ProjectIdentity(
        key="/home/Ann/Calc/.git",
        source="path",
        name="Calc",
        root="/home/Ann/Calc",
        aliases=(("git", "/home/Ann/Calc/.git"), ("path", "/home/Ann/Calc")),
    )


@pytest.mark.parametrize(
    ("root", "common_dir", "name", "main"),
    [
        ("/w/calc", "/w/calc/.git", "calc", "/w/calc"),
        ("/w/calc-wt", "/w/calc/.git", "calc", "/w/calc"),
        ("/w/trees/main", "/w/calc.git", "calc", "/w/calc.git"),
        ("/w/calc/main", "/w/calc/.bare", "calc", "/w/calc"),
        ("/w/calc/lib/sub", "/w/calc/.git/modules/lib/sub", "sub", "/w/calc/lib/sub"),
    ],
    ids=["plain", "worktree", "bare-worktree", "hidden-bare", "submodule"],
)
def test_a_repository_is_named_by_its_main_folder(
    root: str, common_dir: str, name: str, main: str
) -> None:
    found = identify(root, Repo(root, common_dir, "", ""))
    assert (found.name, found.root, found.key) == (name, main, common_dir)


def test_the_environment_wins_and_claims_only_itself() -> None:
    repo = Repo("/w/calc", "/w/calc/.git", "main", "abc")
    assert identify("/w/calc/src", repo, remote="h/o/calc", env=" Big\tThing ") == ProjectIdentity(
        key="env:big thing",
        source="environment",
        name="Big Thing",
        root="/w/calc",
        aliases=(("env", "big thing"),),
    )


def test_plain_folder_is_its_own_project() -> None:
    assert identify("/w/Notes/") == ProjectIdentity(
        "/w/Notes", "path", "Notes", "/w/Notes", (("path", "/w/Notes"),)
    )


@pytest.mark.parametrize(
    "cwd",
    ["", "/", "relative/path", "/home/Ann", "/home/Ann/", "/scratch", "/scratch/x/y", "/tmp/x"],
)
def test_places_that_are_no_project(cwd: str) -> None:
    assert identify(cwd) == ProjectIdentity("unsorted", "unsorted", "unsorted", "", ())


def test_a_repository_below_the_temp_directory_is_a_project() -> None:
    repo = Repo("/scratch/x", "/scratch/x/.git", "", "")
    assert identify("/scratch/x/src", repo).key == "/scratch/x/.git"


def test_a_home_directory_under_git_does_not_swallow_the_folders_in_it() -> None:
    repo = Repo("/home/Ann", "/home/Ann/.git", "", "")
    assert identify("/home/Ann", repo).key == "unsorted"
    assert identify("/home/Ann/.config/editor", repo).key == "/home/Ann/.config/editor"


def fake_folders(monkeypatch: pytest.MonkeyPatch, tells_apart: set[str], there: set[str]) -> None:
    """A machine on which these folders are there; only ``tells_apart`` know the case of names."""

    def lstat(path: str) -> os.stat_result:
        place = ""
        for name in path.split("/")[1:]:
            names = {one.rpartition("/")[2] for one in there if one.rpartition("/")[0] == place}
            found = [n for n in names if n == name or n.casefold() == name.casefold()]
            exact = [n for n in found if n == name] or ([] if place in tells_apart else found)
            if not exact:
                raise FileNotFoundError(2, "no such file", path)
            place = f"{place}/{exact[0]}"
        return os.stat_result((0, hash(place), 1, 0, 0, 0, 0, 0, 0, 0))

    monkeypatch.setattr(os, "lstat", lstat)


LINUX = {"/w", "/w/Notes", "/w/notes", "/W", "/W/x"}
MAC = {"/Users", "/Users/Ann", "/Users/Ann/Notes"}
SPELLED = [
    ("Linux", LINUX | {""}, LINUX, "/w/Notes", "/w/Notes"),
    ("Linux, another", LINUX | {""}, LINUX, "/w/notes", "/w/notes"),
    ("Linux, gone", LINUX | {""}, LINUX, "/w/Gone/Deep", "/w/Gone/Deep"),
    ("macOS", set(), MAC, "/Users/Ann/Notes", "/users/ann/notes"),
    ("macOS, typed", set(), MAC, "/users/ANN/notes", "/users/ann/notes"),
    ("macOS, gone", set(), MAC, "/Users/Ann/Gone/Deep", "/users/ann/gone/deep"),
    ("a disk of the other kind", {"", "/w"}, LINUX, "/w/Notes", "/w/Notes"),
    ("a folder of the other kind", {"", "/w"}, LINUX | {"/w/Notes/A"}, "/w/Notes/A", "/w/Notes/a"),
    ("no case", set(), MAC, "/Users/1.2/\u00e9", "/users/1.2/\u00e9"),
    ("no path", set(), MAC, "", ""),
]


@pytest.mark.parametrize(
    ("apart", "there", "path", "told"), [row[1:] for row in SPELLED], ids=[r[0] for r in SPELLED]
)
def test_the_folder_says_whether_case_counts(
    apart: set[str], there: set[str], path: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_folders(monkeypatch, apart, there)
    assert here.Spelling()(path) == told


def test_a_link_to_a_folder_is_that_folder(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    subprocess.run(["git", "init", "-q", str(real)], check=True, timeout=20)
    link.symlink_to(real)
    env = {"HOME": str(tmp_path / "user")}
    assert here.identity_of(str(link), env) == here.identity_of(str(real), env)
    assert here.identity_of(str(real), env).name == "real"


def test_session_start_can_ask_without_a_costly_import() -> None:
    code = (
        "import os, sys; sys.path.insert(0, sys.argv[1]); before = set(sys.modules); "
        "from cmem import here; here.parts_of('/', {'HOME': '/x'}); "
        "print(*sorted(set(sys.modules) - before))"
    )
    root = str(Path(__file__).resolve().parent.parent)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, root], capture_output=True, check=True, timeout=20
    )
    # Not typing, re, pathlib or model: each costs the hook more than storing an event does.
    assert done.stdout.decode().split() == ["cmem", "cmem.here", "cmem.project", "cmem.repo"]
