"""The numbers ``status`` shows: of visible rows only."""

from __future__ import annotations

from typing import NamedTuple

import apsw

from cmem.store import ledger
from cmem.store.rows import rows, value

# Rows are counted over narrow indexes. Hidden rows are few and live a day, so they are
# subtracted. Subagents' last messages lie among the tool uses and are none.
SESSIONS = """SELECT count(*) FROM sessions s WHERE
    EXISTS (SELECT 1 FROM user_prompts p WHERE p.session_id = s.id AND p.hidden_at IS NULL)
    OR EXISTS (SELECT 1 FROM tool_uses t WHERE t.session_id = s.id AND t.hidden_at IS NULL)
    OR s.host <> 'user' AND EXISTS (SELECT 1 FROM observations o
        WHERE o.session_id = s.id AND o.hidden_at IS NULL)"""
PROMPTS = "SELECT count(*) FROM user_prompts WHERE kind = 'user' AND hidden_at IS NULL"
TOOL_USES = """SELECT
    (SELECT count(*) FROM tool_uses WHERE tool_use_id NOT LIKE 'subagent:%')
    - (SELECT count(*) FROM tool_uses
        WHERE hidden_at IS NOT NULL AND tool_use_id NOT LIKE 'subagent:%')"""
OBSERVATIONS = """SELECT count(*) FROM observations
    WHERE hidden_at IS NULL AND superseded_by IS NULL"""
SUMMARIES = """SELECT count(*) FROM session_summaries
    WHERE hidden_at IS NULL AND instr(metadata, '"superseded_by"') = 0"""
WORK = """SELECT coalesce(sum(u.state = 'pending'), 0), coalesce(sum(u.state = 'parked'), 0),
        min(CASE u.state WHEN 'pending' THEN u.created_at END)
    FROM work_units u JOIN turns t ON t.id = u.turn_id
    WHERE u.state IN ('pending', 'parked') AND t.hidden_at IS NULL"""
PENDING_UNITS = """SELECT u.id FROM work_units u JOIN turns t ON t.id = u.turn_id
    JOIN sessions s ON s.id = u.session_id
    WHERE u.state = 'pending' AND t.hidden_at IS NULL
    AND (?1 IS NULL OR ?1 IN (s.content_session_id, s.uid, 'N' || s.id)) ORDER BY u.id"""
PARKED_REASON = """SELECT coalesce((SELECT error FROM work_units WHERE state = 'parked'
    ORDER BY coalesce(finished_at, 0) DESC, id DESC LIMIT 1), '')"""
MENDED = """SELECT count(*) FROM observer_runs
    WHERE started_at >= ? AND outcome = 'done' AND error <> ''"""
# What a person wrote by hand was not captured.
LAST_CAPTURED = "SELECT max(last_event_at) FROM sessions WHERE host <> 'user'"
LAST_OBSERVED = "SELECT max(ended_at) FROM observer_runs WHERE outcome IN ('done', 'skipped')"


class Work(NamedTuple):
    """Units still to be observed, put aside, and since when the oldest waits."""

    pending: int
    parked: int
    oldest_at: int | None


class StatusCounts(NamedTuple):
    """Everything about the store that ``status`` tells; times are None when there was none."""

    sessions: int
    prompts: int
    tool_uses: int
    observations: int
    summaries: int
    work: Work
    last_captured_at: int | None
    last_observed_at: int | None
    spend_tokens: int
    spend_usd: float
    mended: int = 0  # replies since midnight of which something was lost or marked


def work(conn: apsw.Connection) -> Work:
    """Return the state of the queue."""
    return Work(*rows(conn, WORK)[0])


def pending_units(conn: apsw.Connection, *, session: str | None) -> list[int]:
    """Return every unit that waits, of one session (a host's id or ``N4``) or of all."""
    return [unit_id for (unit_id,) in rows(conn, PENDING_UNITS, (session,))]


def parked_reason(conn: apsw.Connection) -> str:
    """Return why the unit that was put aside last could not be observed."""
    return str(value(conn, PARKED_REASON))


def has_host(conn: apsw.Connection, host: str) -> bool:
    """Return whether a session of the host is stored."""
    return bool(value(conn, "SELECT EXISTS(SELECT 1 FROM sessions WHERE host = ?)", (host,)))


def status_counts(conn: apsw.Connection, *, midnight: int) -> StatusCounts:
    """Return the numbers of ``status``; ``midnight`` is when the local day began."""
    spend = ledger.spent(conn, since=midnight)
    return StatusCounts(
        sessions=value(conn, SESSIONS),
        prompts=value(conn, PROMPTS),
        tool_uses=value(conn, TOOL_USES),
        observations=value(conn, OBSERVATIONS),
        summaries=value(conn, SUMMARIES),
        work=work(conn),
        last_captured_at=value(conn, LAST_CAPTURED),
        last_observed_at=value(conn, LAST_OBSERVED),
        spend_tokens=spend.tokens,
        spend_usd=spend.microusd / 1_000_000,
        mended=value(conn, MENDED, (midnight,)),
    )
