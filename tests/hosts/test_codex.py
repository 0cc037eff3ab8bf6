from __future__ import annotations

import json
from typing import Any

import pytest
from recorded import REPO, decode, decode_dict, payload
from support import payload_bytes

from cmem import intake
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
from cmem.turn_rules import End, Standing, Turn, plan


def decode_recorded(name: str) -> Event:
    document = payload("codex", name)
    return decode("codex", document["hook_event_name"], payload_bytes(document))


def one(event: str, **fields: Any) -> Event:
    return decode_dict("codex", event, **fields)


ORIGIN = Origin(
    eid="e",
    host="codex",
    event="UserPromptSubmit",
    session="01a22959-766a-78d3-8964-2a1450c1f133",
    at=5,
    cwd="/home/dev/project",
    repo=REPO,
    project_env="",
    prompt_id="01a22959-7684-7ee3-9573-299ec3644f02",
    agent_id="",
    agent_type="",
)


def test_the_turns_id_stands_for_the_prompts() -> None:
    assert decode_recorded("UserPromptSubmit.json") == PromptSubmitted(
        ORIGIN, "Change the order of the addition and add new.txt", "user", private=False
    )
    raw = payload_bytes(payload("codex", "UserPromptSubmit.json"))
    taken = intake.take("codex", "UserPromptSubmit", raw, captured_at=1)
    assert taken is not None
    assert taken.eid.startswith(f"codex:{ORIGIN.session}:p:{ORIGIN.prompt_id}:")


def test_a_patch_and_a_command_keep_what_the_host_said() -> None:
    patch = decode_recorded("PostToolUse-apply_patch.json")
    assert isinstance(patch, ToolUsed)
    assert (patch.tool_use_id, patch.tool_name, patch.outcome) == ("call_0004", "apply_patch", "ok")
    assert json.loads(patch.tool_input)["command"].startswith("*** Begin Patch\n")
    command = decode_recorded("PostToolUse-Bash.json")
    assert command == ToolUsed(
        ORIGIN._replace(event="PostToolUse"),
        tool_use_id="call_0002",
        tool_name="Bash",
        tool_input='{"command":"cat calc.py"}',
        tool_response='"def add(a, b):\\n    return a + b\\n"',
        outcome="ok",
        duration_ms=None,
    )


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("SessionStart-compact.json", SessionStarted, {"source": "compact"}),
        ("PreCompact.json", CompactStarted, {"trigger": "auto"}),
        ("Interrupt.json", TurnEnded, {"outcome": "interrupted", "message": "", "error": ""}),
        (
            "PostToolUse-mcp.json",
            ToolUsed,
            {
                "tool_name": "mcp__notes__add_note",
                "tool_input": '{"text":"x"}',
                "tool_response": '{"content":[{"type":"text","text":"noted"}]}',
                "outcome": "ok",
            },
        ),
    ],
)
def test_what_else_was_recorded(name: str, kind: type, expected: dict[str, object]) -> None:
    decoded = decode_recorded(name)
    assert type(decoded) is kind
    assert {key: getattr(decoded, key) for key in expected} == expected


@pytest.mark.parametrize(
    ("tool", "response", "outcome"),
    [
        ("apply_patch", "Exit code: 1\nWall time: 0 seconds\nOutput:\nno such file\n", "failed"),
        ("apply_patch", "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.\n", "ok"),
        ("apply_patch", {"any": "shape"}, "ok"),
        ("Bash", "Exit code: 1\n", "ok"),  # the command's own words
    ],
)
def test_only_a_patch_says_whether_it_failed(tool: str, response: object, outcome: str) -> None:
    event = one("PostToolUse", tool_name=tool, tool_use_id="t", tool_response=response)
    assert isinstance(event, ToolUsed)
    assert event.outcome == outcome


@pytest.mark.parametrize(
    ("event", "fields", "kind", "expected"),
    [
        (
            "SessionStart",
            {"source": "compact", "model": "m"},
            SessionStarted,
            {"source": "compact"},
        ),
        ("Stop", {"last_assistant_message": "done"}, TurnEnded, {"outcome": "stop"}),
        ("StopFailure", {"error": "quota"}, TurnEnded, {"outcome": "failure", "error": "quota"}),
        ("StopFailure", {}, TurnEnded, {"outcome": "failure", "error": "unknown"}),
        ("Interrupt", {}, TurnEnded, {"outcome": "interrupted", "message": "", "error": ""}),
        ("SubagentStop", {"last_assistant_message": "found"}, SubagentEnded, {"message": "found"}),
        ("PreCompact", {"trigger": "auto"}, CompactStarted, {"trigger": "auto"}),
        ("SessionEnd", {"reason": "other"}, SessionEnded, {"reason": "other"}),
    ],
)
def test_every_other_event(
    event: str, fields: dict[str, Any], kind: type, expected: dict[str, object]
) -> None:
    decoded = one(event, **fields)
    assert type(decoded) is kind
    assert {key: getattr(decoded, key) for key in expected} == expected


@pytest.mark.parametrize(
    ("file", "kept"), [(".gitignore", True), ("conf/.env", False), (".env.example", True)]
)
def test_of_a_patch_the_files_count_and_not_its_lines(file: str, kept: bool) -> None:
    patch = f"*** Begin Patch\n*** Update File: {file}\n@@\n+.env\n+set\n+horse\n*** End Patch"
    raw = payload_bytes(
        {
            "session_id": "s",
            "tool_name": "apply_patch",
            "tool_input": {"command": patch},
            "tool_response": "Exit code: 0\n",
        }
    )
    taken = intake.take("codex", "PostToolUse", raw, captured_at=1)
    assert taken is not None
    assert (b"horse" in taken.payload) == kept
    assert file.encode() in taken.payload


def test_an_interrupt_closes_the_open_turn_as_one() -> None:
    turn = Turn(
        id=1,
        number=1,
        kind="user",
        prompt_id="t1",
        private=False,
        opened_at=1,
        last_event_at=2,
        closed_at=None,
        closed_by="",
        message=False,
        untouched=False,
        prompted=True,
    )
    found = plan(Standing(turn, None, turn), one("Interrupt", turn_id="t1"))
    assert (found.target, found.end) == (turn, End("interrupted", "interrupt"))
