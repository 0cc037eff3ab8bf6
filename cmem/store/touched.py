"""Which sessions something was changed in since they were last looked at.

Triggers note them, so that a sync reads what has changed and not the whole memory. They are made
by the first ``cmem sync``; a store that never syncs has none. Looking has two steps, because
others write meanwhile: what is noted is taken up first and put away when all is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmem.store.connection import transaction
from cmem.store.rows import rows

if TYPE_CHECKING:
    import apsw

TAKEN_UP = 1
_TABLE = """CREATE TABLE IF NOT EXISTS sync_touched(
    session_id INTEGER NOT NULL, step INTEGER NOT NULL,
    PRIMARY KEY(session_id, step)) WITHOUT ROWID"""
# Each with how a row of it names its session.
_TABLES = {
    "sessions": "{row}.id",
    "turns": "{row}.session_id",
    "user_prompts": "{row}.session_id",
    "tool_uses": "{row}.session_id",
    "observations": "{row}.session_id",
    "session_summaries": "{row}.session_id",
    "work_state_entries": "{row}.session_id",
    "near_duplicates": "(SELECT session_id FROM observations WHERE uid = {row}.older_uid)",
}
_TRIGGER = """CREATE TRIGGER IF NOT EXISTS sync_{table}_{what} AFTER {what} ON {table} BEGIN
    INSERT INTO sync_touched(session_id, step) SELECT {session}, 0 WHERE {session} IS NOT NULL
    AND NOT EXISTS(SELECT 1 FROM sync_touched WHERE session_id = {session} AND step = 0);
    END"""


def prepare(conn: apsw.Connection) -> None:
    """Sessions are noted from now on; if they were not until now, all of them are."""
    if _is_prepared(conn):
        return
    with transaction(conn):
        conn.execute(_TABLE).fetchall()
        for table, session in _TABLES.items():
            for what, row in (("insert", "new"), ("update", "new"), ("delete", "old")):
                told = _TRIGGER.format(table=table, what=what, session=session.format(row=row))
                conn.execute(told).fetchall()
        query = "INSERT OR IGNORE INTO sync_touched(session_id, step) SELECT id, 0 FROM sessions"
        conn.execute(query).fetchall()


def take_up(conn: apsw.Connection) -> frozenset[int] | None:
    """The sessions to be looked at; None for all of them, where nobody notes."""
    if not _is_prepared(conn):
        return None
    if not conn.readonly("main"):
        with transaction(conn):
            conn.execute(
                """INSERT OR IGNORE INTO sync_touched(session_id, step)
                SELECT session_id, 1 FROM sync_touched WHERE step = 0"""
            ).fetchall()
            conn.execute("DELETE FROM sync_touched WHERE step = 0").fetchall()
    return frozenset(int(ref) for (ref,) in rows(conn, "SELECT session_id FROM sync_touched"))


def are_any(conn: apsw.Connection) -> bool:
    """Whether something was changed since all was told; True where nobody notes."""
    return not _is_prepared(conn) or bool(rows(conn, "SELECT 1 FROM sync_touched LIMIT 1"))


def put_away(conn: apsw.Connection) -> None:
    """What was taken up is told."""
    conn.execute(f"DELETE FROM sync_touched WHERE step = {TAKEN_UP}").fetchall()


def _is_prepared(conn: apsw.Connection) -> bool:
    query = """SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'sync\\_%'
        ESCAPE '\\'"""
    return int(rows(conn, query)[0][0]) == 3 * len(_TABLES)
