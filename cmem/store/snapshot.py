"""A copy of a store: whole, checked, readable by its owner alone, or not there at all.

It is made by a connection of its own, within one read transaction: whoever writes meanwhile
neither waits nor shows in it.
"""

from __future__ import annotations

import os
import shutil
from typing import NamedTuple

import apsw

from cmem.errors import BusyError, CmemError, ConfigError
from cmem.store import meta
from cmem.store.connection import WRITER_WAIT_MS, busy_handler, open_where_possible
from cmem.store.rows import rows, value

PARTS = ("", "-journal", "-wal", "-shm")
# What is left to the rest of the machine.
RESERVE = 16 * 1024 * 1024
_PAGES = 1000


class Look(NamedTuple):
    """What a copy is. ``damage``: why it cannot be used, "" where it can."""

    schema: int = 0
    observations: int = 0
    created_at: int = 0
    damage: str = ""


def take(source: str, target: str, *, at: int | None = None) -> None:
    """Copy the store ``source`` to ``target``; ``at`` is noted in it as the time of the copy.

    Raises CmemError where there is no room, and ConfigError where the copy is damaged."""
    _refuse_without_room(source, os.path.dirname(target))
    unfinished = target + ".tmp"
    try:
        remove(unfinished)  # what a killed run left
        os.close(os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        _copy(source, unfinished, at)
        rename_durably(unfinished, target)
    except apsw.FullError as error:
        raise CmemError(f"no room for a copy of {source}: the disk is full") from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise ConfigError(f"{source} is damaged, so it was not copied: {error}") from error
    except (apsw.CantOpenError, apsw.IOError, apsw.ReadOnlyError, OSError) as error:
        raise CmemError(f"cannot copy {source} to {target}: {error}") from error
    finally:
        remove(unfinished)


def look(path: str) -> Look:
    """What the copy says of itself, without a search for damage."""
    changed_at = int(os.stat(path).st_mtime * 1000)
    try:
        conn = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return Look(
                schema=int(conn.pragma("user_version")),
                observations=int(value(conn, "SELECT count(*) FROM observations")),
                created_at=meta.number(conn, "backup_at") or changed_at,
            )
        finally:
            conn.close()
    except apsw.Error as error:
        return Look(created_at=changed_at, damage=str(error))


def check(path: str) -> str:
    """The first damage that a complete search finds, "" for none. A file that is no store at all
    is damaged."""
    try:
        conn = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            if not value(conn, "SELECT count(*) FROM sqlite_schema"):
                return "it is empty"
            found = str(value(conn, "PRAGMA quick_check(1)"))
        finally:
            conn.close()
    except apsw.Error as error:
        return str(error)
    return "" if found == "ok" else found


def holds_memory(path: str) -> bool:
    """Whether there is anything to be found in the copy; False where it cannot be read."""
    try:
        conn = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return bool(value(conn, "SELECT EXISTS(SELECT 1 FROM documents)"))
        finally:
            conn.close()
    except apsw.Error:
        return False


def settle(path: str) -> None:
    """Write the log of a sound store back, so that the file alone is all of it.

    Raises BusyError when another process keeps that from being done."""
    conn = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        conn.set_busy_handler(busy_handler(WRITER_WAIT_MS))
        blocked = bool(rows(conn, "PRAGMA wal_checkpoint(TRUNCATE)")[0][0])
    except apsw.BusyError:
        blocked = True
    finally:
        conn.close()
    if blocked:
        raise BusyError("another process still uses the memory; run this again when it is done")


def forget_time(conn: apsw.Connection) -> None:
    """The copy becomes the store itself."""
    meta.drop(conn, "backup_at")


def born_at(conn: apsw.Connection) -> int:
    """When the store was made."""
    return int(value(conn, "SELECT coalesce(min(applied_at), 0) FROM schema_versions"))


def remove(path: str) -> None:
    """Delete a database with all that belongs to it."""
    for part in PARTS:
        if os.path.lexists(path + part):
            os.unlink(path + part)


def rename_durably(source: str, target: str) -> None:
    """Rename so that after a power failure either the old or the new file is there, complete."""
    fsync(source)
    os.replace(source, target)
    fsync(os.path.dirname(target))


def fsync(path: str) -> None:
    """Have the disk keep what is written in a file or a folder."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _copy(source_path: str, target_path: str, at: int | None) -> None:
    source = open_where_possible(source_path, index=False)
    target = apsw.Connection(target_path)
    try:
        source.execute("BEGIN").fetchall()
        source.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        with target.backup("main", source, "main") as running:
            while not running.done:
                running.step(_PAGES)
        target.pragma("journal_mode", "delete")  # one file, complete without a log beside it
        if at is not None:
            meta.put(target, "backup_at", at)
        found = target.pragma("quick_check")
        if found != "ok":
            raise ConfigError(f"the copy of {source_path} is damaged: {found}; nothing was changed")
    finally:
        target.close()
        source.close()


def _refuse_without_room(source: str, folder: str) -> None:
    wanted = sum(os.path.getsize(one) for one in (source, source + "-wal") if os.path.exists(one))
    free = shutil.disk_usage(folder).free
    if free < wanted + RESERVE:
        raise CmemError(
            f"no room for a copy of {source}: it takes {_mib(wanted)} and {_mib(free)} are free "
            f"at {folder}; free some space or name a file on another disk"
        )


def _mib(size: int) -> str:
    return f"{size / 2**20:.1f} MiB"
