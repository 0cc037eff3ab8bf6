"""A store in memory, to hold against what nothing is there for yet."""

from __future__ import annotations

import apsw

from cmem.store import functions, migrations


def empty(*, now: int) -> apsw.Connection:
    """A store of the newest schema with nothing in it and no file."""
    conn = apsw.Connection(":memory:")
    functions.register(conn)
    migrations.migrate(conn, now)
    return conn
