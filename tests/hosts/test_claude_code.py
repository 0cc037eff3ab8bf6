from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import CLAUDE_CODE, payload_bytes

from cmem import hosts
from cmem.model import (
    CompactStarted,
    Entry,
    Event,
    Origin,
    PromptSubmitted,
    Repo,
    SessionEnded,
    SessionStarted,
    SubagentEnded,
    ToolUsed,
    TurnEnded,
    Unreadable,
)

REPO = Repo("/home/dev/project", "/home/dev/project/.git", "main", "abc")


def decode(event: str, payload: bytes) -> Event:
    entry = Entry(
        id=1,
        eid="e",
        host="claude-code",
        event=event,
        captured_at=5,
        cwd="/from/entry",
        repo=REPO,
        project_env="",
        payload=payload,
    )
    return hosts.DECODERS["claude-code"](entry)


def recorded(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((CLAUDE_CODE / name).read_text(encoding="utf-8"))
    return document


def decode_recorded(name: str) -> Event:
    payload = recorded(name)
    return decode(payload["hook_event_name"], payload_bytes(payload))


def decode_dict(event: str, /, **fields: Any) -> Event:
    return decode(event, payload_bytes({"session_id": "s", "cwd": "/w", **fields}))


def origin(event: str, **changes: str) -> Origin:
    plain = Origin(
        eid="e",
        host="claude-code",
        event=event,
        session="s",
        at=5,
        cwd="/w",
        repo=REPO,
        project_env="",
        prompt_id="",
        agent_id="",
        agent_type="",
    )
    return plain._replace(**changes)  # type: ignore[arg-type]


EDIT_RESPONSE = (
    '{"filePath":"/home/dev/project/calc.py","oldString":"    return b - a\\n",'
    '"newString":"    return a - b\\n","structuredPatch":[{"oldStart":3,"oldLines":4,'
    '"newStart":3,"newLines":4,"lines":[" "," "," def subtract(a, b):","-    return b - a",'
    '"+    return a - b"]}],"userModified":false,"replaceAll":false}'
)


def test_tool_use_keeps_what_was_done_and_drops_the_file_copy() -> None:
    event = decode_recorded("PostToolUse-Edit.json")
    assert isinstance(event, ToolUsed)
    assert event == ToolUsed(
        origin(
            "PostToolUse",
            session="f57d53fd-a814-42c0-ae4a-ff10dd56ff67",
            cwd="/home/dev/project",
            prompt_id="aedd0519-73c7-4710-8f4d-f48603e1b401",
        ),
        tool_use_id="toolu_01c1663b4500000000000008",
        tool_name="Edit",
        tool_input='{"file_path":"/home/dev/project/calc.py","old_string":"    return b - a\\n",'
        '"new_string":"    return a - b\\n","replace_all":false}',
        tool_response=EDIT_RESPONSE,
        outcome="ok",
        duration_ms=15,
    )


@pytest.mark.parametrize(
    ("name", "kind", "fields"),
    [
        ("SessionStart-startup.json", SessionStarted, {"source": "startup", "title": ""}),
        ("SessionStart-fork.json", SessionStarted, {"source": "fork", "model": ""}),
        ("SessionStart-agent-and-title.json", SessionStarted, {"title": "my session"}),
        ("UserPromptSubmit-slash-command.json", PromptSubmitted, {"kind": "user"}),
        (
            "UserPromptSubmit-subagent-notification.json",
            PromptSubmitted,
            {"kind": "notification", "private": False},
        ),
        (
            "UserPromptSubmit-background-bash-notification.json",
            PromptSubmitted,
            {"kind": "notification"},
        ),
        (
            "PostToolUseFailure-mcp.json",
            ToolUsed,
            {"outcome": "failed", "tool_response": '{"error":"notes store is read-only"}'},
        ),
        (
            "PostToolUse-mcp.json",
            ToolUsed,
            {
                "tool_name": "mcp__notes__add_note",
                "tool_response": '[{"type":"text","text":"noted: subtract fixed; only '
                'test_calc.py calls it"}]',
            },
        ),
        ("Stop.json", TurnEnded, {"outcome": "stop", "error": ""}),
        (
            "StopFailure.json",
            TurnEnded,
            {
                "outcome": "failure",
                "error": "billing_error",
                "message": "Credit balance is too low",
            },
        ),
        (
            "SubagentStop.json",
            SubagentEnded,
            {"message": "calc.subtract is only called from test_calc.py:10 (test_subtract)."},
        ),
        ("PreCompact-manual.json", CompactStarted, {"trigger": "manual"}),
        ("SessionEnd-clear.json", SessionEnded, {"reason": "clear"}),
        ("Notification-idle_prompt.json", Unreadable, {"reason": "unknown event Notification"}),
    ],
)
def test_recorded_payloads(name: str, kind: type, fields: dict[str, object]) -> None:
    event = decode_recorded(name)
    assert type(event) is kind
    assert {key: getattr(event, key) for key in fields} == fields


def test_compactions_own_subagent_has_no_type() -> None:
    event = decode_recorded("SubagentStop-of-compaction.json")
    assert isinstance(event, SubagentEnded)
    assert (event.origin.agent_id, event.origin.agent_type) == ("ab7e8f18e777da4a1", "")


def test_write_keeps_its_content_once() -> None:
    event = decode_recorded("PostToolUse-Write.json")
    assert isinstance(event, ToolUsed)
    assert '"content":' in event.tool_input
    response = json.loads(event.tool_response)
    assert "content" not in response
    assert "originalFile" not in response


def test_answers_of_a_question_are_kept() -> None:
    event = decode_recorded("PostToolUse-AskUserQuestion.json")
    assert isinstance(event, ToolUsed)
    assert json.loads(event.tool_input)["answers"] == {"Which colour?": "Red"}


def test_every_recorded_payload_is_an_event_or_named_as_none() -> None:
    for path in sorted(CLAUDE_CODE.glob("*.json")):
        payload = recorded(path.name)
        event = decode(payload["hook_event_name"], payload_bytes(payload))
        assert isinstance(event, Unreadable) == (payload["hook_event_name"] not in HANDLED)


HANDLED = {
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "StopFailure",
    "SubagentStop",
    "PreCompact",
    "SessionEnd",
}


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "not a JSON object"),
        (b"  \n", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b"[]", "not a JSON object"),
        (b'"x"', "not a JSON object"),
        (b"\xff\xfe\x00", "not a JSON object"),
        (b"{} {}", "not a JSON object"),
        (b"[" * 100_000, "not a JSON object"),
        (b'{"a":' * 100_000, "not a JSON object"),
        (b"{}", "no session id"),
        (b'{"session_id": 5}', "no session id"),
        (b'{"session_id": ""}', "no session id"),
        (b'{"session_id": "s"}', "prompt is no text"),
        (b'{"session_id": "s", "prompt": ["x"]}', "prompt is no text"),
        (b'{"cmem_stub": "oversize", "bytes": 9000000}', "oversize: 9000000 bytes"),
        (b'{"cmem_stub": "malformed", "bytes": true}', "malformed"),
        (b'{"cmem_stub": 7}', "stub"),
    ],
)
def test_what_is_no_event_says_why(payload: bytes, reason: str) -> None:
    event = decode("UserPromptSubmit", payload)
    assert isinstance(event, Unreadable)
    assert event.reason == reason


