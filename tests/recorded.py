"""The recorded payloads of hosts other than Claude Code, and their hooks as they are installed."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from support import FIXTURES, clean_env, payload_bytes, run_cmem

from cmem import hosts
from cmem.hosts.wire import HOSTS
from cmem.model import Entry, Event, Repo

OTHERS = ("codex", "gemini-cli", "opencode", "cursor", "copilot-cli")
SETTINGS = {
    "codex": ".codex/hooks.json",
    "gemini-cli": ".gemini/settings.json",
    "opencode": ".config/opencode/plugins/cmem.js",
    "cursor": ".cursor/hooks.json",
    "copilot-cli": ".copilot/hooks/cmem.json",
}
REPO = Repo("/home/dev/project", "/home/dev/project/.git", "main", "abc")


def folder(host: str) -> Path:
    return FIXTURES / "hosts" / host


def payload(host: str, name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder(host) / name).read_text(encoding="utf-8"))
    return document


def session(host: str) -> list[tuple[str, int, dict[str, Any]]]:
    """(event, recorded time in ms, payload) of the recorded session, captured events only."""
    lines = (folder(host) / "session-basic.jsonl").read_text(encoding="utf-8").split("\n")
    rows = [json.loads(line) for line in lines if line]
    return [
        (row["event"], int(row["t"] * 1000), row["stdin"])
        for row in rows
        if row["event"] in HOSTS[host].kinds
    ]


def decode(host: str, event: str, payload: bytes) -> Event:
    entry = Entry(
        id=1,
        eid="e",
        host=host,
        event=event,
        captured_at=5,
        cwd="/from/entry",
        repo=REPO,
        project_env="",
        payload=payload,
    )
    return hosts.DECODERS[host](entry)


def decode_dict(host: str, event: str, /, **fields: Any) -> Event:
    session = "conversation_id" if host == "cursor" else "session_id"
    return decode(host, event, payload_bytes({session: "s", "cwd": "/w", **fields}))


def installed(host: str) -> dict[str, str]:
    """Event → the command line of a fresh installation, as the host would run it under sh."""
    assert run_cmem("install", host, "--yes").returncode == 0
    text = Path(os.environ["HOME"], SETTINGS[host]).read_text(encoding="utf-8")
    if host == "opencode":
        line = re.search(r"^const LINE = (.*)$", text, re.MULTILINE)
        assert line is not None
        return {event: f"set -- {event}; {json.loads(line[1])}" for event in HOSTS[host].kinds}
    hooks = json.loads(text)["hooks"]
    if host in ("cursor", "copilot-cli"):
        named = [(event, entries[0]) for event, entries in hooks.items()]
        return {event: entry.get("command") or entry["bash"] for event, entry in named}
    return {event: groups[0]["hooks"][0]["command"] for event, groups in hooks.items()}


def fire(command: str, payload: dict[str, Any]) -> subprocess.CompletedProcess[bytes]:
    """Run the command with the payload on stdin; no drain is started."""
    return subprocess.run(
        ["/bin/sh", "-c", command],
        input=payload_bytes(payload),
        capture_output=True,
        timeout=30,
        check=False,
        cwd=os.environ["HOME"],
        env=clean_env(CMEM_AUTO_COMPRESS="0"),
    )
