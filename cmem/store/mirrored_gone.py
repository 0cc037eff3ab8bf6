"""What another machine has forgotten or brought back, made so in this store.

Rows are known by the hash of their identity that tombstones have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmem.store import forget, moments, tombstones
from cmem.store.connection import transaction
from cmem.store.forget import TABLES
from cmem.store.rows import rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import apsw


def hidden(conn: apsw.Connection) -> Iterator[tuple[str, str, int]]:
    """(letter, uid, when) of every row that lies hidden."""
    for letter, table in TABLES.items():
        if letter in tombstones.ROWS:
            query = f"SELECT uid, hidden_at FROM {table} WHERE hidden_at IS NOT NULL"
            for uid, at in rows(conn, query):
                yield letter, str(uid), int(at)


def found(conn: apsw.Connection, kind: str, hashes: Iterable[str]) -> dict[str, tuple[int, bool]]:
    """The row of each hash, where it is here, and whether it is to be seen."""
    wanted = {bytes.fromhex(one) for one in hashes}
    table = TABLES.get(kind, "sessions")
    hidden_at = "NULL" if kind == "N" else "hidden_at"
    made: dict[str, tuple[int, bool]] = {}
    last = 0
    while wanted:
        query = f"SELECT id, uid, {hidden_at} FROM {table} WHERE id > ? ORDER BY id LIMIT 1000"
        batch = rows(conn, query, (last,))
        for ref, uid, at in batch:
            if (mac := tombstones.portable(kind, str(uid))) in wanted:
                made[mac.hex()] = (int(ref), at is None)
        if not batch:
            break
        last = int(batch[-1][0])
    return made


def up_to(conn: apsw.Connection, session: int, until: int) -> list[tuple[str, int, str]]:
    """(letter, row, uid) of what is to be seen of a session and happened up to then."""
    return [
        (letter, int(ref), str(uid))
        for letter, table in TABLES.items()
        if letter in tombstones.ROWS
        for ref, uid in rows(
            conn,
            f"""SELECT id, uid FROM {table}
            WHERE session_id = ? AND created_at <= ? AND hidden_at IS NULL""",
            (session, until),
        )
    ]


def hide(conn: apsw.Connection, refs: Sequence[forget.Ref], *, now: int) -> None:
    """Hide rows and all that goes with them, on the word of another machine."""
    with transaction(conn):
        moments.mark(conn, moments.TOLD, now)
    forget.hide(conn, forget.plan(conn, refs), now=now)


def show(conn: apsw.Connection, refs: Iterable[forget.Ref]) -> None:
    """Show these very rows again, whoever has hidden them, and the turns that they are of."""
    taken: dict[str, set[int]] = {kind: set() for kind in (*TABLES, "N")}
    at: set[moments.Moment] = set()
    for kind, ref in refs:
        query = f"SELECT session_id, hidden_at FROM {TABLES[kind]} WHERE id = ?"
        for session, hidden_at in rows(conn, query, (ref,)):
            if hidden_at is not None:
                taken[kind].add(ref)
                if kind != "W":
                    query = f"""SELECT t.id FROM turns t JOIN {TABLES[kind]} r ON r.turn_id = t.id
                        WHERE r.id = ? AND t.hidden_at IS NOT NULL"""
                    taken["turn"] |= {int(turn) for (turn,) in rows(conn, query, (ref,))}
                at.add((int(session), int(hidden_at)))
    with transaction(conn):
        forget.show(conn, forget.as_plan(taken), {when for _session, when in at})
        moments.settle(conn, forget.over(conn, at))


def bury(conn: apsw.Connection, kind: str, digest: str, at: int, *, undone: bool = False) -> None:
    """Keep a tombstone, or (``undone``) that it counts no more, of exactly this time."""
    query = """INSERT INTO tombstones(mac, kind, at) VALUES(?, ?, ?)
        ON CONFLICT(mac) DO UPDATE SET kind = excluded.kind, at = excluded.at
        WHERE kind <> excluded.kind OR at <> excluded.at"""
    name = (tombstones.UNDONE if undone else "") + kind.lower()
    conn.execute(query, (bytes.fromhex(digest), name, at)).fetchall()
