"""`make e2e` where the client cannot be had, and what it reads of a session."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest
from support import ROOT


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, with an empty place for the client and a PATH that has git alone."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    module = importlib.import_module("e2e_client")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "FOLDER", tmp_path / ".e2e")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    _program(tmp_path, "git", "exit 0")
    return module


def _program(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def _missing(client: ModuleType) -> str:
    with pytest.raises(client.MissingError) as caught:
        client.find_client()
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
    start = f"@anthropic-ai/claude-code {client.VERSION} could not be installed: "
    assert _missing(client) == start + said
    assert list((tmp_path / ".e2e").iterdir()) == []


def test_what_is_missing_is_a_failure_unless_the_run_is_optional(
    client: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main = importlib.import_module("e2e_claude_code").main
    line = "e2e: not run: npm is not here, so @anthropic-ai/claude-code cannot be installed\n"
    for words, code in ((["--optional"], 0), ([], 1)):
        monkeypatch.setattr("sys.argv", ["e2e", *words])
        assert main() == code
        assert capsys.readouterr() == (line, "")


def test_a_line_that_a_killed_client_left_torn_is_not_read(
    client: ModuleType, tmp_path: Path
) -> None:
    path = tmp_path / "out"
    path.write_text('{"a": 1}\nnote\n{"b": 2}\n{"c"', encoding="utf-8")
    assert client._lines(path) == [{"a": 1}, {"b": 2}]


def test_a_session_counts_hooks_and_reads_texts(client: ModuleType) -> None:
    hook = {"subtype": "hook_response", "hook_event": "Stop"}
    result = {"type": "tool_result", "content": [{"type": "text", "text": "ran"}]}
    body = {
        "system": "be brief",
        "messages": [
            {"role": "user", "content": "hello"},
            {"role": "user", "content": [result]},
        ],
    }
    session = client.Session(0, [hook, {**hook, "hook_event": "Other"}, {}], [body], "")
    assert session.hook_runs("Stop") == 1
    assert session.told() == "be brief\nhello\nran"
    assert session.results() == ["ran"]
