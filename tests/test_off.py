"""Off where a person says so: nothing is stored, nothing is shown, nothing is left behind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hookrun
import pytest
import samples
from places import git, repository
from support import ROOT, clean_env, payload_bytes, run_cmem, run_hook, run_json

from cmem import globbing, launcher, off, spooled
from cmem import switch as turning
from cmem.cli import app
from cmem.errors import CmemError

SESSION = "5f7d2c1a-0000-4000-8000-00000000000a"


def prompt(cwd: Path | str, session: str = SESSION) -> bytes:
    return payload_bytes(
        {
            "session_id": session,
            "hook_event_name": "UserPromptSubmit",
            "prompt_id": "p1",
            "cwd": str(cwd),
            "prompt": "hello",
        }
    )


def start(cwd: Path | str) -> bytes:
    head = {"session_id": SESSION, "hook_event_name": "SessionStart", "source": "startup"}
    return payload_bytes({**head, "cwd": str(cwd)})


@pytest.fixture
def work(tmp_path: Path, home: Path) -> Path:
    """A repository of which the store remembers something."""
    place = repository(tmp_path / "in" / "calc")
    (place / "src").mkdir()
    conn = samples.calc(home, str(place))
    alias = {"kind": "git", "alias": f"{place}/.git", "project_id": 1}
    samples.insert(conn, "project_aliases", **alias, created_at=samples.NOON)
    conn.close()
    return place


def left(home: Path) -> dict[str, bytes]:
    """What lies in the home, the store and its companions apart."""
    files = [path for path in home.rglob("*") if path.is_file()]
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in files
        if not path.name.startswith("memory.db")
    }


def mark(folder: Path) -> None:
    (folder / ".cmem-off").touch()


def config(home: Path, text: str) -> None:
    (home / "config.toml").write_text(text)


WAYS: dict[str, Callable[[Path, Path], Any]] = {
    "everywhere": lambda home, _work: (home / "off").touch(),
    "session": lambda home, _work: (home / "off-sessions").write_text(f"other\n{SESSION}\n"),
    "the folder": lambda _home, work: mark(work / "src"),
    "the repository": lambda _home, work: mark(work),
    "a folder above": lambda _home, work: mark(work.parent),
    "a link as the marker": lambda _home, work: (work / ".cmem-off").symlink_to("nowhere"),
    "a glob": lambda home, work: config(home, f'exclude = "/x:{work.parent}/*"\n'),
    "a name": lambda home, _work: config(home, "# mine\nexclude = 'c?lc' # this\n"),
    "a glob beside a mistake": lambda home, _: config(home, 'model = \n exclude = "calc"\r\n'),
}
# What a person has said cannot be read: the careful way is taken, said and counted.
DOUBTS: dict[str, Callable[[Path], Any]] = {
    "a list": lambda home: config(home, 'exclude = ["calc"]\n'),
    "large": lambda home: config(home, "#" + "x" * 70_000 + '\nexclude = "calc"\n'),
    "utf-16": lambda home: (home / "config.toml").write_text('exclude = "x"\n', "utf-16"),
    "a folder": lambda home: (home / "config.toml").mkdir(),
    "sessions in utf-16": lambda home: (home / "off-sessions").write_text("other\n", "utf-16"),
    "a folder for sessions": lambda home: (home / "off-sessions").mkdir(),
}


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_stored_shown_or_left(home: Path, work: Path, way: str) -> None:
    WAYS[way](home, work)
    before = left(home)
    for event, payload in (
        ("SessionStart", start(work / "src")),
        ("UserPromptSubmit", prompt(work / "src")),
    ):
        assert hookrun.silent(run_hook(home, event, payload))
    assert left(home) == before


def test_what_is_not_off_is_stored_and_shown(home: Path, work: Path, tmp_path: Path) -> None:
    mark(repository(tmp_path / "in" / "other"))
    mark(work / "src")
    (home / "off-sessions").write_text("another\n")
    config(home, 'exclude = "alc:calc2:/in/*:~/calc"\n')
    assert b"Fixed subtract" in run_hook(home, "SessionStart", start(work)).stdout
    assert spooled.counts(str(home)) == (1, 0, 0)


def test_the_environment_can_only_exclude_more(home: Path, work: Path) -> None:
    config(home, 'exclude = "calc"\n')
    assert hookrun.silent(run_hook(home, "SessionStart", start(work), CMEM_EXCLUDE="nothing"))
    config(home, "")
    assert hookrun.silent(run_hook(home, "SessionStart", start(work), CMEM_EXCLUDE="calc"))
    assert spooled.counts(str(home)) == (0, 0, 0)


def test_a_marker_of_the_main_folder_holds_for_its_worktrees(
    home: Path, work: Path, tmp_path: Path
) -> None:
    git(work, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "side")
    mark(work)
    run_hook(home, "UserPromptSubmit", prompt(tmp_path / "tree"))
    assert spooled.counts(str(home)) == (0, 0, 0)


def test_a_marker_holds_through_a_link(home: Path, work: Path, tmp_path: Path) -> None:
    (tmp_path / "short").symlink_to(work / "src")
    mark(work)
    run_hook(home, "UserPromptSubmit", prompt(tmp_path / "short"))
    assert spooled.counts(str(home)) == (0, 0, 0)


@pytest.mark.parametrize("way", DOUBTS)
def test_what_cannot_be_read_counts_as_off_and_is_said(home: Path, work: Path, way: str) -> None:
    DOUBTS[way](home)
    done = run_hook(home, "SessionStart", start(work / "src"))
    (message,) = json.loads(done.stdout).items()
    name = "off-sessions" if "sessions" in way else "exclude in config.toml"
    assert message[0] == "systemMessage"
    assert message[1].startswith(f"cmem: memory is off everywhere, because {name}")
    assert (done.returncode, done.stderr) == (0, b"")
    assert hookrun.silent(run_hook(home, "UserPromptSubmit", prompt(work / "src")))
    assert spooled.counts(str(home)) == (0, 0, 2)
    assert not (home / "spool.db").exists()
    assert b"calc" not in (home / "hook.log").read_bytes()
    shown = run_cmem("status", "--json", cwd=work)
    assert shown.returncode == 1
    assert json.loads(shown.stdout)["health"].startswith(f"off everywhere, because {name}")


@pytest.mark.parametrize("raw", [b"{not json", b'{"cwd":"/a\\u0000b"}', b'{"cwd":7}'])
def test_without_a_folder_in_the_payload_the_hooks_own_counts(
    home: Path, work: Path, monkeypatch: pytest.MonkeyPatch, raw: bytes
) -> None:
    monkeypatch.chdir(work / "src")
    mark(work)
    run_hook(home, "UserPromptSubmit", raw)
    assert left(home) == {}
    (work / ".cmem-off").unlink()
    run_hook(home, "UserPromptSubmit", raw)
    assert spooled.counts(str(home)) == (1, 0, 0)


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_spilled_without_the_driver(home: Path, work: Path, way: str) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); sys.modules['apsw'] = None\n"
        "from cmem import hook; hook.main(sys.argv[1:])"
    )
    argv = [sys.executable, "-c", code, str(ROOT), "claude-code", "UserPromptSubmit", str(home)]

    def run() -> None:
        subprocess.run(argv, input=prompt(work / "src"), env=clean_env(), check=True)

    run()
    assert len(list((home / "spill").iterdir())) == 1
    WAYS[way](home, work)
    before = left(home)
    run()
    assert left(home) == before


@pytest.mark.parametrize("way", [name for name in WAYS if name != "session"])
def test_nothing_is_spilled_by_a_failure_before_the_folder_is_known(
    home: Path, work: Path, way: str
) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1))\n"
        "from cmem import hook, intake; intake.identify = None; hook.main(sys.argv[1:])"
    )
    argv = [sys.executable, "-c", code, str(ROOT), "claude-code", "UserPromptSubmit", str(home)]

    def run() -> None:
        payload = prompt(work / "src")
        subprocess.run(argv, input=payload, cwd=work / "src", env=clean_env(), check=True)

    run()
    assert len(list((home / "spill").iterdir())) == 1
    WAYS[way](home, work)
    before = left(home)
    run()
    assert left(home) == before


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_spilled_without_the_package(
    home: Path, work: Path, tmp_path: Path, way: str
) -> None:
    package = tmp_path / "lib"
    shutil.copytree(ROOT / "cmem", package / "cmem")
    text = launcher.render(package_dir=str(package), site_dirs=[], version="1")
    (home / "hook.py").write_text(text)
    shutil.rmtree(package)

    def run() -> None:
        argv = hookrun.argv(home, "UserPromptSubmit")
        subprocess.run(argv, input=prompt(work), cwd=work / "src", env=clean_env(), check=True)

    run()
    assert len(list((home / "spill").iterdir())) == 1
    WAYS[way](home, work)
    before = left(home)
    run()
    assert left(home) == before


def test_what_cannot_be_read_counts_without_the_package_too(home: Path, work: Path) -> None:
    text = launcher.render(package_dir=str(ROOT), site_dirs=[], version="1")
    start_of_paths = text.index("PATHS = ")
    rest = text[text.index("\n", start_of_paths) :]
    (home / "hook.py").write_text(text[:start_of_paths] + "PATHS = ()" + rest)
    config(home, 'exclude = ["calc"]\n')
    argv = hookrun.argv(home, "UserPromptSubmit")
    subprocess.run(argv, input=prompt(work), cwd=work, env=clean_env(), check=True)
    assert spooled.counts(str(home)) == (0, 0, 1)
    config(home, 'exclude = "calc"\n')
    subprocess.run(argv, input=prompt(work), cwd="/", env=clean_env(), check=True)
    config(home, "")
    (home / "hook.py").write_text((home / "hook.py").read_text().replace("#= GATES ", "#= G "))
    subprocess.run(argv, input=prompt(work), cwd="/", env=clean_env(), check=True)
    assert spooled.counts(str(home)) == (0, 0, 2)


def test_what_the_launcher_alone_could_not_know_is_asked_before_it_is_stored(
    home: Path, work: Path, tmp_path: Path
) -> None:
    git(work, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "side")
    text = launcher.render(package_dir=str(ROOT), site_dirs=[], version="1")
    start_of_paths = text.index("PATHS = ")
    rest = text[text.index("\n", start_of_paths) :]
    (home / "hook.py").write_text(text[:start_of_paths] + "PATHS = ()" + rest)
    argv = hookrun.argv(home, "UserPromptSubmit")
    for folder in (tmp_path / "tree", tmp_path):
        payload = prompt(folder)
        subprocess.run(argv, input=payload, cwd=folder, env=clean_env(), check=True)
    mark(work)
    assert spooled.counts(str(home)) == (0, 2, 0)
    assert run_json("compress")["ingested"] == 1
    assert spooled.counts(str(home)) == (0, 0, 0)


GLOBS = [
    ("/w/calc", "/w/calc", True),
    ("/w/calc/", "/w/calc/src/deep", True),
    ("/W/Calc", "/w/cALC", True),
    ("/w/*", "/w/calc", True),
    ("/w/*", "/w", False),
    ("/w/c*c", "/w/calc", True),
    ("/w/c*c", "/w/ca/lc", False),
    ("/w/c?lc", "/w/clc", False),
    ("/w/**/api", "/w/api", True),
    ("/w/**/api", "/w/a/b/api/c", True),
    ("/w/**/api", "/v/a/api", False),
    ("calc", "/deep/down/calc/src", True),
    ("calc", "/deep/down/calculator", False),
    ("down/calc", "/deep/down/calc/src", True),
    ("down/calc", "/deep/down/x/calc", False),
    ("~/private", "/home/ann/private/x", True),
    ("~/private", "/home/bob/private", False),
    ("/a : /w ", "/w/x", True),
    ("/a:/b", "/c", False),
    ("", "/c", False),
    (":: :", "/c", False),
    ("/", "/c", True),
    ("**", "/c", True),
    ("[x]", "/w/[x]", True),
    ("*" * 60 + "b", "/" + "a" * 200, False),
    ("**/" * 40 + "b", "/a" * 100, False),
]


@pytest.mark.parametrize(
    ("globs", "folder", "hit"), GLOBS, ids=[f"{g[:9]} {f[:9]}" for g, f, _ in GLOBS]
)
def test_globs(globs: str, folder: str, *, hit: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    assert bool(globbing.excluded_by(globs, off.places(folder))) is hit


def test_odd_folders_are_no_trouble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for odd in ("", "relative", "/a\0b", "/x" * 5000, "/\udcff", "/" + "y" * 400):
        assert off.reason(str(tmp_path), cwd=odd) == ""
    mark(tmp_path)
    for odd in ("", "relative", "/a\0b", "/x" * 5000):
        assert off.reason(str(tmp_path), cwd=odd) != ""


# --- the commands --------------------------------------------------------------------


def switch(*args: str, cwd: Path) -> str:
    done = run_cmem(*args, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, b""), done
    return done.stdout.decode()


def test_off_here_and_on_again(home: Path, work: Path) -> None:
    assert switch("off", cwd=work / "src") == (
        f"Memory is off in {work} and below.\n`cmem on --here` turns it on again.\n"
    )
    assert (work / ".cmem-off").is_file()
    status = run_json("status", cwd=work / "src")
    told = f"off by {work}/.cmem-off; `cmem on --here` or deleting it turns it on"
    assert (status["off"], status["health"]) == (told, told)
    assert run_json("off", "--here", cwd=work) == {
        "scope": "here",
        "what": f"in {work} and below",
        "changed": False,
        "off": told,
    }
    assert switch("on", cwd=work / "src") == f"Memory is on in {work} and below.\n"
    assert not (work / ".cmem-off").exists()
    assert run_json("status", cwd=work)["off"] is None
    assert switch("on", cwd=work) == f"Memory is already on in {work} and below.\n"
    assert run_cmem("off", "--here", "--global", cwd=work).returncode == 2
    assert not (home / "off").exists()


def test_off_in_a_folder_whose_name_is_no_utf8(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, told = tmp_path / os.fsdecode(b"caf\xe9"), f"{tmp_path}/caf\ufffd"
    below = folder / "src"
    below.mkdir(parents=True)
    assert turning.project_folder(str(below), {}) == str(below)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "one")
    assert switch("off", cwd=below).startswith(f"Memory is off in {told} and below.\n")
    assert (folder / ".cmem-off").is_file()
    # A host cannot tell such a name.
    monkeypatch.chdir(below)
    why = f"off by {told}/.cmem-off; `cmem on --here` or deleting it turns it on"
    assert off.reason(str(home), cwd=f"{told}/src") == why
    run_hook(home, "UserPromptSubmit", prompt(f"{told}/src"))
    assert spooled.counts(str(home)) == (0, 0, 0)
    assert switch("on", cwd=below).startswith("Memory is on in ")
    assert off.reason(str(home), cwd=f"{told}/src") == ""


def test_off_where_the_folder_is_gone_is_no_success(tmp_path: Path) -> None:
    with pytest.raises(CmemError, match=r"could not write .*: no such file or directory"):
        turning.in_folder(str(tmp_path / "gone"), on=False)


def test_off_in_a_worktree_is_off_for_the_project(work: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    git(work, "worktree", "add", "-q", str(tree), "-b", "side")
    switch("off", cwd=tree)
    assert (work / ".cmem-off").is_file()
    assert run_json("status", cwd=tree)["off"] is not None


def test_off_in_a_sub_project_is_off_there_only(work: Path) -> None:
    (work / "api" / "src").mkdir(parents=True)
    (work / "api" / ".cmem.toml").write_text('project = "api"\n')
    switch("off", cwd=work / "api" / "src")
    assert (work / "api" / ".cmem-off").is_file()
    assert run_json("status", cwd=work)["off"] is None


def test_off_everywhere(home: Path, work: Path, tmp_path: Path) -> None:
    switch("off", "--global", cwd=work)
    assert (home / "off").stat().st_mode & 0o777 == 0o600
    assert "everywhere" in run_json("status", cwd=tmp_path)["off"]
    mark(work)
    assert switch("on", "--global", cwd=work) == (
        "Memory is on everywhere.\n"
        f"Still off by {work}/.cmem-off; `cmem on --here` or deleting it turns it on.\n"
    )
    assert not (home / "off").exists()


def test_off_for_a_session_by_either_id(home: Path, work: Path) -> None:
    known = "5f7d2c1a-0000-4000-8000-000000000001"
    assert switch("off", "--session", "N1", cwd=work) == (
        f"Memory is off for session {known}.\n`cmem on --session {known}` turns it on again.\n"
    )
    switch("off", "--session", "not met yet", cwd=work)
    assert (home / "off-sessions").stat().st_mode & 0o777 == 0o600
    status = run_json("status", cwd=work)
    assert status["off"] is None
    assert status["off_sessions"][0] == known and len(status["off_sessions"]) == 2
    run_hook(home, "UserPromptSubmit", prompt(work, known))
    run_hook(home, "UserPromptSubmit", prompt(work, "not met yet"))
    assert spooled.counts(str(home)) == (0, 0, 0)
    switch("on", "--session", known, cwd=work)
    run_hook(home, "UserPromptSubmit", prompt(work, known))
    assert spooled.counts(str(home)) == (1, 0, 0)
    done = run_cmem("off", "--session", "N99", cwd=work)
    said = b"cmem: no such session: N99; `cmem session list` shows which there are\n"
    assert (done.returncode, done.stderr) == (1, said)


def test_where_it_cannot_be_written(home: Path, work: Path) -> None:
    (work / ".cmem-off").mkdir()
    done = run_cmem("on", cwd=work)
    assert done.returncode == 1
    assert done.stderr.startswith(f"cmem: could not delete {work}/.cmem-off: ".encode())


def test_other_reasons_are_told(home: Path, work: Path) -> None:
    shown = run_json("status", cwd=work, CMEM_DISABLE="1")
    assert shown["off"] == "off by CMEM_DISABLE in this environment"
    config(home, 'exclude = "/nothing:calc"\n')
    assert run_json("status", cwd=work)["off"] == "excluded by calc (setting exclude)"
    lines = run_cmem("status", cwd=work).stdout.decode().split("\n")
    assert lines[0] == "health:        excluded by calc (setting exclude)"


def test_context_shows_what_a_session_would_get(work: Path) -> None:
    assert run_json("context", cwd=work)["text"] != ""
    mark(work)
    shown = run_json("context", cwd=work)
    assert (shown["text"], shown["tokens"], shown["items"]) == ("", 0, [])
    told = run_cmem("context", cwd=work).stdout.decode()
    assert told == f"off by {work}/.cmem-off; `cmem on --here` or deleting it turns it on\n"
    elsewhere = run_json("context", "--project", "calc", cwd=work)
    assert elsewhere["text"] != ""


def test_the_files_are_ours_to_purge(home: Path, work: Path) -> None:
    switch("off", "--global", cwd=work)
    switch("off", "--session", "x", cwd=work)
    from cmem.install import purge

    assert purge.purge(str(home)) == []
    assert not home.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["off", "--session"], "requires an argument, for example `cmem off --session N4`"),
        (["off", "--session", ""], "say which session: `cmem session list` shows them"),
        (["on", "--session="], "say which session: `cmem session list` shows them"),
        (["off", "--session", "--json"], "say which session: `cmem session list` shows them"),
    ],
)
def test_a_session_without_an_id_turns_nothing_off(
    home: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert app.run(words) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n"), said in err) == ("", 1, True), err
    assert list(home.iterdir()) == []
