"""A hook ends in time although SQLite would not."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from hookrun import fire, kinds, ready, silent
from support import payload_bytes

from cmem import spooled

WRITE_LOCK = 120  # the byte of the shared memory that whoever recovers a log locks

END = payload_bytes({"session_id": "s", "cwd": "/nowhere", "reason": "other"})


def test_a_lock_nobody_lets_go_of_costs_no_more_than_the_events_own_limit(home: Path) -> None:
    """Whoever finds the log without an index waits for this lock inside one call of SQLite,
    10 s long, and asks no busy handler."""
    ready(home)
    spooled.prepare(str(home))
    fd = os.open(home / "spool.db-shm", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, WRITE_LOCK)
    began = time.monotonic()
    try:
        assert silent(fire(home, "SessionEnd", END))
    finally:
        os.close(fd)
    assert time.monotonic() - began < 2.5
    assert kinds(home) == (0, 1, 0)
