"""Raw tool payloads have their time: input and output of old tool calls are taken out.

The row stays, with what it was, when, and how it ended; so do all memories made of it and
their share of the economics. What has not been observed yet never goes, nor does what a
pinned observation rests on; what any other one in sight rests on is kept three times as long.
What an import brought has that time from then on, however long ago it happened: else a model could
not look at it any more. Only a person who names an age means the age of the call itself.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from cmem.store import documents, meta
from cmem.store.connection import transaction
from cmem.store.rows import rows, value

if TYPE_CHECKING:
    from collections.abc import Callable

    import apsw

DAY_MS = 86_400_000
REFERENCED = 3
BATCH_ROWS = 5
BATCH_MS = 100
# A full look once a day is enough for what expires by days.
EVERY_MS = DAY_MS
FOR_EVER = 2**62

# ?1: older than this goes; ?2: older than this goes though it is referred to; ?3, ?4: where
# the last slice ended; ?6: imports since then keep all. Walks the index of rows that still have their payload, oldest first.
_EXPIRED = """SELECT t.id, t.created_at,
        coalesce(length(t.tool_input), 0) + coalesce(length(t.tool_response), 0)
    FROM tool_uses t INDEXED BY tool_uses_raw
    WHERE t.tool_input IS NOT NULL AND t.created_at < ?1 AND (t.created_at, t.id) > (?3, ?4)
    AND t.hidden_at IS NULL
    AND EXISTS(SELECT 1 FROM work_units u WHERE u.turn_id = t.turn_id AND u.kind = 'turn')
    AND NOT EXISTS(SELECT 1 FROM work_units u WHERE u.turn_id = t.turn_id AND u.kind = 'turn'
        AND u.state NOT IN ('done', 'skipped', 'split', 'dropped', 'again', 'undone'))
    AND NOT EXISTS(SELECT 1 FROM work_units u WHERE u.turn_id = t.turn_id AND u.kind = 'turn'
        AND u.reason = 'import' AND u.state <> 'again' AND u.created_at >= ?6)
    AND NOT EXISTS(SELECT 1 FROM observation_sources s JOIN observations o
        ON o.id = s.observation_id WHERE s.kind = 'T' AND s.ref = t.id AND o.hidden_at IS NULL
        AND (o.pinned = 1 OR (t.created_at >= ?2 AND o.superseded_by IS NULL)))
    ORDER BY t.created_at, t.id LIMIT ?5"""


class _Due(NamedTuple):
    """What is asked for: how long payloads are kept, as of when, and whether imported ones too
    count from the call itself."""

    keep_days: int
    now: int
    by_age: bool


class Pruned(NamedTuple):
    """How many tool calls lost their payload, how many stored bytes that were, and whether
    all that was due is gone."""

    rows: int
    bytes: int
    complete: bool


def expired(conn: apsw.Connection, *, keep_days: int, now: int, by_age: bool = False) -> Pruned:
    """What ``prune`` would take; nothing is changed."""
    due = _Due(keep_days, now, by_age)
    found = _expired(conn, due, after=(-FOR_EVER, 0), limit=-1)
    return Pruned(len(found), sum(size for _ref, _at, size in found), complete=True)


def prune(
    conn: apsw.Connection,
    *,
    keep_days: int,
    now: int,
    by_age: bool = False,
    budget_ms: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Pruned:
    """Take the payloads out in transactions of a few rows, for ``budget_ms`` at most (None:
    until all is done). ``by_age``: what was imported has no time of its own."""
    end = None if budget_ms is None else time.monotonic() + budget_ms / 1000
    due = _Due(keep_days, now, by_age)
    after = (-FOR_EVER, 0)
    done = size = 0
    while True:
        batch = _expired(conn, due, after=after, limit=BATCH_ROWS)
        if not batch:
            return Pruned(done, size, complete=True)
        for ref, at, held in _take(conn, batch):
            after, done, size = (at, ref), done + 1, size + held
        if progress is not None:
            progress(done)
        if end is not None and time.monotonic() >= end:
            return Pruned(done, size, complete=False)


def prune_slice(conn: apsw.Connection, *, keep_days: int, now: int, budget_ms: int) -> None:
    """The part of ``compress``: a slice a run until all is done, then a look once a day."""
    last = meta.number(conn, "pruned_at")
    if keep_days <= 0 or (last and 0 <= now - last < EVERY_MS):
        return
    if prune(conn, keep_days=keep_days, now=now, budget_ms=budget_ms).complete:
        meta.put(conn, "pruned_at", now)


def is_there(conn: apsw.Connection) -> bool:
    """False for a store that is older than retention."""
    return bool(value(conn, "SELECT count(*) FROM sqlite_schema WHERE name = 'tool_uses_raw'"))


def _expired(
    conn: apsw.Connection, due: _Due, *, after: tuple[int, int], limit: int
) -> list[tuple[int, int, int]]:
    first = due.now - due.keep_days * DAY_MS
    last = due.now - due.keep_days * REFERENCED * DAY_MS
    imported = FOR_EVER if due.by_age else first
    found = rows(conn, _EXPIRED, (first, last, *after, limit, imported))
    return [(int(ref), int(at), int(size)) for ref, at, size in found]


def _take(conn: apsw.Connection, batch: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Take out as many of these as fit into one short transaction; at least one."""
    end = time.monotonic() + BATCH_MS / 1000
    done = []
    with transaction(conn):
        for ref, at, size in batch:
            documents.refresh(conn, "T", ref, lambda ref=ref: _blank(conn, ref))  # type: ignore[misc]
            done.append((ref, at, size))
            if time.monotonic() >= end:
                break
    return done


def _blank(conn: apsw.Connection, ref: int) -> None:
    conn.execute(
        "UPDATE tool_uses SET tool_input = NULL, tool_response = NULL WHERE id = ?", (ref,)
    ).fetchall()
