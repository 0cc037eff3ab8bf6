"""What ``cmem status`` says of capture: whether events come, what waits, when the last one came."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hookrun import fire
from support import payload_bytes, run_cmem, run_json

from cmem.cli import output

WORK = {"session_id": "s1", "cwd": "/src/calc"}
NOBODY = "nothing is captured: no hook of cmem is registered; run `cmem install`"
STOPPED = "nothing is captured: {} (`cmem doctor` says what to do)"


@pytest.fixture
def settings(isolated_home: Path) -> Path:
    return isolated_home / ".claude" / "settings.json"


def _health() -> str:
    done = run_cmem("status", "--json")
    assert done.returncode == 0
    return str(json.loads(done.stdout)["health"])


def _captured(home: Path) -> None:
    fire(home, "UserPromptSubmit", payload_bytes(WORK | {"prompt": "hello", "prompt_id": "p1"}))
    assert run_cmem("compress").returncode == 0


def _switched(path: Path, **switches: Any) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(document | switches), encoding="utf-8")


def test_an_uninstall_is_told(home: Path) -> None:
    assert _health() == NOBODY
    run_cmem("install", "--yes")
    assert _health() == "nothing captured yet: start a session of your agent"
    _captured(home)
    assert _health() == "ok"
    run_cmem("uninstall")
    assert _health() == NOBODY
    assert run_json("status")["uncaptured"] == NOBODY


def test_a_switch_in_the_hosts_settings_is_told(home: Path, settings: Path) -> None:
    run_cmem("install", "--yes")
    _captured(home)
    _switched(settings, disableAllHooks=True)
    said = f"disableAllHooks in {settings} keeps all hooks from running"
    assert _health() == STOPPED.format(said)
    run_cmem("install", "codex", "--yes")
    assert _health() == f"ok ({said})"
    assert run_json("status")["uncaptured"] == said
    _switched(settings, disableAllHooks=False)
    assert _health() == "ok"


def test_settings_that_nobody_can_read_are_told(home: Path, settings: Path) -> None:
    run_cmem("install", "--yes")
    settings.write_text("{", encoding="utf-8")
    assert _health().startswith(f"nothing is captured: {settings} cannot be read: line 1: ")


def test_another_host_alone_is_enough_until_its_hooks_are_gone(
    home: Path, isolated_home: Path
) -> None:
    run_cmem("install", "codex", "--yes")
    _captured(home)
    assert _health() == "ok"
    path = isolated_home / ".codex" / "hooks.json"
    path.write_text("{}", encoding="utf-8")
    assert _health() == STOPPED.format(f"{path} does not name {home} any more")


@pytest.mark.parametrize("enabled", [True, False])
def test_the_plugin_counts_where_it_is_on(home: Path, settings: Path, enabled: bool) -> None:
    settings.parent.mkdir()
    settings.write_text(json.dumps({"enabledPlugins": {"cmem@cmem": enabled}}), encoding="utf-8")
    wanted = "nothing captured yet: start a session of your agent" if enabled else NOBODY
    assert _health() == wanted


def test_a_launcher_that_is_gone_is_told(home: Path) -> None:
    run_cmem("install", "--yes")
    (home / "hook.py").unlink()
    script = home / "hook.py"
    assert _health() == STOPPED.format(f"{script}, which the hooks start, is not there")


def test_hooks_that_may_stand_elsewhere_are_not_denied(home: Path, settings: Path) -> None:
    run_cmem("install", "--yes")
    settings.write_text("{}", encoding="utf-8")  # pasted into another project's, say
    assert _health() == (
        "no hook of cmem is registered, as far as can be seen from here: run `cmem install` if "
        "nothing arrives"
    )


def test_a_python_that_is_gone_is_told(settings: Path) -> None:
    run_cmem("install", "--yes")
    text = settings.read_text(encoding="utf-8")
    (line,) = {
        hook["command"].split("'")[1]
        for groups in json.loads(text)["hooks"].values()
        for group in groups
        for hook in group["hooks"]
    }
    settings.write_text(text.replace(f"'{line}'", "'/gone/python'"), encoding="utf-8")
    assert _health() == STOPPED.format("/gone/python, which the hooks start, is gone")


def test_hooks_of_another_data_home_are_told(tmp_path: Path, home: Path) -> None:
    run_cmem("install", "--yes", CMEM_HOME=str(tmp_path / "elsewhere"))
    said = f"hooks write to {tmp_path}/elsewhere, while this command reads {home}"
    assert _health() == STOPPED.format(said)


def test_a_project_that_has_the_hooks_counts_from_everywhere(tmp_path: Path, home: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    run_cmem("install", "--yes", "--scope", "project", cwd=project)
    assert _health() == "nothing captured yet: start a session of your agent"
    _switched(project / ".claude" / "settings.json", disableAllHooks=True)
    assert _health().startswith("nothing is captured: disableAllHooks in ")


def test_what_waits_is_told_with_its_time(home: Path) -> None:
    run_cmem("install", "--yes")
    before = time.time_ns() // 1_000_000
    for number in (1, 2):
        document = WORK | {"prompt": f"hello {number}", "prompt_id": f"p{number}"}
        fire(home, "UserPromptSubmit", payload_bytes(document))
    status = run_json("status")
    since, last = status["waiting_since"], status["last_captured_at"]
    assert before <= since < last <= time.time_ns() // 1_000_000
    at = output.when(since)
    said = f"2 events wait since {at}, and none is stored yet: `cmem compress` does it now"
    assert status["health"] == said
    lines = run_cmem("status").stdout.decode().splitlines()
    assert lines[3] == f"waiting:       2 pending, 0 spilled, 0 dropped (the oldest since {at})"
    assert f"last captured: {output.when(last)}" in lines
    run_cmem("compress")
    status = run_json("status")
    assert (status["health"], status["waiting_since"], status["last_captured_at"]) == (
        *("ok", None, last),
    )


def test_what_waits_as_a_file_is_told_too(home: Path) -> None:
    run_cmem("install", "--yes")
    (home / "spool.db").unlink()
    os.symlink("/nowhere", home / "spool.db")
    fire(home, "UserPromptSubmit", payload_bytes(WORK | {"prompt": "hello", "prompt_id": "p1"}))
    (home / "spool.db").unlink()
    status = run_json("status")
    assert status["spool"] == {"pending": 0, "spilled": 1, "dropped": 0}
    assert status["waiting_since"] == status["last_captured_at"] is not None
    assert status["health"].startswith("1 event waits since ")


def test_a_note_was_not_captured(home: Path) -> None:
    run_cmem("install", "--yes")
    assert run_cmem("note", "We use tabs.").returncode == 0
    status = run_json("status")
    assert (status["last_captured_at"], status["health"]) == (
        *(None, "nothing captured yet: start a session of your agent"),
    )
