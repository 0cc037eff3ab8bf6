"""Transcripts of Codex CLI and Gemini CLI in the forms that no recorded sample has."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from transcribed import LATER, held, imported
from transcript_script import written

from cmem.importers.told import Problem

CODEX = "cccccccc-3333-4333-8333-333333333333"
GEMINI = "dddddddd-4444-4444-8444-444444444444"


def rollout(folder: Path, *parts: tuple[str, dict[str, Any]]) -> Path:
    lines = [
        {"timestamp": f"2026-05-01T10:00:{number:02d}.000Z", "type": kind, "payload": body}
        for number, (kind, body) in enumerate(parts)
    ]
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    return written(folder / "sessions" / "2026" / "05" / "01" / f"rollout-{CODEX}.jsonl", data)


def meta(**more: Any) -> tuple[str, dict[str, Any]]:
    return ("session_meta", {"id": CODEX, "cwd": "/home/dev/project", **more})


def said(role: str, text: str) -> tuple[str, dict[str, Any]]:
    kind = "output_text" if role == "assistant" else "input_text"
    return (
        "response_item",
        {"type": "message", "role": role, "content": [{"type": kind, "text": text}]},
    )


def item(**body: Any) -> tuple[str, dict[str, Any]]:
    return ("response_item", body)


def event(**body: Any) -> tuple[str, dict[str, Any]]:
    return ("event_msg", body)


def rows(home: Path, kind: str, *columns: int) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for column in columns) for row in held(home) if row[0] == kind]


def test_codex_of_an_older_version_without_turns(home: Path, tmp_path: Path) -> None:
    shell = json.dumps({"command": ["bash", "-lc", "ls"]})
    patch = json.dumps({"command": ["apply_patch", "*** Begin Patch\n*** End Patch"]})
    rollout(
        tmp_path,
        meta(git={"branch": "topic"}),
        said("user", "<environment_context>\n</environment_context>"),
        said("user", "# AGENTS.md instructions for /home/dev/project"),
        said("user", "Yes"),
        event(type="user_message", message="Yes"),
        item(type="function_call", name="shell", arguments=shell, call_id="c1"),
        item(
            type="function_call_output", call_id="c1", output='{"output":"a.py\\n","metadata":{}}'
        ),
        item(type="function_call", name="shell", arguments=patch, call_id="c2"),
        item(type="function_call_output", call_id="c2", output="Exit code: 1\nOutput:\nno"),
        said("assistant", "There is a.py."),
        said("user", "Yes"),
        event(type="agent_message", message="Good."),
    )
    report = imported(home, tmp_path / "sessions", host="codex")
    assert (report.sessions, report.prompts, report.tool_uses) == (1, 2, 2)
    assert rows(home, "turn", 3, 4, 6) == [
        ("stop", "stop", "There is a.py."),
        ("stop", "stop", "Good."),
    ]
    assert rows(home, "tool", 1, 3, 8, 9) == [
        ("Bash", "ok", '{"command":"ls"}', '"a.py\\n"'),
        ("apply_patch", "failed", '{"command":"*** Begin Patch\\n*** End Patch"}',
         '"Exit code: 1\\nOutput:\\nno"'),
    ]  # fmt: skip


BARE = [body for _kind, body in (said("user", "Go"), said("assistant", "`a.py` is there."))]
CALL = {"command": ["bash", "-lc", "ls"], "workdir": "/home/dev/project"}
BARE[1:1] = [
    {"type": "function_call", "name": "shell", "arguments": json.dumps(CALL), "call_id": "c1"},
    {"type": "function_call_output", "call_id": "c1", "output": '{"output":"a.py","metadata":{}}'},
]
HEAD = {"id": CODEX, "timestamp": "2025-08-07T10:00:00.000Z", "instructions": None}
PLACE = said("user", "<environment_context>\nCurrent working directory: /home/dev/project\n")[1]
TIMED = [{"timestamp": HEAD["timestamp"], "type": "response_item", "payload": one} for one in BARE]


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        # A document, then bare items, then lines without the first one.
        ("rollout-2025-05-07-x.json", [{"session": HEAD, "items": [*BARE, *BARE]}]),
        (
            f"rollout-{CODEX}.jsonl",
            [
                {**HEAD, "git": {"branch": "topic"}},
                {"record_type": "state"},
                PLACE,
                *BARE,
                {"record_type": "state"},
                *BARE,
            ],
        ),
        (f"rollout-2025-08-07T10-00-00-{CODEX}.jsonl", [{"type": "unheard of"}, *TIMED]),
    ],
)
def test_codex_of_the_first_forms(
    home: Path, tmp_path: Path, name: str, lines: list[dict[str, Any]]
) -> None:
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    written(tmp_path / "sessions" / name, data)
    written(tmp_path / "sessions" / "notes.json", b"{}")
    report = imported(home, tmp_path / "sessions", host="codex")
    assert (report.files, report.sessions, report.problems) == (1, 1, ())
    once = "T10" in name
    assert rows(home, "session", 1, 2) == [(CODEX, "" if once else "/home/dev/project")]
    turns = 1 if once else 2
    assert rows(home, "turn", 3, 4, 6) == [("stop", "stop", "`a.py` is there.")] * turns
    assert rows(home, "tool", 1, 3, 8, 9)[0] == ("Bash", "ok", '{"command":"ls"}', '"a.py"')


@pytest.mark.parametrize("data", [b"[]", b"{", b'{"items":7}', b'{"session":{"id":7}}'])
def test_codex_document_that_is_none_is_named(home: Path, tmp_path: Path, data: bytes) -> None:
    path = written(tmp_path / "rollout-1.json", data)
    written(tmp_path / "rollout-2.jsonl", b"")
    (problem,) = imported(home, tmp_path, host="codex").problems
    assert (problem.path, problem.line) == (str(path), 0)


def test_codex_exit_codes_of_every_version_are_kept(home: Path, tmp_path: Path) -> None:
    head = "Chunk ID: a\nWall time: 1 s\nProcess exited with code 2\nOutput:\n"
    ran = {"type": "CommandExecution", "id": "c5", "command": ["bash", "-lc", "c5"]}
    outputs = {
        "c1": '{"output":"no","metadata":{"exit_code":1,"duration_seconds":0.1}}',
        "c2": head + "no",
        "c3": "Exit code: 3\nWall time: 1 s\nOutput:\nno",
        "c4": head.replace("code 2", "code 0") + "yes",
        "c5": head + "for the model",
    }
    calls = [
        item(
            type="function_call",
            name="exec_command",
            arguments=json.dumps({"cmd": name}),
            call_id=name,
        )
        for name in outputs
    ]
    told = event(type="item_completed", item={**ran, "aggregated_output": "no", "exit_code": 5})
    ends = [
        item(type="function_call_output", call_id=name, output=text)
        for name, text in outputs.items()
    ]
    rollout(tmp_path, meta(), event(type="user_message", message="Go"), *calls, told, *ends)
    imported(home, tmp_path / "sessions", host="codex")
    assert rows(home, "tool", 2, 3, 9) == [
        ("c1", "failed", '"Exit code: 1\\nno"'),
        ("c2", "failed", '"Exit code: 2\\nno"'),
        ("c3", "failed", '"Exit code: 3\\nno"'),
        ("c4", "ok", '"yes"'),
        ("c5", "failed", '"Exit code: 5\\nno"'),
    ]


def test_codex_turn_that_was_stopped(home: Path, tmp_path: Path) -> None:
    rollout(
        tmp_path,
        meta(),
        event(type="task_started", turn_id="t1"),
        event(type="user_message", message="Go"),
        event(type="agent_message", message="On it."),
        event(type="turn_aborted", reason="interrupted"),
        event(type="task_started", turn_id="t2"),
        event(type="user_message", message="Again"),
        event(type="task_complete", turn_id="t2", last_agent_message="Done."),
    )
    imported(home, tmp_path / "sessions", host="codex")
    assert rows(home, "turn", 3, 5, 6) == [("interrupted", "t1", "On it."), ("stop", "t2", "Done.")]


def test_codex_call_of_an_outside_server_is_named_as_hooks_name_it(
    home: Path, tmp_path: Path
) -> None:
    rollout(
        tmp_path,
        meta(),
        event(type="user_message", message="Note it"),
        item(type="function_call", name="notes__add", arguments="{}", call_id="c1"),
        item(type="function_call_output", call_id="c1", output="noted"),
    )
    imported(home, tmp_path / "sessions", host="codex")
    assert rows(home, "tool", 1, 7) == [("mcp__notes__add", "external")]


def chat(folder: Path, messages: list[dict[str, Any]], name: str = "session-1.json") -> Path:
    document = {"sessionId": GEMINI, "projectHash": "x", "messages": messages}
    place = folder / "tmp" / "x" / "chats" / name
    return written(place, json.dumps(document).encode())


def message(number: int, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    at = f"2026-05-01T10:00:{number:02d}.000Z"
    return {"id": f"g{number}", "timestamp": at, "type": kind, "content": content, **more}


CONTEXT = "<session_context>\nI'm currently working in the directory: /home/dev/project\n"


def test_gemini_document_of_an_older_version(home: Path, tmp_path: Path) -> None:
    failed = {
        "id": "c1",
        "name": "read_file",
        "args": {"file_path": "/home/dev/project/no.py"},
        "result": [{"functionResponse": {"response": {"error": "File not found"}}}],
        "status": "error",
        "timestamp": "2026-05-01T10:00:03.000Z",
    }
    refused = {"id": "c2", "name": "write_file", "args": {}, "status": "cancelled"}
    chat(
        tmp_path,
        [
            message(0, "user", [{"text": CONTEXT}]),
            message(1, "user", "Read no.py"),
            message(2, "gemini", "", toolCalls=[failed, refused]),
            message(4, "user", [{"functionResponse": {}}]),
            message(5, "gemini", "It is not there."),
            message(6, "info", "Update available"),
        ],
    )
    report = imported(home, tmp_path / "tmp", host="gemini-cli")
    assert (report.sessions, report.prompts, report.tool_uses) == (1, 1, 1)
    assert rows(home, "session", 2, 3) == [("/home/dev/project", "project")]
    assert rows(home, "turn", 3, 6) == [("stop", "It is not there.")]
    assert rows(home, "tool", 1, 3) == [("read_file", "failed")]


def test_gemini_session_in_use_waits(home: Path, tmp_path: Path) -> None:
    path = chat(tmp_path, [message(1, "user", "Go")])
    chat(tmp_path, [message(1, "user", "Go")], "session-0.json")
    os.utime(path, (LATER / 1000, LATER / 1000))
    report = imported(home, tmp_path / "tmp", host="gemini-cli")
    why = "is still in use; import it again when the session is over"
    assert report.problems == (Problem(str(path), 0, why),)
    assert report.prompts == 1


def test_gemini_document_that_is_cut_is_named(home: Path, tmp_path: Path) -> None:
    chat(tmp_path, [message(1, "user", "Go")])
    cut = written(tmp_path / "tmp" / "x" / "chats" / "session-2.json", b'{"messages": [')
    report = imported(home, tmp_path / "tmp", host="gemini-cli")
    assert report.problems == (Problem(str(cut), 0, "is no JSON document that can be read"),)
    assert report.prompts == 1
