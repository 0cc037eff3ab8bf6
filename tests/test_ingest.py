from __future__ import annotations

import itertools
import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from capturing import NO_REPO, put, render
from support import SESSIONS, payload_bytes, session

from cmem import ingest, spill, spool, spooled
from cmem.ingest import Ingested
from cmem.model import ToolUsed
from cmem.store import connection, units

GOLDEN = Path(__file__).resolve().parent / "golden" / "ingest"
NOW = 1_800_000_000_000
MINUTE = 60_000
T = 1_700_000_000_000


@pytest.fixture
def conn(home: Path) -> Iterator[apsw.Connection]:
    store = connection.open_writer(str(home), now=NOW)
    yield store
    store.close()


class Host:
    """A made-up session: each call is one hook, a second after the one before."""

    def __init__(self, home: Path, conn: apsw.Connection) -> None:
        self.home, self.conn = home, conn
        self.ticks = itertools.count()

    def send(self, event: str, at: int | None = None, **fields: Any) -> None:
        when = next(self.ticks) * 1000 if at is None else at
        put(self.home, event, {"session_id": "s1", "cwd": "/w/calc", **fields}, T + when)

    def prompt(self, text: str, prompt_id: str, **more: Any) -> None:
        self.send("UserPromptSubmit", prompt=text, prompt_id=prompt_id, **more)

    def tool(self, tool_use_id: str, prompt_id: str = "", **more: Any) -> None:
        fields = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": {}}
        ids = {"tool_use_id": tool_use_id} | ({"prompt_id": prompt_id} if prompt_id else {})
        self.send("PostToolUse", **(fields | ids | more))

    def stop(self, message: str, prompt_id: str = "", **more: Any) -> None:
        ids: dict[str, Any] = {"prompt_id": prompt_id} if prompt_id else {}
        self.send("Stop", last_assistant_message=message, **ids, **more)

    def ingest(self) -> Ingested:
        return ingest.ingest(str(self.home), self.conn, now=NOW)

    def turns(self) -> list[str]:
        """Each turn on one line: what it is, how it ended, what is in it, its units."""
        self.ingest()
        return [
            row[0]
            for row in self.conn.execute(
                """SELECT number || ' ' || kind || CASE private WHEN 1 THEN ' private' ELSE '' END
                || ' ' || coalesce(outcome || '/' || closed_by, 'open')
                || ' [' || coalesce((SELECT group_concat(x, ' ') FROM (
                    SELECT '"' || prompt_text || '"' AS x, created_at AS at FROM user_prompts
                        WHERE turn_id = t.id
                    UNION ALL SELECT CASE tool_input WHEN '' THEN '-' ELSE '' END || tool_use_id,
                        created_at FROM tool_uses WHERE turn_id = t.id ORDER BY at)), '') || '] '
                || CASE assistant_message WHEN '' THEN '' ELSE assistant_message || ' ' END
                || (SELECT count(*) FROM work_units WHERE turn_id = t.id AND kind = 'turn')
                FROM turns t ORDER BY number"""
            )
        ]

    def summaries(self) -> list[tuple[int, str]]:
        """(number of the newest turn, reason) of each summary asked for."""
        self.ingest()
        rows = self.conn.execute(
            """SELECT t.number, u.reason FROM work_units u JOIN turns t ON t.id = u.turn_id
            WHERE u.kind = 'summary' ORDER BY u.id"""
        )
        return [(row[0], row[1]) for row in rows]

    def attempt(self) -> None:
        """Observe every pending turn: their units are done."""
        for (unit,) in list(self.conn.execute("SELECT id FROM work_units WHERE kind = 'turn'")):
            units.count_attempt(self.conn, unit)
        self.conn.execute("UPDATE work_units SET state = 'done' WHERE kind = 'turn'")


@pytest.fixture
def host(home: Path, conn: apsw.Connection) -> Host:
    return Host(home, conn)


# --- recorded sessions -----------------------------------------------------------------


