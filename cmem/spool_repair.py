"""A damaged mailbox: moved aside whole, what can still be read saved into a new one.

Only the drain does this, under the lock of ``compress``; hooks spill meanwhile. The file is
never deleted: it lies in ``quarantine/`` for whoever wants to try more.
"""

from __future__ import annotations

import os
import time

import apsw

from cmem import paths, spool, spooled
from cmem.errors import ConfigError
from cmem.plural import counted

PARTS = ("", "-wal", "-shm")
BLIND_ROWS = 50_000  # how far to look where nothing tells how many there were
_COLUMNS = (
    "eid, host, event, session, captured_at, cwd, repo_root, repo_common_dir, branch, "
    "commit_sha, project_env, digest, payload"
)
_FROM = f"SELECT id, {_COLUMNS} FROM spool NOT INDEXED WHERE id >= ? ORDER BY id"  # noqa: S608
_SAVE = (
    f"INSERT INTO spool({_COLUMNS}) VALUES({', '.join('?' * len(_COLUMNS.split(', ')))}) "
    "ON CONFLICT DO NOTHING"
)


def open_drain(home: str) -> tuple[apsw.Connection | None, str]:
    """(the connection to empty the spool with, what to tell the user or "").

    None when there is no spool yet. Raises ConfigError for a spool of a newer version, which
    is left alone, and apsw.Error when the file cannot be used at all."""
    try:
        return _checked(home), ""
    except spool.NewerSpoolError as error:
        raise ConfigError(f"{error}; upgrade cmem") from error
    except (apsw.NotADBError, apsw.CorruptError, apsw.SQLError):
        saved, kept = _set_aside(home)
        told = f"spool.db was damaged: {counted(saved, 'event was', 'events were')} saved from it; it is kept in {kept}"
        return spooled.open_drain(home), told


def _checked(home: str) -> apsw.Connection | None:
    if _odd_parts(home):
        raise apsw.NotADBError("a link or a folder")
    conn = spooled.open_drain(home)
    if conn is None:
        return None
    try:
        sound = conn.execute("PRAGMA quick_check(1)").fetchall() == [("ok",)]
    except BaseException:
        conn.close()
        raise
    if sound:
        return conn
    conn.close()
    raise apsw.CorruptError("quick_check")


def _set_aside(home: str) -> tuple[int, str]:
    """Move the files to a folder of their own and save their rows; (rows saved, folder)."""
    path = paths.spool_db(home)
    folder = f"{home}/quarantine/spool-{time.time_ns() // 1_000_000}"
    os.makedirs(folder, mode=0o700, exist_ok=True)
    odd = _odd_parts(home)
    for part in PARTS:
        if os.path.lexists(path + part):
            # What is no file does not stand beside the rest, or that could not be opened either.
            os.rename(path + part, f"{folder}/{'odd-' * (part in odd)}spool.db{part}")
    rows = _readable(f"{folder}/spool.db")
    fresh = spooled.create(home)
    try:
        fresh.execute("BEGIN IMMEDIATE")
        before = fresh.total_changes()
        for row in rows:
            fresh.execute(_SAVE, row)
        saved = fresh.total_changes() - before
        fresh.execute("COMMIT")
    finally:
        fresh.close()
    return saved, folder


def _odd_parts(home: str) -> list[str]:
    """Which of the files are links, folders or other things that SQLite does not open."""
    path = paths.spool_db(home)
    return [
        part
        for part in PARTS
        if os.path.lexists(path + part)
        and (os.path.islink(path + part) or not os.path.isfile(path + part))
    ]


def _readable(path: str) -> list[tuple[apsw.SQLiteValue, ...]]:
    """Every row that can be read, from both ends: a bad page hides what lies beyond it."""
    found: dict[int, tuple[apsw.SQLiteValue, ...]] = {}
    try:
        conn = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    except apsw.Error:
        return []
    try:
        for start in _starts(*_bounds(conn)):
            _collect(conn, start, found)
    finally:
        conn.close()
    return [found[key] for key in sorted(found)]


def _bounds(conn: apsw.Connection) -> tuple[int, int]:
    """Row numbers between which all rows lie: as the tree says, and where a bad page is in the
    way, from 1 on and to the highest number ever given."""
    low = _number(conn, "SELECT id FROM spool NOT INDEXED ORDER BY id ASC LIMIT 1")
    high = _number(conn, "SELECT id FROM spool NOT INDEXED ORDER BY id DESC LIMIT 1")
    if high is None:
        high = _number(conn, "SELECT seq FROM sqlite_sequence WHERE name = 'spool'")
    low = 1 if low is None else low
    return low, low + BLIND_ROWS if high is None else high


def _number(conn: apsw.Connection, query: str) -> int | None:
    """The one number of the query; None where there is none or a bad page is in the way."""
    try:
        found = conn.execute(query).get
    except apsw.Error:
        return None
    return found if isinstance(found, int) else None


def _starts(low: int, high: int) -> range:
    """Where to set in anew, so that what lies behind a bad page is reached too."""
    return range(low, high + 1, max(1, (high - low) // 5000))


def _collect(
    conn: apsw.Connection, start: int, found: dict[int, tuple[apsw.SQLiteValue, ...]]
) -> None:
    """Read on from ``start`` until a row that is known or a page that is bad."""
    try:
        for key, *values in conn.execute(_FROM, (start,)):
            if key in found or not isinstance(key, int):
                return
            if all(isinstance(value, (str, int, bytes)) for value in values):
                found[key] = tuple(values)
    except (apsw.Error, UnicodeError):
        return
