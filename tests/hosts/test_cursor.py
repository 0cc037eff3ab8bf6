"""Cursor's adapter against payloads written from its documentation; none was recorded."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import hookrun
import pytest
from capturing import put, render
from recorded import REPO, decode, decode_dict, payload, session
from support import ROOT, clean_env, payload_bytes

from cmem import bundle, ingest, intake, malformed, spooled
from cmem.hosts.wire import HOSTS
from cmem.model import (
    Answered,
    CompactStarted,
    Event,
    Origin,
    PromptSubmitted,
    SessionEnded,
    SubagentEnded,
    ToolUsed,
    TurnEnded,
)
from cmem.store import connection

HOST = "cursor"
NOW = 1_800_000_000_000
SESSION = "668320d2-2fd8-4888-b33c-2a466fec86e7"
GENERATION = "490b90b7-a2ce-4c2c-bb76-cb77b125df2f"


def decode_documented(name: str) -> Event:
    document = payload(HOST, name)
    return decode(HOST, document["hook_event_name"], payload_bytes(document))


@pytest.fixture
def conn(home: Path) -> Iterator[apsw.Connection]:
    store = connection.open_writer(str(home), now=NOW)
    yield store
    store.close()


def test_a_prompt_belongs_to_its_conversation_and_generation() -> None:
    assert decode_documented("beforeSubmitPrompt.json") == PromptSubmitted(
        Origin(
            eid="e",
            host=HOST,
            event="beforeSubmitPrompt",
            session=SESSION,
            at=5,
            cwd="/from/entry",
            repo=REPO,
            project_env="",
            prompt_id=GENERATION,
            agent_id="",
            agent_type="",
        ),
        "Fix subtract in calc.py",
        "user",
        private=False,
    )


def test_the_workspace_is_the_folder_of_a_session() -> None:
    raw = payload_bytes(payload(HOST, "beforeSubmitPrompt.json"))
    taken = intake.take(HOST, "beforeSubmitPrompt", raw, captured_at=1)
    assert taken is not None
    assert (taken.session, taken.cwd) == (SESSION, "/home/dev/project")
    assert malformed.place(raw, HOSTS[HOST])[::2] == ("/home/dev/project", SESSION)


@pytest.mark.parametrize("other", ["marked", "marked/deep", "excluded", "plain"])
@pytest.mark.parametrize("way", ["hook", "no driver", "no package"])
def test_every_folder_of_a_workspace_counts(
    home: Path, tmp_path: Path, way: str, other: str
) -> None:
    for name in ("one", "marked/deep", "excluded", "plain"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "marked" / ".cmem-off").touch()
    hookrun.ready(home)
    (home / "config.toml").write_text('exclude = "excluded"\n')
    if way == "no package":
        script = home / "hook.py"
        lines = script.read_text().split("\n")
        script.write_text("\n".join("PATHS = ()" if x[:8] == "PATHS = " else x for x in lines))
        Path(bundle.path(str(home))).unlink()
    roots = [str(tmp_path / "one"), 7, str(tmp_path / other)]
    raw = payload_bytes({"conversation_id": "c", "prompt": "p", "workspace_roots": roots})
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); sys.modules['apsw'] = None\n"
    code += "from cmem import hook; hook.main(sys.argv[1:])"
    argv = hookrun.argv(home, "beforeSubmitPrompt", host=HOST)
    if way == "no driver":
        argv = [sys.executable, "-c", code, str(ROOT), HOST, "beforeSubmitPrompt", str(home)]
    subprocess.run(argv, input=raw, cwd=tmp_path / "one", env=clean_env(), check=True)
    assert sum(spooled.counts(str(home))) == (1 if other == "plain" else 0)


@pytest.mark.parametrize(
    ("roots", "told"),
    [
        ('["/one"]', ("/one",)),
        ('["/one", 7, "/Größe\\u00e9", [], null]', ("/one", "/Größeé")),
        ('["/half\\ud83d", "/two"]', None),
        ('{"a": "/one"}', ()),
        ('"/one"', ()),
        ("null", ()),
    ],
)
def test_folders_are_those_of_the_slow_reader(roots: str, told: tuple[str, ...] | None) -> None:
    raw = f'{{"conversation_id": "c", "prompt": "p", "workspace_roots": {roots}}}'.encode()
    taken = intake.take(HOST, "beforeSubmitPrompt", raw, captured_at=1)
    assert taken is not None
    assert taken.beside == malformed.place(taken.payload, HOSTS[HOST])[3]
    assert told in (None, taken.beside)


def test_no_event_needs_a_parser_of_python(tmp_path: Path) -> None:
    code = f"""import sys
