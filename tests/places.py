"""Folders that are one project, or different ones, each made with real git.

Each case yields the folders two or more sessions work in; what it does between two yields
happens between the sessions.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from support import payload_bytes, run_cmem, run_hook

Place = tuple[Path, dict[str, str]]
Case = Callable[[Path], Iterator[Place]]
SAME: dict[str, Case] = {}
OTHER: dict[str, Case] = {}
# What has been moved away before it is taken in cannot be asked for its remote any more.
AT_ONCE = {"renamed with a remote", "renamed and aliased", "taken over after a merge"}


def case(table: dict[str, Case], name: str) -> Callable[[Case], Case]:
    def add(made: Case) -> Case:
        table[name] = made
        return made

    return add


def at(place: Path, **env: str) -> Place:
    return place, env


def git(where: Path, *args: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    options = ["-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always"]
    subprocess.run(
        ["git", *identity, *options, *args], cwd=where, capture_output=True, check=True, timeout=30
    )


def repository(place: Path, remote: str = "") -> Path:
    place.mkdir(parents=True)
    git(place, "init", "-q")
    git(place, "commit", "-q", "--allow-empty", "-m", "one")
    if remote:
        git(place, "remote", "add", "origin", remote)
    return place


def part(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".cmem.toml").write_text(text)
    return folder


# --- one project ---------------------------------------------------------------------


@case(SAME, "subdirectory")
def subdirectory(tmp: Path) -> Iterator[Place]:
    work = repository(tmp / "calc")
    (work / "a" / "b").mkdir(parents=True)
    yield at(work)
    yield at(work / "a" / "b")


@case(SAME, "worktree")
def worktree(tmp: Path) -> Iterator[Place]:
    work = repository(tmp / "calc")
    git(work, "worktree", "add", "-q", str(tmp / "tree"), "-b", "side")
    yield at(tmp / "tree")
    yield at(work)


@case(SAME, "removed worktree")
def removed_worktree(tmp: Path) -> Iterator[Place]:
    work = repository(tmp / "calc", "https://example.org/team/calc.git")
    git(work, "worktree", "add", "-q", str(tmp / "tree"), "-b", "side")
    yield at(tmp / "tree")
    git(work, "worktree", "remove", str(tmp / "tree"))
    yield at(work)


@case(SAME, "worktrees of a bare repository")
def bare(tmp: Path) -> Iterator[Place]:
    git(tmp, "clone", "-q", "--bare", str(repository(tmp / "calc")), "bare.git")
    for name in ("one", "two"):
        git(tmp / "bare.git", "worktree", "add", "-q", str(tmp / name), "-b", name)
        yield at(tmp / name)


@case(SAME, "symbolic link")
def link(tmp: Path) -> Iterator[Place]:
    work = repository(tmp / "calc")
    (work / "src").mkdir()
    (tmp / "short").symlink_to(work / "src")
    yield at(work)
    yield at(tmp / "short")


@case(SAME, "ssh and https remote")
def spellings(tmp: Path) -> Iterator[Place]:
    yield at(repository(tmp / "one", "git@example.org:Team/Calc.git"))
    yield at(repository(tmp / "two", "https://user@example.org/team/calc"))
    yield at(repository(tmp / "three", "ssh://git@example.org:2222/Team/Calc.git"))


@case(SAME, "renamed with a remote")
def renamed(tmp: Path) -> Iterator[Place]:
    work = repository(tmp / "old", "https://example.org/team/calc.git")
    yield at(work)
    yield at(work.rename(tmp / "new"))


@case(SAME, "renamed and aliased")
def aliased(tmp: Path) -> Iterator[Place]:
    work = repository(tmp / "old")
    yield at(work)
    work.rename(tmp / "new")
    assert run_cmem("project", "alias", "old", str(tmp / "new")).returncode == 0
    yield at(tmp / "new")


@case(SAME, "taken over after a merge")
def merged(tmp: Path) -> Iterator[Place]:
    work = repository(tmp / "old")
    yield at(work)
    work.rename(tmp / "new")
    yield at(tmp / "new")
    assert run_cmem("project", "merge", "old", "new").returncode == 0


@case(SAME, "a remote that changes later")
def another_remote(tmp: Path) -> Iterator[Place]:
    work = repository(tmp / "calc", "https://example.org/team/calc.git")
    yield at(work)
    git(work, "remote", "set-url", "origin", "https://example.org/team/calculator.git")
    yield at(work)


@case(SAME, "CMEM_PROJECT")
def by_name(tmp: Path) -> Iterator[Place]:
    yield at(repository(tmp / "one"), CMEM_PROJECT="Big thing")
    yield at(tmp, CMEM_PROJECT="big  thing")


@case(SAME, "folders of a sub-project")
def parts(tmp: Path) -> Iterator[Place]:
    api = part(repository(tmp / "mono") / "services" / "api", 'project = "API"\n')
    (api / "src").mkdir()
    yield at(api)
    yield at(api / "src")
    yield at(part(tmp / "mono" / "clients" / "api", '# comment\nproject = "api" # same\n'))


@case(SAME, "sub-project in a removed worktree")
def part_in_worktree(tmp: Path) -> Iterator[Place]:
    work = repository(tmp / "mono")
    part(work / "api", 'project = "api"\n')
    git(work, "add", ".")
    git(work, "commit", "-q", "-m", "two")
    git(work, "worktree", "add", "-q", str(tmp / "tree"), "-b", "side")
    yield at(tmp / "tree" / "api")
    git(work, "worktree", "remove", str(tmp / "tree"))
    yield at(work / "api")


@case(SAME, "sub-project in another clone")
def part_in_clone(tmp: Path) -> Iterator[Place]:
    for name, remote in (("one", "git@example.org:t/mono"), ("two", "https://example.org/t/mono")):
        yield at(part(repository(tmp / name, remote) / "api", 'project = "api"\n'))


@case(SAME, "a .cmem.toml that says nothing of use")
def useless(tmp: Path) -> Iterator[Place]:
    work = repository(tmp / "calc")
    yield at(work)
    yield at(part(work / "a", "project = 7\n"))
    yield at(part(work / "b", "project = \n"))
    yield at(part(work / "c", 'project = " \\u0007 "\n'))
    (work / "d").mkdir()
    (work / "d" / ".cmem.toml").symlink_to(part(tmp / "e", 'project = "x"\n') / ".cmem.toml")
    yield at(work / "d")
    (work / "f").mkdir()
    os.mkfifo(work / "f" / ".cmem.toml")
    yield at(work / "f")


@case(SAME, "a .cmem.toml above the repository")
def above(tmp: Path) -> Iterator[Place]:
    work = repository(tmp / "in" / "calc")
    yield at(work)
    part(tmp / "in", 'project = "x"\n')
    yield at(work)


@case(SAME, "places that are no project")
def unsorted(tmp: Path) -> Iterator[Place]:
    user = tmp / "user"
    yield at(user)
    yield at(Path("/"))
    yield at(Path("/tmp"))
    yield at(part(tmp / "loose", 'project = "x"\n'))


# --- different projects --------------------------------------------------------------


@case(OTHER, "submodule")
def submodule(tmp: Path) -> Iterator[Place]:
    work = repository(tmp / "calc")
    git(work, "submodule", "add", "-q", str(repository(tmp / "lib")), "lib")
    yield at(work)
    yield at(work / "lib")


@case(OTHER, "nested repository")
def nested(tmp: Path) -> Iterator[Place]:
    work = repository(tmp / "calc")
    yield at(work)
    yield at(repository(work / "vendor" / "lib"))


@case(OTHER, "names that differ in case")
def in_another_case(tmp: Path) -> Iterator[Place]:
    yield at(repository(tmp / "src" / "Calc"))
    yield at(repository(tmp / "src" / "calc"))
    yield at(repository(tmp / "Src" / "calc"))


@case(OTHER, "same folder name")
def basename(tmp: Path) -> Iterator[Place]:
    yield at(repository(tmp / "a" / "api"))
    yield at(repository(tmp / "b" / "api"))


@case(OTHER, "renamed without a remote")
def renamed_alone(tmp: Path) -> Iterator[Place]:
    work = repository(tmp / "old")
    yield at(work)
    yield at(work.rename(tmp / "new"))


@case(OTHER, "CMEM_PROJECT and the repository")
def name_and_place(tmp: Path) -> Iterator[Place]:
    work = repository(tmp / "calc")
    yield at(work, CMEM_PROJECT="calc")
    yield at(work)


@case(OTHER, "a folder that claims another one's git directory")
def thief(tmp: Path) -> Iterator[Place]:
    work = repository(tmp / "calc")
    (tmp / "thief").mkdir()
    (tmp / "thief" / ".git").write_text(f"gitdir: {work}/.git\n")
    yield at(work)
    yield at(tmp / "thief")


@case(OTHER, "sub-projects and their repository")
def all_parts(tmp: Path) -> Iterator[Place]:
    work = repository(tmp / "mono", "https://example.org/t/mono")
    yield at(work)
    yield at(part(work / "api", 'project = "api"\n'))
    yield at(part(work / "web", 'project = "web"\n'))
    yield at(part(work / "api" / "inner", 'project = "inner"\n'))


@case(OTHER, "equal sub-projects of two repositories")
def equal_parts(tmp: Path) -> Iterator[Place]:
    yield at(part(repository(tmp / "one") / "api", 'project = "api"\n'))
    yield at(part(repository(tmp / "two") / "api", 'project = "api"\n'))


@case(OTHER, "a sub-project that spells another project's key")
def spelled(tmp: Path) -> Iterator[Place]:
    yield at(repository(tmp / "victim", "https://example.org/team/victim"))
    for number, text in enumerate(("example.org/team/victim", "unsorted", f"{tmp}/victim/.git")):
        yield at(part(repository(tmp / f"evil{number}"), f'project = "{text}"\n'))


def visit(home: Path, place: Place, session: str, prompt: str = "hello") -> None:
    cwd, env = place
    said = {"session_id": session, "prompt_id": "p", "cwd": str(cwd), "prompt": prompt}
    payload = {**said, "hook_event_name": "UserPromptSubmit"}
    assert run_hook(home, "UserPromptSubmit", payload_bytes(payload), **env).returncode == 0
