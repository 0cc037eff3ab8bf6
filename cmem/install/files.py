"""Reading and replacing somebody else's file: whole or not at all, and never over a change.

A symlink stays one and its target is edited. The new bytes are written beside the file, synced,
and renamed over it only while it still holds what was read.
"""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from cmem.errors import CmemError
from cmem.failpoint import hit

MAX_BYTES = 16 * 1024 * 1024


class ChangedError(CmemError):
    """Another program wrote the file between our reading and our renaming."""


class Target(NamedTuple):
    """A file as it was read. ``raw`` is None when there is none; ``path`` is where it really
    lies, ``named`` where it was asked for."""

    named: str
    path: str
    raw: bytes | None
    mode: int


def read(named: str) -> Target:
    """The file at ``named`` through any symlinks; CmemError when we must not replace it."""
    path = os.path.realpath(named)
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return Target(named, path, None, 0o600)
    except OSError as error:
        raise _trouble("read", named, error) from error
    if not stat.S_ISREG(found.st_mode):
        raise CmemError(f"could not read {named}: not a regular file")
    if found.st_uid != os.geteuid():
        raise CmemError(f"will not edit {named}: it belongs to another user")
    if not found.st_mode & stat.S_IWUSR:
        raise CmemError(f"will not edit {named}: it is read-only")
    if found.st_size > MAX_BYTES:
        raise CmemError(f"will not edit {named}: it is larger than {MAX_BYTES} bytes")
    try:
        with open(path, "rb") as file:
            return Target(named, path, file.read(), stat.S_IMODE(found.st_mode))
    except OSError as error:
        raise _trouble("read", named, error) from error


def write(target: Target, new: bytes | None) -> None:
    """The file holds ``new`` (None: is gone), with its mode; ChangedError if it moved on."""
    hit("install.read")
    try:
        if new is None:
            _compare(target)
            os.unlink(target.path)
        else:
            _replace(target, new)
        _sync_folder(os.path.dirname(target.path))
    except OSError as error:
        raise _trouble("write", target.named, error) from error


def make_folder(path: str) -> str:
    """``path`` is a folder; returns the topmost folder that had to be made, "" if none."""
    missing = ""
    probe = path
    while not os.path.isdir(probe):
        missing, probe = probe, os.path.dirname(probe)
        if probe == missing:
            break
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError as error:
        raise _trouble("make", path, error) from error
    return missing


def save_private(path: str, raw: bytes) -> None:
    """A file of our own in the data home, 0600, whole or not at all."""
    scratch = f"{path}.{os.getpid()}.tmp"
    try:
        _write_new(scratch, raw, mode=0o600)
        os.replace(scratch, path)
        _sync_folder(os.path.dirname(path))
    except OSError as error:
        raise _trouble("write", path, error) from error


def _replace(target: Target, new: bytes) -> None:
    folder, name = os.path.split(target.path)
    scratch = os.path.join(folder, f".{name}.cmem-tmp")
    _write_new(scratch, new, mode=target.mode)
    hit("install.written")
    try:
        _compare(target)
        os.rename(scratch, target.path)
    except BaseException:
        os.unlink(scratch)
        raise
    hit("install.renamed")


def _write_new(path: str, raw: bytes, *, mode: int) -> None:
    """A new, synced file; one left by a killed run (the install lock is ours) makes room."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    with open(os.open(path, flags, 0o600), "wb") as file:
        file.write(raw)
        file.flush()
        os.chmod(path, mode)
        os.fsync(file.fileno())


def _compare(target: Target) -> None:
    moved = os.path.realpath(target.named) != target.path
    try:
        with open(target.path, "rb") as file:
            now: bytes | None = file.read()
    except FileNotFoundError:
        now = None
    if moved or now != target.raw:
        raise ChangedError(f"{target.named} was changed by another program; run the command again")


def _sync_folder(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _trouble(verb: str, path: str, error: OSError) -> CmemError:
    return CmemError(f"could not {verb} {path}: {(error.strerror or str(error)).lower()}")
