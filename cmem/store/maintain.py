"""The small upkeep every ``compress`` ends with: index fragments, old identities, the log."""

from __future__ import annotations

import time
from collections.abc import Callable

import apsw

from cmem.store.rows import value

SEEN_KEPT_MS = 30 * 86_400_000
MERGE_PAGES = 64
_PAGES = 256


def merge_index(conn: apsw.Connection, *, budget_ms: int) -> None:
    """Merge full-text fragments in steps of a few milliseconds, for ``budget_ms`` at most.

    ``merge`` with a positive argument works only where a level has fragments enough; when a
    step changes fewer than two rows there is nothing left to do (fts5.html, section 6.8).
    """
    end = time.monotonic() + budget_ms / 1000
    while time.monotonic() < end:
        before = conn.total_changes()
        conn.execute(
            "INSERT INTO documents_fts(documents_fts, rank) VALUES('merge', ?)", (MERGE_PAGES,)
        ).fetchall()
        if conn.total_changes() - before < 2:
            return


def expire_seen(conn: apsw.Connection, *, now: int) -> None:
    """Drop event identities older than 30 days: no host repeats a hook that late."""
    conn.execute("DELETE FROM seen_events WHERE at < ?", (now - SEEN_KEPT_MS,)).fetchall()


def truncate_wal(conn: apsw.Connection) -> bool:
    """Write the log back and cut it to nothing; False when a reader holds it."""
    row = conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
    return row[0] == 0


def return_space(conn: apsw.Connection) -> None:
    """Give some free pages back to the file system."""
    conn.execute(f"PRAGMA incremental_vacuum({_PAGES})").fetchall()


def free_pages(conn: apsw.Connection) -> int:
    """How many pages of the file hold nothing."""
    return int(value(conn, "PRAGMA freelist_count", ()))


def return_all_space(
    conn: apsw.Connection, *, progress: Callable[[int], None] | None = None
) -> int:
    """Give every free page back, a slice a transaction; return how many there were."""
    first = left = free_pages(conn)
    while left:
        return_space(conn)
        before, left = left, free_pages(conn)
        if left >= before:
            break
        if progress is not None:
            progress(first - left)
    return first - left
