from __future__ import annotations

from pathlib import Path

import apsw
import pytest
import seeding

from cmem.model import Usage
from cmem.store import counts, ledger, memory, units
from cmem.store.rows import rows

NOW = seeding.T0 + seeding.DAY


@pytest.fixture
def conn(home: Path) -> apsw.Connection:
    return seeding.open_store(home)


def observe(conn: apsw.Connection, unit_id: int, *, at: int = NOW) -> None:
    unit = units.load(conn, unit_id, language="auto")
    observed = seeding.observed(
        *([seeding.draft()] if unit_id == 1 else []),
        summary=seeding.SUMMARY if unit_id != 1 else None,
        usage=Usage(100, 20, 3, 4, 0.25),
    )
    memory.commit(conn, unit=unit, observed=observed, started_at=at, now=at + 7, microusd=250_000)


def test_empty_store_counts_nothing(conn: apsw.Connection) -> None:
    assert counts.status_counts(conn, midnight=NOW) == counts.StatusCounts(
        sessions=0,
        prompts=0,
        tool_uses=0,
        observations=0,
        summaries=0,
        work=counts.Work(0, 0, None),
        last_captured_at=None,
        last_observed_at=None,
        spend_tokens=0,
        spend_usd=0.0,
    )


def test_status_counts_what_is_there(conn: apsw.Connection) -> None:
    session = seeding.add_session(conn)
    turn = seeding.add_turn(conn, session)
    seeding.add_tool(conn, turn)
    seeding.add_tool(conn, turn, name="SubagentStop")
    seeding.add_turn(conn, session, 2, prompt="<task-notification>", kind="notification")
    seeding.add_session(conn, "started and left")
    headless = seeding.add_turn(conn, seeding.add_session(conn, "tools only"), prompt="")
    seeding.add_tool(conn, headless)
    seeding.add_unit(conn, turn)
    seeding.add_unit(conn, turn, kind="summary", reason="end")
    observe(conn, 1, at=NOW - 1)
    observe(conn, 2, at=NOW)
    parked, pending = seeding.add_unit(conn, headless), seeding.add_unit(conn, headless)
    seeding.park(conn, parked, "no use", NOW)
    conn.execute("UPDATE work_units SET created_at = 77 WHERE id = ?", (pending,))
    conn.execute("UPDATE sessions SET last_event_at = ? WHERE id = ?", (NOW + 3, session))
    assert counts.status_counts(conn, midnight=NOW) == counts.StatusCounts(
        sessions=2,
        prompts=1,
        tool_uses=2,
        observations=1,
        summaries=1,
        work=counts.Work(pending=1, parked=1, oldest_at=77),
        last_captured_at=NOW + 3,
        last_observed_at=NOW + 7,
        spend_tokens=127,
        spend_usd=0.25,
    )


def test_hidden_rows_do_not_count(conn: apsw.Connection) -> None:
    turn = seeding.add_turn(conn, seeding.add_session(conn))
    seeding.add_tool(conn, turn)
    observe(conn, seeding.add_unit(conn, turn))
    observe(conn, seeding.add_unit(conn, turn, kind="summary", reason="end"))
    seeding.add_unit(conn, turn)
    for table in ("turns", "user_prompts", "tool_uses", "observations", "session_summaries"):
        conn.execute(f"UPDATE {table} SET hidden_at = 1")
    found = counts.status_counts(conn, midnight=NOW)
    assert found[:5] == (0, 0, 0, 0, 0)
    assert found.work == counts.Work(0, 0, None)


def test_failed_call_is_spent_but_nothing_is_observed(conn: apsw.Connection) -> None:
    unit = seeding.add_unit(conn, seeding.add_turn(conn, seeding.add_session(conn)))
    usage = Usage(10, 1, 0, 0, 0.5)
    failed = ledger.Result("anthropic", "m", "", "unusable", 1, usage, 500_000, "unusable: prose")
    ledger.end(conn, unit, failed, started_at=NOW, now=NOW)
    found = counts.status_counts(conn, midnight=NOW)
    assert (found.spend_tokens, found.spend_usd, found.last_observed_at) == (11, 0.5, None)


@pytest.mark.parametrize("query", [counts.TOOL_USES, counts.SUMMARIES, counts.OBSERVATIONS])
def test_large_tables_are_counted_over_an_index(conn: apsw.Connection, query: str) -> None:
    steps = [str(step[3]) for step in rows(conn, "EXPLAIN QUERY PLAN " + query)]
    assert any(" INDEX " in step for step in steps), steps