@pytest.mark.parametrize("name", SESSIONS)
def test_a_recorded_session_becomes_what_happened(
    name: str, home: Path, conn: apsw.Connection
) -> None:
    events = session(name)
    for event, at, payload in events:
        put(home, event, payload, at)
    first = ingest.ingest(str(home), conn, now=NOW)
    shown = render(conn)
    golden = GOLDEN / name.replace(".jsonl", ".txt")
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(shown, encoding="utf-8")
    assert shown == golden.read_text(encoding="utf-8")
    for event, at, payload in events:
        put(home, event, payload, at)
    second = ingest.ingest(str(home), conn, now=NOW)
    assert (first, second) == (
        Ingested(events=len(events)),
        Ingested(duplicates=len(events)),
    )
    assert render(conn) == shown
    assert spooled.counts(str(home)) == (0, 0, 0)


@pytest.mark.parametrize("name", ["session-fix-subtract.jsonl", "session-tool-round.jsonl"])
@pytest.mark.parametrize("seed", range(3))
def test_the_order_in_the_spool_is_not_the_order_of_events(
    name: str, seed: int, home: Path, conn: apsw.Connection
) -> None:
    events = session(name)
    random.Random(seed).shuffle(events)
    for event, at, payload in events:
        put(home, event, payload, at)
    ingest.ingest(str(home), conn, now=NOW)
    golden = GOLDEN / name.replace(".jsonl", ".txt")
    assert render(conn) == golden.read_text(encoding="utf-8")


def test_evidence_is_found_at_once(host: Host) -> None:
    host.prompt("why does the gearbox squeak", "p1")
    host.tool("t1", "p1", tool_response={"stdout": "lubricant missing"})
    host.ingest()
    rows = host.conn.execute(
        """SELECT d.kind FROM documents_fts f JOIN documents d ON d.id = f.rowid
        WHERE documents_fts MATCH 'gearbox OR lubricant' ORDER BY d.id"""
    ).fetchall()
    assert rows == [("P",), ("T",)]


# --- turns -----------------------------------------------------------------------------


def test_a_prompt_its_tools_and_the_last_message_are_a_turn(host: Host) -> None:
    host.prompt("one", "p1")
    host.tool("t1", "p1")
    assert host.turns() == ['1 user open ["one" t1] 0']
    host.stop("done", "p1")
    assert host.turns() == ['1 user stop/stop ["one" t1] done 1']


def test_the_next_prompt_closes_a_turn_that_nothing_ended(host: Host) -> None:
    host.prompt("one", "p1")
    host.prompt("two", "p2")
    assert host.turns() == [
        '1 user interrupted/next-prompt ["one"] 1',
        '2 user open ["two"] 0',
    ]


def test_a_notification_joins_the_open_turn(host: Host) -> None:
    host.prompt("one", "p1")
    host.prompt("<task-notification>x", "p1")
    host.stop("done", "p1")
    assert host.turns() == ['1 user stop/stop ["one" "<task-notification>x"] done 1']
    assert host.conn.execute("SELECT prompt_counter FROM sessions").get == 1


def test_a_notification_after_the_turn_is_a_turn_of_its_own(host: Host) -> None:
    host.prompt("one", "p1")
    host.stop("done", "p1")
    host.prompt("<task-notification>x", "p1")
    host.stop("noted", "p1")
    assert host.turns() == [
        '1 user stop/stop ["one"] done 1',
        '2 notification stop/stop ["<task-notification>x"] noted 1',
    ]


def test_a_late_tool_joins_its_turn_while_nobody_has_looked_at_it(host: Host) -> None:
    host.prompt("one", "p1")
    host.stop("done", "p1")
    host.ingest()
    host.tool("t1", "p1")
    assert host.turns() == ['1 user stop/stop ["one" t1] done 1']


def test_work_after_an_observed_turn_is_a_background_turn(host: Host) -> None:
    host.prompt("one", "p1")
    host.stop("done", "p1")
    host.ingest()
    host.attempt()
    host.tool("t1", "p1")
    host.tool("t2", "p1")
    host.prompt("two", "p2")
    assert host.turns() == [
        '1 user stop/stop ["one"] done 1',
        "2 background interrupted/next-prompt [t1 t2] 1",
        '3 user open ["two"] 0',
    ]
    numbers = host.conn.execute("SELECT DISTINCT prompt_number FROM tool_uses").fetchall()
    assert numbers == [(1,)]


def test_background_work_during_the_next_turn_goes_where_it_belongs(host: Host) -> None:
    host.prompt("one", "p1")
    host.stop("done", "p1")
    host.prompt("two", "p2")
    host.tool("t1", "p1")
    assert host.turns() == ['1 user stop/stop ["one" t1] done 1', '2 user open ["two"] 0']
    host.attempt()
    host.tool("t2", "p1")
    assert host.turns() == ['1 user stop/stop ["one" t1] done 1', '2 user open ["two" t2] 0']