def test_a_stub_keeps_the_session_it_is_of() -> None:
    event = decode("PostToolUse", b'{"cmem_stub":"oversize","bytes":9,"session_id":"s"}')
    assert event == Unreadable(origin("PostToolUse", cwd="/from/entry"), "oversize: 9 bytes")


def test_odd_ids_become_hashes() -> None:
    event = decode_dict("Stop", session_id="../../x\n", prompt_id="p" * 200)
    assert (event.origin.session[0], len(event.origin.session)) == ("x", 33)
    assert (event.origin.prompt_id[0], len(event.origin.prompt_id)) == ("x", 33)


def test_text_is_cleaned_and_secrets_are_replaced() -> None:
    secret = "gh" + "p_" + "A1b2" * 9
    event = decode_dict(
        "PostToolUse",
        tool_name="Bash",
        tool_use_id="t",
        tool_input={"command": f"echo {secret}"},
        tool_response={"stdout": "a\x00b\x1b[31mred\x1b[0m\r\nnext\u202e", "stderr": "\ud800"},
    )
    assert isinstance(event, ToolUsed)
    assert secret not in event.tool_input
    assert "[REDACTED:" in event.tool_input
    assert event.tool_response == ('{"stdout":"a\ufffdbred\\nnext","stderr":"\ufffd\ufffd\ufffd"}')


