"""claude-mem's database, read from a private copy: never opened itself, never written to.

It may be in use, with a log beside it. Both files are copied until neither changed meanwhile,
and the copy is checked; text in it that is no UTF-8 is mended. Tables and columns differ between versions, so they are looked up: a
row has the columns that there are.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw

from cmem import fsutil
from cmem.errors import CmemError

Found = dict[str, Any]

TRIES = 20
_WAIT_S = 0.25
_SUFFIXES = ("", "-wal")
_COPIES = re.compile(r"claude-mem-(\d+)-.*", re.DOTALL)
_OUTSIDE = re.compile(r"cmem-claude-mem-(\d+)-.*", re.DOTALL)
SESSIONS, PROMPTS, TOOLS = "sdk_sessions", "user_prompts", "tool_uses"
OBSERVATIONS, SUMMARIES = "observations", "session_summaries"
TABLES = (SESSIONS, PROMPTS, TOOLS, OBSERVATIONS, SUMMARIES)
# What rows of one session are looked up by; the copy gets the index that may be missing.
_KEYS = {
    PROMPTS: ("content_session_id", "session_db_id"),
    TOOLS: ("content_session_id", "session_db_id"),
    OBSERVATIONS: ("memory_session_id",),
    SUMMARIES: ("memory_session_id",),
}

# What columns were called at first.
_FORMERLY = {"content_session_id": "claude_session_id", "memory_session_id": "sdk_session_id"}


class Peer:
    """An open copy. ``columns``: those of each table that is there; ``mended``: the rows in which
    text was no UTF-8."""

    def __init__(self, conn: apsw.Connection, mended: int = 0) -> None:
        self._conn, self.mended = conn, mended
        self.columns = {table: _columns(conn, table) for table in TABLES}

    def has(self, table: str, *columns: str) -> bool:
        return set(columns) <= self.columns[table]

    def count(self, table: str) -> int:
        if not self.columns[table]:
            return 0
        return sum(1 for _ in self._run(f"SELECT 1 FROM {table}"))

    def rows(self, table: str, where: str = "1", values: tuple[Any, ...] = ()) -> Iterator[Found]:
        """The rows of a table, oldest first; none where there is no such table."""
        if not self.columns[table]:
            return
        time_column = "started_at_epoch" if table == SESSIONS else "created_at_epoch"
        order = f"{time_column}, rowid" if self.has(table, time_column) else "rowid"
        query = f"SELECT rowid AS rowid_, * FROM {table} WHERE {where} ORDER BY {order}"
        names: list[str] = []
        for found in self._run(query, values, names):
            yield {name: _readable(one) for name, one in zip(names, found, strict=True)}

    def distinct(self, table: str, column: str) -> list[str]:
        """The different values of a column, none where there is no such column."""
        if not self.has(table, column):
            return []
        query = f"SELECT DISTINCT {column} FROM {table} WHERE {column} <> '' ORDER BY 1"
        return [str(one) for (one,) in self._run(query)]

    def strangers(self, table: str, column: str) -> list[str]:
        """The sessions that rows of the table name and that have no row of their own."""
        if not self.has(table, column):
            return []
        query = f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL"
        if self.has(SESSIONS, column):
            query += f""" AND {column} NOT IN
                (SELECT {column} FROM {SESSIONS} WHERE {column} IS NOT NULL)"""
        return [str(name) for (name,) in self._run(query + " ORDER BY 1")]

    def homeless(self, table: str) -> str:
        """The condition for rows that name no session at all; "" where every one does."""
        if not self.columns[table]:
            return ""
        names = [name for name in _KEYS[table] if self.has(table, name)]
        where = " AND ".join(f"{name} IS NULL" for name in names) or "1"
        found = next(self._run(f"SELECT 1 FROM {table} WHERE {where} LIMIT 1"), None)
        return where if found else ""

    def _run(
        self, query: str, values: tuple[Any, ...] = (), names: list[str] | None = None
    ) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, and in ``names`` what its columns are called. CmemError where the
        tables are of a shape that nobody has seen."""
        try:
            cursor = self._conn.execute(query, values)
            for found in cursor:
                if names is not None and not names:
                    names += [column[0] for column in cursor.getdescription()]
                yield found
        except apsw.Error as error:
            raise CmemError(f"a table of claude-mem cannot be read: {error}") from error

    def folders(self) -> dict[str, str]:
        """The folder in which most was done for each project, by its name in small letters."""
        best: dict[str, tuple[int, str]] = {}
        for table in (SESSIONS, TOOLS):
            if not self.has(table, "project", "cwd"):
                continue
            query = f"""SELECT lower(project), cwd, count(*) FROM {table}
                WHERE project IS NOT NULL AND cwd LIKE '/%' GROUP BY 1, 2"""
            for project, cwd, count in self._run(query):
                counted = (int(str(count)), str(cwd))
                best[str(project)] = max(best.get(str(project), (0, "")), counted)
        return {project: cwd for project, (_, cwd) in best.items()}


