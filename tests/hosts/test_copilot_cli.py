from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from capturing import put, render
from recorded import REPO, decode, decode_dict, folder, payload
from support import payload_bytes

from cmem import ingest
from cmem.hosts.wire import HOSTS
from cmem.ingest import Ingested
from cmem.model import (
    CompactStarted,
    Event,
    Origin,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    SubagentEnded,
    ToolUsed,
    TurnEnded,
)
from cmem.store import connection

HOST = "copilot-cli"
NOW = 1_800_000_000_000


def decode_recorded(name: str) -> Event:
    document = payload(HOST, name)
    return decode(HOST, document["hook_event_name"], payload_bytes(document))


def tool(event: str = "PostToolUse", **fields: object) -> ToolUsed:
    found = decode_dict(HOST, event, **{"tool_name": "Bash", **fields})
    assert isinstance(found, ToolUsed)
    return found


@pytest.fixture
def conn(home: Path) -> Iterator[apsw.Connection]:
    store = connection.open_writer(str(home), now=NOW)
    yield store
    store.close()


def recorded_session(name: str) -> list[tuple[str, int, dict[str, Any]]]:
    lines = (folder(HOST) / name).read_text(encoding="utf-8").split("\n")
    rows = [json.loads(line) for line in lines if line]
    return [
        (row["event"], int(row["t"] * 1000), row["stdin"])
        for row in rows
        if row["event"] in HOSTS[HOST].kinds
    ]


def test_a_prompt_is_what_the_user_typed() -> None:
    assert decode_recorded("UserPromptSubmit.json") == PromptSubmitted(
        Origin(
            eid="e",
            host=HOST,
            event="UserPromptSubmit",
            session="a9e01ff7-9119-4630-b658-10f5ac04f2ae",
            at=5,
            cwd="/home/dev/project",
            repo=REPO,
            project_env="",
            prompt_id="",
            agent_id="",
            agent_type="",
        ),
        "Fix subtract in calc.py",
        "user",
        private=False,
    )


@pytest.mark.parametrize(
    ("name", "source"), [("SessionStart.json", "startup"), ("SessionStart-resume.json", "resume")]
)
def test_a_session_begins_or_goes_on(name: str, source: str) -> None:
    event = decode_recorded(name)
    assert isinstance(event, SessionStarted)
    assert event.source == source


def test_the_ends_of_a_turn_and_of_a_session() -> None:
    event = decode_recorded("Stop.json")
    assert isinstance(event, TurnEnded)
    assert (event.message, event.outcome, event.error) == ("", "stop", "")
    event = decode_recorded("SessionEnd.json")
    assert isinstance(event, SessionEnded)
    assert event.reason == "complete"
    event = decode_dict(HOST, "PreCompact", trigger="manual", custom_instructions="")
    assert isinstance(event, CompactStarted)
    assert event.trigger == "manual"


@pytest.mark.parametrize(
    ("text", "outcome", "kept"),
    [
        ("no\n<shellId: 1 completed with exit code 3>", "failed", "Exit code 3\nno"),
        ("<shellId: bg1 completed with exit code -9>", "failed", "Exit code -9\n"),
        ("x\n<shellId: 0 completed with exit code 1>\n", "failed", "Exit code 1\nx"),
        ("x\n<shellId: 0 completed with exit code 0>", "ok", "x"),
        ("<shellId: 0 completed with exit code 3>\nit says", "ok", None),
        ("<command started in background with shellId: bg1>", "ok", None),
        ("", "ok", None),
    ],
)
def test_a_failed_command_is_told_by_how_its_answer_ends(
    text: str, outcome: str, kept: str | None
) -> None:
    event = tool(tool_result={"result_type": "success", "text_result_for_llm": text})
    found = json.loads(event.tool_response)
    assert (event.outcome, found) == (outcome, text if kept is None else kept)


def test_a_failed_tool_says_why() -> None:
    event = decode_recorded("PostToolUseFailure-Edit.json")
    assert isinstance(event, ToolUsed)
    assert (event.tool_name, event.outcome, json.loads(event.tool_response)) == (
        "Edit",
        "failed",
        {"error": "No match found"},
    )


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("Bash", "Bash"),
        ("read_bash", "read_bash"),
        ("notes-add_note", "mcp__notes-add_note"),
        ("github-mcp-server-list_issues", "mcp__github-mcp-server-list_issues"),
    ],
)
def test_tools_of_outside_servers_are_named_as_such(sent: str, kept: str) -> None:
    assert tool(tool_name=sent).tool_name == kept


@pytest.mark.parametrize("result", [None, 5, ["parts"], {"binary": 1}, {"text_result_for_llm": 5}])
def test_a_result_of_another_shape_is_kept_as_it_is(result: object) -> None:
    event = tool(tool_result=result)
    assert (event.outcome, json.loads(event.tool_response)) == ("ok", result)


def test_a_subagents_work_belongs_to_the_session_that_started_it(
    home: Path, conn: apsw.Connection
) -> None:
    events = recorded_session("session-subagent.jsonl")
    for event, at, document in events:
        put(home, event, document, at, host=HOST)
    assert ingest.ingest(str(home), conn, now=NOW) == Ingested(events=len(events))
    (line, *rest) = render(conn).rstrip("\n").split("\n")
    assert line.split(" ")[:4] == ["session", "N1", "e4a6cbb5", "completed"]
    assert [one[6:].partition(" ")[2] for one in rest[1:-2]] == [
        'prompt 1 user "Delegate"',
        "tool Bash ok local P1 by general-purpose "
        r'"{\"command\":\"echo in-sub\",\"description\":\"x\"}" -> "\"in-sub\""',
        r'tool SubagentStop ok local P1 by general-purpose "{}" -> "\"Main final.\""',
        r'tool Agent ok local P1 "{\"description\":\"find it\",\"prompt\":\"SUBTASK find it\",'
        r'\"agent_type\":\"general-purpos…nder\",\"mode\":\"sync\"}" -> "\"Main final.\""',
    ]


def test_what_a_subagent_is_told_and_how_it_stops_are_nothing_of_the_users() -> None:
    inside = {"session_id": "a", "agent_id": "a", "agent_type": "t", "parent_agent_id": "s"}
    for event in ("UserPromptSubmit", "Stop"):
        found = decode_dict(HOST, event, prompt="do", **inside)
        assert isinstance(found, SubagentEnded)
        assert (found.origin.session, found.origin.agent_type, found.message) == ("s", "", "")


def test_a_subagent_without_a_known_parent_keeps_its_own_session() -> None:
    found = tool(session_id="a", agent_id="a", agent_type="t")
    assert (found.origin.session, found.origin.agent_id) == ("a", "a")


def test_calls_without_ids_are_told_apart_by_their_time(home: Path, conn: apsw.Connection) -> None:
    call = payload(HOST, "PostToolUse-Read.json")
    later = {**call, "timestamp": "2026-11-30T03:50:20.000Z"}
    for at, one in enumerate([call, call, later]):
        put(home, "PostToolUse", one, at, host=HOST)
    ingest.ingest(str(home), conn, now=NOW)
    ids = [row[0] for row in conn.execute("SELECT tool_use_id FROM tool_uses")]
    assert len(set(ids)) == len(ids) == 2
