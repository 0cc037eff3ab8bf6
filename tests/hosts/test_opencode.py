"""OpenCode's plugin under node, with a stub of OpenCode, and what becomes of what it sends."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from recorded import decode_dict, folder, session
from support import ROOT, clean_env, run_cmem, run_json

from cmem import intake
from cmem.install import opencode
from cmem.model import PromptSubmitted, ToolUsed, TurnEnded

HOST = "opencode"
NODE = shutil.which("node")
STUB = Path(__file__).resolve().parent / "opencode_stub.mjs"
EVENTS = folder(HOST) / "plugin-events.jsonl"
INIT = {"kind": "init", "input": {"directory": "/w"}}

with_node = pytest.mark.skipif(NODE is None, reason="node is not there")


def run_plugin(source: str, events: Path, **env: str) -> list[list[str]]:
    """Let the stub call the plugin; the system prompts as they were left."""
    plugin = events.parent / "plugin.mjs" if events != EVENTS else Path(env["HOME"]) / "plugin.mjs"
    plugin.write_text(source, encoding="utf-8")
    done = subprocess.run(
        [str(NODE), str(STUB), str(plugin), str(events)],
        capture_output=True,
        timeout=60,
        check=False,
        env=clean_env(CMEM_AUTO_COMPRESS="0", **env),
    )
    assert (done.returncode, done.stderr) == (0, b"")
    systems: list[list[str]] = json.loads(done.stdout)
    return systems


def with_line(line: str) -> str:
    """The plugin with another command in it."""
    text = opencode.template()
    changed = re.sub(
        r"^const LINE = .*$",
        lambda _found: "const LINE = " + json.dumps(line),
        text,
        flags=re.MULTILINE,
    )
    assert changed != text
    return changed


def sent_for(tmp_path: Path, *events: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """(event, payload) of each hook that the plugin ran for these calls of OpenCode."""
    log = tmp_path / "log"
    log.touch()
    file = tmp_path / "events.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in (INIT, *events)), encoding="utf-8")
    run_plugin(with_line(f"printf '%s ' \"$1\" >> '{log}'; cat >> '{log}'"), file)
    rows = [line.partition(" ") for line in log.read_text(encoding="utf-8").split("\n") if line]
    return [(event, json.loads(body)) for event, _, body in rows]


def told(kind: str, **given: Any) -> dict[str, Any]:
    return {"kind": kind, "input": given}


def message(session_id: str, message_id: str, *texts: str, **part: Any) -> dict[str, Any]:
    return {
        "kind": "chat.message",
        "input": {"sessionID": session_id},
        "output": {
            "message": {"id": message_id, "agent": "explore"},
            "parts": [{"type": "text", "text": text, **part} for text in texts],
        },
    }


def after(session_id: str, call: str) -> dict[str, Any]:
    given = {"tool": "bash", "sessionID": session_id, "callID": call, "args": {"command": "ls"}}
    output = {"title": "ls", "output": "a", "metadata": {"exit": 0}}
    return {"kind": "tool.execute.after", "input": given, "output": output}


@with_node
def test_the_recorded_calls_become_the_recorded_events(tmp_path: Path) -> None:
    rows = EVENTS.read_text(encoding="utf-8").split("\n")
    events = [json.loads(row) for row in rows if row]
    assert sent_for(tmp_path, *events) == [
        (event, payload) for event, _at, payload in session(HOST)
    ]


@with_node
def test_a_recorded_turn_that_failed_becomes_what_happened(tmp_path: Path) -> None:
    rows = (folder(HOST) / "plugin-events-failed.jsonl").read_text(encoding="utf-8").split("\n")
    sent = sent_for(tmp_path, *(json.loads(row) for row in rows if row))
    events = [decode_dict(HOST, event, **body) for event, body in sent]
    prompt, noted, invalid, end = events[1:-1]
    assert isinstance(prompt, PromptSubmitted)
    assert prompt.text == 'Note that "calc" is wrong.'
    assert isinstance(noted, ToolUsed) and isinstance(invalid, ToolUsed)
    assert (noted.tool_name, noted.tool_response, noted.outcome) == (
        "mcp__notes_add_note",
        '{"content":[{"type":"text","text":"noted"}]}',
        "ok",
    )
    assert (invalid.tool_name, invalid.outcome) == ("invalid", "failed")
    assert isinstance(end, TurnEnded)
    assert (end.outcome, end.error) == ("failure", "APIError: max_tokens is too large")
    assert [event for event, _body in sent if event.startswith("Session")] == [
        "SessionStart",
        "SessionIdle",
        "SessionEnd",
    ]


@with_node
def test_the_installed_plugin_remembers_and_recalls(tmp_path: Path) -> None:
    project = tmp_path / "project"
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    done = run_cmem("install", HOST, "--yes")
    assert done.returncode == 0, done.stderr
    file = tmp_path / "user" / ".config" / "opencode" / "plugins" / "cmem.js"
    events = tmp_path / "moved.jsonl"
    text = EVENTS.read_text(encoding="utf-8").replace("/home/dev/project", str(project))
    answer = "Found the cause: calc.py added its operands in the wrong order, so it failed."
    events.write_text(text.replace("All done.", answer), encoding="utf-8")
    assert run_plugin(file.read_text(encoding="utf-8"), events) == [["You are a coding agent."]] * 4
    assert run_json("compress", "--all")["ingested"] == 6
    counts = run_json("status")["counts"]
    assert (counts["sessions"], counts["prompts"], counts["tool_uses"]) == (1, 1, 2)
    systems = run_plugin(file.read_text(encoding="utf-8"), events)
    block = run_cmem("context", cwd=project).stdout.decode().rstrip("\n")
    assert block.startswith("<cmem-memory id=")
    assert systems == [["You are a coding agent.", block]] * 4


@with_node
def test_a_subagents_session_belongs_to_the_one_that_started_it(tmp_path: Path) -> None:
    sent = sent_for(
        tmp_path,
        message("ses_1", "msg_1", "find it"),
        told("event:session.created", sessionID="ses_2", info={"id": "ses_2", "parentID": "ses_1"}),
        message("ses_2", "msg_2", "the agent's own words"),
        after("ses_2", "call_1"),
        told("event:session.idle", sessionID="ses_2"),
        {**told("system.transform", sessionID="ses_2"), "output": {"system": ["x"]}},
        after("ses_1", "call_2"),
    )
    assert [(event, body["session_id"], body.get("agent_id"), body.get("agent_type")) for event, body in sent] == [
        ("SessionStart", "ses_1", None, None),
        ("ChatMessage", "ses_1", None, None),
        ("ToolExecuted", "ses_1", "ses_2", "explore"),
        ("ToolExecuted", "ses_1", None, None),
    ]  # fmt: skip
    assert {body.get("prompt_id") for _event, body in sent[1:]} == {"msg_1"}


@with_node
def test_what_the_host_wrote_into_a_prompt_is_no_prompt(tmp_path: Path) -> None:
    sent = sent_for(
        tmp_path,
        message("ses_1", "msg_1", "<file>big</file>", synthetic=True),
        message("ses_1", "msg_2", "one", "two"),
    )
    assert [body["prompt"] for event, body in sent if event == "ChatMessage"] == ["one\ntwo"]


@with_node
def test_a_failed_tool_and_a_failed_turn_are_told_once(tmp_path: Path) -> None:
    state = {"status": "error", "input": {"filePath": "/w/x"}, "error": "no such file"}
    part = {"type": "tool", "tool": "read", "callID": "c", "sessionID": "ses_1", "state": state}
    failed = {"name": "APIError", "data": {"message": "overloaded"}}
    sent = sent_for(
        tmp_path,
        told("event:message.part.updated", part=part),
        told("event:message.part.updated", part=part),
        told(
            "event:message.updated",
            info={"id": "m", "role": "assistant", "sessionID": "ses_1", "error": failed},
        ),
        told("event:session.idle", sessionID="ses_1"),
    )
    assert [event for event, _body in sent] == ["SessionStart", "ToolExecuted", "SessionIdle"]
    tool, idle = (decode_dict(HOST, event, **body) for event, body in sent[1:])
    assert isinstance(tool, ToolUsed)
    assert (tool.outcome, tool.tool_response) == ("failed", '{"error":"no such file"}')
    assert isinstance(idle, TurnEnded)
    assert (idle.outcome, idle.error) == ("failure", "APIError: overloaded")


@with_node
def test_an_answer_of_an_outside_server_is_kept(tmp_path: Path) -> None:
    given = {"tool": "notes_add_note", "sessionID": "ses_1", "callID": "c", "args": {"text": "x"}}
    content = [{"type": "text", "text": "noted"}, {"type": "image", "data": "iVBORw0KGgo="}]
    call = {"kind": "tool.execute.after", "input": given, "output": {"content": content}}
    (_start, (_event, body)) = sent_for(tmp_path, call)
    assert body["tool_response"] == {"content": [{"type": "text", "text": "noted"}]}


@with_node
def test_a_turn_that_the_model_failed_ends_once(tmp_path: Path) -> None:
    """The host says that it is idle, then which message failed, then that it is idle."""
    failed = {"name": "APIError", "data": {"message": "overloaded"}}
    info = {"id": "m1", "role": "assistant", "sessionID": "ses_1"}
    sent = sent_for(
        tmp_path,
        message("ses_1", "msg_1", "go"),
        told("event:message.updated", info=info),
        told("event:session.error", sessionID="ses_1", error=failed),
        told("event:session.idle", sessionID="ses_1"),
        told("event:message.updated", info={**info, "error": failed}),
        told("event:session.idle", sessionID="ses_1"),
        told("event:session.error", error=failed),
    )
    ends = [body["error"] for event, body in sent if event == "SessionIdle"]
    assert ends == ["APIError: overloaded"]


@with_node
def test_a_turn_that_goes_on_after_it_was_idle_ends_again(tmp_path: Path) -> None:
    first, second = (
        {"id": name, "role": "assistant", "sessionID": "ses_1"} for name in ("m1", "m2")
    )
    text = {"type": "text", "id": "p", "sessionID": "ses_1", "messageID": "m2", "text": "more"}
    sent = sent_for(
        tmp_path,
        message("ses_1", "msg_1", "go"),
        told("event:message.updated", info=first),
        told("event:session.idle", sessionID="ses_1"),
        told("event:message.updated", info=second),
        told("event:message.part.updated", part=text),
        told("event:session.idle", sessionID="ses_1"),
    )
    ends = [body["last_assistant_message"] for event, body in sent if event == "SessionIdle"]
    assert ends == ["", "more"]


@with_node
def test_a_patch_of_a_secret_file_is_known_for_one(tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Add File: .env\n+COLOUR=horse\n*** End Patch"
    call = after("ses_1", "c")
    call["input"] |= {"tool": "apply_patch", "args": {"patchText": patch}}
    (_start, (event, body)) = sent_for(tmp_path, call)
    assert body["tool_input"] == {"command": patch}
    taken = intake.take(HOST, event, json.dumps(body).encode(), captured_at=1)
    assert taken is not None
    assert json.loads(taken.payload)["tool_input"] == {
        "command": "[REDACTED:sensitive-source] > .env"
    }


@with_node
def test_the_request_for_a_title_gets_no_memories(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    title = {"system": ["You are a title generator. You output only a title."]}
    events = [INIT, told("event:session.created", info={"id": "s"})]
    events += [{**told("system.transform", sessionID="s"), "output": title}]
    events += [told("system.transform", sessionID="s")]
    file.write_text("".join(json.dumps(one) + "\n" for one in events), encoding="utf-8")
    line = 'echo \'{"hookSpecificOutput":{"additionalContext":"CTX"}}\'; cat >&2'
    assert run_plugin(with_line(line), file) == [
        title["system"],
        ["You are a coding agent.", "CTX"],
    ]


@with_node
@pytest.mark.parametrize("line", ["exit 3", "echo '{broken'; cat >/dev/null", "exec /missing"])
def test_a_broken_hook_disturbs_nobody(tmp_path: Path, line: str) -> None:
    systems = run_plugin(with_line(line), EVENTS, HOME=str(tmp_path / "user"))
    assert systems == [["You are a coding agent."]] * 4


def test_the_plugin_to_copy_by_hand_is_the_packages() -> None:
    copied = (ROOT / "hooks" / "opencode" / "cmem.js").read_text(encoding="utf-8")
    assert copied == opencode.template()
    assert 'cmem hook opencode \\"$1\\" 2>/dev/null || exit 0' in copied


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ('"Do things"', "Do things"),
        ('say "x" and "y"', 'say "x" and "y"'),
        ('"x" and "y"', '"x" and "y"'),
        ('"say \\"x\\" and y"', 'say "x" and y'),
        ('"say \\"x" and y"', '"say \\"x" and y"'),
        ('"', '"'),
        ('""', ""),
        ("plain", "plain"),
    ],
)
def test_the_quotes_of_the_command_line_go(raw: str, text: str) -> None:
    event = decode_dict(HOST, "ChatMessage", prompt=raw)
    assert isinstance(event, PromptSubmitted)
    assert event.text == text


@pytest.mark.parametrize(
    ("response", "outcome"),
    [
        ({"output": "x", "metadata": {"exit": 1}}, "failed"),
        ({"output": "x", "metadata": {"exit": 0}}, "ok"),
        ({"output": "x", "metadata": {"exit": None}}, "ok"),
        ({"error": "gone"}, "failed"),
        ("text", "ok"),
    ],
)
def test_a_failed_tool_is_told_by_its_exit_code_or_error(response: object, outcome: str) -> None:
    event = decode_dict(HOST, "ToolExecuted", tool_name="bash", tool_response=response)
    assert isinstance(event, ToolUsed)
    assert event.outcome == outcome


def test_a_call_of_a_tool_that_is_not_there_failed_and_is_the_hosts_own() -> None:
    response = {"title": "Invalid Tool", "output": "unavailable", "metadata": {}}
    event = decode_dict(HOST, "ToolExecuted", tool_name="invalid", tool_response=response)
    assert isinstance(event, ToolUsed)
    assert (event.tool_name, event.outcome) == ("invalid", "failed")


def test_a_tool_of_an_outside_server_is_named_as_such() -> None:
    event = decode_dict(HOST, "ToolExecuted", tool_name="notes_add", tool_input={})
    assert isinstance(event, ToolUsed)
    assert event.tool_name == "mcp__notes_add"


@pytest.mark.parametrize(
    ("error", "outcome", "kept"),
    [
        ("", "stop", ""),
        ("MessageAbortedError", "interrupted", ""),
        ("APIError: overloaded", "failure", "APIError: overloaded"),
    ],
)
def test_how_a_turn_ended(error: str, outcome: str, kept: str) -> None:
    event = decode_dict(HOST, "SessionIdle", last_assistant_message="m", error=error)
    assert isinstance(event, TurnEnded)
    assert (event.message, event.outcome, event.error) == ("m", outcome, kept)


def test_what_a_subagent_met_outside_is_outside_in_its_answer_too(home: Path) -> None:
    from capturing import put

    from cmem import ingest
    from cmem.store import connection

    base = {"session_id": "ses_1", "cwd": "/w", "prompt_id": "msg_1"}
    put(home, "ChatMessage", {**base, "prompt": "look it up"}, 1, host=HOST)
    by_agent = {**base, "agent_id": "ses_2", "agent_type": "explore"}
    fetched = {"tool_name": "webfetch", "tool_use_id": "a", "tool_input": {}, "tool_response": "x"}
    put(home, "ToolExecuted", by_agent | fetched, 2, host=HOST)
    answered = {**fetched, "tool_name": "task", "tool_use_id": "b"}
    put(home, "ToolExecuted", base | answered, 3, host=HOST)
    conn = connection.open_writer(str(home), now=4)
    try:
        ingest.ingest(str(home), conn, now=4)
        rows = conn.execute("SELECT tool_name, taint FROM tool_uses ORDER BY id").fetchall()
    finally:
        conn.close()
    assert rows == [("webfetch", "external"), ("task", "external")]
