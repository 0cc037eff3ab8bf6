"""What was decided of observations that look alike, as it travels: with the older of the two.

A pair is joined, so that the older one stands for the newer one, or kept as two. ``dedup`` decides;
here it is read and put as a whole, in exports and between machines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmem.store.rows import row, rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

# The newer one's uid, level, score, state, what was before, when.
Pair = tuple[str, int, float, str, str, int]

TABLE = "near_duplicates"
STATES = ("joined", "kept")
_KINDS = [[str, int, score, str, str, int] for score in (int, float)]
_OF_SESSION = f"""SELECT d.older_uid, d.newer_uid, d.level, d.score, d.state, d.before, d.at
    FROM observations o CROSS JOIN {TABLE} d ON d.older_uid = o.uid
    WHERE o.session_id = ? ORDER BY d.older_uid, d.newer_uid"""
_PUT = f"""INSERT INTO {TABLE}(older_uid, newer_uid, level, score, state, before, at)
    VALUES(?, ?, ?, ?, ?, ?, ?)"""


def exist(conn: apsw.Connection) -> bool:
    """Whether the file has the table: a copy may be older than it."""
    return row(conn, "SELECT 1 FROM sqlite_schema WHERE name = ?", (TABLE,)) is not None


def of_session(conn: apsw.Connection, session: int) -> dict[str, list[list[int | float | str]]]:
    """What was decided of each observation of a session and newer ones."""
    found: dict[str, list[list[int | float | str]]] = {}
    for older, *pair in rows(conn, _OF_SESSION, (session,)):
        found.setdefault(str(older), []).append(pair)
    return found


def put(conn: apsw.Connection, uid: str, found: Sequence[Pair]) -> None:
    """Let this be all that is decided. Part of a transaction."""
    conn.execute(f"DELETE FROM {TABLE} WHERE older_uid = ?", (uid,)).fetchall()
    conn.executemany(_PUT, [(uid, *one) for one in found])


def rename(conn: apsw.Connection, old: str, new: str) -> None:
    """An observation has another uid now. Part of a transaction."""
    for column in ("older_uid", "newer_uid"):
        query = f"UPDATE OR REPLACE {TABLE} SET {column} = ?2 WHERE {column} = ?1"
        conn.execute(query, (old, new)).fetchall()


def drop(conn: apsw.Connection, uid: str) -> None:
    """Nothing is decided of an observation that is gone. Part of a transaction."""
    if exist(conn):
        query = f"DELETE FROM {TABLE} WHERE older_uid = ?1 OR newer_uid = ?1"
        conn.execute(query, (uid,)).fetchall()


def read(value: object) -> tuple[Pair, ...] | None:
    """The pairs that a record tells; None where it is no list of such, each named once."""
    if not isinstance(value, list):
        return None
    found = tuple(one for one in map(_pair, value) if one is not None)
    return found if len({one[0] for one in found}) == len(value) else None


def _pair(value: object) -> Pair | None:
    if not isinstance(value, list) or [type(one) for one in value] not in _KINDS:
        return None
    newer, level, score, state, before, at = value
    good = state in STATES and newer and "\0" not in newer + before and -1e9 < score < 1e9
    whole = all(-(2**63) <= one < 2**63 for one in (level, at))
    return (newer, level, float(score), state, before, at) if good and whole else None