def test_a_tool_before_any_prompt_opens_a_headless_turn(host: Host) -> None:
    host.tool("t1")
    host.stop("done")
    assert host.turns() == ["1 headless stop/stop [t1] done 1"]


def test_a_prompt_that_comes_after_its_tools_takes_their_turn(host: Host) -> None:
    host.tool("t1", "p1", at=2_000)
    host.ingest()
    host.prompt("one", "p1", at=1_000)
    assert host.turns() == ['1 user open ["one" t1] 0']


def test_a_private_prompt_that_comes_late_takes_the_content_back(host: Host) -> None:
    host.tool("t1", "p1", tool_response={"stdout": "lubricant"}, at=2_000)
    host.stop("done", "p1", at=3_000)
    host.ingest()
    host.prompt("", "p1", cmem_private=True, at=1_000)
    assert host.turns() == ['1 user private stop/stop ["" -t1] 0']
    assert host.conn.execute("SELECT count(*) FROM documents").get == 0


def test_a_prompt_that_comes_late_closes_no_newer_turn(host: Host) -> None:
    host.prompt("two", "p2", at=5_000)
    host.ingest()
    host.prompt("one", "p1", at=1_000)
    host.tool("t1", "p1", at=2_000)
    host.stop("done one", "p1", at=3_000)
    host.tool("t2", "p2", at=6_000)
    host.stop("done two", "p2", at=7_000)
    assert host.turns() == [
        '1 user stop/stop ["two" t2] done two 1',
        '2 user stop/stop ["one" t1] done one 1',
    ]


def test_a_late_stop_puts_its_own_turn_right(host: Host) -> None:
    host.prompt("one", "p1", at=1_000)
    host.prompt("two", "p2", at=3_000)
    host.ingest()
    host.stop("done one", "p1", at=2_000)
    assert host.turns() == ['1 user stop/stop ["one"] done one 1', '2 user open ["two"] 0']


def test_a_second_stop_of_a_turn_is_ignored(host: Host) -> None:
    host.prompt("one", "p1")
    host.stop("done", "p1")
    host.stop("once more", "p1")
    assert host.turns() == ['1 user stop/stop ["one"] done 1']


def test_a_stop_without_a_prompt_is_a_turn_of_its_message(host: Host) -> None:
    host.prompt("one", "p1")
    host.stop("done", "p1")
    host.stop("noted the status", "p9")
    host.stop("", "p10")
    assert host.turns() == [
        '1 user stop/stop ["one"] done 1',
        "2 message stop/stop [] noted the status 1",
    ]


def test_a_failed_turn_keeps_its_error(host: Host) -> None:
    host.prompt("one", "p1")
    host.send("StopFailure", prompt_id="p1", error="overloaded", last_assistant_message="sorry")
    assert host.turns() == ['1 user failure/stop-failure ["one"] sorry 1']
    assert host.conn.execute("SELECT error FROM turns").get == "overloaded"


def test_a_host_without_prompt_ids_has_turns_all_the_same(host: Host) -> None:
    host.send("UserPromptSubmit", prompt="yes")
    host.tool("t1")
    host.stop("a")
    next(itertools.islice(host.ticks, 20, None))
    host.send("UserPromptSubmit", prompt="yes")
    host.tool("t2")
    host.stop("b")
    assert host.turns() == ['1 user stop/stop ["yes" t1] a 1', '2 user stop/stop ["yes" t2] b 1']


def test_a_private_prompt_hides_its_turn(host: Host) -> None:
    tag = "pri" + "vate"
    host.prompt(f"<{tag}>horse</{tag}>", "p1")
    host.tool("t1", "p1")
    host.send("SubagentStop", agent_id="a", agent_type="Explore", last_assistant_message="horse")
    host.stop("I will remember horse", "p1")
    host.tool("t2", "p1")
    host.prompt("<task-notification>horse", "p1")
    [turn] = host.turns()
    assert turn.startswith('1 user private stop/stop ["" -t1 -subagent:a:')
    assert turn.endswith(' -t2 ""] 0')
    assert host.conn.execute("SELECT count(*) FROM documents").get == 0
    assert host.summaries() == []


