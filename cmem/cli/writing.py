"""The store for a command that changes it: under the lock of ``compress``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from cmem import ingest, lock, paths, settings
from cmem.cli import place
from cmem.context import shown
from cmem.errors import BusyError
from cmem.store import connection

if TYPE_CHECKING:
    import apsw

LOCK_WAIT_MS = 10_000
# What Claude Code calls the session in whose shell a command runs.
SESSION = "CLAUDE_CODE_SESSION_ID"


@contextmanager
def writer(*, take_in: bool) -> Iterator[apsw.Connection]:
    """The store for writing, with no compress at work: a run in the middle of a call would
    bring back what its evidence told. ``take_in``: the mailbox is emptied into it first.
    BusyError when another run does not end in time."""
    with locked() as home:
        conn = connection.open_writer(home, now=place.now_ms())
        try:
            if take_in:
                ingest.ingest(home, conn, now=place.now_ms())
            yield conn
        finally:
            conn.close()


@contextmanager
def trying(*, dry_run: bool) -> Iterator[apsw.Connection]:
    """The store for writing, its mailbox taken in; or to look at what would be written, as it is
    now, an empty one in memory where there is none."""
    if not dry_run:
        with writer(take_in=True) as conn:
            yield conn
        return
    from cmem.store import scratch

    found = place.store() or scratch.empty(now=place.now_ms())
    try:
        yield found
    finally:
        found.close()


@contextmanager
def locked() -> Iterator[str]:
    """The data home with no compress at work, the store unopened: it may be damaged. BusyError
    when another run does not end in time."""
    home = place.home()
    paths.ensure_home(home)
    fd = lock.acquire(paths.lock_file(home), wait_ms=LOCK_WAIT_MS)
    if fd is None:
        raise BusyError("a compress is running; try again when it is done")
    try:
        yield home
    finally:
        lock.release(fd)


@contextmanager
def beside() -> Iterator[apsw.Connection]:
    """The store for writing, whoever else is at work: for a change that no compress can undo,
    because it touches nothing that one reads and writes back."""
    conn = connection.open_writer(place.home(), now=place.now_ms())
    try:
        yield conn
    finally:
        conn.close()


def known_to_its_session(ref: str) -> None:
    """What an agent writes in a session need not be told to it when it goes on."""
    session = settings.environment().get(SESSION, "")
    if session:
        with suppress(OSError):
            shown.claim(str(place.home()), session, [ref])
