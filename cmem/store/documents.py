"""The index over everything that can be found: one document per row, rowid = document id.

The index holds no text. It is told the terms of a row when the row comes and again, the same
ones, before the row goes; so both happen in the caller's transaction, on the right side of
the row: ``add`` after the insert, ``remove`` before the delete or any change of the text.
"""

from __future__ import annotations

from collections.abc import Callable

import apsw

from cmem.store import meta, segment
from cmem.store.connection import transaction
from cmem.store.rows import row, rows

_COLUMNS = "title, body, meta, x, k"

# Rows in one transaction of a reindex: a few milliseconds of lock each.
_SLICE = 50
# A process that indexes many rows merges as much as they make: after so many, so many times so many
# pages, some 60 ms. One that indexes few leaves it to the end of ``compress``.
_MERGED_AFTER, _MERGES, _MERGE_PAGES = 500, 8, 64
_indexed = [0]
# How many parts of one size the index has before it merges them within one transaction: what
# SQLite takes by itself, and the most that there can be, nearly.
_PARTS, _MOST_PARTS = 16, 1900


def add(conn: apsw.Connection, kind: str, ref: int, created_at: int) -> int:
    """Index the row ``ref`` of ``kind`` (O, S, P, T), which exists; return its document id.

    A row that is indexed already stays as it is."""
    found = _document(conn, kind, ref)
    if found is not None:
        return found
    conn.execute(
        "INSERT INTO documents(kind, ref, created_at) VALUES(?, ?, ?)", (kind, ref, created_at)
    ).fetchall()
    document = conn.last_insert_rowid()
    _index(conn, document)
    return document


def remove(conn: apsw.Connection, kind: str, ref: int) -> None:
    """Take the row, which is still as it was indexed, out of the index."""
    document = _document(conn, kind, ref)
    if document is not None:
        _unindex(conn, document)
        conn.execute("DELETE FROM documents WHERE id = ?", (document,)).fetchall()


def refresh(conn: apsw.Connection, kind: str, ref: int, change: Callable[[], None]) -> None:
    """Run ``change``, which alters an indexed row, and index the row as it is afterwards.

    The document keeps its id."""
    document = _document(conn, kind, ref)
    if document is not None:
        _unindex(conn, document)
    change()
    if document is not None:
        _index(conn, document)


def overwrite_at_once(conn: apsw.Connection, *, wanted: bool) -> None:
    """Whether the index overwrites a row's terms when the row goes, as it does unless told
    otherwise, or notes in one more part of its own that they are gone, until its parts are merged,
    which it does not do by itself then."""
    query = "SELECT v FROM documents_fts_config WHERE k = 'secure-delete'"
    if bool((row(conn, query) or (0,))[0]) == wanted:
        return
    for name, setting in (
        ("secure-delete", int(wanted)),
        ("crisismerge", _PARTS if wanted else _MOST_PARTS),
    ):
        conn.execute(
            "INSERT INTO documents_fts(documents_fts, rank) VALUES(?, ?)", (name, setting)
        ).fetchall()


def reindex(conn: apsw.Connection) -> int:
    """Build the index anew from the rows, in short transactions; return the documents in it.

    Until it returns, searches find only what is done."""
    with transaction(conn):
        conn.execute("INSERT INTO documents_fts(documents_fts) VALUES('delete-all')").fetchall()
    done, last = 0, 0
    while True:
        with transaction(conn):
            query = "SELECT id FROM documents WHERE id > ? ORDER BY id LIMIT ?"
            batch = [int(document) for (document,) in rows(conn, query, (last, _SLICE))]
            for document in batch:
                _index(conn, document)
        if not batch:
            break
        done, last = done + len(batch), batch[-1]
    meta.put(conn, "segmenter_version", segment.SEGMENTER_VERSION)
    return done


def _document(conn: apsw.Connection, kind: str, ref: int) -> int | None:
    query = "SELECT id FROM documents WHERE kind = ? AND ref = ?"
    found = row(conn, query, (kind, ref))
    return None if found is None else int(found[0])


def _index(conn: apsw.Connection, document: int) -> None:
    conn.execute(
        f"INSERT INTO documents_fts(rowid, {_COLUMNS})"
        f" SELECT id, {_COLUMNS} FROM documents_text WHERE id = ?",
        (document,),
    ).fetchall()
    _indexed[0] += 1
    if _indexed[0] % _MERGED_AFTER == 0:
        for _ in range(_MERGES):
            conn.execute(
                "INSERT INTO documents_fts(documents_fts, rank) VALUES('merge', ?)", (_MERGE_PAGES,)
            ).fetchall()


def _unindex(conn: apsw.Connection, document: int) -> None:
    conn.execute(
        f"INSERT INTO documents_fts(documents_fts, rowid, {_COLUMNS})"
        f" SELECT 'delete', id, {_COLUMNS} FROM documents_text WHERE id = ?",
        (document,),
    ).fetchall()
