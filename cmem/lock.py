"""One writer at a time, by an OS lock that dies with its holder: no pid, nothing stale."""

import os
import time


def acquire(path: str, *, wait_ms: int = 0) -> int | None:
    """The descriptor that holds the lock, or None when another process holds it.

    A lock file deleted meanwhile is not the lock any more: the name is taken again.
    """
    import fcntl

    deadline = time.monotonic() + wait_ms / 1000
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _still_named(fd, path):
                return fd
        except BlockingIOError:
            pass
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)
        if time.monotonic() >= deadline:
            return None
        time.sleep(0.02)


def release(fd: int) -> None:
    """Close our descriptor. A child that inherited it goes on holding the lock."""
    os.close(fd)


def _still_named(fd: int, path: str) -> bool:
    try:
        named = os.stat(path)
    except FileNotFoundError:
        return False
    ours = os.fstat(fd)
    return (ours.st_dev, ours.st_ino) == (named.st_dev, named.st_ino)
