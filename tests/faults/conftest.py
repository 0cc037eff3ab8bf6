"""Homes in the states a hook may find them in."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest
from hookrun import ready
from support import payload_bytes
from sweeping import PRIVATE, SECRET, Way, remember, tool

from cmem import spool


def _put(home: Path, name: str, size: int) -> None:
    spool.append(
        str(home),
        eid=f"claude-code:old:t:{name}",
        host="claude-code",
        event="PostToolUse",
        session="old",
        captured_at=1_795_988_493_898,
        cwd="/nowhere",
        repo=("", "", "", ""),
        project_env="",
        digest="",
        window=False,
        payload=tool(name, tool_response="x" * size),
    )


@pytest.fixture
def way(request: pytest.FixtureRequest, tmp_path: Path) -> Way:
    """The way named by the parameter, its home laid out as a template."""
    name = request.param
    home = ready(tmp_path / "template")
    event, payload = "PostToolUse", tool("new")
    if name == "session start":
        remember(home)
        document = {"session_id": "new", "cwd": "/home/dev/project", "source": "startup"}
        event = "SessionStart"
        payload = payload_bytes({**document, "hook_event_name": event})
    elif name != "first event":
        for number in range(14 if name == "log to write back" else 2):
            _put(home, f"old{number}", 60_000 if name == "log to write back" else 100)
    if name == "secrets to cut":
        text = f"token {SECRET.decode()} <private>{PRIVATE.decode()}</private> end"
        payload = tool("new", tool_response={"stdout": text})
    if name == "too large for a row":
        payload = tool("new", tool_response={f"part{n}": f"{n}" * 65_000 for n in range(5)})
    if name == "spool of a newer version":
        conn = apsw.Connection(str(home / "spool.db"))
        conn.execute("PRAGMA user_version = 99")
        conn.close()
    return Way(name, home, event, payload)