def test_a_subagents_end_is_evidence_and_compactions_is_not(host: Host) -> None:
    host.prompt("one", "p1")
    host.send("SubagentStop", agent_id="a", agent_type="Explore", last_assistant_message="found")
    host.send("SubagentStop", agent_id="b", agent_type="", last_assistant_message="<summary>")
    host.ingest()
    rows = host.conn.execute("SELECT tool_name, tool_response, agent_id, taint FROM tool_uses")
    assert rows.fetchall() == [("SubagentStop", '"found"', "a", "agent")]


def test_the_same_tool_use_and_prompt_are_stored_once_whatever_their_event(host: Host) -> None:
    host.prompt("one", "p1")
    host.tool("t1", "p1")
    host.ingest()
    host.conn.execute("DELETE FROM seen_events")
    host.prompt("one", "p1")
    host.tool("t1", "p1", tool_name="Other")
    assert host.ingest() == Ingested(duplicates=2)
    assert host.turns() == ['1 user open ["one" t1] 0']


@pytest.mark.parametrize(("gap", "events"), [(10_000, 1), (10_001, 2)])
def test_events_that_recur_are_one_within_ten_seconds(gap: int, events: int, host: Host) -> None:
    for at in (0, gap):
        host.send("PreCompact", at=at, trigger="manual")
        host.ingest()
    assert host.conn.execute("SELECT count(*) FROM seen_events").get == events


# --- sessions and summaries ------------------------------------------------------------


def state(host: Host) -> tuple[Any, ...]:
    host.ingest()
    row = host.conn.execute("SELECT status, completed_at FROM sessions").fetchone()
    assert row is not None
    return tuple(row)


def test_session_end_closes_completes_and_asks_for_a_summary_once(host: Host) -> None:
    host.prompt("one", "p1")
    host.send("SessionEnd", reason="other")
    assert host.turns() == ['1 user interrupted/session-end ["one"] 1']
    assert state(host) == ("completed", T + 1_000)
    host.send("SessionEnd", at=60_000, reason="other")
    assert host.summaries() == [(1, "end")]


def test_a_session_goes_on_after_its_end(host: Host) -> None:
    host.prompt("one", "p1")
    host.stop("done", "p1")
    host.send("SessionEnd", reason="other")
    host.send("SessionStart", source="resume")
    assert state(host) == ("active", None)
    host.prompt("two", "p2")
    host.stop("done", "p2")
    host.send("SessionEnd", at=60_000, reason="other")
    assert host.summaries() == [(1, "end"), (2, "end")]


def test_an_event_that_comes_late_does_not_revive_its_session(host: Host) -> None:
    host.prompt("one", "p1", at=1_000)
    host.stop("done", "p1", at=3_000)
    host.send("SessionEnd", at=4_000, reason="other")
    host.ingest()
    host.tool("t1", "p1", at=2_000)
    assert state(host) == ("completed", T + 4_000)


def test_compaction_asks_for_what_is_closed_and_closes_nothing(host: Host) -> None:
    host.prompt("one", "p1")
    host.send("PreCompact", trigger="auto")
    assert host.summaries() == []
    host.stop("done", "p1")
    host.prompt("two", "p2")
    host.send("PreCompact", trigger="auto", custom_instructions="x")
    assert host.summaries() == [(1, "compact")]
    assert host.turns() == ['1 user stop/stop ["one"] done 1', '2 user open ["two"] 0']


def test_the_first_event_fixes_the_project(host: Host) -> None:
    host.prompt("one", "p1", cwd="/w/calc")
    host.tool("t1", "p1", cwd="/w/other")
    host.ingest()
    rows = host.conn.execute("SELECT p.name, s.cwd FROM sessions s JOIN projects p").fetchall()
    assert rows == [("calc", "/w/calc")]


def test_a_repository_is_its_remote(home: Path, conn: apsw.Connection, tmp_path: Path) -> None:
    repo = tmp_path / "clone"
    subprocess.run(["git", "init", "-q", str(repo)], check=True, timeout=20)
    subprocess.run(
        ["git", "-C", str(repo), "remote", "add", "origin", "git@example.org:ann/calc.git"],
        check=True,
        timeout=20,
    )
    payload = {"session_id": "s", "cwd": str(repo), "prompt": "x", "prompt_id": "p"}
    found = (str(repo), str(repo / ".git"), "main", "a" * 40)
    put(home, "UserPromptSubmit", payload, T, repo=found)
    ingest.ingest(str(home), conn, now=NOW)
    rows = conn.execute(
        """SELECT p.key, p.name, project_key_source, branch, commit_sha
        FROM sessions s JOIN projects p ON p.id = s.project_id JOIN turns t"""
    ).fetchall()
    assert rows == [("example.org/ann/calc", "calc", "git-remote", "main", "a" * 40)]


