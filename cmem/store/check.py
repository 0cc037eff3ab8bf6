"""Looking at a store without changing it, and trying it out without leaving anything.

``look`` reads; whatever a damaged file answers becomes part of the answer. ``trial`` undoes all
that is done in it, so that an event can be taken in, searched for, and never have been there:
a kill in the middle leaves nothing either.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import apsw

from cmem import paths
from cmem.errors import CmemError
from cmem.store import connection, evidence, meta, migrations, segment
from cmem.store.rows import rows, value

SCHEMA = migrations.MIGRATIONS[-1][0]
SEGMENTER = segment.SEGMENTER_VERSION
# How many steps of SQLite's machine lie between two looks at the clock.
_STEPS = 10_000

_DOCUMENTS = "SELECT count(*) FROM documents"
# The index keeps one row here for each document it knows.
_INDEXED = "SELECT count(*) FROM documents_fts_docsize"
_PARKED = """SELECT u.error, count(*) FROM work_units u JOIN turns t ON t.id = u.turn_id
    WHERE u.state = 'parked' AND t.hidden_at IS NULL
    GROUP BY u.error ORDER BY count(*) DESC, u.error"""


class State(NamedTuple):
    """A store as it is. ``damage`` is "" for none found; ``complete``: all of it was looked
    at within the time. The numbers mean nothing where there is damage."""

    schema: int = 0
    damage: str = ""
    complete: bool = True
    documents: int = 0
    indexed: int = 0
    segmenter: int = 0


def sqlite_version() -> str:
    """The SQLite that reads and writes our files."""
    return apsw.sqlite_lib_version()


def look(home: str, *, within_ms: int) -> State | None:
    """The state of the store; None when there is none. The search for damage is given up
    after ``within_ms``."""
    try:
        conn = connection.open_reader(home)
    except (*connection.ENVIRONMENT_ERRORS, CmemError) as error:
        return State(damage=str(error))
    if conn is None:
        return None
    try:
        schema = int(conn.pragma("user_version"))
        damage, complete = quick_check(conn, within_ms=within_ms)
        if connection.log_is_damaged(paths.memory_db(home)):
            damage = connection.LOG_DAMAGED
        if damage or schema != SCHEMA:
            return State(schema, damage, complete)
        documents, indexed = (int(value(conn, query)) for query in (_DOCUMENTS, _INDEXED))
        return State(
            schema, "", complete, documents, indexed, meta.number(conn, "segmenter_version")
        )
    except (apsw.Error, OSError) as error:
        return State(damage=str(error))
    finally:
        conn.close()


def quick_check(conn: apsw.Connection, *, within_ms: int) -> tuple[str, bool]:
    """(the first damage found or "", whether all was looked at in the time)."""
    end = time.monotonic() + within_ms / 1000
    conn.set_progress_handler(lambda: time.monotonic() >= end, _STEPS)
    try:
        found = str(value(conn, "PRAGMA quick_check(1)"))
    except apsw.InterruptError:
        return "", False
    finally:
        conn.set_progress_handler(None)
    return ("" if found == "ok" else found), True


def parked_reasons(conn: apsw.Connection) -> list[tuple[str, int]]:
    """Why units were put aside, the most frequent reason first."""
    return [(str(error), int(count)) for error, count in rows(conn, _PARKED)]


@contextmanager
def trial(conn: apsw.Connection) -> Iterator[None]:
    """Everything written to the store inside is undone at the end."""
    conn.execute("BEGIN IMMEDIATE").fetchall()
    try:
        yield
    finally:
        if conn.in_transaction:
            conn.execute("ROLLBACK").fetchall()


def commits(home: str, conn: apsw.Connection, *, name: str, now: int) -> bool:
    """Whether what ``conn`` commits is there for a reader; the identity written for it is
    removed again."""
    evidence.remember(conn, name, at=now)
    try:
        reader = connection.open_reader(home, index=False)
        if reader is None:
            return False
        try:
            return evidence.seen(reader, name)
        finally:
            reader.close()
    finally:
        conn.execute("DELETE FROM seen_events WHERE eid = ?", (name,)).fetchall()
