"""A store whose rows were saved one by one, made whole again.

Rows name each other, so what is lost shows: a row that is named and not there is taken from a
copy if one has it. What stays missing gets a placeholder where others hang on it, and whatever
was only about it goes. Nothing is made up: a placeholder holds no text.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import apsw

from cmem.store import codec, documents, meta, moments
from cmem.store.connection import transaction
from cmem.store.forget import TABLES
from cmem.store.lost_pages import UNKNOWN
from cmem.store.rows import rows, value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

# (table, where its rows are named); in the order in which they are named.
_NAMED: tuple[tuple[str, str], ...] = (
    (
        "observations",
        """SELECT observation_id AS id FROM observation_sources
        UNION SELECT observation_id FROM observation_files
        UNION SELECT superseded_by FROM observations
        UNION SELECT ref FROM documents WHERE kind = 'O'""",
    ),
    ("session_summaries", "SELECT ref AS id FROM documents WHERE kind = 'S'"),
    (
        "user_prompts",
        """SELECT ref AS id FROM documents WHERE kind = 'P'
        UNION SELECT ref FROM observation_sources WHERE kind = 'P'""",
    ),
    (
        "tool_uses",
        """SELECT ref AS id FROM documents WHERE kind = 'T'
        UNION SELECT ref FROM observation_sources WHERE kind = 'T'""",
    ),
    (
        "turns",
        """SELECT turn_id AS id FROM user_prompts UNION SELECT turn_id FROM tool_uses
        UNION SELECT turn_id FROM observations UNION SELECT turn_id FROM session_summaries
        UNION SELECT turn_id FROM work_units""",
    ),
    (
        "sessions",
        """SELECT session_id AS id FROM turns UNION SELECT session_id FROM user_prompts
        UNION SELECT session_id FROM tool_uses UNION SELECT session_id FROM observations
        UNION SELECT session_id FROM session_summaries UNION SELECT session_id FROM work_units
        UNION SELECT session_id FROM work_state_entries""",
    ),
    (
        "projects",
        """SELECT project_id AS id FROM sessions UNION SELECT project_id FROM observations
        UNION SELECT project_id FROM session_summaries UNION SELECT project_id FROM project_aliases
        UNION SELECT project_id FROM work_state_entries UNION SELECT merged_into FROM projects""",
    ),
)
_PLACEHOLDERS = {
    "projects": """INSERT OR IGNORE INTO projects(id, key, key_source, name, root, created_at)
        VALUES(:id, 'lost:' || :id, 'path', 'recovered', '', :now)""",
    "sessions": """INSERT OR IGNORE INTO sessions(id, uid, host, content_session_id, project_id,
            project_key_source, cwd, status, started_at, last_event_at)
        VALUES(:id, 'lost:' || :id, 'unknown', 'lost:' || :id, coalesce(
            (SELECT project_id FROM observations WHERE session_id = :id LIMIT 1),
            (SELECT project_id FROM session_summaries WHERE session_id = :id LIMIT 1),
            (SELECT min(id) FROM projects)), 'path', '', 'completed',
            coalesce((SELECT min(opened_at) FROM turns WHERE session_id = :id), :now),
            coalesce((SELECT max(last_event_at) FROM turns WHERE session_id = :id), :now))""",
    "turns": """INSERT OR IGNORE INTO turns(id, session_id, number, kind, opened_at,
            last_event_at, closed_at, closed_by, outcome)
        SELECT :id, session_id, -:id, 'user', created_at, created_at, created_at, 'repair', 'stop'
        FROM (SELECT session_id, created_at FROM user_prompts WHERE turn_id = :id
            UNION ALL SELECT session_id, created_at FROM tool_uses WHERE turn_id = :id
            UNION ALL SELECT session_id, created_at FROM observations WHERE turn_id = :id
            UNION ALL SELECT session_id, created_at FROM session_summaries WHERE turn_id = :id
            UNION ALL SELECT session_id, created_at FROM work_units WHERE turn_id = :id)
        ORDER BY created_at LIMIT 1""",
}
# What no other row names: a copy is asked for it where pages of the table are lost.
_UNNAMED = ("work_state_entries", "project_aliases", "near_duplicates", "seen_events")
# Rows of these lead nowhere without the row they are about.
_ABOUT = (
    """DELETE FROM observation_files
        WHERE observation_id NOT IN (SELECT id FROM observations)""",
    """DELETE FROM observation_sources
        WHERE observation_id NOT IN (SELECT id FROM observations)
        OR (kind = 'P' AND ref NOT IN (SELECT id FROM user_prompts))
        OR (kind = 'T' AND ref NOT IN (SELECT id FROM tool_uses))""",
    "DELETE FROM batch_units WHERE batch_id NOT IN (SELECT id FROM batches)",
    "UPDATE observations SET superseded_by = NULL WHERE superseded_by NOT IN (SELECT id FROM observations)",
)
_FILES = """INSERT OR IGNORE INTO observation_files(path, observation_id, role)
    SELECT j.value, o.id, '{role}' FROM observations o, json_each(o.files_{role}) j
    WHERE json_valid(o.files_{role}) AND j.type = 'text'
    AND o.id NOT IN (SELECT observation_id FROM observation_files)"""
_UNINDEXED = {
    "O": "",
    "S": "",
    "P": "AND trim(r.prompt_text) <> ''",
    "T": "AND r.turn_id NOT IN (SELECT id FROM turns WHERE private = 1)",
}


# The index and what it is made from are built anew, so nothing of them is lost.
_MADE_ANEW = ("documents", "schema_versions", "observation_files")


def uncounted(lost: Mapping[str, int]) -> dict[str, int]:
    """Of the tables with lost pages those of whose rows nobody can tell how many are gone: no
    other row names them, or not all that do are left."""
    named = [table for table, _ in _NAMED] if "documents" not in lost else []
    return {
        table: count
        for table, count in lost.items()
        if not (table in named or table in _MADE_ANEW or table.startswith("documents_fts"))
    }


def missing(conn: apsw.Connection) -> dict[str, list[int]]:
    """Rows that others name and that are not there, by table."""
    found = {}
    for table, named in _NAMED:
        query = f"""SELECT id FROM ({named}) WHERE id IS NOT NULL
            AND id NOT IN (SELECT id FROM {table}) ORDER BY id"""
        refs = [int(ref) for (ref,) in rows(conn, query)]
        if refs:
            found[table] = refs
    return found


def fill(conn: apsw.Connection, copy: str, damaged: Collection[str] = ()) -> Counter[str]:
    """Take from the store ``copy``, which has the same numbers, what is missing; what was taken,
    by table. A row that comes may name others, so this goes on until nothing more comes. Of the
    tables of which pages were lost (``damaged``) rows come that no other one names."""
    taken: Counter[str] = Counter()
    conn.execute("ATTACH ? AS copy", (copy,)).fetchall()
    try:
        if not _is_copy(conn, damaged):
            return taken
        for table in _UNNAMED:
            if table in damaged or UNKNOWN in damaged:
                taken[table] += _copy_rows(conn, table)
        while True:
            before = taken.total()
            for table, refs in missing(conn).items():
                taken[table] += _copy_rows(conn, table, refs)
            if taken.total() == before:
                return +taken
    finally:
        conn.execute("DETACH copy").fetchall()


def complete(conn: apsw.Connection, *, now: int) -> dict[str, int]:
    """Make the store whole; how many rows are lost for good, by table."""
    lost = {table: len(refs) for table, refs in missing(conn).items()}
    with transaction(conn):
        for table in ("turns", "sessions", "projects"):
            for ref in missing(conn).get(table, ()):
                conn.execute(_PLACEHOLDERS[table], {"id": ref, "now": now}).fetchall()
        for statement in _ABOUT:
            conn.execute(statement).fetchall()
        for role in ("read", "modified"):
            conn.execute(_FILES.format(role=role)).fetchall()
        for table, count in _drop_orphans(conn).items():
            lost[table] = lost.get(table, 0) + count
        _note_hidden(conn)
    index(conn)
    return lost


def _note_hidden(conn: apsw.Connection) -> None:
    """What is hidden is to be removed one day, also where the note of it was lost."""
    found: set[moments.Moment] = set()
    for kind, table in TABLES.items():
        hidden = f"SELECT DISTINCT session_id, hidden_at FROM {table} WHERE hidden_at IS NOT NULL"
        if kind == "turn":
            hidden += " AND (assistant_message <> '' OR error <> '')"
        found |= {(int(session), int(at)) for session, at in rows(conn, hidden)}
    for session, at in sorted(found - set(moments.pairs(conn))):
        moments.add(conn, (session,), now=at)


def index(conn: apsw.Connection) -> None:
    """Build the index anew, over every row that is to be found."""
    with transaction(conn):
        for kind, only in _UNINDEXED.items():
            table = TABLES[kind]
            conn.execute(
                f"DELETE FROM documents WHERE kind = ? AND ref NOT IN (SELECT id FROM {table})",
                (kind,),
            ).fetchall()
            conn.execute(
                f"""INSERT OR IGNORE INTO documents(kind, ref, created_at)
                SELECT '{kind}', r.id, r.created_at FROM {table} r WHERE r.id NOT IN (
                    SELECT ref FROM documents WHERE kind = '{kind}') {only} ORDER BY r.created_at"""
            ).fetchall()
    documents.reindex(conn)


def faults(conn: apsw.Connection) -> list[str]:
    """Everything that SQLite finds wrong with the store."""
    found = [str(told) for (told,) in rows(conn, "PRAGMA integrity_check") if told != "ok"]
    return found + [f"{one[0]} names no {one[2]}" for one in rows(conn, "PRAGMA foreign_key_check")]


def spoiled(conn: apsw.Connection) -> list[str]:
    """Long rows whose end was lost on another page, which SQLite does not see: no text of ours
    has a NUL, and packed ones carry a sum."""
    found = []
    for table in (*TABLES.values(), "sessions", "projects"):
        names = [
            str(name) for (name,) in rows(conn, f"SELECT name FROM pragma_table_info('{table}')")
        ]
        nul = " OR ".join(f"(typeof({n}) = 'text' AND instr({n}, char(0)))" for n in names)
        if names and rows(conn, f"SELECT 1 FROM {table} WHERE {nul} LIMIT 1"):
            found.append(f"a text in {table} is damaged")
    for column in ("tool_input", "tool_response"):
        query = f"SELECT {column} FROM tool_uses WHERE typeof({column}) = 'blob'"
        if not all(codec.is_whole(blob) for (blob,) in conn.execute(query)):
            found.append(f"a {column} in tool_uses is damaged")
    return found


def _is_copy(conn: apsw.Connection, damaged: Collection[str]) -> bool:
    """Whether ``copy`` is one of this store: by the key, and where that may be lost by the names
    of sessions; then the store gets its key back."""
    key = meta.get(conn, "hmac_key", database="copy")
    if key == meta.get(conn, "hmac_key"):
        return True
    same = "SELECT 1 FROM main.sessions s JOIN copy.sessions c ON c.id = s.id AND c.uid = s.uid"
    if not {"meta", UNKNOWN}.intersection(damaged) or not rows(conn, f"{same} LIMIT 1"):
        return False
    meta.put(conn, "hmac_key", key)
    return True


def _copy_rows(conn: apsw.Connection, table: str, refs: Iterable[int] | None = None) -> int:
    query = f"""SELECT name FROM pragma_table_info('{table}', 'main')
        WHERE name IN (SELECT name FROM pragma_table_info('{table}', 'copy'))"""
    names = ", ".join(str(name) for (name,) in rows(conn, query))
    if not names:  # the copy is older than the table
        return 0
    copied = f"INSERT OR IGNORE INTO main.{table}({names}) SELECT {names} FROM copy.{table}"
    before = conn.total_changes()
    if refs is None:
        conn.execute(copied).fetchall()
    for ref in refs or ():
        conn.execute(f"{copied} WHERE id = ?", (ref,)).fetchall()
    return conn.total_changes() - before


def _drop_orphans(conn: apsw.Connection) -> Counter[str]:
    """Take out what names rows that are not there; an optional name is only emptied."""
    gone: Counter[str] = Counter()
    for _ in range(10):
        found = rows(conn, "PRAGMA foreign_key_check")
        for table, number, _parent, key in found:
            column = rows(
                conn,
                f"SELECT \"from\" FROM pragma_foreign_key_list('{table}') WHERE id = ?",
                (key,),
            )[0][0]
            needed = value(
                conn,
                f"SELECT \"notnull\" FROM pragma_table_info('{table}') WHERE name = ?",
                (column,),
            )
            if number is None:
                parent = f"SELECT id FROM {_parent}"
                conn.execute(f"DELETE FROM {table} WHERE {column} NOT IN ({parent})").fetchall()
            elif needed:
                conn.execute(f"DELETE FROM {table} WHERE rowid = ?", (number,)).fetchall()
            else:
                conn.execute(
                    f"UPDATE {table} SET {column} = NULL WHERE rowid = ?", (number,)
                ).fetchall()
                continue
            gone[table] += conn.changes()
        if not found:
            break
    return +gone
