"""What was forgotten, hidden or reworded in one store, made so in another one too.

A copy that is put back is older than the store. What a person has taken out since then stays
out: by the tombstones, which are kept from both, and by the words an edit left.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import apsw

from cmem.errors import CmemError
from cmem.store import (
    connection,
    edits,
    erase,
    forget,
    identities,
    meta,
    moments,
    told,
    tombstones,
)
from cmem.store.connection import transaction
from cmem.store.forget import TABLES
from cmem.store.rows import rows

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOMBSTONES = "SELECT mac, kind, at FROM tombstones"
_ALL_TIME = 2**62
_SLICE = 1000


class Carried(NamedTuple):
    """How many rows of the new store were erased, hidden and reworded."""

    erased: int = 0
    hidden: int = 0
    reworded: int = 0


def from_home(home: str, new: apsw.Connection, *, now: int) -> Carried | None:
    """Carry over from the store of ``home``; None where that cannot be read or is not there."""
    try:
        old = connection.open_reader(home)
    except (*connection.ENVIRONMENT_ERRORS, CmemError):
        return None
    if old is None:
        return None
    try:
        return carry(old, new, now=now)
    except (apsw.CorruptError, apsw.NotADBError, apsw.IOError, apsw.SQLError):
        return None
    finally:
        old.close()


def from_copy(path: str, new: apsw.Connection) -> bool:
    """Keep the tombstones of a copy; False where they cannot be read."""
    try:
        old = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            _keep_tombstones(old, new)
        finally:
            old.close()
    except apsw.Error:
        return False
    return True


def carry(old: apsw.Connection, new: apsw.Connection, *, now: int) -> Carried:
    """Everything that ``old`` has forgotten, hidden or edited is so in ``new`` as well."""
    own = _keep_tombstones(old, new)
    reworded = _reword(old, new, now=now) if own else 0
    erased = bury(new, now=now)
    _show_again(old, new)
    hidden = forget.due(old, now=_ALL_TIME)
    there = identities.known(new, identities.of(old, hidden))
    forget.hide(new, there, now=now)
    return Carried(erased, there.total, reworded)


def _show_again(old: apsw.Connection, new: apsw.Connection) -> None:
    """What was hidden when the copy was made, and brought back since."""
    hidden = forget.due(new, now=_ALL_TIME)
    if not any(hidden):
        return
    there = identities.known(old, identities.of(new, hidden))
    back = identities.known(new, identities.of(old, _visible(old, there)))
    at = forget.moments_of(new, back)
    with transaction(new):
        forget.show(new, back, {moment for _session, moment in at})
        moments.settle(new, forget.over(new, at))


def _visible(conn: apsw.Connection, found: forget.Plan) -> forget.Plan:
    """Those of the rows and turns that are not hidden."""
    left: dict[str, list[int]] = {kind: [] for kind in (*TABLES, "N")}
    for kind, refs in {**found.rows, "turn": found.turns}.items():
        if refs:
            query = f"""SELECT id FROM {TABLES[kind]}
                WHERE hidden_at IS NULL AND id IN (SELECT value FROM json_each(?))"""
            left[kind] = [int(ref) for (ref,) in rows(conn, query, (json.dumps(refs),))]
    return forget.as_plan(left)


def bury(conn: apsw.Connection, *, now: int) -> int:
    """Erase every row a tombstone stands for, and what was made of it; return how many."""
    if not tombstones.are_any(conn):
        return 0
    refs = [
        (kind, ref)
        for kind, table in TABLES.items()
        if kind in tombstones.ROWS
        for ref in _buried(conn, kind, table)
    ]
    plan = forget.plan(conn, [*refs, *_in_buried_sessions(conn)])
    return erase.purge(conn, plan, now=now) if any(plan) else 0


def _keep_tombstones(old: apsw.Connection, new: apsw.Connection) -> bool:
    """Whether both stores have the same key; where they have not, only those that mean the same
    everywhere are kept."""
    own = bool(meta.get(old, "hmac_key") == meta.get(new, "hmac_key"))
    for mac, kind, at in rows(old, _TOMBSTONES):
        if own or str(kind).removeprefix(tombstones.UNDONE) in tombstones.TRAVELLING:
            tombstones.accept_as_is(new, kind=str(kind), digest=bytes(mac), at=int(at))
    return own


def _reword(old: apsw.Connection, new: apsw.Connection, *, now: int) -> int:
    """Observations whose words were edited away get the present ones, and go where there are
    none any more."""
    done, gone = 0, []
    for ref, uid in _slices(new, "SELECT id, uid FROM observations WHERE id > ?"):
        session, known = rows(
            new, "SELECT session_id, content_hash FROM observations WHERE id = ?", (ref,)
        )[0]
        if not erase.is_buried(new, session, known):
            continue
        there = rows(old, "SELECT id FROM observations WHERE uid = ?", (uid,))
        words = edits.words(old, int(there[0][0])) if there else None
        before = edits.words(new, ref)
        if words is None or before is None:
            gone.append(ref)
            continue
        edits.edit(new, ref, old=before, new=words, now=now)
        done += 1
    if gone:
        erase.purge(new, forget.Plan(observations=tuple(gone)), now=now)
    erase.finish(new)
    return done


def _in_buried_sessions(conn: apsw.Connection) -> Iterator[tuple[str, int]]:
    """What happened in sessions up to when they were forgotten; one that is its id alone already
    stays."""
    blank = "SELECT 1 FROM sessions WHERE id = ? AND title = '' AND cwd = '' AND model = ''"
    for ref, uid in _slices(conn, "SELECT id, uid FROM sessions WHERE id > ?"):
        until = tombstones.forgotten_until(conn, "N", uid)
        if until is not None:
            found = told.up_to(conn, ref, until)
            yield from (one for one in found if one[0] != "N" or not rows(conn, blank, (ref,)))


def _buried(conn: apsw.Connection, kind: str, table: str) -> Iterator[int]:
    if not rows(conn, "SELECT 1 FROM sqlite_schema WHERE name = ?", (table,)):
        return
    for ref, uid in _slices(conn, f"SELECT id, uid FROM {table} WHERE id > ?"):
        if tombstones.is_forgotten(conn, kind, uid):
            yield ref


def _slices(conn: apsw.Connection, query: str) -> Iterator[tuple[int, str]]:
    last = 0
    while batch := rows(conn, f"{query} ORDER BY id LIMIT {_SLICE}", (last,)):
        for ref, uid in batch:
            yield int(ref), str(uid)
        last = int(batch[-1][0])
