"""Near-duplicates: pairs of observations of one project, host and kind of agent.

A pair is known by the identities of its rows, so that a number used again means nothing. To
join is to let the older row stand for the newer one, reinforced; nothing is deleted, and what
was before is kept, so that it can be taken back exactly.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from cmem.store import drafts, edits
from cmem.store.connection import transaction
from cmem.store.rows import row, rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

# Newest of a project that are held against each other.
LIMIT = 2000
JOINED, KEPT = "joined", "kept"

_ROWS = """SELECT id, title_norm_key, host, agent_type FROM observations
    WHERE project_id = ? AND hidden_at IS NULL AND superseded_by IS NULL
    ORDER BY created_at DESC, id DESC LIMIT ?"""
_PUT = """INSERT INTO near_duplicates(older_uid, newer_uid, level, score, state, before, at)
    SELECT a.uid, b.uid, ?3, ?4, ?5, ?6, ?7 FROM observations a, observations b
    WHERE a.id = ?1 AND b.id = ?2
    ON CONFLICT(older_uid, newer_uid) DO UPDATE
    SET state = excluded.state, before = excluded.before, at = excluded.at"""
_DECIDED = """SELECT a.id, b.id FROM near_duplicates d JOIN observations a ON a.uid = d.older_uid
    JOIN observations b ON b.uid = d.newer_uid WHERE d.state = 'kept'"""
_JOINED = """SELECT a.id, d.before, d.older_uid, d.newer_uid FROM near_duplicates d
    JOIN observations a ON a.uid = d.older_uid JOIN observations b ON b.uid = d.newer_uid
    WHERE b.id = ? AND d.state = 'joined'"""
_TEXT = """SELECT o.title, o.narrative, o.facts, o.created_at, o.occurrence_count,
        o.last_reinforced, o.reinforcement_dates, p.name, o.type
    FROM observations o JOIN projects p ON p.id = o.project_id WHERE o.id = ?"""


class Row(NamedTuple):
    """An observation as it is compared: ``group`` is its host and kind of agent."""

    ref: int
    key: str
    group: tuple[str, str]


class Side(NamedTuple):
    """One of a pair as it is shown."""

    title: str
    narrative: str
    facts: tuple[str, ...]
    created_at: int
    occurrence_count: int
    project: str
    type: str

    @property
    def told(self) -> str:
        """All its text but the title."""
        return "\n".join([self.narrative, *self.facts])


def candidates(conn: apsw.Connection, projects: Sequence[int]) -> list[Row]:
    """The newest observations of the projects, oldest first."""
    found = [
        Row(int(ref), str(key), (str(host), "subagent" if agent else "main"))
        for project in projects
        for ref, key, host, agent in rows(conn, _ROWS, (project, LIMIT))
        if key
    ]
    return sorted(found)[-LIMIT:]


def decided(conn: apsw.Connection) -> set[tuple[int, int]]:
    """The pairs that a person wants to keep as two, the smaller number first: in another store
    the older one may have come later."""
    return {(min(found), max(found)) for found in rows(conn, _DECIDED)}


def side(conn: apsw.Connection, ref: int) -> Side:
    """One observation of a pair, which must exist."""
    title, narrative, facts, at, count, _last, _dates, project, kind = rows(conn, _TEXT, (ref,))[0]
    told = tuple(one for one in json.loads(facts) if isinstance(one, str))
    return Side(title, narrative, told, at, count, project, kind)


def keep(conn: apsw.Connection, older: int, newer: int, *, score: float, now: int) -> None:
    """Two that look alike are two, and are not shown as a pair again."""
    with transaction(conn):
        _put(conn, older, newer, level=1, score=score, state=KEPT, before="", now=now)


def join(
    conn: apsw.Connection, older: int, newer: int, *, level: int, score: float, now: int
) -> bool:
    """Let the older one stand for the newer one and count it; False when it does already."""
    with transaction(conn):
        if not edits.supersede(conn, newer, older):
            return False
        _title, _text, _facts, _at, count, last, dates, *_ = rows(conn, _TEXT, (older,))[0]
        seen = int(rows(conn, _TEXT, (newer,))[0][3])
        known = json.loads(dates)
        days = sorted({*known, drafts.day(seen)})[-drafts.MAX_REINFORCEMENTS :]
        before = json.dumps({"last": last, "dates": known})
        _put(conn, older, newer, level=level, score=score, state=JOINED, before=before, now=now)
        _reinforce(conn, older, count=count + 1, last=max(last, seen), days=days)
    return True


def part(conn: apsw.Connection, newer: int, *, now: int) -> int | None:
    """Take a join back; return the older one, None when there was no join."""
    with transaction(conn):
        found = row(conn, _JOINED, (newer,))
        if found is None:
            return None
        older, before, older_uid, newer_uid = found
        edits.restore(conn, newer)
        _lessen(conn, older, newer, before=before)
        conn.execute(
            "UPDATE near_duplicates SET state = 'kept', at = ?"
            " WHERE older_uid = ? AND newer_uid = ?",
            (now, older_uid, newer_uid),
        ).fetchall()
    return int(older)


def _put(
    conn: apsw.Connection,
    older: int,
    newer: int,
    *,
    level: int,
    score: float,
    state: str,
    before: str,
    now: int,
) -> None:
    conn.execute(_PUT, (older, newer, level, score, state, before, now)).fetchall()


def _lessen(conn: apsw.Connection, older: int, newer: int, *, before: str) -> None:
    """Take one sighting from the older row; what others have added to it since stays."""
    was = json.loads(before)
    _title, _text, _facts, _at, count, last, dates, *_ = rows(conn, _TEXT, (older,))[0]
    seen = int(rows(conn, _TEXT, (newer,))[0][3])
    day = drafts.day(seen)
    left = [one for one in json.loads(dates) if one != day or day in was["dates"]]
    lost = [one for one in was["dates"] if one not in left and len(left) < len(was["dates"])]
    days = sorted({*left, *lost})[-drafts.MAX_REINFORCEMENTS :]
    back = int(was["last"]) if last == seen else int(last)
    _reinforce(conn, older, count=max(count - 1, 1), last=back, days=days)


def _reinforce(
    conn: apsw.Connection, ref: int, *, count: int, last: int, days: Sequence[str]
) -> None:
    conn.execute(
        """UPDATE observations SET occurrence_count = ?, last_reinforced = ?,
            reinforcement_dates = ? WHERE id = ?""",
        (count, last, json.dumps(days), ref),
    ).fetchall()
