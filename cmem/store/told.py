"""What other stores have forgotten or brought back, made so here too.

What is there is hidden, which can be undone for a day, and what comes later stays away. What a
store has brought back shows again here, if nobody here has forgotten it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmem.store import forget, moments, tombstones
from cmem.store.connection import transaction
from cmem.store.forget import TABLES, Ref
from cmem.store.rows import row, rows
from cmem.store.tombstones import Tombstone

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import apsw

    from cmem.store.portable import Record

NEW, KNOWN = "new", "known"
_TIME = dict.fromkeys(TABLES, "created_at") | {"turn": "last_event_at"}


def put(conn: apsw.Connection, records: Sequence[Record], *, now: int) -> list[str]:
    """Do what the records of another store say; which of them were news."""
    given = [_tombstone(one) for one in records]
    news = {one for one in given if not tombstones.is_known(conn, one)}
    gone: list[Ref] = []
    back: list[Ref] = []
    for kind in sorted({one.kind for one in news}):
        said = _last(one for one in news if one.kind == kind)
        table = TABLES.get(kind, "sessions")
        for ref, digest in tombstones.matching(conn, kind, table, frozenset(said)).items():
            if said[digest].undone:
                back.append((kind, ref))
            else:
                gone += up_to(conn, ref, said[digest].at) if kind == "N" else [(kind, ref)]
    if gone:
        with transaction(conn):
            moments.mark(conn, moments.TOLD, now)
        forget.hide(conn, forget.plan(conn, gone), now=now)
    with transaction(conn):
        for one in news:
            tombstones.accept(conn, one)
        if back:
            _show(conn, back)
    return [NEW if one in news else KNOWN for one in given]


def look(conn: apsw.Connection, record: Record) -> str:
    """What ``put`` would say of a record."""
    return KNOWN if tombstones.is_known(conn, _tombstone(record)) else NEW


def up_to(conn: apsw.Connection, session: int, until: int) -> list[Ref]:
    """What happened in a session up to a moment; the session itself where that is all."""
    query = "SELECT 1 FROM sessions WHERE id = ? AND last_event_at <= ?"
    if row(conn, query, (session, until)) is not None:
        return [("N", session)]
    return [
        (kind, int(ref))
        for kind, table in TABLES.items()
        for (ref,) in rows(
            conn,
            f"SELECT id FROM {table} WHERE session_id = ? AND {_TIME[kind]} <= ?",
            (session, until),
        )
    ]


def _tombstone(one: Record) -> Tombstone:
    digest = bytes.fromhex(one["hash"])
    return Tombstone(one["kind"], digest, one["at"], one.get("undone") is True)


def _last(found: Iterable[Tombstone]) -> Mapping[bytes, Tombstone]:
    """The last decision about each row."""
    ordered = sorted(found, key=lambda one: (one.at, one.undone))
    return {one.digest: one for one in ordered}


def _show(conn: apsw.Connection, back: Iterable[Ref]) -> None:
    """Show rows again that were hidden on the word of another store."""
    told = moments.marked(conn, moments.TOLD)
    found: dict[str, set[int]] = {kind: set() for kind in (*TABLES, "N")}
    at: set[moments.Moment] = set()
    for kind, ref in back:
        for one, table in TABLES.items():
            if kind not in (one, "N") or one == "turn":
                continue
            column = "session_id" if kind == "N" else "id"
            query = f"""SELECT id, uid, session_id, hidden_at FROM {table}
                WHERE {column} = ? AND hidden_at IS NOT NULL"""
            for row_id, uid, session, hidden_at in rows(conn, query, (ref,)):
                if hidden_at in told and not tombstones.is_forgotten(conn, one, str(uid)):
                    found[one].add(int(row_id))
                    at.add((int(session), int(hidden_at)))
    for pair in at:
        query = "SELECT id FROM turns WHERE session_id = ? AND hidden_at = ?"
        turns = {int(ref) for (ref,) in rows(conn, query, pair)}
        found["turn"] |= {ref for ref in turns if _is_shown(conn, ref, found)}
    forget.show(conn, forget.as_plan(found), {when for _session, when in at})
    moments.settle(conn, forget.over(conn, at))


def _is_shown(conn: apsw.Connection, turn: int, found: Mapping[str, set[int]]) -> bool:
    """Whether one of the rows is of the turn."""
    return any(
        int(ref) in found[kind]
        for kind in ("P", "T", "O", "S")
        for (ref,) in rows(conn, f"SELECT id FROM {TABLES[kind]} WHERE turn_id = ?", (turn,))
    )
