"""What the last ``compress`` ended with, for ``status``: kept in ``meta`` as JSON."""

from __future__ import annotations

from typing import NamedTuple

import apsw

from cmem.store import meta


class LastRun(NamedTuple):
    """``reason``: why work was left, "" when the run did all there was to do. ``provider``:
    who was asked, "" where that is not known."""

    at: int
    reason: str
    provider: str = ""


def get(conn: apsw.Connection) -> LastRun | None:
    """The last run; None before the first."""
    kept = meta.mapping(conn, "last_run")
    if not kept:
        return None
    return LastRun(int(kept["at"]), str(kept["reason"]), str(kept.get("provider", "")))


def put(conn: apsw.Connection, run: LastRun) -> None:
    """Remember a run in place of the one before; nothing is written when it ended as that did."""
    before = get(conn)
    if before is None or before[1:] != run[1:]:
        meta.put_json(conn, "last_run", run._asdict())
