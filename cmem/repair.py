"""Repairing a damaged memory: whatever can be read of it goes into a new one.

A damaged index alone is built anew where it is. Otherwise the damaged files go to quarantine as
they are, every row on an intact page is saved, what others name and is not there is looked for
in the newest copy, and what was forgotten is taken out last. Hooks go on meanwhile: the spool
is another file.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from typing import NamedTuple

from cmem import backup, ingest, paths, restore
from cmem.errors import CmemError
from cmem.plural import counted
from cmem.store import (
    carry,
    connection,
    future,
    lost_pages,
    maintain,
    mend,
    salvage,
    snapshot,
    tending,
)

WORK = "repairing"
# Where it stands what is not to come back.
_TELLS_FORGOTTEN = frozenset(("tombstones", "meta", lost_pages.UNKNOWN))


class Repaired(NamedTuple):
    """What was done. ``rows``: how many were saved, ``from_backup``: how many of them came from
    the copy ``copy``, ``lost``: how many that others name are gone, each by table.
    ``uncounted``: pages that were lost of tables whose rows nothing names, so that nobody knows
    how many are gone; ``forgotten_unknown``: those that tell what was forgotten are among them.
    ``kept``: where the damaged files lie, "" where nothing was damaged."""

    done: str
    rows: dict[str, int]
    from_backup: dict[str, int]
    lost: dict[str, int]
    uncounted: dict[str, int]
    forgotten_unknown: bool
    bad_pages: int
    forgotten: int
    copy: str
    kept: str


NOTHING = Repaired("nothing to repair", {}, {}, {}, {}, False, 0, 0, "", "")


def repair(home: str, *, now: int) -> Repaired:
    """Make the memory whole, under the lock of ``compress``.

    Raises CmemError where there is nothing that could be saved."""
    path = paths.memory_db(home)
    if not os.path.lexists(path):
        return _without_file(home, now=now)
    if os.path.islink(path) or not os.path.isfile(path):
        raise CmemError(f"{path} is no file; move it away")
    found = tending.faults(home)
    if not found:
        return _bring_back(home, now=now)
    if all(tending.is_index(one) for one in found):
        kept = _copy_aside(home, now=now)
        tending.rebuild(home, now=now)
        return NOTHING._replace(done="the index was built anew", kept=kept)
    return _salvage(home, now=now)


def _bring_back(home: str, *, now: int) -> Repaired:
    """Date what a wrong clock has dated far ahead to a time that can have been. The memory as
    it was is kept: it may be this clock that is wrong."""
    if now < ingest.SANE_MS or not _is_ahead(home, now=now):
        return NOTHING
    kept = _copy_aside(home, now=now)
    conn = connection.open_writer(home, now=now)
    try:
        count = future.bring_back(conn, now=now)
    finally:
        conn.close()
    return NOTHING._replace(
        done=f"{counted(count, 'row')} dated in the future brought back", kept=kept
    )


def _is_ahead(home: str, *, now: int) -> bool:
    conn = connection.open_reader(home, index=False)
    if conn is None:
        return False
    try:
        return future.find(conn, now=now).rows > 0
    finally:
        conn.close()


def _without_file(home: str, *, now: int) -> Repaired:
    """What the log has; nothing to repair, where there never was a memory. Raises ConfigError where
    there are backups of one."""
    if os.path.exists(paths.memory_db(home) + "-wal"):
        os.close(os.open(paths.memory_db(home), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        return _salvage(home, now=now)
    conn = connection.open_reader(home)
    if conn is not None:
        conn.close()
    return NOTHING


def _copy_aside(home: str, *, now: int) -> str:
    folder = restore.quarantine(home, now=now)
    for part in snapshot.PARTS:
        if os.path.isfile(paths.memory_db(home) + part):
            target = os.path.join(folder, f"memory.db{part}")
            shutil.copyfile(paths.memory_db(home) + part, target)
            os.chmod(target, 0o600)
    return folder


def _salvage(home: str, *, now: int) -> Repaired:
    with restore.workshop(home, WORK) as work:
        saved = salvage.salvage(paths.memory_db(home), work, now=now)
        if not saved.rows.get("sessions", 0) + saved.rows.get("observations", 0):
            raise CmemError(
                "nothing in memory.db can be read; `cmem backup restore latest` puts a copy back"
            )
        copy = next((one.path for one in backup.listed(home) if not snapshot.check(one.path)), "")
        conn = connection.open_writer(work, now=now)
        try:
            conn.pragma("foreign_keys", 0)
            taken = mend.fill(conn, copy, saved.lost) if copy else Counter()
            lost = mend.complete(conn, now=now)
            conn.pragma("foreign_keys", 1)
            if copy:
                carry.from_copy(copy, conn)
            forgotten = carry.bury(conn, now=now)
            wrong = mend.faults(conn) + mend.spoiled(conn)
            maintain.truncate_wal(conn)
        finally:
            conn.close()
        if wrong:
            raise CmemError(f"what was saved is not whole ({wrong[0]}); nothing was changed")
        kept = restore.set_aside(home, now=now)
        snapshot.rename_durably(paths.memory_db(work), paths.memory_db(home))
    return Repaired(
        "saved what can be read",
        saved.rows,
        dict(sorted(taken.items())),
        lost,
        mend.uncounted(saved.lost),
        not _TELLS_FORGOTTEN.isdisjoint(saved.lost),
        saved.bad_pages,
        forgotten,
        copy if taken else "",
        kept,
    )
