"""Observations that show again because what stood for them was forgotten.

Who forgets the newer one of two has not forgotten the older one. It is let go when the newer one
is hidden, and bound again when that is undone, so what was bound is kept until it is settled.
One that says the same, joined as a duplicate or told of the same turn by another try, is never
let go: it goes along with the newer one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cmem.store import meta
from cmem.store.rows import row, rows

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import apsw

_BOUND = """SELECT o.id, n.id, o.uid FROM observations o JOIN observations n
    ON n.id = o.superseded_by WHERE n.id IN (SELECT value FROM json_each(?1)) AND n.id <> o.id
    AND o.id NOT IN (SELECT value FROM json_each(?1))
    AND (o.turn_id <> n.turn_id OR o.unit_id IS n.unit_id) ORDER BY o.id"""
_NEXT = "SELECT superseded_by, hidden_at IS NULL FROM observations WHERE id = ?"
_SET = "UPDATE observations SET superseded_by = ? WHERE id = ?"
_JOINED = "SELECT 1 FROM near_duplicates WHERE newer_uid = ? AND state = 'joined' LIMIT 1"
_TOGETHER = """SELECT n.id FROM observations o
        JOIN near_duplicates d ON d.older_uid = o.uid AND d.state = 'joined'
        JOIN observations n ON n.uid = d.newer_uid AND n.superseded_by IS NOT NULL WHERE o.id = ?1
    UNION SELECT n.id FROM observations o
        JOIN near_duplicates d ON d.newer_uid = o.uid AND d.state = 'joined'
        JOIN observations n ON n.uid = d.older_uid
        WHERE o.id = ?1 AND o.superseded_by IS NOT NULL"""
_NEWER = """SELECT n.id FROM observations o
    JOIN near_duplicates d ON d.older_uid = o.uid AND d.state = 'joined'
    JOIN observations n ON n.uid = d.newer_uid AND n.superseded_by = o.id WHERE o.id = ?"""
_HAS_JOINED = "SELECT 1 FROM sqlite_schema WHERE name = 'near_duplicates'"


def shown(conn: apsw.Connection, forgotten: Sequence[int]) -> list[int]:
    """The observations that will show again when these are forgotten."""
    visible = "SELECT 1 FROM observations WHERE id = ? AND hidden_at IS NULL"
    return [
        old
        for old, new in _bound(conn, forgotten)
        if _standing(conn, new, set(forgotten)) is None and row(conn, visible, (old,)) is not None
    ]


def release(conn: apsw.Connection, forgotten: Sequence[int], *, now: int) -> None:
    """Let go what these stand for; what stands for one of them takes its place. Part of a
    transaction."""
    found = _bound(conn, forgotten)
    for old, new in found:
        conn.execute(_SET, (_standing(conn, new, set(forgotten)), old)).fetchall()
    if found:
        _store(conn, [*_known(conn), *((old, new, now) for old, new in found)])


def bind(conn: apsw.Connection, moments: Collection[int], shown: Collection[int]) -> None:
    """What was let go at these moments for these to be hidden is bound again, where that makes
    no circle. Part of a transaction."""
    known = _known(conn)
    back = [one for one in known if one[2] in moments and one[1] in set(shown)]
    for old, new, _at in back:
        if _standing(conn, new, {old}) != old and not _leads(conn, new, old):
            conn.execute(_SET, (new, old)).fetchall()
    if back:
        _store(conn, [one for one in known if one not in back])


def joined(conn: apsw.Connection, ref: int) -> list[int]:
    """The observations that were joined with this one as duplicates, on either side."""
    if row(conn, _HAS_JOINED) is None:  # a file may be older than the table
        return []
    return [int(found) for (found,) in rows(conn, _TOGETHER, (ref,))]


def repeated(conn: apsw.Connection, ref: int) -> list[int]:
    """The observations that this one stands for as their duplicate, through others too."""
    found: dict[int, None] = {}
    pending = [ref] if row(conn, _HAS_JOINED) is not None else []
    while pending:
        more = [int(one) for (one,) in rows(conn, _NEWER, (pending.pop(),))]
        pending += [one for one in more if one not in found]
        found |= dict.fromkeys(more)
    return [one for one in found if one != ref]


def settle(conn: apsw.Connection, moments: Collection[int]) -> None:
    """What was let go at these moments stays so. Part of a transaction."""
    known = _known(conn)
    left = [one for one in known if one[2] not in moments]
    if left != known:
        _store(conn, left)


def _bound(conn: apsw.Connection, forgotten: Sequence[int]) -> list[tuple[int, int]]:
    joins = row(conn, _HAS_JOINED) is not None  # a copy may be older than the table
    return [
        (int(old), int(new))
        for old, new, uid in rows(conn, _BOUND, (json.dumps(forgotten),))
        if not (joins and row(conn, _JOINED, (uid,)) is not None)
    ]


def _standing(conn: apsw.Connection, ref: int, forgotten: set[int]) -> int | None:
    """What stands for an observation that goes, directly or in the end."""
    met = set(forgotten)
    after: int | None = ref
    while after is not None:
        found = row(conn, _NEXT, (after,))
        if found is None:
            return None
        if found[1] and after not in forgotten:
            return after
        met.add(after)
        after = None if found[0] in met else found[0]
    return None


def _leads(conn: apsw.Connection, start: int, to: int) -> bool:
    met: set[int] = set()
    at: int | None = start
    while at is not None and at not in met:
        if at == to:
            return True
        met.add(at)
        found = row(conn, _NEXT, (at,))
        at = None if found is None else found[0]
    return False


def _known(conn: apsw.Connection) -> list[tuple[int, int, int]]:
    """(what was let go, what stood for it, when)."""
    stored = meta.listed(conn, "forget_released")
    return [(int(old), int(new), int(at)) for old, new, at in stored]


def _store(conn: apsw.Connection, known: Sequence[tuple[int, int, int]]) -> None:
    meta.put_json(conn, "forget_released", known)
