"""The units of which the replies in a row could not be used, all for one reason: a row of ``meta``.

One unit of each turn counts, since the halves of a turn fail alike by their own fault.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from cmem.store import cleaning
from cmem.store.rows import row

if TYPE_CHECKING:
    import apsw

KEY = "alike"
MOST = 20


class Streak(NamedTuple):
    """``units``: one for each try that still counts, ``held`` those whose tries were given back;
    ``turns``: all that failed."""

    reason: str
    fingerprint: str
    units: tuple[int, ...]
    turns: tuple[str, ...]
    held: tuple[int, ...] = ()


def get(conn: apsw.Connection) -> Streak | None:
    found = row(conn, "SELECT value FROM meta WHERE key = ?", (KEY,))
    if found is None:
        return None
    try:
        kept = json.loads(str(found[0]))
        return Streak(
            reason=str(kept["reason"]),
            fingerprint=str(kept["fingerprint"]),
            units=tuple(int(one) for one in kept["units"]),
            turns=tuple(str(one) for one in kept["turns"]),
            held=tuple(int(one) for one in kept.get("held", ())),
        )
    except (ValueError, KeyError, TypeError):
        return None  # written by another version: as good as none


def add(conn: apsw.Connection, reason: str, *, fingerprint: str, unit_id: int) -> tuple[str, ...]:
    """Add a failure and return the turns that have failed so in a row. Part of a transaction."""
    reason = cleaning.error(reason)
    current = get(conn)
    if current is None or (current.reason, current.fingerprint) != (reason, fingerprint):
        current = Streak(reason, fingerprint, (), ())
    turn = _turn(conn, unit_id)
    turns = tuple(dict.fromkeys((*current.turns, turn)))[-MOST:]
    current = current._replace(units=(*current.units, unit_id)[-MOST:], turns=turns)
    _put(conn, current)
    return turns


def settled(conn: apsw.Connection) -> tuple[int, ...]:
    """Return the units of the tries that still count, the newest first, and hold them: they are
    given back until somebody is answered."""
    current = get(conn)
    if current is None:
        return ()
    held = tuple(dict.fromkeys((*current.held, *current.units)))[-MOST:]
    _put(conn, current._replace(units=(), held=held))
    return current.units[::-1]


def clear(conn: apsw.Connection) -> None:
    if row(conn, "SELECT 1 FROM meta WHERE key = ?", (KEY,)) is not None:
        conn.execute("DELETE FROM meta WHERE key = ?", (KEY,)).fetchall()


def _put(conn: apsw.Connection, one: Streak) -> None:
    conn.execute(
        "INSERT OR REPLACE INTO meta(key, value) VALUES(?, ?)", (KEY, json.dumps(one._asdict()))
    ).fetchall()


def _turn(conn: apsw.Connection, unit_id: int) -> str:
    found = row(conn, "SELECT kind || ' ' || turn_id FROM work_units WHERE id = ?", (unit_id,))
    return "" if found is None else str(found[0])
