"""Sessions observed again: the new result in the place of the old one, and back.

Observing a place (``store.places``) again makes a unit of its own in the state ``again``, which no
ordinary run picks up; a killed run leaves it for the next try. Its commit is one transaction: the
new rows come, the old ones are superseded, and both sides are written down, so that it can be
taken back. Observations that a person pinned or edited stay where they are, and a place for which
nothing new was found keeps what it has.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from cmem.store import drafts, memory
from cmem.store.connection import transaction
from cmem.store.places import ELSEWHERE
from cmem.store.rows import row, rows

if TYPE_CHECKING:
    import apsw

    from cmem.model import Observed, SummaryUnit, TurnUnit
    from cmem.store.places import Place

AGAIN = "again"
UNDONE = "undone"
_SAME_PLACE = """kind = ?1 AND turn_id = ?2 AND first_tool IS ?3 AND last_tool IS ?4"""
_OPEN = f"SELECT id FROM work_units WHERE {_SAME_PLACE} AND state = 'again'"
_UNITS = f"SELECT id FROM work_units WHERE {_SAME_PLACE}"
# What a model has made of a whole turn on another machine is of the place too.
_OF_PLACE = f"""(unit_id IN ({_UNITS})
    OR (turn_id = ?2 AND ?3 IS NULL AND ?4 IS NULL AND {ELSEWHERE}))"""
_SHOWN = f"""SELECT id, uid FROM observations
    WHERE {_OF_PLACE} AND hidden_at IS NULL AND superseded_by IS NULL AND pinned = 0
    AND instr(metadata, '"edited_at"') = 0"""
_COUNTED = f"SELECT id, occurrence_count FROM observations WHERE {_OF_PLACE}"
_SHOWN_SUMMARIES = f"""SELECT id, uid FROM session_summaries
    WHERE session_id = (SELECT session_id FROM turns WHERE id = ?2)
    AND {_OF_PLACE} AND hidden_at IS NULL
    AND instr(metadata, '"superseded_by"') = 0"""
# The rows that the drafts have become, new ones and those that were there, of this place (1) or
# shown for another one; never a hidden one.
_MADE = f"""SELECT id, uid, {_OF_PLACE} FROM observations WHERE session_id = ?5
    AND content_hash IN (SELECT value FROM json_each(?6)) AND hidden_at IS NULL
    AND ({_OF_PLACE} OR superseded_by IS NULL) ORDER BY id"""
_LATEST = """SELECT r.unit_id, u.kind, r.made, r.replaced FROM replacements r
    JOIN work_units u ON u.id = r.unit_id
    WHERE u.session_id = ? AND r.undone_at IS NULL AND NOT EXISTS (
        SELECT 1 FROM replacements x JOIN work_units v ON v.id = x.unit_id
        WHERE x.undone_at IS NULL AND x.unit_id > r.unit_id AND v.kind = u.kind
        AND v.turn_id = u.turn_id AND v.first_tool IS u.first_tool AND v.last_tool IS u.last_tool)
    ORDER BY r.unit_id"""
_IDS = "SELECT id FROM {table} WHERE uid IN (SELECT value FROM json_each(?)) ORDER BY id"
_TABLES = {"turn": "observations", "summary": "session_summaries"}


class Replaced(NamedTuple):
    """What a commit did. ``outcome``: done | skipped (nothing new: the old rows stay) | stale
    (evidence was forgotten meanwhile: to be tried again)."""

    outcome: str
    made: int
    replaced: int


def open_unit(conn: apsw.Connection, place: Place, *, now: int) -> int:
    """The unit to observe the place again with: one that a try left open, else a new one. Part
    of the caller's transaction."""
    left = row(conn, _OPEN, place.key)
    if left is not None:
        return int(left[0])
    conn.execute(
        """INSERT INTO work_units(kind, session_id, turn_id, first_tool, last_tool, reason,
            state, created_at)
        SELECT kind, session_id, turn_id, first_tool, last_tool, reason, 'again', ?
        FROM work_units WHERE id = ?""",
        (now, place.unit_id),
    ).fetchall()
    return conn.last_insert_rowid()


def commit(
    conn: apsw.Connection,
    place: Place,
    *,
    unit: TurnUnit | SummaryUnit,
    observed: Observed,
    started_at: int,
    now: int,
    microusd: int | None,
    run_id: int | None,
) -> Replaced:
    """Store the reply in the place of what stands there, all of it or nothing."""
    with transaction(conn):
        before = _shown(conn, place)
        counts = rows(conn, _COUNTED, place.key)
        _set_state(conn, unit.unit_id, "pending")
        memory.commit(
            conn,
            unit=unit,
            observed=observed,
            started_at=started_at,
            now=now,
            microusd=microusd,
            run_id=run_id,
        )
        outcome = str(
            rows(conn, "SELECT state FROM work_units WHERE id = ?", (unit.unit_id,))[0][0]
        )
        if outcome == "pending":
            _set_state(conn, unit.unit_id, AGAIN)
            return Replaced("stale", 0, 0)
        # What both results tell is no second time that it happened.
        conn.executemany(
            "UPDATE observations SET occurrence_count = ?2 WHERE id = ?1",
            counts,
        )
        if outcome != "done":
            return Replaced(outcome, 0, 0)
        made = _made(conn, place, unit_id=unit.unit_id, observed=observed)
        return _replace(conn, place, unit_id=unit.unit_id, before=before, made=made, now=now)


