"""What is known of erased rows: two hashes of each row's identity, and no text.

One is keyed with the store's own key. The other, marked by a lower-case kind, is not, so that
it means the same in another store: an export carries it, and what was forgotten here does not
come back there. Both hash an identity that is a hash of the host's ids itself.

A session's tombstone stands for what had happened in it when it was forgotten, and no longer:
a session may go on. What is brought back by ``take_back`` keeps a mark that says so, which an
export carries too. Of two stores the one that has decided later is right, and of two that have
decided at the same time the one that brings back: whatever order they meet in, they agree.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING, NamedTuple

from cmem.store import meta
from cmem.store.rows import row, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    import apsw

# Kinds whose identity is the same in every store; others are named by this one's numbers.
ROWS = frozenset(("N", "P", "T", "O", "S", "W"))
# Those that something may be added to, so that they can be forgotten once more.
GROWING = frozenset(("N", "said"))
TRAVELLING = frozenset(kind.lower() for kind in ROWS)
# What a kind begins with once the row was brought back.
UNDONE = "undone-"
_BURY = """INSERT INTO tombstones(mac, kind, at) VALUES(?, ?, ?)
    ON CONFLICT(mac) DO UPDATE SET kind = excluded.kind, at = excluded.at"""
_ACCEPT = f"""{_BURY} WHERE excluded.at > at
    OR (excluded.at = at AND excluded.kind LIKE '{UNDONE}%')"""
_VERDICT = f"""SELECT at, kind LIKE '{UNDONE}%' AS undone FROM tombstones WHERE mac IN (?, ?)
    ORDER BY at DESC, undone DESC LIMIT 1"""
_TRAVELLING = f"""SELECT replace(kind, '{UNDONE}', ''), mac, at, kind LIKE '{UNDONE}%'
    FROM tombstones WHERE replace(kind, '{UNDONE}', '') IN ('n', 'p', 't', 'o', 's', 'w')
    AND at >= ? ORDER BY mac"""


class Tombstone(NamedTuple):
    """One that another store can be told: ``undone``, the row was brought back."""

    kind: str
    digest: bytes
    at: int
    undone: bool = False


def bury(conn: apsw.Connection, kind: str, uid: str, *, now: int) -> None:
    """Note that the row of this identity is gone since ``now`` and is not to come back. One that
    was gone already is so since then; what may grow is so up to the later moment."""
    at = now
    known = _verdict(conn, kind, uid)
    if known is not None:
        then, undone = known
        at = max(now, then + 1) if undone else max(now, then) if kind in GROWING else then
    conn.execute(_BURY, (_keyed(conn, kind, uid), kind, at)).fetchall()
    if kind in ROWS:
        conn.execute(_BURY, (portable(kind, uid), kind.lower(), at)).fetchall()


def take_back(conn: apsw.Connection, kind: str, uid: str) -> None:
    """The row is wanted again: no tombstone that is known so far counts for it any more."""
    query = f"""UPDATE tombstones SET kind = '{UNDONE}' || kind
        WHERE mac IN (?, ?) AND kind NOT LIKE '{UNDONE}%'"""
    conn.execute(query, _macs(conn, kind, uid)).fetchall()


def are_any(conn: apsw.Connection) -> bool:
    """False in a store that has never forgotten anything: nothing has to be hashed."""
    return row(conn, "SELECT 1 FROM tombstones LIMIT 1") is not None


def is_forgotten(conn: apsw.Connection, kind: str, uid: str) -> bool:
    """True when the row of this identity was erased, here or where a tombstone came from."""
    return forgotten_until(conn, kind, uid) is not None


def forgotten_until(conn: apsw.Connection, kind: str, uid: str) -> int | None:
    """When the row of this identity was forgotten; None when it was not. Of a session: up to
    when what has happened in it is not to come back."""
    known = _verdict(conn, kind, uid)
    return None if known is None or known[1] else known[0]


def is_taken_back(conn: apsw.Connection, kind: str, uid: str) -> bool:
    """True when the row was forgotten somewhere and brought back."""
    known = _verdict(conn, kind, uid)
    return known is not None and known[1]


def portable(kind: str, uid: str) -> bytes:
    """What stands for the identity in every store."""
    return hashlib.sha256(f"cmem-tombstone|{kind}|{uid}".encode("utf-8", "replace")).digest()


def travelling(conn: apsw.Connection, *, since: int) -> Iterator[Tombstone]:
    """All that can be told to another store, in the order of the hash."""
    for kind, mac, at, undone in conn.execute(_TRAVELLING, (since,)):
        yield Tombstone(str(kind).upper(), bytes(mac), int(at), bool(undone))


def is_known(conn: apsw.Connection, given: Tombstone) -> bool:
    """True when what another store has decided is known here, or a later decision."""
    query = f"SELECT at, kind LIKE '{UNDONE}%' FROM tombstones WHERE mac = ?"
    found = row(conn, query, (given.digest,))
    return found is not None and (found[0], bool(found[1])) >= (given.at, given.undone)


def accept(conn: apsw.Connection, given: Tombstone) -> None:
    """Keep what another store has decided."""
    kind = (UNDONE if given.undone else "") + given.kind.lower()
    accept_as_is(conn, kind=kind, digest=given.digest, at=given.at)


def accept_as_is(conn: apsw.Connection, *, kind: str, digest: bytes, at: int) -> None:
    """Keep a tombstone of a copy of this store."""
    conn.execute(_ACCEPT, (digest, kind, at)).fetchall()


def matching(
    conn: apsw.Connection, kind: str, table: str, digests: frozenset[bytes]
) -> dict[int, bytes]:
    """The rows of a table whose identity one of the hashes stands for, each with its hash."""
    query = f"SELECT id, uid FROM {table} WHERE id > ? ORDER BY id LIMIT 1000"
    found: dict[int, bytes] = {}
    last = 0
    while batch := rows(conn, query, (last,)):
        for ref, uid in batch:
            digest = portable(kind, str(uid))
            if digest in digests:
                found[int(ref)] = digest
        last = int(batch[-1][0])
    return found


def _verdict(conn: apsw.Connection, kind: str, uid: str) -> tuple[int, bool] | None:
    """(when, whether to bring it back): the last decision about the row."""
    found = row(conn, _VERDICT, _macs(conn, kind, uid))
    return None if found is None else (int(found[0]), bool(found[1]))


def _macs(conn: apsw.Connection, kind: str, uid: str) -> tuple[bytes, bytes]:
    return _keyed(conn, kind, uid), portable(kind, uid)


def _keyed(conn: apsw.Connection, kind: str, uid: str) -> bytes:
    key = bytes(meta.get(conn, "hmac_key"))
    return hmac.new(key, f"{kind}|{uid}".encode(), hashlib.sha256).digest()
