"""The hook's own diagnostics: what went wrong, never with what. Two files of 256 kB."""

import os
import time

from cmem import paths

MAX_LOG = 256 * 1024


def note(home: str, event: str, trouble: object, *, size: int = 0, outcome: str = "") -> None:
    """One line: time, event, kind of trouble, payload size, what became of it. Silent when
    even that cannot be written."""
    kind = trouble if isinstance(trouble, str) else type(trouble).__name__
    line = f"{time.time_ns() // 1_000_000} {event} {kind} {size} {outcome}\n"
    path = paths.hook_log(home)
    try:
        if os.path.exists(path) and os.stat(path).st_size > MAX_LOG:
            os.rename(path, path + ".1")
        _append(path, line.encode("ascii", "replace"))
    except OSError:
        pass


def drop(home: str) -> None:
    """Count an event that could not be kept, by one byte; on a full disk by a hole."""
    try:
        _append(paths.dropped_file(home), b".")
    except OSError:
        _lengthen(paths.dropped_file(home))


def _lengthen(path: str) -> None:
    """Make the file one byte longer without a block for it."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return
    try:
        os.ftruncate(fd, os.fstat(fd).st_size + 1)
    except OSError:
        pass
    finally:
        os.close(fd)


def _append(path: str, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    fd = os.open(path, flags, 0o600)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)
