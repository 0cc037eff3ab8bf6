"""``compress.log``: what runs of compress did, a line each, never any text of an event.

A line is a time and one of three kinds: ``run`` did something, ``batch`` is the same of
``compress --batch``, ``compress`` tells why a run could not do its work. Runs in the background
write here, and of those that are typed the batches and the one with which things work again.
"""

from __future__ import annotations

import os
import time

from cmem.errors import CmemError

NAME = "compress.log"
MAX_BYTES = 256 * 1024
DID, BATCH, FAILED = "run", "batch", "compress"


def path(home: str) -> str:
    return os.path.join(home, NAME)


def fail(home: str, error: Exception) -> None:
    """Note why a run could not do its work."""
    write(home, FAILED, str(error) if isinstance(error, CmemError) else type(error).__name__)


def did(home: str, text: str, *, batch: bool = False, always: bool = True) -> None:
    """Note what a run did; without ``always`` only where the last line is of a failure, which is
    over now."""
    if always or entry(last_line(home))[1] == FAILED:
        write(home, BATCH if batch else DID, text)


def entry(line: str) -> tuple[int, str, str]:
    """(time, kind, text) of a line; (0, "", "") of none of ours."""
    at, _, rest = line.partition(" ")
    kind, colon, text = rest.partition(": ")
    if not (at.isascii() and at.isdigit() and len(at) < 16 and colon):
        return 0, "", ""
    return int(at), kind, text


def last_line(home: str, kind: str = "") -> str:
    """The newest line, or the newest of a kind; "" where there is none."""
    found = [line for line in tail(path(home)).split("\n") if entry(line)[1]]
    found = [line for line in found if kind in ("", entry(line)[1])]
    return found[-1] if found else ""


def tail(file: str) -> str:
    """The end of a log; "" for anything but a regular file of ours."""
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        os.lseek(fd, max(0, os.fstat(fd).st_size - 2 * MAX_BYTES), os.SEEK_SET)
        return os.read(fd, 2 * MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(fd)


def write(home: str, kind: str, text: str) -> None:
    """One more line. The file is rotated here: whoever starts a run need not."""
    line = f"{time.time_ns() // 1_000_000} {kind}: {' '.join(text.split())}\n"
    file = path(home)
    try:
        if os.path.exists(file) and os.path.getsize(file) > MAX_BYTES:
            os.replace(file, file + ".1")
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        fd = os.open(file, flags, 0o600)
        os.write(fd, line.encode("utf-8", "replace"))
        os.close(fd)
    except OSError:
        return
