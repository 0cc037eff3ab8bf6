"""Work units: what is still to be observed, and what became of each try.

A unit is claimed by counting the attempt before the provider is asked; nothing else marks it,
so what a killed run left is simply still pending. ``attempts`` are all tries whose fault may
be the unit's, ``crashes`` those of them that no result has followed yet: the process was at work on
the unit and ended, and did not merely wait for an answer.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import apsw

from cmem.model import SummaryUnit, TurnUnit
from cmem.store import cleaning, unit_rows
from cmem.store.connection import transaction
from cmem.store.rows import row, rows

MAX_FAILURES = 5
MAX_CRASHES = 8

# Oldest first, straight from the index of pending units. A summary waits for the turns of its
# session (``+kind`` keeps that question off the index of everything that is pending). What an
# import has made is observed without a model, and never by whoever is asked here.
PENDING = """SELECT u.id, u.reason, u.crashes FROM work_units u
    JOIN turns t ON t.id = u.turn_id JOIN sessions s ON s.id = u.session_id
    WHERE u.state = 'pending' AND u.kind = ?1 AND u.reason <> 'import' AND t.hidden_at IS NULL
    AND (?2 IS NULL OR ?2 IN (s.content_session_id, s.uid, 'N' || s.id))
    AND (?1 <> 'summary' OR NOT EXISTS (
        SELECT 1 FROM work_units w JOIN turns x ON x.id = w.turn_id
        WHERE w.session_id = u.session_id AND +w.kind = 'turn'
        AND +w.state IN ('pending', 'batched')
        AND x.hidden_at IS NULL))
    ORDER BY u.id"""
NEWEST = """SELECT u.id, u.session_id, u.kind || ' ' || u.turn_id, u.reason, u.crashes
    FROM work_units u JOIN turns t ON t.id = u.turn_id JOIN sessions s ON s.id = u.session_id
    WHERE u.state = 'pending' AND u.kind = 'turn' AND u.reason <> 'import' AND t.hidden_at IS NULL
    AND (?1 IS NULL OR ?1 IN (s.content_session_id, s.uid, 'N' || s.id)) ORDER BY u.id DESC"""
# The summary that comes to a turn, where it had nothing to tell.
_TELL_AGAIN = """UPDATE work_units SET state = 'pending', finished_at = NULL, error = ''
    WHERE state = 'skipped' AND id = (
        SELECT y.id FROM work_units u JOIN turns t ON t.id = u.turn_id
        JOIN work_units y ON y.session_id = u.session_id AND +y.kind = 'summary'
        JOIN turns x ON x.id = y.turn_id
        WHERE u.id = ?1 AND u.kind = 'turn' AND u.state = 'pending' AND x.number >= t.number
        ORDER BY x.number, y.id LIMIT 1)"""
HALF_OF = "half of "
# What the error of a unit ends with that has failed where others were answered.
SUSPECT = "; others are answered"
PATIENCE = 3  # such failures until it is halved
_KINDS = ("turn", "summary")


def create(
    conn: apsw.Connection, *, kind: str, session_id: int, turn_id: int, reason: str, now: int
) -> int:
    """Add a pending unit and return its id. Part of the caller's transaction."""
    conn.execute(
        """INSERT INTO work_units(kind, session_id, turn_id, reason, created_at)
        VALUES(?, ?, ?, ?, ?)""",
        (kind, session_id, turn_id, reason, now),
    )
    return conn.last_insert_rowid()


def next_pending(
    conn: apsw.Connection,
    *,
    exclude: Collection[int] = (),
    session: str | None = None,
) -> int | None:
    """Return the oldest unit that may be observed now, or None.

    ``exclude`` are the units already tried in this run: they and their halves wait for the
    next one. ``session`` is a host's session id or ``N4``. A unit that has killed its process
    over and over is parked on the way."""
    found = (_first(conn, kind=kind, exclude=exclude, session=session) for kind in _KINDS)
    return min((unit_id for unit_id in found if unit_id is not None), default=None)


def load(conn: apsw.Connection, unit_id: int, *, language: str) -> TurnUnit | SummaryUnit:
    """Return the unit with the visible evidence it is made of, in a few statements.

    Raises LookupError when there is no such unit."""
    return unit_rows.load(conn, unit_id, language=language)


def count_attempt(conn: apsw.Connection, unit_id: int) -> int:
    """Claim the unit for one try, committed at once; return which try it is."""
    claimed = row(
        conn,
        """UPDATE work_units SET attempts = attempts + 1, crashes = crashes + 1
        WHERE id = ? AND state = 'pending' RETURNING attempts""",
        (unit_id,),
    )
    return 0 if claimed is None else int(claimed[0])


def give_back(conn: apsw.Connection, unit_id: int) -> None:
    """Undo a claim: the provider was at fault, so the try does not count."""
    conn.execute(
        """UPDATE work_units SET attempts = max(attempts - 1, 0), crashes = max(crashes - 1, 0)
        WHERE id = ? AND state = 'pending'""",
        (unit_id,),
    )


