"""What holds for each host besides Claude Code, from the recorded payload to the store."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
import recorded
from capturing import put, render
from hookrun import kinds
from hypothesis import given, settings
from hypothesis import strategies as st
from support import payload_bytes, run_cmem, run_json

from cmem import hosts, ingest
from cmem.context import health
from cmem.hosts.wire import HOSTS
from cmem.ingest import Ingested
from cmem.model import ToolUsed, Unreadable
from cmem.store import connection

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "ingest"
NOW = 1_800_000_000_000

every_host = pytest.mark.parametrize("host", recorded.OTHERS)


@pytest.fixture
def conn(home: Path) -> Iterator[apsw.Connection]:
    store = connection.open_writer(str(home), now=NOW)
    yield store
    store.close()


def test_a_host_that_is_captured_can_be_decoded() -> None:
    assert list(hosts.DECODERS) == list(HOSTS)


@every_host
def test_every_recorded_payload_is_an_event_or_named_as_none(host: str) -> None:
    files = [path.name for path in recorded.folder(host).glob("*.json")]
    payloads = [recorded.payload(host, name) for name in sorted(files)]
    payloads += [payload for _event, _at, payload in recorded.session(host)]
    for payload in payloads:
        event = payload["hook_event_name"]
        decoded = recorded.decode(host, event, payload_bytes(payload))
        assert isinstance(decoded, Unreadable) == (event not in HOSTS[host].kinds)


@every_host
def test_the_recorded_session_becomes_what_happened(
    host: str, home: Path, conn: apsw.Connection
) -> None:
    events = recorded.session(host)
    for event, at, payload in events:
        put(home, event, payload, at, host=host)
    first = ingest.ingest(str(home), conn, now=NOW)
    shown = render(conn)
    golden = GOLDEN / f"{host}-session-basic.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(shown, encoding="utf-8")
    assert shown == golden.read_text(encoding="utf-8")
    for event, at, payload in events:
        put(home, event, payload, at, host=host)
    second = ingest.ingest(str(home), conn, now=NOW)
    assert (first, second) == (Ingested(events=len(events)), Ingested(duplicates=len(events)))
    assert render(conn) == shown


@every_host
def test_the_registered_lines_take_a_session_in_and_the_next_one_begins_with_it(
    host: str, tmp_path: Path
) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    commands = recorded.installed(host)
    assert set(commands) == set(HOSTS[host].kinds)
    events = _session(host, project)
    (start,) = HOSTS[host].injects
    greets = {
        start: {"systemMessage": f"cmem is on: nothing remembered for project yet{health.BEGIN}"}
    }
    for event, payload in events:
        done = recorded.fire(commands[event], payload)
        assert (done.returncode, done.stderr) == (0, b"")
        told = json.loads(done.stdout) if done.stdout else b""
        assert told == (b"" if HOSTS[host].answer else greets.get(event, b""))
    for event, payload in events:
        if event != start:
            recorded.fire(commands[event], payload)
    stored = run_json("compress", "--all")
    assert (stored["ingested"], stored["pending"]) == (len(events), 0)
    assert kinds(home) == (0, 0, 0)
    status = run_json("status")["counts"]
    tools = sum(HOSTS[host].kinds[event] == "tool" for event, _payload in events)
    assert (status["sessions"], status["prompts"], status["tool_uses"]) == (1, 1, tools)
    another = {"session_id": "another", "conversation_id": "another"}
    done = recorded.fire(commands[start], {**dict(events)[start], **another})
    block = _injected(host, json.loads(done.stdout))
    assert block.startswith("<cmem-memory id=")
    assert block == run_cmem("context", cwd=project).stdout.decode().rstrip("\n")
    assert len(block) < 10_000


def _injected(host: str, document: dict[str, Any]) -> str:
    if not HOSTS[host].answer:
        document = document.pop("hookSpecificOutput")
        assert document.pop("hookEventName") == "SessionStart"
    (key,) = document
    assert key == (HOSTS[host].answer or "additionalContext")
    return str(document[key])


def _session(host: str, project: Path) -> list[tuple[str, dict[str, Any]]]:
    """The recorded session moved to ``project``, with an answer that is worth a memory."""
    told = "Found the cause: calc.py added its operands in the wrong order, so subtract failed."
    answers = ("last_assistant_message", "prompt_response")
    moved = []
    for event, _at, payload in recorded.session(host):
        fields = {key: told if key in answers else value for key, value in payload.items()}
        text = json.dumps(fields).replace("/home/dev/project", str(project))
        moved.append((event, json.loads(text)))
    return moved


@every_host
def test_a_payload_that_cannot_be_read_is_counted_and_disturbs_nobody(
    host: str, home: Path, conn: apsw.Connection
) -> None:
    from cmem import intake, spool

    prompt = next(event for event, kind in HOSTS[host].kinds.items() if kind == "prompt")
    for number, raw in enumerate(
        [b"{", b'{"session_id": "s", "conversation_id": "s", "prompt": 5}', b"[]"]
    ):
        taken = intake.take(host, prompt, raw, captured_at=number)
        assert taken is not None
        spool.append(
            str(home),
            eid=taken.eid,
            host=host,
            event=prompt,
            session=taken.session,
            captured_at=number,
            cwd=taken.cwd,
            repo=taken.repo,
            project_env="",
            digest=taken.digest,
            window=False,
            payload=taken.payload,
        )
    counted = ingest.ingest(str(home), conn, now=NOW)
    assert (counted.events, counted.unreadable) == (3, 3)
    assert render(conn) == "\n"


@every_host
def test_what_a_secret_file_holds_never_reaches_the_spool(host: str) -> None:
    from cmem import intake

    tool = next(event for event, kind in HOSTS[host].kinds.items() if kind == "tool")
    name, key = {
        "codex": ("Bash", "command"),
        "gemini-cli": ("read_file", "file_path"),
        "opencode": ("read", "filePath"),
        "cursor": ("Read", "file_path"),
        "copilot-cli": ("Read", "path"),
    }[host]
    given = {key: "cat .env" if key == "command" else "/w/.env"}
    payload = {
        "session_id": "s",
        "cwd": "/w",
        "tool_name": name,
        "tool_input": given,
        HOSTS[host].shape[3][0]: {"llmContent": "COLOUR=blue horse", "output": "COLOUR=blue horse"},
    }
    taken = intake.take(host, tool, payload_bytes(payload), captured_at=1)
    assert taken is not None
    assert b"horse" not in taken.payload
    event = recorded.decode(host, tool, taken.payload)
    assert isinstance(event, ToolUsed)
    assert (event.tool_name, json.loads(event.tool_response)) == (
        name,
        "[REDACTED:sensitive-source]",
    )


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)
FIELDS = st.sampled_from([
    "session_id", "cwd", "turn_id", "prompt_id", "agent_id", "agent_type", "source", "model",
    "prompt", "cmem_private", "cmem_stub", "tool_name", "tool_use_id", "tool_input",
    "tool_response", "error", "prompt_response", "last_assistant_message", "trigger", "reason",
    "conversation_id", "generation_id", "workspace_roots", "parent_agent_id", "tool_result",
    "tool_output", "error_message", "duration", "text", "status", "subagent_type", "summary",
])  # fmt: skip
RESPONSES = st.dictionaries(
    st.sampled_from(
        [
            "error",
            "llmContent",
            "returnDisplay",
            "metadata",
            "output",
            "text_result_for_llm",
            "exitCode",
        ]
    ),
    VALUES,
)


@every_host
@settings(max_examples=60, deadline=None)
@given(data=st.data(), fields=st.dictionaries(FIELDS, VALUES), response=RESPONSES)
def test_any_object_is_an_event_that_can_be_stored(
    host: str, data: st.DataObject, fields: dict[str, Any], response: dict[str, Any]
) -> None:
    event = data.draw(st.sampled_from(sorted(HOSTS[host].kinds)))
    told = {"session_id": "s", "tool_name": "t", HOSTS[host].shape[3][0]: response, **fields}
    decoded = recorded.decode(host, event, json.dumps(told).encode())
    for value in (*decoded, *decoded.origin):
        if isinstance(value, str):
            value.encode()
            assert "\0" not in value
    if isinstance(decoded, ToolUsed):
        json.loads(decoded.tool_input)
        json.loads(decoded.tool_response)


@every_host
@settings(max_examples=40, deadline=None)
@given(event=st.text(max_size=20), payload=st.binary(max_size=60))
def test_any_bytes_are_decoded(host: str, event: str, payload: bytes) -> None:
    assert isinstance(recorded.decode(host, event, payload), Unreadable)