def test_a_prompt_of_which_only_private_text_was_is_private() -> None:
    open_tag, close_tag = "<pri" + "vate>", "</pri" + "vate>"
    event = decode_dict("UserPromptSubmit", prompt=f"{open_tag}horse{close_tag}")
    assert event == PromptSubmitted(origin("UserPromptSubmit"), "", "user", private=True)
    event = decode_dict("UserPromptSubmit", prompt="", cmem_private=True)
    assert event == PromptSubmitted(origin("UserPromptSubmit"), "", "user", private=True)
    event = decode_dict("UserPromptSubmit", prompt="")
    assert event == PromptSubmitted(origin("UserPromptSubmit"), "", "user", private=False)


def big_tool(**response: object) -> ToolUsed:
    event = decode_dict("PostToolUse", tool_name="T", tool_use_id="t", tool_response=response)
    assert isinstance(event, ToolUsed)
    return event


def test_a_huge_field_keeps_head_and_tail_and_says_how_much_is_missing() -> None:
    text = big_tool(stdout="a" + "x" * 500_000 + "z", small="kept").tool_response
    assert len(text) <= 65_536
    document = json.loads(text)
    assert document["small"] == "kept"
    assert (document["stdout"][0], document["stdout"][-1]) == ("a", "z")
    assert "[… 467234 characters cut by cmem …]" in document["stdout"]


@pytest.mark.parametrize(
    "response",
    [
        {"stdout": "漢" * 300_000},
        {f"k{i}": "x" * 100 for i in range(5_000)},
        {"items": [{"a": 1}] * 100_000},
        {"k" * 100_000: 1},
    ],
    ids=["wide", "many-keys", "many-items", "long-key"],
)
def test_no_shape_gets_past_the_limit(response: dict[str, object]) -> None:
    text = big_tool(**response).tool_response
    assert len(text.encode()) <= 65_536
    json.loads(text)


def test_deep_nesting_is_cut_where_it_gets_too_deep() -> None:
    nested: object = "core"
    for _ in range(300):
        nested = [nested]
    text = big_tool(deep=nested).tool_response
    assert "nested too deep" in text
    assert "core" not in text


def test_images_become_a_note_of_their_size() -> None:
    text = big_tool(type="image", file={"base64": "iVBORw0K" * 100, "type": "image/png"})
    assert json.loads(text.tool_response)["file"]["base64"] in (
        "[base64, 600 bytes]",
        "[image, 600 bytes]",
    )


@pytest.mark.parametrize(
    ("raw", "kept"), [(15, 15), (1.9, 1), ("15", None), (-1, None), (True, None), (1e300, None)]
)
def test_duration_is_a_sane_number_or_absent(raw: object, kept: int | None) -> None:
    event = decode_dict("PostToolUse", tool_name="T", tool_use_id="t", duration_ms=raw)
    assert isinstance(event, ToolUsed)
    assert event.duration_ms == kept


def test_an_interrupted_tool_is_no_failed_one() -> None:
    event = decode_dict("PostToolUseFailure", tool_name="T", tool_use_id="t", is_interrupt=True)
    assert isinstance(event, ToolUsed)
    assert (event.outcome, event.tool_response) == ("interrupted", '{"error":null}')


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)
FIELDS = st.sampled_from([
    "session_id", "cwd", "prompt_id", "agent_id", "agent_type", "source", "model", "prompt",
    "cmem_private", "cmem_stub", "tool_name", "tool_use_id", "tool_input", "tool_response",
    "error", "is_interrupt", "duration_ms", "last_assistant_message", "trigger", "reason",
])  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(event=st.sampled_from(sorted(HANDLED)), fields=st.dictionaries(FIELDS, VALUES))
def test_any_object_is_an_event_that_can_be_stored(event: str, fields: dict[str, Any]) -> None:
    decoded = decode(event, json.dumps({"session_id": "s", **fields}).encode())
    for value in (*decoded, *decoded.origin):
        if isinstance(value, str):
            value.encode()
            assert "\0" not in value
    if isinstance(decoded, ToolUsed):
        json.loads(decoded.tool_input)
        json.loads(decoded.tool_response)


@settings(max_examples=60, deadline=None)
@given(event=st.text(max_size=20), payload=st.binary(max_size=60))
def test_any_bytes_are_decoded(event: str, payload: bytes) -> None:
    assert isinstance(decode(event, payload), Unreadable)