def fail(conn: apsw.Connection, unit_id: int, *, error: str, now: int) -> str:
    """Settle a try that gave nothing usable; return the state the unit is in afterwards.

    A turn with several tool uses is halved, so that one bad event cannot hold up the others;
    what cannot be halved is parked at its fifth failed try. Halves keep the count."""
    with transaction(conn):
        settled = row(
            conn,
            """UPDATE work_units SET crashes = max(crashes - 1, 0), error = ?
            WHERE id = ? AND state = 'pending'
            RETURNING kind, attempts - crashes, turn_id, first_tool, last_tool""",
            (cleaning.error(error), unit_id),
        )
        if settled is None:
            return _state(conn, unit_id)
        kind, failures, turn_id, first, last = settled
        middle = _middle(conn, turn_id=turn_id, first=first, last=last)
        if kind == "turn" and middle is not None:
            _split(conn, unit_id, middle=middle, now=now)
        elif failures >= MAX_FAILURES:
            _set_state(conn, unit_id, state="parked", now=now)
        return _state(conn, unit_id)


def undo(conn: apsw.Connection, unit_id: int) -> None:
    """Take a failed try back: the unit waits as before it, in one piece. Part of a transaction.

    Halves of which one has been tried meanwhile stay as they are."""
    half = f"{HALF_OF}{unit_id}"
    conn.execute(
        """DELETE FROM work_units WHERE reason = ?1 AND NOT EXISTS (
            SELECT 1 FROM work_units w WHERE w.reason = ?1 AND (w.state <> 'pending'
                OR EXISTS (SELECT 1 FROM observer_runs r WHERE r.unit_id = w.id)))""",
        (half,),
    ).fetchall()
    conn.execute(
        """UPDATE work_units SET state = 'pending', finished_at = NULL, error = '',
            attempts = max(attempts - 1, 0)
        WHERE id = ?1 AND state IN ('pending', 'parked', 'split')
        AND NOT EXISTS (SELECT 1 FROM work_units w WHERE w.reason = ?2)""",
        (unit_id, half),
    ).fetchall()
    conn.execute(_TELL_AGAIN, (unit_id,)).fetchall()


