"""Copies of the memory below the data home: made by hand, once a day, and before a change.

Only the daily ones are rotated, and only after the new one is there and was looked through. What
is forgotten or edited is taken out of all of them (``store/copies``); of a copy that lies
elsewhere nobody here knows.
"""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, NamedTuple

from cmem import paths
from cmem.errors import CmemError
from cmem.failpoint import hit
from cmem.store import copies, snapshot

if TYPE_CHECKING:
    import apsw

FOLDER = "backups"
KINDS = {
    "daily": "daily",
    "before-restore": "before a restore",
    "memory-schema": "before an upgrade",
}
_DAILY = re.compile(r"daily-\d{8}\.db")


class Backup(NamedTuple):
    """A copy. ``kind``: daily, by hand, before a restore, before an upgrade. ``damage``: why it
    cannot be used, "" where it can."""

    name: str
    path: str
    kind: str
    bytes: int
    created_at: int
    schema: int
    observations: int
    damage: str


def take(home: str, target: str, *, now: int) -> Backup:
    """Copy the store to ``target``, "" for a name of its own among the backups.

    Raises CmemError where that cannot be done."""
    source = paths.memory_db(home)
    if not os.path.exists(source):
        raise CmemError("no memories yet, so there is nothing to back up")
    path = os.path.abspath(target) if target else free_name(home, "memory", now=now)
    if os.path.lexists(path):
        raise CmemError(f"{path} exists; name another file, or delete it first")
    real, folder = os.path.realpath(path), os.path.realpath(os.path.join(home, FOLDER))
    if os.path.commonpath((real, os.path.realpath(home))) == os.path.realpath(home) and (
        os.path.commonpath((real, folder)) != folder
    ):
        raise CmemError(f"{path} lies in the data home; name a file in {folder} or outside")
    if not os.path.isdir(os.path.dirname(path)):
        raise CmemError(f"there is no folder {os.path.dirname(path)}")
    snapshot.take(source, path, at=now)
    return describe(path)


def daily(home: str, conn: apsw.Connection, *, keep: int, now: int) -> tuple[str, ...]:
    """Make today's copy, if it is not there, and delete all but the newest ``keep`` of its kind,
    and the newest ``keep`` that hold anything: no number of empty copies puts one of them out.

    A store that was made today has none yet. Returns what the user should know: no room."""
    today = time.strftime("%Y%m%d", time.localtime(now / 1000))
    born = time.strftime("%Y%m%d", time.localtime(snapshot.born_at(conn) / 1000))
    path = os.path.join(home, FOLDER, f"daily-{today}.db")
    if keep < 1 or born == today or os.path.exists(path):
        return ()
    try:
        _make_folder(home)
        snapshot.take(paths.memory_db(home), path, at=now)
    except (CmemError, OSError) as error:
        return (f"today's backup was not made: {error}",)
    hit("backup_before_rotation")
    folder = os.path.dirname(path)
    made = sorted(os.path.join(folder, one) for one in os.listdir(folder) if _DAILY.fullmatch(one))
    if len(made) > keep:
        kept = {*made[-keep:], *list(filter(snapshot.holds_memory, made))[-keep:]}
        for one in made:
            if one not in kept:
                snapshot.remove(one)
    return ()


def listed(home: str) -> list[Backup]:
    """Every copy among the backups, the newest first."""
    found = [describe(path) for path in copies.paths(home)]
    return sorted(found, key=lambda one: (-one.created_at, one.name))


def find(home: str, text: str) -> str:
    """The file that a name among the backups, a path or ``latest`` means: the newest that holds
    anything.

    Raises CmemError where there is none."""
    if text == "latest":
        sound = [one for one in listed(home) if not one.damage]
        if not sound:
            raise CmemError("there is no backup yet; `cmem backup` makes one")
        newest = [one.path for one in sound]
        return next(filter(snapshot.holds_memory, newest), newest[0])
    inside = os.path.join(home, FOLDER, text)
    for path in (inside, os.path.abspath(text)):
        if os.path.isfile(path):
            return path
    raise CmemError(f"no such backup: {text}; see `cmem backup list`")


def free_name(home: str, start: str, *, now: int) -> str:
    """A path among the backups that names the time and is not taken."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(now / 1000))
    _make_folder(home)
    number = 1
    while True:
        more = f"-{number}" if number > 1 else ""
        path = os.path.join(home, FOLDER, f"{start}-{stamp}{more}.db")
        if not os.path.lexists(path):
            return path
        number += 1


def describe(path: str) -> Backup:
    """What there is to say of a copy."""
    name = os.path.basename(path)
    kind = next((kind for start, kind in KINDS.items() if name.startswith(start)), "by hand")
    seen = snapshot.look(path)
    return Backup(
        name=name,
        path=path,
        kind=kind,
        bytes=os.path.getsize(path),
        created_at=seen.created_at,
        schema=seen.schema,
        observations=seen.observations,
        damage=seen.damage,
    )


def _make_folder(home: str) -> None:
    os.makedirs(os.path.join(home, FOLDER), mode=0o700, exist_ok=True)
