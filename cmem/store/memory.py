"""What an observer made of a unit becomes memory, together with the acknowledgement.

One transaction holds the run, the observations with their sources, files and index entries,
the summary, and the end of the unit: all of it or nothing, and nothing twice. A reply whose
evidence was forgotten while the observer was thinking is not stored; the unit is observed
again, without what is gone.
"""

from __future__ import annotations

import json
from typing import NamedTuple

import apsw

from cmem.failpoint import hit
from cmem.model import Observed, SummaryUnit, TurnUnit
from cmem.store import drafts, ledger, summaries, units
from cmem.store.connection import transaction
from cmem.store.rows import row, value

UNIT = """SELECT u.state, u.session_id, s.uid, s.host, s.project_id, u.turn_id, t.branch,
        t.commit_sha,
        coalesce((SELECT max(p.prompt_number) FROM user_prompts p WHERE p.turn_id = t.id),
            (SELECT max(x.prompt_number) FROM tool_uses x WHERE x.turn_id = t.id), 0),
        CASE t.native_prompt_id WHEN '' THEN t.number ELSE t.native_prompt_id END
    FROM work_units u JOIN sessions s ON s.id = u.session_id JOIN turns t ON t.id = u.turn_id
    WHERE u.id = ?"""
TURN_THERE = """SELECT count(*) FROM work_units u JOIN turns t ON t.id = u.turn_id
    WHERE u.id = ? AND t.hidden_at IS NULL"""
TOOLS_THERE = """SELECT count(*) FROM tool_uses
    WHERE id IN (SELECT value FROM json_each(?)) AND hidden_at IS NULL"""
PROMPT_THERE = "SELECT count(*) FROM user_prompts WHERE id = ? AND hidden_at IS NULL"
TURNS_THERE = """SELECT count(*) FROM turns WHERE session_id = ?1 AND hidden_at IS NULL
    AND number IN (SELECT value FROM json_each(?2))"""
OBSERVATIONS_THERE = """SELECT count(*) FROM observations o JOIN turns t ON t.id = o.turn_id
    WHERE o.session_id = ?1 AND o.hidden_at IS NULL AND o.superseded_by IS NULL
    AND t.number IN (SELECT value FROM json_each(?2))"""


class Committed(NamedTuple):
    """What a commit added. ``observations`` are new rows: a repetition only reinforces one.
    ``skipped`` is 1 when the unit is done without leaving anything."""

    observations: int
    summaries: int
    skipped: int


NOTHING = Committed(0, 0, 0)


def commit(
    conn: apsw.Connection,
    *,
    unit: TurnUnit | SummaryUnit,
    observed: Observed,
    started_at: int,
    now: int,
    microusd: int | None = None,
    run_id: int | None = None,
) -> Committed:
    """Store the reply and settle the unit, once: a unit not pending any more changes nothing.

    ``run_id`` is the call's row in the ledger, if it has one already; ``microusd`` its price,
    None where nobody knows it. Spent is spent, also on what is not stored."""
    with transaction(conn):
        place = _place(conn, unit.unit_id)
        if place is None:
            if run_id is not None:
                late = _result(observed, "stale", microusd)
                ledger.end(conn, unit.unit_id, late, started_at=started_at, now=now, run_id=run_id)
            return NOTHING
        stale = not _evidence_is_there(conn, unit)
        outcome = "stale" if stale else "skipped" if _is_empty(unit, observed) else "done"
        run_id = ledger.end(
            conn,
            unit.unit_id,
            _result(observed, outcome, microusd),
            started_at=started_at,
            now=now,
            run_id=run_id,
        )
        if stale:
            _settle(conn, unit.unit_id, state="pending", now=None)
            return NOTHING
        committed = _store(conn, place._replace(run_id=run_id), unit=unit, observed=observed)
        if observed.cut and isinstance(unit, TurnUnit):
            units.rest(conn, unit.unit_id, told=_told(observed), now=now)
        hit("in_commit")
        _settle(conn, unit.unit_id, state=outcome, now=now)
        conn.execute(
            "UPDATE sessions SET memory_session_id = ? WHERE id = ?",
            (f"run-{run_id}", place.session_id),
        )
        return committed._replace(skipped=int(outcome == "skipped"))


def _place(conn: apsw.Connection, unit_id: int) -> drafts.Place | None:
    """Return where the rows of a pending unit belong; None when it is not pending."""
    found = row(conn, UNIT, (unit_id,))
    if found is None or found[0] != "pending":
        return None
    return drafts.Place(
        unit_id=unit_id,
        session_id=found[1],
        session_uid=found[2],
        host=found[3],
        project_id=found[4],
        turn_id=found[5],
        turn_name=str(found[9]),
        branch=found[6],
        commit=found[7],
        prompt_number=found[8],
        run_id=0,
    )


def _evidence_is_there(conn: apsw.Connection, unit: TurnUnit | SummaryUnit) -> bool:
    if isinstance(unit, TurnUnit):
        wanted = [evidence.id for evidence in unit.evidence]
        return (
            int(value(conn, TURN_THERE, (unit.unit_id,))) == 1
            and int(value(conn, TOOLS_THERE, (json.dumps(wanted),))) == len(wanted)
            and (unit.prompt_id is None or int(value(conn, PROMPT_THERE, (unit.prompt_id,))) == 1)
        )
    numbers = json.dumps([turn.number for turn in unit.turns])
    told = sum(len(turn.observations) for turn in unit.turns)
    return (
        int(value(conn, TURNS_THERE, (unit.session_id, numbers))) == len(unit.turns)
        and int(value(conn, OBSERVATIONS_THERE, (unit.session_id, numbers))) >= told
    )


def _is_empty(unit: TurnUnit | SummaryUnit, observed: Observed) -> bool:
    if isinstance(unit, TurnUnit):
        return not observed.reply.observations
    return observed.reply.summary is None


def _told(observed: Observed) -> set[int]:
    """The tool uses that the records of a cut reply are made of."""
    return {tool for one in observed.reply.observations for tool in one.sources or ()}


def _result(observed: Observed, outcome: str, microusd: int | None) -> ledger.Result:
    return ledger.Result(
        provider=observed.provider,
        model=observed.model,
        prompt_version=observed.prompt_version,
        outcome=outcome,
        calls=observed.calls,
        usage=observed.usage,
        microusd=microusd,
        error=observed.reply.skipped or "; ".join(observed.mended),
    )


def _store(
    conn: apsw.Connection,
    place: drafts.Place,
    *,
    unit: TurnUnit | SummaryUnit,
    observed: Observed,
) -> Committed:
    if isinstance(unit, TurnUnit):
        new = drafts.store(conn, place, unit=unit, observed=observed)
        return Committed(observations=new, summaries=0, skipped=0)
    new = summaries.store(conn, place, unit=unit, observed=observed)
    return Committed(observations=0, summaries=new, skipped=0)


def _settle(conn: apsw.Connection, unit_id: int, *, state: str, now: int | None) -> None:
    """End the unit; a stale one stays pending and its try does not count."""
    back = int(state == "pending")
    conn.execute(
        """UPDATE work_units SET state = ?, finished_at = ?, error = '',
            attempts = max(attempts - ?, 0), crashes = max(crashes - 1, 0)
        WHERE id = ?""",
        (state, now, back, unit_id),
    )
