from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from capturing import put
from recorded import REPO, decode, decode_dict, payload
from support import payload_bytes

from cmem import ingest, intake
from cmem.hosts.gemini_cli import without_injected
from cmem.model import Event, Origin, PromptSubmitted, SessionEnded, ToolUsed, TurnEnded
from cmem.store import connection

HOST = "gemini-cli"
NOW = 1_800_000_000_000
OPEN, CLOSE = "<hook_context>", "</hook_context>"


def decode_recorded(name: str) -> Event:
    document = payload(HOST, name)
    return decode(HOST, document["hook_event_name"], payload_bytes(document))


def tool(**fields: object) -> ToolUsed:
    event = decode_dict(HOST, "AfterTool", **{"tool_name": "run_shell_command", **fields})
    assert isinstance(event, ToolUsed)
    return event


@pytest.fixture
def conn(home: Path) -> Iterator[apsw.Connection]:
    store = connection.open_writer(str(home), now=NOW)
    yield store
    store.close()


def test_the_prompt_is_without_what_a_hook_had_injected() -> None:
    assert decode_recorded("BeforeAgent.json") == PromptSubmitted(
        Origin(
            eid="e",
            host=HOST,
            event="BeforeAgent",
            session="59fa63b4-8c3a-438e-b6d9-9270a931aa16",
            at=5,
            cwd="/home/dev/project",
            repo=REPO,
            project_env="",
            prompt_id="",
            agent_id="",
            agent_type="",
        ),
        "Do things",
        "user",
        private=False,
    )


@pytest.mark.parametrize(
    ("raw", "own"),
    [
        (f"{OPEN}a{CLOSE}\n\nwords", "words"),
        (f"{OPEN}a\nb{CLOSE}{OPEN}c{CLOSE} words {OPEN}d{CLOSE}\n", "words"),
        (f"what does {OPEN}x{CLOSE} mean?", f"what does {OPEN}x{CLOSE} mean?"),
        (f"{OPEN}never closed", f"{OPEN}never closed"),
        (f"{CLOSE}", f"{CLOSE}"),
        ("  words \n", "  words \n"),
        (f"{OPEN}a{CLOSE}", ""),
    ],
)
def test_only_blocks_around_the_words_go(raw: str, own: str) -> None:
    assert without_injected(raw) == own


def test_a_prompt_that_is_private_but_for_the_injected_block_is_private() -> None:
    secret = "<pri" + "vate>horse</pri" + "vate>"
    raw = payload_bytes({"session_id": "s", "prompt": f"{OPEN}memories{CLOSE}\n\n{secret}"})
    taken = intake.take(HOST, "BeforeAgent", raw, captured_at=1)
    assert taken is not None
    assert b"horse" not in taken.payload
    event = decode(HOST, "BeforeAgent", taken.payload)
    assert isinstance(event, PromptSubmitted)
    assert (event.text, event.private) == ("", True)


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("update_topic", "update_topic"),
        ("invoke_agent", "invoke_agent"),
        ("complete_task", "complete_task"),
        ("read_background_output", "read_background_output"),
        ("tracker_create_task", "tracker_create_task"),
        ("mcp_notes_add_note", "mcp__notes_add_note"),
        ("read_mcp_resource", "mcp__read_mcp_resource"),
        ("from_an_extension", "mcp__from_an_extension"),
    ],
)
def test_only_a_tool_that_is_not_its_own_is_an_outside_one(name: str, stored: str) -> None:
    assert tool(tool_name=name).tool_name == stored


@pytest.mark.parametrize(
    ("file", "name", "outcome"),
    [
        ("read_file", "read_file", "ok"),
        ("run_shell_command", "run_shell_command", "ok"),
        ("run_shell_command-failed", "run_shell_command", "failed"),
        ("write_file", "write_file", "ok"),
        ("replace", "replace", "ok"),
        ("update_topic", "update_topic", "ok"),
        ("mcp", "mcp__notes_add_note", "ok"),
        ("complete_task", "complete_task", "ok"),
        ("invoke_agent", "invoke_agent", "ok"),
    ],
)
def test_a_recorded_call_is_named_and_told_from_one_that_failed(
    file: str, name: str, outcome: str
) -> None:
    event = decode_recorded(f"AfterTool-{file}.json")
    assert isinstance(event, ToolUsed)
    assert (event.tool_name, event.outcome) == (name, outcome)
    assert "originalContent" not in event.tool_response