def undo(conn: apsw.Connection, session_id: int, *, now: int) -> tuple[int, int]:
    """Take back what was last put in each place; return (places, rows that came back). A place
    whose old rows are all gone keeps the new ones."""
    with transaction(conn):
        taken = back = 0
        for unit_id, kind, made, replaced in rows(conn, _LATEST, (session_id,)):
            table = _TABLES[kind]
            old = [one for (one,) in rows(conn, _IDS.format(table=table), (replaced,))]
            if not old and json.loads(replaced):
                continue
            kept = set(json.loads(replaced))
            gone = json.dumps([uid for uid in json.loads(made) if uid not in kept])
            for (ref,) in rows(conn, _IDS.format(table=table), (gone,)):
                _hide(conn, kind, ref, by=old[0] if old else ref, now=now)
            for ref in old:
                _show(conn, kind, ref)
            _set_state(conn, unit_id, UNDONE)
            conn.execute("UPDATE replacements SET undone_at = ? WHERE unit_id = ?", (now, unit_id))
            taken += 1
            back += len(old)
        return taken, back


def _shown(conn: apsw.Connection, place: Place) -> list[tuple[int, str]]:
    query = _SHOWN if place.kind == "turn" else _SHOWN_SUMMARIES
    return [(int(found[0]), str(found[1])) for found in rows(conn, query, place.key)]


def _made(
    conn: apsw.Connection, place: Place, *, unit_id: int, observed: Observed
) -> list[tuple[int, str, bool]]:
    """(row, identity, whether it is the place's own) of what the reply became."""
    if place.kind == "summary":
        query = "SELECT id, uid FROM session_summaries WHERE unit_id = ?"
        return [(int(ref), str(uid), True) for ref, uid in rows(conn, query, (unit_id,))]
    query = "SELECT s.id, s.uid FROM work_units u JOIN sessions s ON s.id = u.session_id"
    session_id, session_uid = rows(conn, f"{query} WHERE u.id = ?", (unit_id,))[0]
    hashes = json.dumps(drafts.hashes(session_uid, observed))
    found = rows(conn, _MADE, (*place.key, session_id, hashes))
    return [(int(ref), str(uid), bool(own)) for ref, uid, own in found]


def _replace(
    conn: apsw.Connection,
    place: Place,
    *,
    unit_id: int,
    before: list[tuple[int, str]],
    made: list[tuple[int, str, bool]],
    now: int,
) -> Replaced:
    """The rows that were made are shown, the others superseded by the first of them."""
    if not made:
        return Replaced("skipped", 0, 0)
    new = {ref for ref, _uid, own in made if own}
    old = {ref for ref, _uid in before}
    for ref in new - old:
        _show(conn, place.kind, ref)
    for ref in sorted(old - new):
        _hide(conn, place.kind, ref, by=made[0][0], now=now)
    conn.execute(
        "INSERT INTO replacements(unit_id, made, replaced, at) VALUES(?, ?, ?, ?)",
        (
            unit_id,
            json.dumps([uid for _, uid, own in made if own]),
            json.dumps([uid for _, uid in before]),
            now,
        ),
    ).fetchall()
    return Replaced("done", len(new - old), len(old - new))


def _hide(conn: apsw.Connection, kind: str, ref: int, *, by: int, now: int) -> None:
    """Let it be superseded; a summary says so itself, and when, because other machines go by it."""
    if kind == "turn":
        conn.execute("UPDATE observations SET superseded_by = ? WHERE id = ?", (by, ref))
        return
    conn.execute(
        "UPDATE session_summaries SET metadata = "
        "json_set(metadata, '$.superseded_by', ?, '$.superseded_at', ?) WHERE id = ?",
        (f"S{by}", now, ref),
    )


def _show(conn: apsw.Connection, kind: str, ref: int) -> None:
    if kind == "turn":
        conn.execute("UPDATE observations SET superseded_by = NULL WHERE id = ?", (ref,))
        return
    conn.execute(
        "UPDATE session_summaries SET metadata = "
        "json_remove(metadata, '$.superseded_by', '$.superseded_at') WHERE id = ?",
        (ref,),
    )


def _set_state(conn: apsw.Connection, unit_id: int, state: str) -> None:
    conn.execute("UPDATE work_units SET state = ? WHERE id = ?", (state, unit_id))
