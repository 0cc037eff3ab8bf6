"""Putting a copy in the place of the memory.

The copy is made ready in a folder beside it: brought to the newest schema, and what was forgotten
since is taken out. Then the files change places. The present memory stays: as one more backup,
or, where it is damaged, in quarantine as it is.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from cmem import backup, paths
from cmem.errors import CmemError
from cmem.failpoint import hit
from cmem.store import carry, connection, erase, maintain, snapshot
from cmem.store.rows import value

if TYPE_CHECKING:
    from collections.abc import Iterator

WORK = "restoring"


class Restored(NamedTuple):
    """What came of it. ``aside``: where the memory that was there lies now, "" for none.
    ``unread``: it was damaged, so what was forgotten in it is not known."""

    source: str
    observations: int
    erased: int
    hidden: int
    reworded: int
    aside: str
    unread: bool


def restore(home: str, source: str, *, now: int, dry_run: bool) -> Restored:
    """Put the copy ``source`` in the place of the memory, under the lock of ``compress``.

    Raises CmemError for a file that is no sound copy."""
    damage = snapshot.check(source)
    if damage:
        raise CmemError(f"{source} cannot be restored: {damage}")
    with workshop(home, WORK) as work:
        snapshot.take(source, paths.memory_db(work))
        conn = connection.open_writer(work, now=now)
        try:
            snapshot.forget_time(conn)
            there = os.path.exists(paths.memory_db(home))
            whole = not connection.log_is_damaged(paths.memory_db(home))
            carried = carry.from_home(home, conn, now=now)
            erase.finish(conn)  # what a run that was killed has left in the copy
            count = int(value(conn, "SELECT count(*) FROM observations WHERE hidden_at IS NULL"))
            maintain.truncate_wal(conn)
        finally:
            conn.close()
        found = carried or carry.Carried()
        aside = "" if dry_run else exchange(home, work, now=now)
        return Restored(
            source, count, *found, aside, unread=there and (carried is None or not whole)
        )


@contextmanager
def workshop(home: str, name: str) -> Iterator[str]:
    """An empty folder in the data home, gone at the end."""
    folder = os.path.join(home, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder, 0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def exchange(home: str, work: str, *, now: int) -> str:
    """Put the memory of ``work`` in the place of the one of ``home``; where that lies then."""
    aside = _keep_sound(home, now=now) or set_aside(home, now=now)
    hit("restore_before_exchange")
    for part in snapshot.PARTS[1:]:  # an old log would be played back into the new file
        if os.path.lexists(paths.memory_db(home) + part):
            os.unlink(paths.memory_db(home) + part)
    snapshot.rename_durably(paths.memory_db(work), paths.memory_db(home))
    return aside


def set_aside(home: str, *, now: int) -> str:
    """Move the files of the memory to a folder in quarantine; the folder, "" without a file."""
    path = paths.memory_db(home)
    if not os.path.lexists(path):
        return ""
    folder = quarantine(home, now=now)
    for part in snapshot.PARTS:
        if os.path.lexists(path + part):
            os.rename(path + part, os.path.join(folder, f"memory.db{part}"))
    return folder


def quarantine(home: str, *, now: int) -> str:
    """A folder for damaged files, its owner's alone."""
    above = os.path.join(home, "quarantine")
    folder = os.path.join(above, f"memory-{now}")
    for one in (above, folder):
        os.makedirs(one, mode=0o700, exist_ok=True)
    return folder


def _keep_sound(home: str, *, now: int) -> str:
    """Copy the present memory to the backups, so that what is forgotten later goes from it too;
    "" where it is not there or cannot be copied."""
    path = paths.memory_db(home)
    if not os.path.isfile(path) or os.path.islink(path):
        return ""
    if connection.log_is_damaged(path) or snapshot.check(path):
        return ""
    target = backup.free_name(home, "before-restore", now=now)
    snapshot.take(path, target, at=now)
    snapshot.settle(path)
    return target
