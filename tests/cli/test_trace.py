"""What became of an event, told by any of its names: here a recorded session and odd cases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
import samples
from capturing import put
from support import payload_bytes, run_cmem, run_hook, run_json, session

from cmem import hooklog, ingest, spill, spooled, trace
from cmem.model import Entry, Repo
from cmem.store import connection

NOW = 1_800_000_000_000
AT = 1_799_999_000_000
SESSION = "5f7d2c1a-0000-4000-8000-0000000000aa"
TOOL = {
    "session_id": SESSION,
    "cwd": "/w/calc",
    "hook_event_name": "PostToolUse",
    "prompt_id": "p1",
    "tool_name": "Bash",
    "tool_input": {"command": "make test"},
    "tool_response": {"stdout": "ok"},
    "tool_use_id": "toolu_0001",
}
EID = f"claude-code:{SESSION}:t:toolu_0001"
PROMPT = {"session_id": SESSION, "cwd": "/w/calc", "prompt": "run the tests", "prompt_id": "p1"}


@pytest.fixture
def conn(home: Path) -> Iterator[apsw.Connection]:
    store = connection.open_writer(str(home), now=NOW)
    yield store
    store.close()


def fails(*args: str) -> str:
    done = run_cmem("trace", *args)
    assert (done.returncode, done.stdout) == (1, b"")
    return done.stderr.decode()


def take_in(home: Path, conn: apsw.Connection) -> None:
    ingest.ingest(str(home), conn, now=NOW)


@pytest.mark.parametrize("name", [EID, EID[:60], "toolu_0001", "toolu_00"])
def test_a_waiting_event_says_where_it_waits(home: Path, name: str) -> None:
    put(home, "PostToolUse", TOOL, AT)
    assert run_json("trace", name) == {
        "id": None,
        "eid": EID,
        "state": "waiting",
        "way": "spool",
        "captured": {"at": AT, "host": "claude-code", "event": "PostToolUse", "cwd": "/w/calc"},
        "redacted": {},
    }
    assert spooled.counts(str(home)) == (1, 0, 0)


def test_spilled_events_and_those_set_aside_are_found(home: Path) -> None:
    where = {"host": "claude-code", "event": "PostToolUse"}
    one, other = (
        payload_bytes({**TOOL, "tool_use_id": name}).strip()
        for name in ("toolu_0001", "toolu_0002")
    )
    spill.write(str(home), **where, captured_at=AT, payload=one)
    entry = Entry(0, "x", "claude-code", "PostToolUse", AT, "", Repo("", "", "", ""), "", other)
    spill.keep_bad(str(home), entry)
    hooklog.note(str(home), "PostToolUse", "BusyError", size=len(one), outcome="spilled")
    hooklog.note(str(home), "PostToolUse", KeyError(), size=len(other), outcome="bad")
    hooklog.note(str(home), "PostToolUse", OSError(), size=len(other) + 1, outcome="bad")
    waits = run_json("trace", "toolu_0001")
    assert (waits["state"], waits["way"], waits["reason"]) == ("waiting", "spill", "BusyError")
    aside = run_json("trace", "toolu_0002")
    assert aside["state"] == "set aside"
    assert aside["file"].startswith(f"{home}/spill/bad/")
    told = run_cmem("trace", "toolu_0002").stdout.decode()
    assert f"in {aside['file']}: it could not be taken in (KeyError)" in told
    (home / "hook.log").unlink()
    assert run_json("trace", "toolu_0002")["reason"] == ""
    assert spooled.counts(str(home)) == (0, 1, 1)


def test_a_stored_tool_call_tells_its_whole_way(home: Path, conn: apsw.Connection) -> None:
    secret = "gh" + "p_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"
    put(home, "UserPromptSubmit", PROMPT, AT)
    put(home, "PostToolUse", {**TOOL, "tool_response": {"stdout": f"token {secret}"}}, AT + 1000)
    put(home, "Stop", {"session_id": SESSION, "prompt_id": "p1"}, AT + 2000)
    take_in(home, conn)
    found = run_json("trace", "T1")
    assert found == run_json("trace", "toolu_0001") == run_json("trace", EID)
    (unit,) = found.pop("units")
    assert (unit["kind"], unit["state"], unit["attempts"]) == ("turn", "pending", 0)
    assert found == {
        "id": "T1",
        "eid": EID,
        "state": "stored",
        "captured": {
            "at": AT + 1000,
            "host": "claude-code",
            "cwd": "/w/calc",
            "agent": "",
            "tool": "Bash",
            "tool_use_id": "toolu_0001",
            "outcome": "ok",
            "taint": "local",
        },
        "ingested_at": NOW,
        "session": {
            "id": "N1",
            "host": "claude-code",
            "host_session": SESSION,
            "cwd": "/w/calc",
            "project": "calc",
            "project_by": "path",
        },
        "turn": {
            "number": 1,
            "opened_at": AT,
            "closed_at": AT + 2000,
            "closed_by": "stop",
            "outcome": "stop",
            "private": False,
            "prompt": "P1",
        },
        "observations": [],
        "summaries": [],
        "redacted": {"github": 1},
    }
    prompt = run_json("trace", "P1")
    assert prompt["eid"].startswith(f"claude-code:{SESSION}:p:p1:")
    assert run_json("trace", prompt["eid"])["id"] == "P1"


def test_an_event_without_a_row_was_taken_in_all_the_same(
    home: Path, conn: apsw.Connection
) -> None:
    put(home, "UserPromptSubmit", PROMPT, AT)
    put(home, "Stop", {"session_id": SESSION, "prompt_id": "p1"}, AT + 2000)
    take_in(home, conn)
    (eid,) = (
        str(row[0])
        for row in conn.execute("SELECT eid FROM seen_events WHERE eid LIKE '%:h:%'").fetchall()
    )
    found = run_json("trace", eid)
    assert found == {"id": None, "eid": eid, "state": "taken in", "ingested_at": NOW}


def test_a_call_without_an_id_of_the_hosts_is_found_by_its_event(
    home: Path, conn: apsw.Connection
) -> None:
    payload = {key: value for key, value in TOOL.items() if key != "tool_use_id"}
    put(home, "AfterTool", payload, AT, host="gemini-cli")
    take_in(home, conn)
    (row,) = conn.execute("SELECT eid FROM seen_events").fetchall()
    assert run_json("trace", str(row[0]))["id"] == "T1"


def test_memories_tell_what_they_were_made_of(home: Path) -> None:
    samples.calc(home).close()
    found = run_json("trace", "O1")
    assert (found["id"], found["title"], found["model"]) == ("O1", "Fixed subtract", "extract")
    assert found["sources"] == [
        {"id": "P1", "title": "prompt"},
        {"id": "T1", "title": "Read"},
        {"id": "T2", "title": "Edit"},
    ]
    assert [one["id"] for one in run_json("trace", "S1")["sources"]] == ["O1", "O2"]
    assert run_json("trace", "T2")["observations"] == [
        {"id": "O1", "title": "Fixed subtract", "superseded": False}
    ]
    assert run_json("trace", "T2")["summaries"] == [{"id": "S1", "title": "Fix subtract"}]
    told = run_cmem("trace", "T2").stdout.decode().split("\n")
    assert told[0] == "T2  stored"
    assert "  became:    O1 Fixed subtract" in told
    assert "  in:        S1 Fix subtract" in told


@pytest.mark.parametrize("hard", [False, True])
def test_of_what_was_forgotten_only_that_is_told(
    home: Path, conn: apsw.Connection, *, hard: bool
) -> None:
    put(home, "UserPromptSubmit", PROMPT, AT)
    put(home, "PostToolUse", TOOL, AT + 1000)
    take_in(home, conn)
    conn.close()
    prompt = run_json("trace", "P1")["eid"]
    run_json("forget", "T1", "P1", "--yes", *(["--hard"] if hard else []))
    assert run_cmem("trace", "toolu_0001").stdout.decode().endswith("  forgotten\n")
    for name in (EID, prompt):
        found = run_json("trace", name)
        assert found["state"] == "forgotten"
        assert set(found) <= {"id", "eid", "state", "ingested_at"}
    if hard:
        assert fails("T1").startswith("cmem: nothing is known of T1; give T9")
    else:
        assert run_json("trace", "T1") == {"id": "T1", "eid": None, "state": "forgotten"}


def test_what_is_unknown_says_where_it_may_have_gone(home: Path) -> None:
    (home / "config.toml").write_text('skip_tools = "Bash"\n')
    run_hook(home, "PostToolUse", payload_bytes(TOOL))
    (home / "dropped").write_bytes(b"..")
    told = fails("toolu_0001")
    assert told.startswith(
        "cmem: nothing is known of toolu_0001 (2 events were dropped, 1 tool call left out "
        "by filters); give T9"
    )
    assert fails("O99").startswith("cmem: nothing is known of O99")
    assert fails("T99999999999999999999").startswith("cmem: nothing is known of T9999")
    assert run_cmem("trace", "N1").returncode == 2
    assert run_cmem("trace", "").returncode == 2


def test_several_of_one_beginning_are_listed(home: Path, conn: apsw.Connection) -> None:
    put(home, "PostToolUse", TOOL, AT)
    put(home, "PostToolUse", {**TOOL, "tool_use_id": "toolu_0002"}, AT + 1)
    told = f"cmem: several events are called so: {EID}, {EID[:-1]}2; give more of one of them\n"
    assert fails("toolu_00") == told
    take_in(home, conn)
    assert fails("toolu_00") == told.replace(f"{EID[:-10]}", "")
    assert fails("toolu").startswith("cmem: nothing is known of toolu")


def test_every_row_of_a_recorded_session_can_be_traced(home: Path, conn: apsw.Connection) -> None:
    for event, at, payload in session("session-fix-subtract.jsonl"):
        put(home, event, payload, at)
    take_in(home, conn)
    for kind, table in (("T", "tool_uses"), ("P", "user_prompts")):
        for (number,) in conn.execute(f"SELECT id FROM {table}").fetchall():
            found = trace.trace(str(home), conn, "", (kind, int(number)))
            assert found["state"] == "stored"
            if found["eid"] is not None:
                assert trace.trace(str(home), conn, found["eid"], None)["id"] == found["id"]
