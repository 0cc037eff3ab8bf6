"""The installed hook commands, run as the host runs them, on every recorded session."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import SESSIONS, clean_env, payload_bytes, run_cmem, run_json, session


@pytest.fixture
def commands(tmp_path: Path) -> dict[str, str]:
    """event → command line, as ``cmem install`` wrote it into a fresh settings.json."""
    config = tmp_path / "claude"
    done = run_cmem("install", "--yes", CLAUDE_CONFIG_DIR=str(config))
    assert done.returncode == 0, done.stderr
    settings = json.loads((config / "settings.json").read_text(encoding="utf-8"))
    return {event: groups[0]["hooks"][0]["command"] for event, groups in settings["hooks"].items()}


def run_installed(command: str, payload: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["sh", "-c", command],
        input=payload,
        env=clean_env(CMEM_AUTO_COMPRESS="0"),
        cwd=os.environ["HOME"],
        capture_output=True,
        timeout=30,
        check=False,
    )


def check_output(event: str, done: subprocess.CompletedProcess[bytes]) -> None:
    assert (done.returncode, done.stderr) == (0, b"")
    if event != "SessionStart":
        assert done.stdout == b""
    elif done.stdout:
        document = json.loads(done.stdout)
        assert set(document) <= {"hookSpecificOutput", "systemMessage"}


@pytest.mark.parametrize("name", SESSIONS)
def test_every_event_is_ingested_once_though_every_hook_ran_twice(
    name: str, commands: dict[str, str]
) -> None:
    events = session(name)
    for event, _at, payload in events:
        for _ in range(2):
            check_output(event, run_installed(commands[event], payload_bytes(payload)))
    assert run_json("compress")["ingested"] == len(events)
    for event, _at, payload in events:
        check_output(event, run_installed(commands[event], payload_bytes(payload)))
    assert run_json("compress")["ingested"] in (0, len(recurring(events)))


def recurring(events: list[tuple[str, int, dict[str, Any]]]) -> list[str]:
    """Events that may truly happen again with equal bytes once ten seconds have passed."""
    return [
        event
        for event, _at, payload in events
        if event in ("SessionEnd", "PreCompact")
        or (event == "SessionStart" and payload.get("source") in ("resume", "compact"))
    ]


def test_all_sessions_together_become_memory_that_can_be_found(commands: dict[str, str]) -> None:
    total = 0
    for name in SESSIONS:
        for event, _at, payload in session(name):
            check_output(event, run_installed(commands[event], payload_bytes(payload)))
            total += 1
    report = run_json("compress", "--all")
    assert report["ingested"] <= total
    assert (report["pending"], report["parked"], report["calls"]) == (0, 0, 0)
    assert report["observations"] >= 10
    hits = run_json("search", "subtract", "--all-projects")["hits"]
    assert {hit["kind"] for hit in hits} >= {"observation", "tool_use"}
    status = run_json("status")
    assert status["spool"] == {"pending": 0, "spilled": 0, "dropped": 0}
    assert status["work"]["pending"] == 0
