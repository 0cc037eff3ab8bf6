"""A memory whose file is gone or empty although there was one: no reason to begin a new one.

A new one in its place would hide that, and one day be all that the backups hold.
"""

from __future__ import annotations

import os

import apsw

from cmem.errors import ConfigError
from cmem.store import copies, snapshot


def refuse(home: str, path: str) -> None:
    """Raise ConfigError where the log of the memory or one of its backups has what the file
    has not. It is caused by damage, as that of a file that cannot be read is."""
    what = "is empty" if os.path.exists(path) else "is missing"
    damage = apsw.NotADBError(f"memory.db {what}")
    if _size(path + "-wal") > 0:
        told = f"{path} {what}, but its log is there; run `cmem doctor --repair`"
        raise ConfigError(told) from damage
    if any(snapshot.holds_memory(copy) for copy in copies.paths(home)):
        raise ConfigError(
            f"{path} {what}, but there are backups of it; run `cmem backup restore latest`, or, "
            "to begin anew, move the folder backups away"
        ) from damage


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0