def test_the_answer_and_the_end() -> None:
    event = decode_recorded("AfterAgent.json")
    assert isinstance(event, TurnEnded)
    assert (event.message, event.outcome, event.error) == ("All done.", "stop", "")
    event = decode_recorded("SessionEnd.json")
    assert isinstance(event, SessionEnded)
    assert event.reason == "exit"


SHELL = "<untrusted_context>\nOutput: {out}\n{end}Process Group PGID: 27\n</untrusted_context>"


@pytest.mark.parametrize(
    ("response", "outcome"),
    [
        ({"llmContent": SHELL.format(out="x", end="Exit Code: 3\n")}, "failed"),
        ({"llmContent": SHELL.format(out="x", end="Exit Code: 1\nSignal: 15\n")}, "failed"),
        ({"llmContent": "Output: x\nExit Code: 127\n"}, "failed"),
        ({"llmContent": SHELL.format(out="x", end="")}, "ok"),
        ({"llmContent": SHELL.format(out="Exit Code: 3\nis what it said", end="")}, "ok"),
        ({"llmContent": "no such file", "error": {"message": "no such file"}}, "failed"),
        ({"llmContent": ["parts"]}, "ok"),
        ("text", "ok"),
        (None, "ok"),
    ],
)
def test_a_failed_tool_is_told_by_how_its_answer_ends(response: object, outcome: str) -> None:
    assert tool(tool_response=response).outcome == outcome


def test_an_edit_keeps_its_diff_and_not_both_whole_files() -> None:
    shown = {"fileDiff": "-a\n+b", "originalContent": "a", "newContent": "b", "fileName": "f"}
    event = tool(tool_name="replace", tool_response={"llmContent": "ok", "returnDisplay": shown})
    assert json.loads(event.tool_response) == {
        "llmContent": "ok",
        "returnDisplay": {"fileDiff": "-a\n+b", "fileName": "f"},
    }


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("read_file", "read_file"),
        ("mcp_notes_add", "mcp__notes_add"),
        ("notes__add", "mcp__notes__add"),
        ("mcp__notes__add", "mcp__notes__add"),
    ],
)
def test_tools_of_outside_servers_are_named_as_such(sent: str, kept: str) -> None:
    assert tool(tool_name=sent).tool_name == kept


def test_tool_calls_without_ids_are_told_apart_by_their_time(
    home: Path, conn: apsw.Connection
) -> None:
    call = payload(HOST, "AfterTool-read_file.json")
    later = {**call, "timestamp": "2026-11-29T22:02:35.377Z"}
    for at, one in enumerate([call, call, later]):
        put(home, "AfterTool", one, at, host=HOST)
    ingest.ingest(str(home), conn, now=NOW)
    ids = [row[0] for row in conn.execute("SELECT tool_use_id FROM tool_uses")]
    assert len(set(ids)) == len(ids) == 2


def test_what_a_subagent_met_outside_is_outside_in_its_answer_too(
    home: Path, conn: apsw.Connection
) -> None:
    """Its calls come under the session's own name, before its answer."""
    base = {"session_id": "s", "cwd": "/w"}
    answer = {"tool_name": "invoke_agent", "tool_input": {}, "tool_response": {"llmContent": "x"}}
    for at, (prompt, name) in enumerate((("read it", "read_file"), ("look it up", "web_fetch"))):
        put(home, "BeforeAgent", {**base, "prompt": prompt}, 10 * at + 1, host=HOST)
        met = {**base, "tool_name": name, "tool_input": {}, "timestamp": f"met {at}"}
        put(home, "AfterTool", met, 10 * at + 2, host=HOST)
        put(home, "AfterTool", {**base, **answer, "timestamp": at}, 10 * at + 3, host=HOST)
        put(home, "AfterAgent", {**base, "prompt_response": "ok"}, 10 * at + 4, host=HOST)
    ingest.ingest(str(home), conn, now=NOW)
    rows = conn.execute("SELECT tool_name, taint FROM tool_uses ORDER BY id").fetchall()
    assert rows == [
        ("read_file", "local"),
        ("invoke_agent", "local"),
        ("web_fetch", "external"),
        ("invoke_agent", "external"),
    ]
