"""The data home as a place: whose it is, who else can write there, on what it lies."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from cmem import fitness
from cmem.doctor.finding import ERROR, OK, WARN, Finding
from cmem.plural import counted

MEMORIES = ("memory.db", "spool.db")
FILES = (*MEMORIES, "config.toml", "hook.py", "install.json")
MADE = "; the plugin makes it when a session starts, an install at once"
MIB = 1024 * 1024
NO_SPACE = 64 * MIB
LITTLE_SPACE = 512 * MIB


class Look(NamedTuple):
    """The data home as ``lstat`` and ``stat`` show it. ``kind``: missing | folder | other;
    ``link`` is where it leads if it is a symbolic link; ``owner`` the foreign owner, if any."""

    home: str
    kind: str
    link: str = ""
    owner: int | None = None
    mode: int = 0o700
    writable: bool = True
    links: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()


def check(home: str) -> list[Finding]:
    """Everything about the place itself."""
    found = [judge_home(look(home))]
    mounts = fitness.mounts()
    if mounts:
        found.append(judge_mount(mounts, os.path.realpath(home), home=home))
    free = _free(home)
    if free is not None:
        found.append(judge_space(free, home=home))
    return found


def look(home: str) -> Look:
    """The data home as it is; nothing is created or changed."""
    try:
        link = os.lstat(home)
        place = os.stat(home)
    except OSError:
        dangling = os.readlink(home) if os.path.islink(home) else ""
        return Look(home, "missing", link=dangling)
    owners = {link.st_uid, place.st_uid} - {os.geteuid()}
    inside = {name: os.path.join(home, name) for name in FILES}
    return Look(
        home,
        "folder" if stat.S_ISDIR(place.st_mode) else "other",
        link=os.path.realpath(home) if stat.S_ISLNK(link.st_mode) else "",
        owner=min(owners) if owners else None,
        mode=stat.S_IMODE(place.st_mode),
        writable=os.access(home, os.W_OK | os.X_OK),
        links=tuple(name for name, path in inside.items() if os.path.islink(path)),
        readable=tuple(name for name in MEMORIES if _open_to_others(inside[name])),
    )


def judge_home(seen: Look) -> Finding:
    """The gravest thing wrong with the data home; what a hook refuses is an error."""
    name, home = "data home", seen.home
    elsewhere = "set CMEM_HOME to a folder of your own and run `cmem install`"
    if seen.kind == "missing" and seen.link:
        return Finding(ERROR, name, f"{home} is a link to {seen.link}, which is not there")
    if seen.kind == "missing":
        return Finding(WARN, name, f"{home} does not exist yet{MADE}", "cmem install")
    if seen.kind == "other":
        return Finding(ERROR, name, f"{home} is not a folder", f"move it away, or {elsewhere}")
    if seen.owner is not None:
        detail = f"{home} belongs to another user (uid {seen.owner}), so hooks do not write there"
        return Finding(ERROR, name, detail, elsewhere)
    if seen.mode & 0o022:
        detail = f"others can write to {home} (mode {seen.mode:04o}), so hooks do not"
        return Finding(ERROR, name, detail, f"chmod 700 '{home}'")
    if not seen.writable:
        return Finding(ERROR, name, f"{home} cannot be written to", f"chmod 700 '{home}'")
    if seen.links:
        detail = f"{_listed(seen.links)} in {home} must be files, not symbolic links"
        return Finding(ERROR, name, detail, "put the file itself there")
    if seen.mode & 0o055:
        detail = f"others can read {home} (mode {seen.mode:04o})"
        return Finding(WARN, name, detail, f"chmod 700 '{home}'")
    if seen.readable:
        files = " ".join(f"'{home}/{one}'" for one in seen.readable)
        return Finding(
            WARN, name, f"others can read {_listed(seen.readable)}", f"chmod 600 {files}"
        )
    if seen.link:
        detail = f"{home} is a symbolic link to {seen.link}; whoever moves it moves the memory"
        return Finding(WARN, name, detail, f"set CMEM_HOME='{seen.link}' and run `cmem install`")
    return Finding(OK, name, f"{home} is yours alone")


def judge_mount(mounts: str, path: str, *, home: str) -> Finding:
    """On what kind of file system the path lies, by the text of /proc/mounts."""
    said = fitness.on_network(mounts, path, home=home)
    if said:
        return Finding(ERROR, "file system", said, fitness.LOCAL_DISK)
    kind = fitness.mount_of(mounts, path)[1]
    return Finding(OK, "file system", f"{kind or 'unknown'}, on this machine")


def judge_space(free: int, *, home: str) -> Finding:
    """Whether there is room for events and the log of a write."""
    detail = f"{counted(free // MIB, 'MiB', 'MiB')} free where {home} is"
    if free < NO_SPACE:
        return Finding(ERROR, "disk space", detail, "make room: events are lost when it is full")
    if free < LITTLE_SPACE:
        return Finding(WARN, "disk space", detail, "make room")
    return Finding(OK, "disk space", detail)


def _open_to_others(path: str) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and bool(found.st_mode & 0o077)


def _free(home: str) -> int | None:
    place = home
    while not os.path.isdir(place) and place != os.path.dirname(place):
        place = os.path.dirname(place)
    try:
        found = os.statvfs(place)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names)
