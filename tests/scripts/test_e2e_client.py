"""`make e2e` where the client cannot be had, and what it reads of a session."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest
from support import ROOT

HOSTS = ("claude_code", "codex", "gemini_cli", "opencode")
NAME = "@anthropic-ai/claude-code"


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, with an empty place for clients and a PATH that has git alone."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    module = importlib.import_module("e2e_client")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "FOLDER", tmp_path / ".e2e")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    _program(tmp_path, "git", "exit 0")
    return module


def _host(name: str) -> ModuleType:
    return importlib.import_module(f"e2e_{name}")


def _program(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def _missing(client: ModuleType) -> str:
    with pytest.raises(client.MissingError) as caught:
        client.find_client(_host("claude_code").PACKAGE)
    return str(caught.value)


def test_without_npm_there_is_no_client(client: ModuleType) -> None:
    assert _missing(client) == "npm is not here, so @anthropic-ai/claude-code cannot be installed"


def test_without_git_there_is_no_run(client: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "bin/git").unlink()
    assert _missing(client) == "git is not here"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo no network >&2; echo more >&2; exit 1", "no network"),
        ("exit 0", "npm ended with 0 and brought no program for this platform"),
    ],
)
def test_an_npm_that_fails_is_quoted_and_leaves_nothing(
    client: ModuleType, tmp_path: Path, script: str, said: str
) -> None:
    _program(tmp_path, "npm", script)
    start = f"{_host('claude_code').PACKAGE} could not be installed: "
    assert _missing(client) == start + said
    assert list((tmp_path / ".e2e").iterdir()) == []


@pytest.mark.parametrize("name", HOSTS)
def test_what_is_missing_is_a_failure_unless_the_run_is_optional(
    name: str,
    client: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    host = _host(name)
    line = f"e2e: not run: npm is not here, so {host.PACKAGE.name} cannot be installed\n"
    for words, code in ((["--optional"], 0), ([], 1)):
        monkeypatch.setattr("sys.argv", ["e2e", *words])
        assert host.main() == code
        assert capsys.readouterr() == (line, "")


def test_the_guide_names_the_versions_that_are_driven(client: ModuleType) -> None:
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    for host in map(_host, HOSTS):
        assert f"\n| {host.CLIENT.title} | {host.PACKAGE.version} |" in guide


def test_make_drives_every_client_that_there_is_a_script_for() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    listed = makefile.partition("\nE2E_HOSTS = ")[2].partition("\n")[0].split()
    scripts = {f"e2e_{name.replace('-', '_')}.py" for name in listed}
    parts = {f"e2e_{name}.py" for name in ("client", "memory", "play", "scenes", "world")}
    assert scripts | parts == {path.name for path in (ROOT / "scripts").glob("e2e_*.py")}


def _package(client: ModuleType, version: str, *programs: str) -> None:
    """The client's package as npm would have left it."""
    modules = client.FOLDER / "claude-code" / "node_modules"
    (modules / NAME).mkdir(parents=True)
    (modules / NAME / "package.json").write_text(json.dumps({"version": version}), encoding="utf-8")
    for program in programs:
        path = modules / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\necho 1.2.3 '(made up)'\n", encoding="utf-8")
        path.chmod(0o755)


def test_a_client_that_is_there_is_not_fetched_again(client: ModuleType) -> None:
    package = client.Package("claude-code", NAME, "1.2.3", ("a-{}/none", "a-{}-*/bin/it"))
    program = f"a-{client._platform()}-musl/bin/it"
    _package(client, "1.2.3", program)
    assert client.find_client(package) == (
        str(client.FOLDER / "claude-code" / "node_modules" / program),
    )


@pytest.mark.parametrize(
    ("version", "wanted", "said"),
    [
        ("1.2.2", "1.2.2", "does not run here: it calls itself 1.2.3 (made up)"),
        ("1.2.4", "1.2.3", "cannot be installed"),
    ],
    ids=["another inside", "another package"],
)
def test_a_client_of_another_version_is_not_taken(
    client: ModuleType, version: str, wanted: str, said: str
) -> None:
    package = client.Package("claude-code", NAME, wanted, ("a/it",))
    _package(client, version, "a/it")
    with pytest.raises(client.MissingError) as caught:
        client.find_client(package)
    assert str(caught.value).endswith(said)


def test_a_program_for_node_is_started_by_node(client: ModuleType, tmp_path: Path) -> None:
    _program(tmp_path, "node", "echo 1.2.3")
    _package(client, "1.2.3", "a/it.js")
    package = client.Package("claude-code", NAME, "1.2.3", ("a/it.js",))
    script = str(client.FOLDER / "claude-code" / "node_modules" / "a" / "it.js")
    assert client.find_client(package) == (str(tmp_path / "bin" / "node"), script)


def test_a_line_that_a_killed_client_left_torn_is_not_read(
    client: ModuleType, tmp_path: Path
) -> None:
    path = tmp_path / "out"
    path.write_text('{"a": 1}\nnote\n{"b": 2}\n{"c"', encoding="utf-8")
    world = importlib.import_module("e2e_world")
    assert world.lines(path) == [{"a": 1}, {"b": 2}]


def test_a_session_counts_hooks_and_reads_texts(client: ModuleType) -> None:
    world, claude = importlib.import_module("e2e_world"), _host("claude_code")
    hook = {"subtype": "hook_response", "hook_event": "Stop"}
    result = {"type": "tool_result", "content": [{"type": "text", "text": "ran"}]}
    other = {"type": "tool_result", "content": "alone"}
    body = {
        "system": "be brief",
        "messages": [{"content": "hello"}, {"content": [result, other]}],
    }
    session = world.Session(0, [hook, {**hook, "hook_event": "Other"}, {}], [body], "")
    assert claude.hook_runs(session, "Stop") == 1
    assert session.told() == "be brief\nhello\ntool_result\ntext\nran\ntool_result\nalone"
    assert claude.results(session) == ["ran", "alone"]
    assert claude.results(session._replace(requests=[])) == []
