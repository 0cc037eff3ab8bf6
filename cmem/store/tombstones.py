"""What is known of erased rows: two hashes of each row's identity, and no text.

One is keyed with the store's own key. The other, marked by a lower-case kind, is not, so that
it means the same in another store: an export carries it, and what was forgotten here does not
come back there. Both hash an identity that is a hash of the host's ids itself.

A session's tombstone stands for what had happened in it when it was forgotten, and no longer:
a session may go on. What is brought back by ``take_back`` keeps a mark that says so, of another
kind, so that the tombstone is not taken from its old place again.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

from cmem.store.rows import row, rows, value

if TYPE_CHECKING:
    from collections.abc import Iterator

    import apsw

# Kinds whose identity is the same in every store; others are named by this one's numbers.
ROWS = frozenset(("N", "P", "T", "O", "S", "W"))
UNDONE = "undone"
_BURY = """INSERT INTO tombstones(mac, kind, at) VALUES(?, ?, ?)
    ON CONFLICT(mac) DO UPDATE SET kind = excluded.kind, at = max(at, excluded.at)"""
# Of two stores the one that has decided later is right, and a row brought back stays.
_ACCEPT = f"""INSERT INTO tombstones(mac, kind, at) VALUES(?, ?, ?)
    ON CONFLICT(mac) DO UPDATE SET kind = excluded.kind, at = excluded.at
    WHERE excluded.at > at OR (excluded.at = at AND excluded.kind = '{UNDONE}')"""
_KNOWN = "SELECT 1 FROM tombstones WHERE mac = ? AND at >= ?"
_UNTIL = f"SELECT max(at) FROM tombstones WHERE mac IN (?, ?) AND kind <> '{UNDONE}'"


def bury(conn: apsw.Connection, kind: str, uid: str, *, now: int) -> None:
    """Note that the row of this identity is gone and is not to come back."""
    conn.execute(_BURY, (_keyed(conn, kind, uid), kind, now)).fetchall()
    if kind in ROWS:
        conn.execute(_BURY, (portable(kind, uid), kind.lower(), now)).fetchall()


def bury_here(conn: apsw.Connection, kind: str, uid: str, *, now: int) -> None:
    """Note it by the keyed hash alone: for an identity that is made of a text, which whoever
    has no key could guess."""
    conn.execute(_BURY, (_keyed(conn, kind, uid), kind, now)).fetchall()


def take_back(conn: apsw.Connection, kind: str, uid: str) -> None:
    """The row is wanted again: no tombstone that is known so far counts for it any more."""
    query = f"UPDATE tombstones SET kind = '{UNDONE}' WHERE mac IN (?, ?)"
    conn.execute(query, (_keyed(conn, kind, uid), portable(kind, uid))).fetchall()


def is_forgotten(conn: apsw.Connection, kind: str, uid: str) -> bool:
    """True when the row of this identity was erased, here or where a tombstone came from."""
    return forgotten_until(conn, kind, uid) is not None


def forgotten_until(conn: apsw.Connection, kind: str, uid: str) -> int | None:
    """When the row of this identity was forgotten; None when it was not. Of a session: up to
    when what has happened in it is not to come back."""
    found = value(conn, _UNTIL, (_keyed(conn, kind, uid), portable(kind, uid)))
    return None if found is None else int(found)


def portable(kind: str, uid: str) -> bytes:
    """What stands for the identity in every store."""
    return hashlib.sha256(f"cmem-tombstone|{kind}|{uid}".encode("utf-8", "replace")).digest()


def travelling(conn: apsw.Connection, *, since: int) -> Iterator[tuple[str, bytes, int]]:
    """(kind, hash, when) of all that can be told to another store, in the order of the hash."""
    query = """SELECT kind, mac, at FROM tombstones
        WHERE kind IN ('n', 'p', 't', 'o', 's', 'w') AND at >= ? ORDER BY mac"""
    for kind, mac, at in conn.execute(query, (since,)):
        yield str(kind).upper(), bytes(mac), int(at)


def is_known(conn: apsw.Connection, digest: bytes, at: int) -> bool:
    """True when a tombstone of another store is here already, or what has become of it."""
    return row(conn, _KNOWN, (digest, at)) is not None


def accept(conn: apsw.Connection, kind: str, digest: bytes, at: int) -> None:
    """Keep a tombstone of another store."""
    accept_as_is(conn, kind=kind.lower(), digest=digest, at=at)


def accept_as_is(conn: apsw.Connection, *, kind: str, digest: bytes, at: int) -> None:
    """Keep a tombstone of a copy of this store."""
    conn.execute(_ACCEPT, (digest, kind, at)).fetchall()


def matching(
    conn: apsw.Connection, kind: str, table: str, digests: frozenset[bytes]
) -> list[tuple[str, int]]:
    """The rows of a table whose identity one of the hashes stands for."""
    query = f"SELECT id, uid FROM {table} WHERE id > ? ORDER BY id LIMIT 1000"
    found: list[tuple[str, int]] = []
    last = 0
    while batch := rows(conn, query, (last,)):
        found += [(kind, int(ref)) for ref, uid in batch if portable(kind, str(uid)) in digests]
        last = int(batch[-1][0])
    return found


def living(conn: apsw.Connection, kind: str, query: str, digests: frozenset[bytes]) -> set[bytes]:
    """Those of the hashes that stand for one of the identities the query finds."""
    found = (portable(kind, str(uid)) for (uid,) in conn.execute(query))
    return {digest for digest in found if digest in digests}


def _keyed(conn: apsw.Connection, kind: str, uid: str) -> bytes:
    key = value(conn, "SELECT value FROM meta WHERE key = 'hmac_key'", ())
    return hmac.new(bytes(key), f"{kind}|{uid}".encode(), hashlib.sha256).digest()
