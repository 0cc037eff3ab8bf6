"""What is known of every thing that machines keep alike: its newest revision, and who tells it.

A register is one value that changes as a whole: the words of a row, its pin, whether it is
forgotten. The later revision wins, on every machine the same one. The tables are made by the
first ``cmem sync`` and stand in the store itself, so that a copy that is put back is as old in
this as in all else, and what it lacks is no change that somebody made.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from cmem.store.rows import row, rows, value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import apsw

# To be told in the own file; told there, or by another machine; the row is not to be seen.
UNTOLD, TOLD, ABSENT = 0, 1, 2
CONTENT = ""
_TABLES = (
    """CREATE TABLE IF NOT EXISTS sync_registers(
        type TEXT NOT NULL, key TEXT NOT NULL, name TEXT NOT NULL, rev TEXT NOT NULL,
        value TEXT NOT NULL, state INTEGER NOT NULL,
        PRIMARY KEY(type, key, name)) WITHOUT ROWID""",
    """CREATE INDEX IF NOT EXISTS sync_registers_untold
        ON sync_registers(state) WHERE state = 0""",
    """CREATE TABLE IF NOT EXISTS sync_files(
        name TEXT PRIMARY KEY, generation TEXT NOT NULL, offset INTEGER NOT NULL,
        tail TEXT NOT NULL) WITHOUT ROWID""",
)
_PUT = """INSERT INTO sync_registers(type, key, name, rev, value, state) VALUES(?, ?, ?, ?, ?, ?)
    ON CONFLICT(type, key, name) DO UPDATE
    SET rev = excluded.rev, value = excluded.value, state = excluded.state"""
_MINE = "substr(rev, -8) IN (SELECT value FROM json_each(?))"


class Register(NamedTuple):
    """``key``: what of; ``name``: which of its values, "" for its content, which is known by a
    hash. ``rev`` ends with the machine that decided."""

    type: str
    key: str
    name: str
    rev: str
    value: str
    state: int = TOLD

    def is_of(self, machines: Sequence[str]) -> bool:
        return self.rev[-8:] in machines


def prepare(conn: apsw.Connection, *, for_now: bool = False) -> None:
    """The tables are there; ``for_now``: for this connection alone, where the store has none."""
    if for_now and exist(conn):
        return
    for statement in _TABLES:
        made = statement.replace("CREATE TABLE", "CREATE TEMP TABLE") if for_now else statement
        if not for_now or "INDEX" not in made:
            conn.execute(made).fetchall()


def exist(conn: apsw.Connection) -> bool:
    """Whether this store was ever synced."""
    return row(conn, "SELECT 1 FROM sqlite_schema WHERE name = 'sync_registers'") is not None


def of(conn: apsw.Connection, kind: str, key: str) -> dict[str, Register]:
    """All registers of one thing by name."""
    query = "SELECT name, rev, value, state FROM sync_registers WHERE type = ? AND key = ?"
    return {
        str(name): Register(kind, key, str(name), str(rev), str(kept), int(state))
        for name, rev, kept, state in rows(conn, query, (kind, key))
    }


def get(conn: apsw.Connection, kind: str, key: str, name: str = CONTENT) -> Register | None:
    """One register; None for one that nobody has told."""
    return of(conn, kind, key).get(name)


def named(conn: apsw.Connection, kind: str, name: str) -> list[Register]:
    """Every register of this name."""
    query = "SELECT key, rev, value, state FROM sync_registers WHERE type = ? AND name = ?"
    return [
        Register(kind, str(k), name, r, v, int(s)) for k, r, v, s in rows(conn, query, (kind, name))
    ]


def put(conn: apsw.Connection, found: Iterable[Register]) -> None:
    """Keep the registers in the place of what was known."""
    conn.executemany(_PUT, found)


def untold(conn: apsw.Connection) -> int:
    """How many are to be told."""
    return int(value(conn, f"SELECT count(*) FROM sync_registers WHERE state = {UNTOLD}"))


def to_tell(conn: apsw.Connection, machines: Sequence[str], *, all_of_them: bool) -> list[Register]:
    """Those of this machine that are no content of a row and belong into its file."""
    which = f"state <> {ABSENT}" if all_of_them else f"state = {UNTOLD}"
    query = f"""SELECT type, key, name, rev, value, state FROM sync_registers
        WHERE {which} AND {_MINE} AND (name <> '' OR type IN ('gone', 'alias'))
        ORDER BY type <> 'gone', type <> 'project', rev, key, name"""
    return [Register(*found) for found in rows(conn, query, (json.dumps(machines),))]


def mark_told(conn: apsw.Connection) -> None:
    """All that was to be told stands in the file."""
    query = f"UPDATE sync_registers SET state = {TOLD} WHERE state = {UNTOLD}"
    conn.execute(query).fetchall()


def mark_vanished(conn: apsw.Connection, machines: Sequence[str], shown: frozenset[str]) -> int:
    """Content that was told and is not to be seen any more leaves the file; how much that is.
    ``shown``: the sessions in which anything is to be seen."""
    mine = json.dumps(machines)
    changed = 0
    for kind, table in _ROWS.items():
        query = f"""UPDATE sync_registers SET state = {ABSENT} WHERE type = ? AND name = ''
            AND state = {TOLD} AND substr(rev, -8) IN (SELECT value FROM json_each(?))
            AND NOT EXISTS(SELECT 1 FROM {table} x WHERE x.uid = key AND x.hidden_at IS NULL)"""
        conn.execute(query, (kind, mine)).fetchall()
        changed += conn.changes()
    query = f"""SELECT key FROM sync_registers WHERE type = 'session' AND name = ''
        AND state = {TOLD} AND {_MINE}"""
    gone = [(key,) for (key,) in rows(conn, query, (mine,)) if key not in shown]
    conn.executemany(
        f"""UPDATE sync_registers SET state = {ABSENT}
        WHERE type = 'session' AND key = ? AND name = ''""",
        gone,
    )
    return changed + len(gone)


_ROWS = {
    "prompt": "user_prompts",
    "tool_use": "tool_uses",
    "observation": "observations",
    "summary": "session_summaries",
    "work_state": "work_state_entries",
}


# --- the files it has read ------------------------------------------------


class FileRead(NamedTuple):
    """How far a file was read: which one it was then, to where, and what stood before that."""

    generation: str
    offset: int
    tail: str


def read_of(conn: apsw.Connection, name: str) -> FileRead | None:
    """How far the file of this name was read; None for one nobody has read."""
    query = "SELECT generation, offset, tail FROM sync_files WHERE name = ?"
    found = row(conn, query, (name,))
    return None if found is None else FileRead(str(found[0]), int(found[1]), str(found[2]))


def note_read(conn: apsw.Connection, name: str, how: FileRead) -> None:
    conn.execute(
        "INSERT OR REPLACE INTO sync_files(name, generation, offset, tail) VALUES(?, ?, ?, ?)",
        (name, *how),
    ).fetchall()
