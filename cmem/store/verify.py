"""Whether a few rows match, found out from their own text and not from the index.

A common word's list in the index is long, and looking for the word in a few rows reads much of it.
The rows go into an index of their own, in memory, of the same columns and rules.
"""

from __future__ import annotations

from cmem.store.rows import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

_DECLARED = "SELECT sql FROM main.sqlite_schema WHERE name = 'documents_fts'"


def matching(conn: apsw.Connection, match: str, documents: Sequence[int]) -> list[int]:
    """Those of a few documents that match."""
    if not documents:
        return []
    declared = str(value(conn, _DECLARED))
    tokenize = declared[declared.index("tokenize") : declared.rindex(")")]
    columns = "body, title, meta, x, k"
    conn.execute(
        f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.few USING fts5({columns}, {tokenize})"
    ).fetchall()
    conn.execute("DELETE FROM temp.few").fetchall()
    # One by one: the view would go through all documents to find several.
    conn.executemany(
        f"INSERT INTO temp.few(rowid, {columns})"
        f" SELECT id, {columns} FROM documents_text WHERE id = ?",
        [(document,) for document in documents],
    ).fetchall()
    found = conn.execute("SELECT rowid FROM temp.few WHERE few MATCH ? ORDER BY rowid", (match,))
    return [int(document) for (document,) in found]
