"""Rows that are dated ahead of the clock: one was wrong when they came, at hooks and ``compress``.

They would be the newest for as long as it was ahead. Brought back they keep their order and, up to
a day, their distances; they end where the first row begins that came after them with a right time.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from cmem.store import drafts
from cmem.store.connection import transaction
from cmem.store.rows import row, rows, value

if TYPE_CHECKING:
    import apsw

DAY_MS = 86_400_000
_TIMES = {
    "sessions": ("started_at", "last_event_at", "completed_at"),
    "turns": ("opened_at", "last_event_at", "closed_at"),
    "user_prompts": ("created_at",),
    "tool_uses": ("created_at",),
    "observations": ("created_at", "last_reinforced"),
    "session_summaries": ("created_at",),
    "work_state_entries": ("created_at",),
    "work_units": ("created_at", "finished_at"),
    "observer_runs": ("started_at", "ended_at"),
    "documents": ("created_at",),
}
_FOUND = "SELECT count(*), coalesce(max(created_at), 0) FROM documents WHERE created_at > ?"
# What came before the first of them, and after the last one.
_BEFORE = """SELECT max(created_at) FROM documents WHERE created_at <= ?1
    AND id < (SELECT min(id) FROM documents WHERE created_at > ?1)"""
_AFTER = """SELECT min(created_at) FROM documents WHERE created_at <= ?1
    AND id > (SELECT max(id) FROM documents WHERE created_at > ?1)"""


class Found(NamedTuple):
    """How many rows that can be found are dated ahead, and the last of these times."""

    rows: int
    newest: int


def find(conn: apsw.Connection, *, now: int) -> Found:
    """What is dated more than a day ahead of ``now``."""
    found = row(conn, _FOUND, (now + DAY_MS,))
    return Found(0, 0) if found is None else Found(int(found[0]), int(found[1]))


def bring_back(conn: apsw.Connection, *, now: int) -> int:
    """Date what is ahead of ``now`` to the time at which it can have been; return how many
    rows that can be found that were."""
    limit = now + DAY_MS
    count = find(conn, now=now).rows
    if not count:
        return 0
    with transaction(conn):
        times = _times(conn, limit)
        until = min(value(conn, _AFTER, (limit,)) or now, now)
        settled = _settled(times, since=value(conn, _BEFORE, (limit,)), until=until)
        conn.execute("CREATE TEMP TABLE redated(old INTEGER PRIMARY KEY, new INTEGER NOT NULL)")
        conn.executemany("INSERT INTO redated VALUES(?, ?)", zip(times, settled, strict=True))
        _redate_days(conn, limit)
        for table, columns in _TIMES.items():
            for column in columns:
                conn.execute(
                    f"""UPDATE {table} SET {column} =
                        (SELECT new FROM redated WHERE old = {column}) WHERE {column} > ?""",
                    (limit,),
                ).fetchall()
        conn.execute("DROP TABLE temp.redated").fetchall()
    return count


def _times(conn: apsw.Connection, limit: int) -> list[int]:
    found = " UNION ".join(
        f"SELECT {column} FROM {table} WHERE {column} > ?1"
        for table, columns in _TIMES.items()
        for column in columns
    )
    return sorted(int(at) for (at,) in rows(conn, found, (limit,)))


def _settled(times: list[int], *, since: int | None, until: int) -> list[int]:
    """The times moved so that the last is ``until`` and, where it is known, none before
    ``since``: gaps are cut to a day, then all shrink alike."""
    behind = [0]
    for later, earlier in zip(times[:0:-1], times[-2::-1], strict=True):
        behind.append(behind[-1] + min(later - earlier, DAY_MS))
    behind.reverse()
    room = until - since if since is not None and since < until else None
    share = 1.0 if room is None or not behind[0] else min(1.0, room / behind[0])
    return [until - round(one * share) for one in behind]


def _redate_days(conn: apsw.Connection, limit: int) -> None:
    """The days on which observations were met again, that of the last one known."""
    query = """SELECT o.id, o.reinforcement_dates, r.new FROM observations o
        JOIN redated r ON r.old = o.last_reinforced WHERE o.last_reinforced > ?"""
    last = drafts.day(limit)
    for ref, days, new in rows(conn, query, (limit,)):
        kept = {day if day <= last else drafts.day(new) for day in json.loads(days)}
        conn.execute(
            "UPDATE observations SET reinforcement_dates = ? WHERE id = ?",
            (json.dumps(sorted(kept)), ref),
        ).fetchall()
