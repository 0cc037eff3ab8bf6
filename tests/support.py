"""What tests share: the recorded sessions, and cmem as a real process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import commands

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = Path(__file__).resolve().parent / "fixtures"
CLAUDE_CODE = FIXTURES / "hosts" / "claude-code"
SESSIONS = sorted(path.name for path in CLAUDE_CODE.glob("session-*.jsonl"))
REGISTERED = (
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "StopFailure",
    "SubagentStop",
    "PreCompact",
    "SessionEnd",
)


def session(name: str) -> list[tuple[str, int, dict[str, Any]]]:
    """(event, recorded time in ms, payload) of a recorded session, registered events only."""
    lines = (CLAUDE_CODE / name).read_text(encoding="utf-8").split("\n")
    rows = [json.loads(line) for line in lines if line]
    return [
        (row["event"], int(row["t"] * 1000), row["stdin"])
        for row in rows
        if row["event"] in REGISTERED
    ]


def payload_bytes(payload: dict[str, Any]) -> bytes:
    """The payload as Claude Code sends it: one line of UTF-8 JSON and a newline."""
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass") + b"\n"


def clean_env(**changes: str) -> dict[str, str]:
    """The test's environment (its HOME and CMEM_HOME) without variables that steer Python."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "CLAUDE"))}
    env.update(changes)
    return env


def run_cmem(
    *args: str,
    cwd: Path | str | None = None,
    stdin: bytes = b"",
    timeout: float = 60,
    **env: str,
) -> subprocess.CompletedProcess[bytes]:
    """Run ``cmem ARGS`` in a process of its own, output captured (so: into a pipe)."""
    return commands.run(
        args,
        cwd=str(cwd or os.environ["HOME"]),
        env=clean_env(PYTHONPATH=str(ROOT), **env),
        stdin=stdin,
        timeout=timeout,
    )


def run_json(*args: str, cwd: Path | str | None = None, **env: str) -> Any:
    """Run ``cmem ARGS --json``, demand success, and return the document."""
    done = run_cmem(*args, "--json", cwd=cwd, **env)
    assert done.returncode == 0, (args, done.returncode, done.stdout, done.stderr)
    return json.loads(done.stdout)


def run_hook(
    home: Path, event: str, payload: bytes, **env: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the hook by hand: ``cmem.hook`` with its three arguments, as the launcher does."""
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from cmem import hook; hook.main(sys.argv[1:])"
    return subprocess.run(
        [sys.executable, "-c", code, str(ROOT), "claude-code", event, str(home)],
        env=clean_env(CMEM_AUTO_COMPRESS="0", **env),
        input=payload,
        capture_output=True,
        timeout=30,
        check=False,
    )