def rest(conn: apsw.Connection, unit_id: int, *, told: Collection[int], now: int) -> bool:
    """A reply was cut, and tells of these tool uses: what it did not come to becomes a unit of its
    own. That is what stands behind the last of them; where that is the very last, from the first
    to the last of the others; both halves where none is known. False where nothing is left. Part of
    the transaction that ends the unit."""
    found = row(
        conn,
        "SELECT kind, turn_id, first_tool, last_tool FROM work_units WHERE id = ?",
        (unit_id,),
    )
    if found is None or found[0] != "turn":
        return False
    ids = [int(one[0]) for one in rows(conn, unit_rows.TOOL_IDS, found[1:])]
    known = [one for one in ids if one in told]
    left = [one for one in ids if known and one > known[-1]]
    left = left or [one for one in ids if one not in known]
    parts = [left] if known else [ids[: len(ids) // 2], ids[len(ids) // 2 :]]
    if not left or len(ids) < 2:
        return False
    for part in parts:
        conn.execute(
            """INSERT INTO work_units(kind, session_id, turn_id, first_tool, last_tool, reason,
                created_at)
            SELECT kind, session_id, turn_id, ?2, ?3, ?4, ?5 FROM work_units WHERE id = ?1""",
            (unit_id, part[0], part[-1], f"{HALF_OF}{unit_id}", now),
        ).fetchall()
    return True


def suspects(conn: apsw.Connection) -> list[int]:
    """The units that wait and have failed, they or what they are halves of, where others were
    answered."""
    query = f"""SELECT id FROM work_units
        WHERE state = 'pending' AND error LIKE '%{SUSPECT}'"""
    return [int(found[0]) for found in rows(conn, query, ())]


def has_failed(conn: apsw.Connection, unit_id: int) -> bool:
    """Has the unit, or what it is a half of, given nothing before?"""
    found = row(conn, "SELECT error <> '' FROM work_units WHERE id = ?", (unit_id,))
    return found is not None and bool(found[0])


def is_suspect(conn: apsw.Connection, unit_id: int) -> bool:
    found = row(conn, "SELECT error FROM work_units WHERE id = ?", (unit_id,))
    return found is not None and str(found[0]).endswith(SUSPECT)


def suspect(conn: apsw.Connection, unit_id: int, error: str) -> None:
    """Make a pending unit one of them."""
    conn.execute(
        "UPDATE work_units SET error = ? WHERE id = ? AND state = 'pending'",
        (cleaning.error(error[:400]) + SUSPECT, unit_id),
    ).fetchall()


def fail_beside(conn: apsw.Connection, unit_id: int, error: str, *, now: int) -> None:
    """Settle a try that failed where others were answered: it counts, and the unit stays in one
    piece for the first of them. Part of a transaction."""
    found = row(conn, "SELECT attempts - crashes FROM work_units WHERE id = ?", (unit_id,))
    if found is not None and found[0] + 1 >= PATIENCE:
        fail(conn, unit_id, error=error[:400] + SUSPECT, now=now)
        return
    suspect(conn, unit_id, error)
    conn.execute(
        "UPDATE work_units SET crashes = max(crashes - 1, 0) WHERE id = ? AND state = 'pending'",
        (unit_id,),
    ).fetchall()


def session_of(conn: apsw.Connection, unit_id: int) -> int:
    found = row(conn, "SELECT session_id FROM work_units WHERE id = ?", (unit_id,))
    return 0 if found is None else int(found[0])


def newest_pending(
    conn: apsw.Connection,
    *,
    exclude: Collection[int],
    session: str | None,
    turns: Collection[str] = (),
    beside: int = 0,
) -> int | None:
    """The newest unit that may be observed and is of none of these ``turns`` (as ``streak`` names
    them); of another session than ``beside`` (or than that of the turns) where there is one."""
    found: list[tuple[int, int]] = []
    for unit_id, session_id, turn, reason, crashes in rows(conn, NEWEST, (session,)):
        if unit_id in exclude or _parent(reason) in exclude or crashes >= MAX_CRASHES:
            continue
        if turn in turns:
            beside = session_id
        else:
            found.append((unit_id, session_id))
    others = [unit_id for unit_id, session_id in found if session_id != beside]
    return next(iter((*others, *(unit_id for unit_id, _ in found))), None)


def kin(conn: apsw.Connection, unit_id: int) -> list[int]:
    """The other pieces of the unit's turn that wait: they have its prompt in common."""
    query = """SELECT u.id FROM work_units u JOIN work_units w ON w.turn_id = u.turn_id
        WHERE w.id = ?1 AND u.id <> ?1 AND u.state = 'pending' AND u.kind = 'turn'"""
    return [int(found[0]) for found in rows(conn, query, (unit_id,))]


def retry(conn: apsw.Connection, unit_id: int) -> bool:
    """Make a parked or dropped unit pending again with a clean count; False for any other. A
    summary that had nothing to tell without its turn waits with it. Part of a transaction."""
    conn.execute(
        """UPDATE work_units SET state = 'pending', attempts = 0, crashes = 0, error = '',
            finished_at = NULL
        WHERE id = ? AND state IN ('parked', 'dropped')""",
        (unit_id,),
    ).fetchall()
    found = conn.changes() > 0
    conn.execute(_TELL_AGAIN, (unit_id,)).fetchall()
    return found


def _first(
    conn: apsw.Connection, *, kind: str, exclude: Collection[int], session: str | None
) -> int | None:
    crashed: list[int] = []
    found = None
    walk = conn.execute(PENDING, (kind, session))
    candidate: tuple[Any, ...]
    for candidate in walk:
        unit_id, reason, crashes = candidate
        if unit_id in exclude or _parent(reason) in exclude:
            continue
        if crashes < MAX_CRASHES:
            found = int(unit_id)
            break
        crashed.append(unit_id)
    walk.close(True)  # else it would hold its snapshot, and the log could not be cut
    for unit_id in crashed:
        _park_crashed(conn, unit_id)
    return found


def _park_crashed(conn: apsw.Connection, unit_id: int) -> None:
    conn.execute(
        """UPDATE work_units SET state = 'parked', error = 'crash-loop'
        WHERE id = ? AND state = 'pending' AND crashes >= ?""",
        (unit_id, MAX_CRASHES),
    )


def _parent(reason: str) -> int | None:
    return int(reason.removeprefix(HALF_OF)) if reason.startswith(HALF_OF) else None


def _middle(
    conn: apsw.Connection, *, turn_id: int, first: int | None, last: int | None
) -> int | None:
    """Return the last tool use of the first half; None when there are not two to part."""
    ids = [tool[0] for tool in rows(conn, unit_rows.TOOL_IDS, (turn_id, first, last))]
    return int(ids[len(ids) // 2 - 1]) if len(ids) > 1 else None


def _split(conn: apsw.Connection, unit_id: int, *, middle: int, now: int) -> None:
    for first, last in (("first_tool", str(middle)), (str(middle + 1), "last_tool")):
        conn.execute(
            f"""INSERT INTO work_units(kind, session_id, turn_id, first_tool, last_tool, reason,
                attempts, crashes, created_at, error)
            SELECT kind, session_id, turn_id, {first}, {last}, ?, attempts, crashes, created_at,
                error
            FROM work_units WHERE id = ?""",
            (f"{HALF_OF}{unit_id}", unit_id),
        )
    _set_state(conn, unit_id, state="split", now=now)


def _set_state(conn: apsw.Connection, unit_id: int, *, state: str, now: int) -> None:
    conn.execute(
        "UPDATE work_units SET state = ?, finished_at = ? WHERE id = ? AND state = 'pending'",
        (state, now, unit_id),
    )


def _state(conn: apsw.Connection, unit_id: int) -> str:
    found = row(conn, "SELECT state FROM work_units WHERE id = ?", (unit_id,))
    return "" if found is None else str(found[0])
