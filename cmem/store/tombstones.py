"""What is known of erased rows: two hashes of each row's identity, and no text.

One is keyed with the store's own key. The other, marked by a lower-case kind, is not, so that
it means the same in another store: an export carries it, and what was forgotten here does not
come back there. Both hash an identity that is a hash of the host's ids itself.
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
_INSERT = "INSERT OR IGNORE INTO tombstones(mac, kind, at) VALUES(?, ?, ?)"
_KNOWN = "SELECT 1 FROM tombstones WHERE mac = ?"


def bury(conn: apsw.Connection, kind: str, uid: str, *, now: int) -> None:
    """Note that the row of this identity is gone and is not to come back."""
    conn.execute(_INSERT, (_keyed(conn, kind, uid), kind, now)).fetchall()
    if kind in ROWS:
        conn.execute(_INSERT, (portable(kind, uid), kind.lower(), now)).fetchall()


def bury_here(conn: apsw.Connection, kind: str, uid: str, *, now: int) -> None:
    """Note it by the keyed hash alone: for an identity that is made of a text, which whoever
    has no key could guess."""
    conn.execute(_INSERT, (_keyed(conn, kind, uid), kind, now)).fetchall()


def is_forgotten(conn: apsw.Connection, kind: str, uid: str) -> bool:
    """True when the row of this identity was erased, here or where a tombstone came from."""
    found = row(
        conn,
        "SELECT 1 FROM tombstones WHERE mac IN (?, ?)",
        (_keyed(conn, kind, uid), portable(kind, uid)),
    )
    return found is not None


def portable(kind: str, uid: str) -> bytes:
    """What stands for the identity in every store."""
    return hashlib.sha256(f"cmem-tombstone|{kind}|{uid}".encode("utf-8", "replace")).digest()


def travelling(conn: apsw.Connection, *, since: int) -> Iterator[tuple[str, bytes, int]]:
    """(kind, hash, when) of all that can be told to another store, in the order of the hash."""
    query = """SELECT kind, mac, at FROM tombstones
        WHERE kind IN ('n', 'p', 't', 'o', 's', 'w') AND at >= ? ORDER BY mac"""
    for kind, mac, at in conn.execute(query, (since,)):
        yield str(kind).upper(), bytes(mac), int(at)


def is_known(conn: apsw.Connection, digest: bytes) -> bool:
    """True when a tombstone of another store is here already."""
    return row(conn, _KNOWN, (digest,)) is not None


def accept(conn: apsw.Connection, kind: str, digest: bytes, at: int) -> None:
    """Keep a tombstone of another store."""
    conn.execute(_INSERT, (digest, kind.lower(), at)).fetchall()


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


def _keyed(conn: apsw.Connection, kind: str, uid: str) -> bytes:
    key = value(conn, "SELECT value FROM meta WHERE key = 'hmac_key'", ())
    return hmac.new(bytes(key), f"{kind}|{uid}".encode(), hashlib.sha256).digest()
