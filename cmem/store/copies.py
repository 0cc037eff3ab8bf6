"""Copies of the store below the data home: what is taken from the store is taken from them.

A backup that still holds a forgotten text would give it back, to a thief of the disk and to
whoever restores it. Copies are changed by the same statements as the store itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import apsw

from cmem.errors import CmemError
from cmem.store import functions
from cmem.store.connection import WRITER_WAIT_MS, busy_handler

FOLDERS = ("backups",)
_HEADER = b"SQLite format 3\0"


def paths(home: str) -> list[str]:
    """Every database among the backups, whatever its name is."""
    found = [
        os.path.join(folder, name)
        for start in FOLDERS
        for folder, _, names in os.walk(os.path.join(home, start))
        for name in names
    ]
    return sorted(path for path in found if _is_database(path))


def apply(home: str, change: Callable[[apsw.Connection], object]) -> int:
    """Run ``change`` on every copy, opened for writing; return how many there are.

    Raises CmemError, after the others have been changed, for one that cannot be: what it holds
    stays in it."""
    found = paths(home)
    failed: list[tuple[str, apsw.Error]] = []
    for path in found:
        try:
            _change(path, change)
        except apsw.Error as error:
            failed.append((path, error))
    if failed:
        path, reason = failed[0]
        more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
        raise CmemError(
            f"{path}{more} cannot be cleaned ({reason}); delete it, it still holds what was removed"
        )
    return len(found)


def _change(path: str, change: Callable[[apsw.Connection], object]) -> None:
    conn = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        _set_up(conn)
        change(conn)
    finally:
        conn.close()


def _set_up(conn: apsw.Connection) -> None:
    conn.set_busy_handler(busy_handler(WRITER_WAIT_MS))
    conn.pragma("secure_delete", 1)
    conn.pragma("foreign_keys", 1)
    conn.pragma("temp_store", 2)
    functions.register(conn)
    conn.execute("SELECT count(*) FROM meta").fetchall()


def _is_database(path: str) -> bool:
    try:
        if os.path.islink(path) or not os.path.isfile(path):
            return False
        with open(path, "rb") as file:
            return file.read(len(_HEADER)) == _HEADER
    except OSError:
        return False