# --- sweep -----------------------------------------------------------------------------


def sweep(host: Host, *, after: int, **options: Any) -> int:
    host.ingest()
    chosen = {"close_open": False, "session": None} | options
    return ingest.sweep(host.conn, now=T + after, **chosen)


def test_an_idle_session_is_summarised_after_ten_minutes(host: Host) -> None:
    host.prompt("one", "p1", at=0)
    host.stop("done", "p1", at=0)
    assert sweep(host, after=10 * MINUTE - 1) == 0
    assert host.summaries() == []
    assert sweep(host, after=10 * MINUTE) == 0
    assert sweep(host, after=20 * MINUTE) == 0
    assert host.summaries() == [(1, "idle")]


def test_a_running_turn_may_be_silent_for_hours(host: Host) -> None:
    host.prompt("zero", "p0", at=0)
    host.stop("done", "p0", at=0)
    host.prompt("one", "p1", at=0)
    assert sweep(host, after=6 * 60 * MINUTE - 1) == 0
    assert host.summaries() == []
    late = 6 * 60 * MINUTE - 2
    host.tool("t1", "p1", at=late)
    host.stop("built", "p1", at=late)
    assert sweep(host, after=late) == 0
    assert host.turns()[1:] == ['2 user stop/stop ["one" t1] built 1']
    host.prompt("two", "p2", at=late)
    assert sweep(host, after=late + 6 * 60 * MINUTE - 1) == 0
    assert sweep(host, after=late + 6 * 60 * MINUTE) == 1
    assert host.turns()[2:] == ['3 user interrupted/sweep ["two"] 1']
    assert host.summaries() == [(3, "idle")]


def test_a_turn_left_open_in_a_session_that_is_over_is_closed_at_once(host: Host) -> None:
    host.prompt("one", "p1", at=1_000)
    host.stop("done", "p1", at=2_000)
    host.send("SessionEnd", at=9_000, reason="other")
    host.ingest()
    host.attempt()
    host.tool("t1", "p1", at=3_000)
    assert sweep(host, after=10_000) == 1
    assert host.turns()[1] == "2 background interrupted/sweep [t1] 1"


def test_open_turns_are_closed_when_asked_and_no_summary_is(host: Host) -> None:
    host.prompt("one", "p1")
    host.prompt("other", "q1", session_id="s2")
    assert sweep(host, after=0, close_open=True, session="s2") == 1
    assert host.turns() == ['1 user open ["one"] 0', '1 user open/asked ["other"] 1']
    assert sweep(host, after=0, close_open=True, session="N1") == 1
    assert host.turns()[0] == '1 user open/asked ["one"] 1'
    assert host.summaries() == []
    host.stop("done", "p1")
    assert host.turns()[0] == '1 user stop/stop ["one"] done 1'


# --- what is no event ------------------------------------------------------------------


def test_what_cannot_be_read_is_counted_and_does_not_come_back(home: Path, host: Host) -> None:
    for number, payload in enumerate((b"[]", b"{}", b'{"session_id":"s1","prompt":5}')):
        spool.append(
            str(home),
            eid=f"claude-code:x:h:{number}",
            host="claude-code",
            event="UserPromptSubmit",
            session="",
            captured_at=T,
            cwd="",
            repo=NO_REPO,
            project_env="",
            digest="",
            window=False,
            payload=payload,
        )
    assert host.ingest() == Ingested(events=3, unreadable=3, lost=3)
    assert spooled.counts(str(home)) == (0, 0, 3)
    assert host.conn.execute("SELECT count(*) FROM sessions").get == 0


def test_a_host_we_do_not_know_is_counted(home: Path, host: Host) -> None:
    spool.append(
        str(home),
        eid="strange:1",
        host="strange",
        event="X",
        session="",
        captured_at=T,
        cwd="",
        repo=NO_REPO,
        project_env="",
        digest="",
        window=False,
        payload=b"{}",
    )
    assert host.ingest() == Ingested(events=1, unreadable=1)


