"""The hook's own diagnostics: what went wrong, never with what. Two files of 256 kB."""

import os
import time

from cmem import paths

MAX_LOG = 256 * 1024


def note(home: str, event: str, trouble: object, *, size: int = 0, outcome: str = "") -> None:
    """One line: time, event, kind of trouble, payload size, what became of it. Silent when
    even that cannot be written."""
    kind = trouble if isinstance(trouble, str) else _kind(trouble)
    line = f"{time.time_ns() // 1_000_000} {event} {kind} {size} {outcome}\n"
    path = paths.hook_log(home)
    try:
        if os.path.exists(path) and os.stat(path).st_size > MAX_LOG:
            os.rename(path, path + ".1")
        _append(path, line.encode("ascii", "replace"))
    except OSError:
        pass


def _kind(trouble: object) -> str:
    """The name of its type; of a failure that shares one with others also the system's name."""
    name = type(trouble).__name__
    if type(trouble) is not OSError:
        return name
    import errno

    code = errno.errorcode.get(trouble.errno or 0, "")
    return f"{name}:{code}" if code else name


def drop(home: str) -> None:
    """Count an event that could not be kept, by one byte; on a full disk by a hole."""
    try:
        _append(paths.dropped_file(home), b".")
    except OSError:
        _lengthen(paths.dropped_file(home))


def lose(home: str, event: str, why: object, *, size: int) -> None:
    """Count an event that is not kept and note why, if that writes into a directory of ours."""
    try:
        found = os.lstat(home)
    except OSError:
        return
    if found.st_mode & 0o170000 == 0o040000 and found.st_uid == os.geteuid():
        drop(home)
        note(home, event, why, size=size, outcome="dropped")


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
