"""Deleting a data home: what is ours in it, and nothing else."""

from __future__ import annotations

import os
import shutil

from cmem import lock, paths
from cmem.errors import BusyError, CmemError

WAIT_MS = 10_000
FOLDERS = ("backups", "filtered", "quarantine", "recall", "reports", "spill")
# With what SQLite, the launcher and a killed write leave beside a file.
PREFIXES = (
    "claude-mem-",
    "compress.log",
    "config.toml",
    "hook.",
    "install.",
    "memory.db",
    "off-sessions",
    "prices.toml",
    "spool.db",
)
FILES = ("compress.lock", "dropped", "off")


def check(home: str, *, user_home: str) -> None:
    """CmemError unless ``home`` is a place that only cmem can have made."""
    real = os.path.realpath(home)
    for folder in (user_home, os.getcwd()):
        if os.path.commonpath((real, os.path.realpath(folder))) == real:
            raise CmemError(f"will not delete {home}: {folder} lies in it")
    names = os.listdir(real) if os.path.isdir(real) else []
    if names and not any(map(_is_ours, names)):
        raise CmemError(f"will not delete {home}: nothing in it was made by cmem")


def purge(home: str) -> list[str]:
    """Every file of ours in ``home`` is gone, and ``home`` too if nothing else is in it.
    Returns the names of what was left because it is not ours."""
    if not os.path.isdir(home):
        return []
    held = lock.acquire(paths.lock_file(home), wait_ms=WAIT_MS)
    if held is None:
        raise BusyError("cmem compress is running; try again when it has ended")
    try:
        for name in filter(_is_ours, os.listdir(home)):
            _delete(os.path.join(home, name))
        left = sorted(os.listdir(home))
        if not left and not os.path.islink(home):
            os.rmdir(home)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise CmemError(f"could not delete {error.filename}: {reason}") from error
    finally:
        lock.release(held)
    return left


def remove_launcher(home: str) -> None:
    """What the registered commands start is gone: hook.py and the byte code beside it."""
    for name in os.listdir(home):
        if name == "hook.py" or (name.startswith("hook.") and name.endswith(".bin")):
            _delete(os.path.join(home, name))


def _is_ours(name: str) -> bool:
    return name in FOLDERS or name in FILES or name.startswith(PREFIXES)


def _delete(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)
