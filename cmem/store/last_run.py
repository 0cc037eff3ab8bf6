"""What the last ``compress`` ended with, for ``status``: kept in ``meta`` as JSON."""

from __future__ import annotations

import json
from typing import NamedTuple

import apsw

from cmem.store.connection import transaction
from cmem.store.rows import row

KEY = "last_run"


class LastRun(NamedTuple):
    """``reason``: why work was left, "" when the run did all there was to do."""

    at: int
    reason: str


def get(conn: apsw.Connection) -> LastRun | None:
    """The last run; None before the first."""
    found = row(conn, "SELECT value FROM meta WHERE key = ?", (KEY,))
    if found is None:
        return None
    kept = json.loads(str(found[0]))
    return LastRun(int(kept["at"]), str(kept["reason"]))


def put(conn: apsw.Connection, run: LastRun) -> None:
    """Remember a run in place of the one before; nothing is written when it ended as that did."""
    before = get(conn)
    if before is not None and before.reason == run.reason:
        return
    with transaction(conn):
        conn.execute(
            "INSERT OR REPLACE INTO meta(key, value) VALUES(?, ?)",
            (KEY, json.dumps(run._asdict())),
        ).fetchall()