def test_a_tool_call_that_was_too_large_leaves_its_trace(host: Host) -> None:
    host.prompt("one", "p1")
    host.send("PostToolUse", cmem_stub="oversize", bytes=9_000_000)
    assert host.ingest() == Ingested(events=2, unreadable=1)
    rows = host.conn.execute("SELECT tool_name, tool_response, turn_id FROM tool_uses").fetchall()
    assert rows == [("unreadable", '"[not kept by cmem: oversize: 9000000 bytes]"', 1)]


# --- the mailbox -----------------------------------------------------------------------


def test_spilled_events_are_taken_in_where_they_belong(home: Path, host: Host) -> None:
    spilled = {"session_id": "s1", "cwd": "/w/calc", "prompt": "one", "prompt_id": "p1"}
    spill.write(
        str(home),
        host="claude-code",
        event="UserPromptSubmit",
        captured_at=T,
        payload=payload_bytes(spilled),
    )
    host.tool("t1", "p1", at=1_000)
    host.stop("done", "p1", at=2_000)
    assert host.ingest() == Ingested(events=3)
    assert host.turns() == ['1 user stop/stop ["one" t1] done 1']
    assert spooled.counts(str(home)) == (0, 0, 0)


def test_more_than_a_batch_of_either_kind_is_taken_in(home: Path, host: Host) -> None:
    host.prompt("one", "p1")
    for number in range(120):
        host.tool(f"t{number}", "p1")
    for number in range(40):
        payload = {"session_id": "s1", "tool_name": "T", "tool_use_id": f"u{number}"}
        spill.write(
            str(home),
            host="claude-code",
            event="PostToolUse",
            captured_at=T + number * 5_000,
            payload=payload_bytes(payload),
        )
    assert host.ingest() == Ingested(events=161)
    assert host.conn.execute("SELECT count(*) FROM tool_uses").get == 160
    assert spooled.counts(str(home)) == (0, 0, 0)


def test_a_failed_batch_leaves_mailbox_and_store_as_they_were(
    home: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.prompt("one", "p1")
    host.tool("t1", "p1")
    monkeypatch.setenv("CMEM_TEST", "1")
    monkeypatch.setenv("CMEM_FAILPOINT", "ingest_before_commit=raise")
    monkeypatch.setattr("cmem.failpoint._hits", {})
    with pytest.raises(RuntimeError):
        host.ingest()
    assert host.conn.execute("SELECT count(*) FROM sessions").get == 0
    assert spooled.counts(str(home)) == (2, 0, 0)
    monkeypatch.delenv("CMEM_FAILPOINT")
    assert host.turns() == ['1 user open ["one" t1] 0']


def test_an_entry_that_cannot_be_stored_holds_nothing_up(
    home: Path, conn: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No such entry is known; should there be one, it is set aside and counted, alone."""
    events = session("session-fix-subtract.jsonl")
    for event, at, payload in events:
        put(home, event, payload, at)
    real = ingest.take

    def take(store: Any, event: Any, where: Any, *, now: int) -> bool:
        if isinstance(event, ToolUsed) and event.tool_name == "Write":
            raise ValueError
        return real(store, event, where, now=now)

    monkeypatch.setattr(ingest, "take", take)
    taken = ingest.ingest(str(home), conn, now=NOW)
    assert taken == ingest.Ingested(len(events), 0, 1)
    assert spooled.counts(str(home)) == (0, 0, 1)
    (bad,) = (home / "spill" / "bad").iterdir()
    assert b'"tool_name": "Write"' in bad.read_bytes().replace(b'":"', b'": "')


def test_two_turns_of_an_old_client_that_end_alike_are_two(host: Host) -> None:
    """Clients before prompt ids: the same last words a minute later end another turn."""
    for number in range(2):
        at = number * MINUTE
        host.send("UserPromptSubmit", at=at, prompt=f"Please do part {number} of it.")
        host.tool(f"t{number}", at=at + 1_000)
        host.send("Stop", at=at + 2_000, last_assistant_message="Done.")
        host.send("Stop", at=at + 2_500, last_assistant_message="Done.")
    assert host.ingest() == Ingested(events=6)
    ended = host.conn.execute("SELECT number, closed_by, assistant_message FROM turns").fetchall()
    assert ended == [(1, "stop", "Done."), (2, "stop", "Done.")]
