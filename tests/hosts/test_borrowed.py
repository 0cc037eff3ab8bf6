"""Events of hosts that run the hooks which were made for Claude Code."""

from __future__ import annotations

from pathlib import Path

import pytest
import recorded
from capturing import put, render
from support import FIXTURES, payload_bytes

from cmem import ingest
from cmem.hosts import borrowed
from cmem.hosts.wire import HOSTS
from cmem.ingest import Ingested
from cmem.model import Unreadable
from cmem.store import connection

HOST = "claude-code"
NOW = 1_800_000_000_000
OWN = sorted((FIXTURES / "hosts" / HOST).glob("*.json"))


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_all_that_claude_code_was_recorded_to_send_is_its_own(path: Path) -> None:
    document = recorded.payload(HOST, path.name)
    event = document["hook_event_name"]
    decoded = recorded.decode(HOST, event, payload_bytes(document))
    assert isinstance(decoded, Unreadable) == (event not in HOSTS[HOST].kinds)
    assert getattr(decoded, "reason", "") != borrowed.OTHERS


def test_copilots_session_is_not_taken_for_claude_codes(home: Path) -> None:
    events = recorded.session("copilot-cli")
    for event, at, document in events:
        put(home, event, document, at, host=HOST)
    conn = connection.open_writer(str(home), now=NOW)
    counted = ingest.ingest(str(home), conn, now=NOW)
    assert counted == Ingested(events=len(events), unreadable=len(events))
    assert render(conn) == "\n"
    conn.close()


@pytest.mark.parametrize("event", sorted(HOSTS[HOST].kinds))
def test_cursors_events_are_not_taken_for_claude_codes(event: str) -> None:
    document = {**recorded.payload("cursor", "beforeSubmitPrompt.json"), "session_id": "s"}
    decoded = recorded.decode(HOST, event, payload_bytes(document))
    assert isinstance(decoded, Unreadable)
    assert (decoded.origin.session, decoded.reason) == ("", borrowed.OTHERS)


@pytest.mark.parametrize("key", ["tool_result", "tool_output"])
def test_what_a_secret_file_holds_does_not_reach_the_disk_under_anothers_name(key: str) -> None:
    from cmem import intake

    document = {
        "session_id": "s",
        "tool_name": "Read",
        "tool_input": {"path": "/w/.env"},
        key: {"text": "COLOUR=blue horse"},
    }
    taken = intake.take(HOST, "PostToolUse", payload_bytes(document), captured_at=1)
    assert taken is not None
    assert b"horse" not in taken.payload


def test_a_time_in_what_claude_code_sends_changes_nothing() -> None:
    document = recorded.payload(HOST, "UserPromptSubmit.json")
    document["timestamp"] = "2026-11-30T03:50:20.000Z"
    decoded = recorded.decode(HOST, "UserPromptSubmit", payload_bytes(document))
    assert not isinstance(decoded, Unreadable)
