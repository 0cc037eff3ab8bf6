"""Bringing a file to the newest schema: numbered steps of frozen SQL.

A step runs once, inside one ``BEGIN IMMEDIATE`` together with its history row and the
``user_version`` bump; the version is read again inside the lock, because several processes
start at the same moment. A step that fails leaves the file as it was.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Protocol

import apsw

from cmem.errors import ConfigError
from cmem.store import (
    schema_0001,
    schema_0002,
    schema_0003,
    schema_0004,
    schema_0005,
    schema_0006,
    schema_0007,
    segment,
    snapshot,
)
from cmem.store.connection import transaction


class Step(Protocol):
    """A schema module: what it is called, and its statements, one entry each. One whose
    statements cannot run twice also has ``DONE``, a query that gives a row once they have."""

    @property
    def NAME(self) -> str: ...  # noqa: N802 - a constant of a module

    @property
    def STATEMENTS(self) -> tuple[str, ...]: ...  # noqa: N802


MIGRATIONS: tuple[tuple[int, Step], ...] = (
    (1, schema_0001),
    (2, schema_0002),
    (3, schema_0003),
    (4, schema_0004),
    (5, schema_0005),
    (6, schema_0006),
    (7, schema_0007),
)

HISTORY = """CREATE TABLE IF NOT EXISTS schema_versions(
    version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL)"""


def migrate(conn: apsw.Connection, now: int, steps: Sequence[tuple[int, Step]] = MIGRATIONS) -> int:
    """Apply every step the file lacks and return its version.

    Raises ConfigError for a file of a newer cmem and for a database that is not ours."""
    known = steps[-1][0]
    _refuse_newer(conn, known)
    if not _version(conn):
        with transaction(conn):
            _make_store(conn, steps, now=now)
    for version, step in steps:
        if _version(conn) < version:
            with transaction(conn):
                _advance(conn, version=version, step=step, now=now)
    _refuse_newer(conn, known)
    return _version(conn)


def backup(conn: apsw.Connection) -> str:
    """Copy the store to ``backups/memory-schema<version>.db``, whole or not at all.

    One file for each version: a step that fails at every start must not fill the disk."""
    folder = os.path.join(os.path.dirname(conn.filename), "backups")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, f"memory-schema{_version(conn)}.db")
    snapshot.take(conn.filename, path)
    return path


def _make_store(conn: apsw.Connection, steps: Sequence[tuple[int, Step]], *, now: int) -> None:
    """Take an empty file through every step at once, unless another process has begun: a store
    that is not born yet has nothing to back up in between."""
    if _version(conn):
        return
    _refuse_foreign(conn)
    for version, step in steps:
        _run(conn, version=version, step=step, now=now)
    _found_store(conn)


def _advance(conn: apsw.Connection, *, version: int, step: Step, now: int) -> None:
    """Run one step, unless another process has done so since we looked."""
    if _version(conn) < version:
        backup(conn)
        _run(conn, version=version, step=step, now=now)


def _run(conn: apsw.Connection, *, version: int, step: Step, now: int) -> None:
    conn.execute(HISTORY)
    done = str(getattr(step, "DONE", ""))
    if not done or not conn.execute(done).fetchall():
        for statement in step.STATEMENTS:
            conn.execute(statement).fetchall()
    conn.execute(
        "INSERT OR REPLACE INTO schema_versions(version, name, applied_at) VALUES(?, ?, ?)",
        (version, step.NAME, now),
    )
    conn.pragma("user_version", version)


def _found_store(conn: apsw.Connection) -> None:
    """Write what a store is born with: its own random key, and how its text is segmented."""
    conn.execute(
        "INSERT OR IGNORE INTO meta(key, value) VALUES('hmac_key', ?), ('segmenter_version', ?)",
        (os.urandom(32), segment.SEGMENTER_VERSION),
    )


def _version(conn: apsw.Connection) -> int:
    return int(conn.pragma("user_version"))


def _refuse_newer(conn: apsw.Connection, known: int) -> None:
    found = _version(conn)
    if found > known:
        raise ConfigError(
            f"{conn.filename} was made by a newer cmem: schema {found}, "
            f"this one knows {known}; upgrade cmem"
        )


def _refuse_foreign(conn: apsw.Connection) -> None:
    row = conn.execute("SELECT name FROM sqlite_schema LIMIT 1").fetchone()
    if row is not None:
        raise ConfigError(
            f"{conn.filename} is not a cmem database (it holds {row[0]!r}); move it away"
        )
