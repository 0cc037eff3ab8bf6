"""Reading git's files, against real repositories."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cmem.repo import normalise_remote, read_remote, read_repo

NOWHERE = ("", "", "", "")


def git(where: Path, *args: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    options = ["-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always"]
    done = subprocess.run(
        ["git", *identity, *options, *args], cwd=where, capture_output=True, check=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    path = tmp_path / "work"
    path.mkdir()
    git(path, "init", "-q")
    git(path, "commit", "-q", "--allow-empty", "-m", "one")
    return path


def test_plain_repository_from_a_folder_inside_and_through_a_link(
    work: Path, tmp_path: Path
) -> None:
    (work / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to(work)
    expected = (str(work), str(work / ".git"), "main", git(work, "rev-parse", "HEAD"))
    for place in (work, work / "a" / "b", tmp_path / "link" / "a", work / "not" / "yet"):
        assert read_repo(str(place)) == expected


def test_packed_refs_detached_head_and_branch_without_commit(work: Path) -> None:
    commit = git(work, "rev-parse", "HEAD")
    git(work, "checkout", "-q", "-b", "feature/é x".replace(" ", "-"))
    git(work, "pack-refs", "--all")
    assert read_repo(str(work))[2:] == ("feature/é-x", commit)
    git(work, "checkout", "-q", "--detach")
    assert read_repo(str(work))[2:] == ("", commit)
    git(work, "checkout", "-q", "--orphan", "empty")
    assert read_repo(str(work))[2:] == ("empty", "")


def test_worktree_shares_the_common_directory(work: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    git(work, "worktree", "add", "-q", str(tree), "-b", "side")
    commit = git(work, "rev-parse", "HEAD")
    assert read_repo(str(tree)) == (str(tree), str(work / ".git"), "side", commit)


def test_submodule_is_a_repository_of_its_own(work: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "submodule", "add", "-q", str(work), "sub")
    root, common, branch, _ = read_repo(str(outer / "sub"))
    assert (root, common) == (str(outer / "sub"), str(outer / ".git" / "modules" / "sub"))
    assert branch == "main"


def test_git_file_that_is_not_confirmed_names_nothing(work: Path, tmp_path: Path) -> None:
    git(work, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "side")
    thief = tmp_path / "thief"
    thief.mkdir()
    for target in (work / ".git", work / ".git" / "worktrees" / "tree", tmp_path / "nowhere"):
        (thief / ".git").write_text(f"gitdir: {target}\n")
        assert read_repo(str(thief)) == NOWHERE
    (thief / ".git").unlink()
    (thief / ".git").symlink_to(work / ".git")
    assert read_repo(str(thief)) == NOWHERE


@pytest.mark.parametrize("cwd", ["", "relative", "/nowhere/at/all", "/a\0b", "/" + "x" * 5000])
def test_no_repository(cwd: str) -> None:
    assert read_repo(cwd) == NOWHERE


def test_pipes_and_rubbish_in_git_files_are_not_waited_for(tmp_path: Path) -> None:
    place = tmp_path / "odd"
    (place / ".git").mkdir(parents=True)
    assert read_repo(str(place)) == NOWHERE
    subprocess.run(["mkfifo", str(place / ".git" / "HEAD")], check=True)
    assert read_repo(str(place)) == NOWHERE
    (place / ".git" / "HEAD").unlink()
    (place / ".git" / "HEAD").write_bytes(b"ref: ../../../etc/passwd\xff\n")
    assert read_repo(str(place)) == (str(place), str(place / ".git"), "", "")


REMOTES = [
    ("https://github.com/Acme/Tool.git", "github.com/Acme/Tool"),
    ("https://user:pw@GitHub.com/Acme/Tool/", "github.com/Acme/Tool"),
    ("git@github.com:Acme/Tool.git", "github.com/Acme/Tool"),
    ("github.com:Acme/Tool", "github.com/Acme/Tool"),
    ("ssh://git@github.com/Acme/Tool", "github.com/Acme/Tool"),
    ("ssh://git@github.com:2222/Acme/Tool.git/", "github.com/Acme/Tool"),
    ("git://github.com/Acme/Tool.git", "github.com/Acme/Tool"),
    ("https://example.org:443/a/b", "example.org/a/b"),
    ("http://localhost:3000/a/b.git", "localhost:3000/a/b"),
    ("https://example.org/a/b?x=1", "example.org/a/b"),
    ("/srv/git/tool.git", ""),
    ("../tool.git", ""),
    ("C:\\git\\tool", ""),
    ("file:///srv/git/tool.git", ""),
    ("https://example.org", ""),
    ("", ""),
]


@pytest.mark.parametrize(("url", "expected"), REMOTES, ids=[url or "empty" for url, _ in REMOTES])
def test_spellings_of_a_remote(url: str, expected: str) -> None:
    assert normalise_remote(url) == expected
    assert normalise_remote(f"https://{expected}") == expected or not expected


def test_origin_goes_before_other_remotes(work: Path) -> None:
    common = str(work / ".git")
    assert read_remote(common) == ""
    git(work, "remote", "add", "fork", "git@example.org:me/tool.git")
    assert read_remote(common) == "example.org/me/tool"
    git(work, "remote", "add", "origin", "https://example.org/us/tool.git")
    assert read_remote(common) == "example.org/us/tool"
    assert read_remote(str(work / "no")) == ""


def test_config_with_comments_quotes_and_one_line_sections(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(
        '# c\n; c\n[core] bare = false\n[Remote "origin"] url = "https://example.org/a/b" # c\n'
    )
    assert read_remote(str(tmp_path)) == "example.org/a/b"
