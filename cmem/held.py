"""The store's lock in the hands of a long run, which gives way now and then.

Who waits for the lock looks for it every 20 ms (``lock.acquire``), so a pause of a few of these
is enough. Hooks do not wait: what they would start is the business of whoever holds the lock.
"""

from __future__ import annotations

import os
import time

from cmem import lock, paths
from cmem.errors import BusyError

HELD_S = 1.0  # so long at least before somebody else gets it
LET_S = 0.06
LONGEST_S = 3600.0  # another run takes as long as it takes, but not for ever


class Held:
    """Holds the lock until ``release``. BusyError when nobody lets go of it for ``wait_s``."""

    def __init__(self, home: str, *, wait_s: float) -> None:
        self._path, self._store = paths.lock_file(home), paths.memory_db(home)
        self._fd: int | None = None
        self._take(wait_s)

    def give_way(self) -> bool:
        """Let who waits for it go first, if it was held for a while; whether it was given away.
        BusyError when it does not come back, or the store that is open is no longer the memory."""
        if time.monotonic() - self._since < HELD_S:
            return False
        before = _identity(self._store)
        self.release()
        time.sleep(LET_S)
        self._take(LONGEST_S)
        if _identity(self._store) != before:
            raise BusyError("another memory was put in its place meanwhile; run it again")
        return True

    def release(self) -> None:
        if self._fd is not None:
            fd, self._fd = self._fd, None
            lock.release(fd)

    def _take(self, wait_s: float) -> None:
        self._fd = lock.acquire(self._path, wait_ms=int(wait_s * 1000))
        if self._fd is None:
            raise BusyError("a compress is running; try again when it is done")
        self._since = time.monotonic()


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
