"""What another machine knows of projects, made so in this store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cmem.store import load_projects
from cmem.store.rows import row, rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    import apsw


def add_project(conn: apsw.Connection, one: Mapping[str, Any]) -> None:
    """A project that is not here."""
    conn.execute(
        "INSERT INTO projects(key, key_source, name, root, created_at) VALUES(?, ?, ?, ?, ?)",
        (one["key"], one["key_source"], one["name"], one["root"], one["created_at"]),
    ).fetchall()


def update_project(conn: apsw.Connection, one: Mapping[str, Any]) -> None:
    """Let the project have this name and age."""
    query = "UPDATE projects SET name = ?2, created_at = ?3 WHERE key = ?1"
    conn.execute(query, (one["key"], one["name"], one["created_at"])).fetchall()


def merged(conn: apsw.Connection) -> dict[str, str]:
    """Which project counts as which other one, by key."""
    query = """SELECT p.key, i.key FROM projects p JOIN projects i ON i.id = p.merged_into"""
    return {str(key): str(into) for key, into in rows(conn, query)}


def merge_project(conn: apsw.Connection, key: str, into: str | None) -> None:
    target = None if into is None else load_projects.find(conn, into) or None
    conn.execute(
        "UPDATE projects SET merged_into = ?2 WHERE key = ?1 AND id IS NOT ?2", (key, target)
    ).fetchall()


def set_alias(conn: apsw.Connection, alias: tuple[str, str], key: str | None, *, now: int) -> None:
    """Let an alias stand for the project of this key, or for nothing."""
    query = """SELECT p.key FROM project_aliases a JOIN projects p ON p.id = a.project_id
        WHERE a.kind = ? AND a.alias = ?"""
    before = row(conn, query, alias)
    if key == (None if before is None else before[0]):
        return
    target = 0 if key is None else load_projects.find(conn, key)
    if not target:
        conn.execute("DELETE FROM project_aliases WHERE kind = ? AND alias = ?", alias).fetchall()
    else:
        conn.execute(
            """INSERT INTO project_aliases(kind, alias, project_id, created_at) VALUES(?, ?, ?, ?)
            ON CONFLICT(kind, alias) DO UPDATE SET project_id = excluded.project_id""",
            (*alias, target, now),
        ).fetchall()
