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
