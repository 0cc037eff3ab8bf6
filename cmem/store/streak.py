"""The units of which the replies in a row could not be used, all for one reason: a row of ``meta``.

One unit of each turn counts, since the halves of a turn fail alike by their own fault.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cmem.store import cleaning, meta
from cmem.store.rows import row

if TYPE_CHECKING:
    import apsw

MOST = 20


class Streak(NamedTuple):
    """``reason`` with its numbers folded, which makes them alike, ``said`` the last one as it was.
    ``units``: one for each try that still counts, ``held`` those whose tries were given back;
    ``turns``: all that failed."""

    reason: str
    fingerprint: str
    units: tuple[int, ...]
    turns: tuple[str, ...]
    held: tuple[int, ...] = ()
    said: str = ""

    @property
    def tries(self) -> int:
        """How many there were, as far as anybody needs to know."""
        return len(self.units) + len(self.held)


def get(conn: apsw.Connection) -> Streak | None:
    kept = meta.mapping(conn, "alike")
    try:
        return Streak(
            reason=str(kept["reason"]),
            fingerprint=str(kept["fingerprint"]),
            units=tuple(int(one) for one in kept["units"]),
            turns=tuple(str(one) for one in kept["turns"]),
            held=tuple(int(one) for one in kept.get("held", ())),
            said=str(kept.get("said", "")),
        )
    except (ValueError, KeyError, TypeError):
        return None  # none, or written by another version


def add(
    conn: apsw.Connection, reason: str, *, said: str, fingerprint: str, unit_id: int
) -> tuple[str, ...]:
    """Add a failure and return the turns that have failed so in a row. Part of a transaction."""
    reason = cleaning.error(reason)
    current = get(conn)
    if current is None or (current.reason, current.fingerprint) != (reason, fingerprint):
        current = Streak(reason, fingerprint, (), ())
    turn = _turn(conn, unit_id)
    turns = tuple(dict.fromkeys((*current.turns, turn)))[-MOST:]
    tried = (*current.units, unit_id)[-MOST:]
    current = current._replace(units=tried, turns=turns, said=cleaning.error(said))
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
    meta.drop(conn, "alike")


def _put(conn: apsw.Connection, one: Streak) -> None:
    meta.put_json(conn, "alike", one._asdict())


def _turn(conn: apsw.Connection, unit_id: int) -> str:
    found = row(conn, "SELECT kind || ' ' || turn_id FROM work_units WHERE id = ?", (unit_id,))
    return "" if found is None else str(found[0])
