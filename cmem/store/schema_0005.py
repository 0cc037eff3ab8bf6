"""Schema 5: what is still to be done in a project, and which raw payloads are still there.

Append-only: an item is the entry that opened it, and every later entry of the item says what
became of it; the newest one counts. One index leads from a project to its items, so that a
session start reads no more than the few there are; the other finds the newest entry of one.

Retention looks for the oldest tool calls that still have their payload: without an index it
would read all tool calls every day. It holds only those rows, about 20 bytes each.

Near-duplicates are pairs of identities that somebody decided about, without any text.
"""

from __future__ import annotations

NAME = "open work, retention of raw payloads, near-duplicates"

STATEMENTS: tuple[str, ...] = (
    # item: the id of the entry that opened it, shown as W<item>. state: open | done.
    """CREATE TABLE IF NOT EXISTS work_state_entries(
        id INTEGER PRIMARY KEY,
        uid TEXT NOT NULL UNIQUE,
        project_id INTEGER NOT NULL REFERENCES projects(id),
        session_id INTEGER NOT NULL REFERENCES sessions(id),
        item INTEGER NOT NULL,
        state TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        hidden_at INTEGER,
        taint TEXT NOT NULL DEFAULT 'local',
        branch TEXT NOT NULL DEFAULT '',
        text TEXT NOT NULL DEFAULT '')""",
    """CREATE INDEX IF NOT EXISTS work_state_entries_project
        ON work_state_entries(project_id, id) WHERE id = item""",
    "CREATE INDEX IF NOT EXISTS work_state_entries_item ON work_state_entries(item, id)",
    "CREATE INDEX IF NOT EXISTS work_state_entries_session ON work_state_entries(session_id)",
    """CREATE INDEX IF NOT EXISTS tool_uses_raw
        ON tool_uses(created_at, id) WHERE tool_input IS NOT NULL""",
    # state: joined | kept; before: how often the older one was seen before it was joined.
    """CREATE TABLE IF NOT EXISTS near_duplicates(
        older_uid TEXT NOT NULL,
        newer_uid TEXT NOT NULL,
        level INTEGER NOT NULL,
        score REAL NOT NULL,
        state TEXT NOT NULL,
        before TEXT NOT NULL,
        at INTEGER NOT NULL,
        PRIMARY KEY(older_uid, newer_uid)) WITHOUT ROWID""",
)
