"""Projects into the store: one that is known by any name is that one, and gains names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cmem.store.rows import row, rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from cmem.store.portable import Record

NEW, KNOWN = "new", "known"


def put(conn: apsw.Connection, records: Sequence[Record], *, now: int) -> list[str]:
    """Put projects in, then join those that were merged: part of one transaction, because a
    merge is only made for a project that is new."""
    results = []
    for one in records:
        known = find(conn, one["key"]) or _by_remote(conn, one["aliases"])
        results.append(KNOWN if known else NEW)
        if not known:
            conn.execute(
                """INSERT INTO projects(key, key_source, name, root, created_at)
                VALUES(?, ?, ?, ?, ?)""",
                (one["key"], one["key_source"], one["name"], one["root"], one["created_at"]),
            ).fetchall()
            known = conn.last_insert_rowid()
        for kind, alias, at in one["aliases"]:
            conn.execute(
                """INSERT INTO project_aliases(kind, alias, project_id, created_at)
                VALUES(?, ?, ?, ?) ON CONFLICT DO NOTHING""",
                (kind, alias, known, at),
            ).fetchall()
        if known and results[-1] is KNOWN and not find(conn, one["key"]):
            # Rows name it by this key, which is another's name for the same repository.
            conn.execute(
                """INSERT INTO project_aliases(kind, alias, project_id, created_at)
                VALUES('key', ?, ?, ?) ON CONFLICT DO NOTHING""",
                (one["key"], known, now),
            ).fetchall()
    for one, result in zip(records, results, strict=True):
        if result == NEW and one["merged_into"]:
            _merge(conn, one["key"], one["merged_into"])
    return results


def look(conn: apsw.Connection, one: Record) -> str:
    """The same of a project."""
    return KNOWN if find(conn, one["key"]) or _by_remote(conn, one["aliases"]) else NEW


def find(conn: apsw.Connection, key: str) -> int:
    """The project of this key, also one whose key is another's name here; 0 for none."""
    query = """SELECT id FROM projects WHERE key = ?1 UNION ALL
        SELECT project_id FROM project_aliases WHERE kind = 'key' AND alias = ?1 LIMIT 1"""
    found = row(conn, query, (key,))
    return 0 if found is None else int(found[0])


def _by_remote(conn: apsw.Connection, aliases: Sequence[Sequence[Any]]) -> int:
    """The project here that has the same remote or the same name set by a person. Folders say
    nothing: those of another machine are its own."""
    for kind, alias, _at in aliases:
        if kind in ("env", "remote"):
            query = "SELECT project_id FROM project_aliases WHERE kind = ? AND alias = ?"
            for (found,) in rows(conn, query, (kind, alias)):
                return int(found)
    return 0


def _merge(conn: apsw.Connection, key: str, into: str) -> None:
    target = find(conn, into)
    if target:
        conn.execute(
            "UPDATE projects SET merged_into = ? WHERE key = ? AND id <> ?", (target, key, target)
        ).fetchall()