sys.path.insert(0, {str(ROOT)!r})
from cmem import intake
raw = b'{{"conversation_id": "c", "prompt": "p", "workspace_roots": ["/one", "/two"]}}'
taken = intake.take("cursor", "beforeSubmitPrompt", raw, captured_at=1)
print(taken.beside, "json" in sys.modules)"""
    argv = [sys.executable, "-I", "-c", code]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "('/one', '/two') False\n"


@pytest.mark.parametrize("roots", [[], None, [5], "text"])
def test_no_workspace_is_no_folder(roots: object) -> None:
    raw = payload_bytes({"conversation_id": "c", "prompt": "p", "workspace_roots": roots})
    taken = intake.take(HOST, "beforeSubmitPrompt", raw, captured_at=1)
    assert taken is not None
    assert (taken.cwd, malformed.place(raw, HOSTS[HOST])[0]) == ("", "")


def test_a_payload_that_is_too_large_still_names_its_conversation() -> None:
    raw = payload_bytes({"conversation_id": "c", "tool_name": "t", "tool_input": [[]] * 250_000})
    taken = intake.take(HOST, "postToolUse", raw, captured_at=1)
    assert taken is not None
    assert (taken.session, json.loads(taken.payload)["conversation_id"]) == ("c", "c")


def test_a_tool_call_is_read_out_of_its_text() -> None:
    event = decode_documented("postToolUse-Shell-failed.json")
    assert isinstance(event, ToolUsed)
    assert (event.tool_use_id, event.tool_name, event.outcome, event.duration_ms) == (
        "tool_2",
        "Shell",
        "failed",
        140,
    )
    assert json.loads(event.tool_response) == {
        "exitCode": 1,
        "stdout": "",
        "stderr": "AssertionError\n",
    }


@pytest.mark.parametrize(
    ("output", "kept", "outcome"),
    [
        ('{"exitCode": 0}', {"exitCode": 0}, "ok"),
        ('{"exitCode": true}', {"exitCode": True}, "ok"),
        ("plain text", "plain text", "ok"),
        ({"exitCode": 2}, {"exitCode": 2}, "failed"),
        ("[" * 5000, "[" * 5000, "ok"),
        (None, None, "ok"),
    ],
    ids=["good", "odd code", "text", "object", "deep", "none"],
)
def test_output_of_any_shape_is_kept(output: object, kept: object, outcome: str) -> None:
    event = decode_dict(HOST, "postToolUse", tool_name="Shell", tool_output=output)
    assert isinstance(event, ToolUsed)
    assert (json.loads(event.tool_response), event.outcome) == (kept, outcome)


def test_a_failed_call_says_why() -> None:
    event = decode_documented("postToolUseFailure-Shell.json")
    assert isinstance(event, ToolUsed)
    assert (event.outcome, json.loads(event.tool_response)) == (
        "failed",
        {"error": "Command timed out after 30s", "failure_type": "timeout"},
    )
    event = decode_dict(HOST, "postToolUseFailure", tool_name="Shell", is_interrupt=True)
    assert isinstance(event, ToolUsed)
    assert event.outcome == "interrupted"


def test_tools_of_outside_servers_are_named_as_such() -> None:
    event = decode_documented("postToolUse-mcp.json")
    assert isinstance(event, ToolUsed)
    assert event.tool_name == "mcp__add_note"


@pytest.mark.parametrize(
    ("name", "outcome", "error"),
    [
        ("stop.json", "stop", ""),
        ("stop-aborted.json", "interrupted", ""),
        ("stop-error.json", "failure", "unknown"),
    ],
)
def test_how_a_turn_ended(name: str, outcome: str, error: str) -> None:
    event = decode_documented(name)
    assert isinstance(event, TurnEnded)
    assert (event.message, event.outcome, event.error) == ("", outcome, error)


def test_the_other_events() -> None:
    said = decode_documented("afterAgentResponse.json")
    assert isinstance(said, Answered)
    assert said.message == "Fixed: calc.py added its operands, so subtract failed."
    helped = decode_documented("subagentStop.json")
    assert isinstance(helped, SubagentEnded)
    assert (helped.origin.agent_type, helped.message) == (
        "generalPurpose",
        "Retries are made in client.py.",
    )
    squeezed = decode_documented("preCompact.json")
    assert isinstance(squeezed, CompactStarted)
    assert squeezed.trigger == "auto"
    ended = decode_documented("sessionEnd.json")
    assert isinstance(ended, SessionEnded)
    assert ended.reason == "user_close"


def test_the_last_words_before_the_end_stand_for_the_turn(
    home: Path, conn: apsw.Connection
) -> None:
    events = session(HOST)
    stop = next(n for n, (event, _at, _payload) in enumerate(events) if event == "stop")
    swapped = [*events[: stop - 1], events[stop], events[stop - 1], *events[stop + 1 :]]
    for order in (events, swapped):
        for number, (event, _at, document) in enumerate(order):
            put(home, event, document, number, host=HOST)
    ingest.ingest(str(home), conn, now=NOW)
    shown = render(conn)
    assert shown.count('says "Fixed: calc.py added') == 1
    assert "operator is wrong" not in shown


def test_words_that_come_after_the_end_do_not_replace_those_before_it(
    home: Path, conn: apsw.Connection
) -> None:
    for at, (event, _at, document) in enumerate(session(HOST)):
        put(home, event, document, at, host=HOST)
    late = {**payload(HOST, "afterAgentResponse.json"), "text": "Anything else?"}
    put(home, "afterAgentResponse", late, 99, host=HOST)
    ingest.ingest(str(home), conn, now=NOW)
    assert "Anything else" not in render(conn)


def test_the_users_address_is_not_remembered(home: Path, conn: apsw.Connection) -> None:
    for at, (event, _at, document) in enumerate(session(HOST)):
        put(home, event, document, at, host=HOST)
    ingest.ingest(str(home), conn, now=NOW)
    conn.pragma("wal_checkpoint", "TRUNCATE")
    assert b"dev@example.com" not in (home / "memory.db").read_bytes()