@contextmanager
def opened(path: str, home: str = "") -> Iterator[Peer]:
    """A copy of the database, gone at the end. CmemError where it is none of claude-mem's. The
    copy lies in ``home``, where ``forget`` finds it if this process is killed; elsewhere while
    there is no such folder. The next run takes it away."""
    for place, pattern in ((home, _COPIES), (tempfile.gettempdir(), _OUTSIDE)):
        if place:
            fsutil.clear(place, pattern)
    inside = bool(home) and os.path.isdir(home)
    prefix = f"{'' if inside else 'cmem-'}claude-mem-{os.getpid()}-"
    folder = tempfile.mkdtemp(prefix=prefix, dir=home if inside else None)
    try:
        conn, mended = _open(_copy(path, folder), path)
        try:
            peer = Peer(conn, mended)
            if not (peer.columns[OBSERVATIONS] or peer.columns[SESSIONS]):
                raise CmemError(f"{path} is no database of claude-mem: it has no observations")
            yield peer
        finally:
            conn.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copy(path: str, folder: str) -> str:
    """Copy file and log as they were at one moment: neither changed while both were read."""
    target = os.path.join(folder, "copy.db")
    for _ in range(TRIES):
        before = _state(path)
        try:
            for suffix in _SUFFIXES:
                if not suffix or os.path.exists(path + suffix):
                    shutil.copyfile(path + suffix, target + suffix)
                elif os.path.exists(target + suffix):
                    os.unlink(target + suffix)
        except OSError as error:
            reason = (error.strerror or "").lower()
            raise CmemError(f"could not read {path}: {reason}") from error
        if _state(path) == before:
            return target
        time.sleep(_WAIT_S)
    raise CmemError(f"{path} is being written to all the time; try again when it rests")


def _state(path: str) -> list[tuple[int, int] | None]:
    found: list[tuple[int, int] | None] = []
    for suffix in _SUFFIXES:
        try:
            stat = os.stat(path + suffix)
            found.append((stat.st_size, stat.st_mtime_ns))
        except FileNotFoundError:
            found.append(None)
    return found


def _open(copy: str, path: str) -> tuple[apsw.Connection, int]:
    conn = apsw.Connection(copy)
    try:
        # A planted view or trigger of a file from elsewhere may call only harmless functions.
        conn.pragma("trusted_schema", 0)
        conn.pragma("temp_store", 2)
        mended = _prepare(conn, path)
    except BaseException as error:
        conn.close()
        if isinstance(error, (apsw.NotADBError, apsw.CorruptError)):
            raise CmemError(f"{path} is no SQLite database, or damaged") from error
        if isinstance(error, apsw.Error):
            raise CmemError(f"{path} cannot be read as claude-mem's: {error}") from error
        raise
    return conn, mended


def _prepare(conn: apsw.Connection, path: str) -> int:
    """Make the copy fit to be read; in how many rows text was mended."""
    if conn.pragma("quick_check") != "ok":
        raise CmemError(f"{path} is damaged; let claude-mem repair it first")
    for table in TABLES:
        there = _columns(conn, table)
        for name, former in _FORMERLY.items():
            if former in there and name not in there:
                conn.execute(f"ALTER TABLE {table} RENAME COLUMN {former} TO {name}").fetchall()
    mended = _mend(conn)
    for table, names in _KEYS.items():
        for name in names:
            if name in _columns(conn, table):
                conn.execute(f"CREATE INDEX cmem_{table}_{name} ON {table}({name})").fetchall()
    return mended


def _mend(conn: apsw.Connection) -> int:
    """Put replacement characters where text is no UTF-8, as one such row could not be read at
    all; how many rows there were."""
    if conn.pragma("encoding") != "UTF-8":
        return 0
    conn.create_scalar_function("cmem_broken", _is_broken, deterministic=True)
    conn.create_scalar_function("cmem_mended", _mended, 1, deterministic=True)
    query = "SELECT name FROM sqlite_schema WHERE type = 'trigger'"
    for (name,) in conn.execute(query).fetchall():
        conn.execute('DROP TRIGGER "{}"'.format(str(name).replace('"', '""'))).fetchall()
    mended = 0
    for table in TABLES:
        names = ['"{}"'.format(one.replace('"', '""')) for one in sorted(_columns(conn, table))]
        bytes_of = {
            name: f"CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) END" for name in names
        }
        if names:
            put = ", ".join(
                f"{one} = coalesce(cmem_mended({bytes_of[one]}), {one})" for one in names
            )
            where = f"cmem_broken({', '.join(bytes_of.values())})"
            conn.execute(f"UPDATE OR IGNORE {table} SET {put} WHERE {where}").fetchall()
            mended += conn.changes()
    return mended


def _mended(*values: Any) -> Any:
    return _readable(values[0])


def _is_broken(*values: Any) -> bool:
    try:
        for value in values:
            if value is not None:
                value.decode()
    except UnicodeDecodeError:
        return True
    return False


def _readable(value: Any) -> Any:
    """A value as text where it was kept as bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _columns(conn: apsw.Connection, table: str) -> set[str]:
    query = """SELECT c.name FROM sqlite_schema s JOIN pragma_table_info(s.name) c
        WHERE s.type = 'table' AND s.name = ?"""
    return {str(name) for (name,) in conn.execute(query, (table,))}
