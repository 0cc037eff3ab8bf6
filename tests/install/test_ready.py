"""A data home made ready by whatever calls ``cmem hook``, and what then becomes of what waits."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hookrun import entries, fire, ready
from support import payload_bytes, run_cmem, run_json

from cmem import launcher, paths, settings
from cmem.hosts.wire import HOSTS
from cmem.install import ready as making

WORK = {"session_id": "s1", "cwd": "/src/calc"}
PROMPT = payload_bytes(WORK | {"prompt": "hello", "prompt_id": "p1"})


def _comes(what: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 30
    while not what() and time.monotonic() < deadline:
        time.sleep(0.1)
    return what()


@pytest.mark.parametrize("host", HOSTS)
def test_every_host_s_prompts_and_ends_make_the_launcher(home: Path, host: str) -> None:
    wire, env = HOSTS[host], settings.environment()
    asked = [event for event, kind in wire.kinds.items() if kind == "prompt"]
    for event in (*asked, *wire.always_drain):
        assert not making.is_missing(str(home), host, event, env=env)  # nothing is kept so far
    (home / "spool.db").touch()
    for event in (*asked, *wire.always_drain):
        assert making.is_missing(str(home), host, event, env=env)
        assert not making.is_missing(str(home), host, event, env={**env, "CMEM_DISABLE": "1"})
    for event in (one for one, kind in wire.kinds.items() if kind == "tool"):
        assert not making.is_missing(str(home), host, event, env=env)
    (home / "hook.py").touch()
    assert not any(making.is_missing(str(home), host, one, env=env) for one in asked)


def test_a_hook_by_hand_becomes_memory_without_an_install(home: Path) -> None:
    message = {"session_id": "s1", "cwd": "/src/calc", "prompt_id": "p1", "prompt": "hello"}
    for event in ("ChatMessage", "SessionIdle"):
        payload = payload_bytes(message | {"hook_event_name": event})
        assert run_cmem("hook", "opencode", event, stdin=payload).returncode == 0
    assert _comes(lambda: (home / "memory.db").exists() and not entries(home))
    assert run_json("status")["counts"]["prompts"] == 1


def test_an_interpreter_that_the_environment_names_goes_into_no_launcher(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = launcher.interpreter()
    # As PYTHONEXECUTABLE and __PYVENV_LAUNCHER__ do.
    monkeypatch.setattr(sys, "executable", "/bin/true")
    making.prepare(str(home))
    assert f"PYTHON = {real!r}" in (home / "hook.py").read_text()
    (home / "hook.py").unlink()
    given = (str(home), "claude-code", "Stop")
    assert making.is_missing(*given, env={})
    monkeypatch.setattr(paths, "interpreter", lambda: "")  # nobody can tell
    assert not making.is_missing(*given, env={})


def test_an_install_takes_in_what_waits_unless_that_is_off(home: Path) -> None:
    ready(home)
    fire(home, "UserPromptSubmit", PROMPT)
    assert run_cmem("install", "--yes", CMEM_AUTO_COMPRESS="0").returncode == 0
    (home / "config.toml").write_text("auto_compress = false\n", encoding="utf-8")
    assert run_cmem("install", "--yes").returncode == 0
    time.sleep(0.5)
    assert not (home / "compress.lock").exists() and len(entries(home)) == 1
    (home / "config.toml").unlink()
    assert json.loads(run_cmem("install", "--json").stdout)["changed"] is False
    assert _comes(lambda: (home / "memory.db").exists() and not entries(home))


def test_an_install_starts_nothing_where_nothing_waits(home: Path) -> None:
    assert run_cmem("install", "--yes").returncode == 0
    time.sleep(0.5)
    assert not os.path.exists(home / "compress.lock")
