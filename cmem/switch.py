"""Turning memory off and on again, everywhere, for a session or in a folder: what ``off`` reads."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cmem import eid, here, lock, off, paths, project, repo
from cmem.errors import BusyError, CmemError

if TYPE_CHECKING:
    from collections.abc import Mapping

LOCK_WAIT_MS = 2_000
KEPT_SESSIONS = 200  # the oldest are over for good
_MARKER_TEXT = (
    b"cmem keeps nothing of this folder. `cmem on --here` or deleting this file ends that.\n"
)
_HOME_TEXT = b"cmem keeps nothing anywhere. `cmem on --global` or deleting this file ends that.\n"


def everywhere(home: str, *, on: bool) -> bool:
    """Turn memory on or off for everything; whether that changed anything."""
    if not on:
        _ensure(home)
    return _set(off.global_file(home), b"" if on else _HOME_TEXT, mode=0o600)


def in_folder(folder: str, *, on: bool) -> bool:
    """Turn memory on or off in a folder and all below it; whether that changed anything."""
    return _set(off.marker(folder), b"" if on else _MARKER_TEXT, mode=0o644)


def for_session(home: str, session: str, *, on: bool) -> bool:
    """Turn memory on or off for a host's session; whether that changed anything."""
    wanted = eid.safe_id(session)
    _ensure(home)
    fd = lock.acquire(off.sessions_file(home) + ".lock", wait_ms=LOCK_WAIT_MS)
    if fd is None:
        raise BusyError("another cmem off or on is at work; try again")
    try:
        before = off.sessions(home)
        if not all(map(str.isprintable, before)):
            raise CmemError(off.UNREADABLE_SESSIONS)
        after = [one for one in before if one != wanted]
        if not on:
            after.append(wanted)
        if (wanted in before) != on:
            return False
        _write_sessions(home, after[-KEPT_SESSIONS:])
    finally:
        lock.release(fd)
    return True


def project_folder(cwd: str, env: Mapping[str, str]) -> str:
    """The folder that stands for the project of ``cwd``: the repository's main one, the
    sub-project's part of it, or ``cwd`` itself."""
    place = os.path.realpath(cwd)
    found = repo.read_repo(place)
    if "\ufffd" in found[0]:
        return _as_it_is(found[0], place)
    root = here.parts_at(place, found, {**env, "CMEM_PROJECT": ""})[3]
    if not root or not found[1]:
        return place
    main = project.main_root(found[0], found[1])
    part = here.sub_project(place, found[0], found[1])[1]
    in_main = main + part[len(found[0]) :] if part else main
    return in_main if os.path.isdir(in_main) else part or found[0]


def _as_it_is(root: str, place: str) -> str:
    """The folder at or above ``place`` that is told as ``root``, in its own spelling; ``place``
    where there is none."""
    folder = place
    while off.shown(folder) != root and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return folder if off.shown(folder) == root else place


def _set(path: str, text: bytes, *, mode: int) -> bool:
    """Make the file that holds the text, or delete it for none; whether there was need to."""
    try:
        if not text:
            os.unlink(path)
            return True
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(path, flags, mode), "wb") as file:
            file.write(text)
    except OSError as error:
        if isinstance(error, FileExistsError if text else FileNotFoundError):
            return False
        reason = (error.strerror or type(error).__name__).lower()
        done = "write" if text else "delete"
        raise CmemError(f"could not {done} {off.shown(path)}: {reason}") from error
    return True


def _write_sessions(home: str, names: list[str]) -> None:
    path = off.sessions_file(home)
    temporary = f"{path}.{os.getpid()}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(temporary, flags, 0o600), "w", encoding="ascii") as file:
        file.write("".join(name + "\n" for name in names))
    os.replace(temporary, path)


def _ensure(home: str) -> None:
    try:
        paths.ensure_home(home)
    except OSError as error:
        raise CmemError(f"could not use {home}: {error.strerror}") from error
