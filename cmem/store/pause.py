"""The breakers: why no provider is asked for now, and until when. A row of ``meta`` each.

A provider in trouble arms one, a daily budget that is reached the other, so that neither forgets
the other's end.
"""

from __future__ import annotations

import json
from typing import NamedTuple

import apsw

from cmem.store import cleaning

KEY = "pause"
BUDGET = "budget_pause"


class Pause(NamedTuple):
    """``step`` counts the pauses in a row; ``fingerprint`` names the settings it was armed
    under, so that a changed key or model is tried at once. ``unit``: the one that was asked
    about, so many ``times``, and ``probed`` those that were asked about in its place."""

    reason: str
    until: int
    step: int
    fingerprint: str
    unit: int = 0
    times: int = 0
    probed: tuple[int, ...] = ()


def get(conn: apsw.Connection, key: str = KEY) -> Pause | None:
    """Return the pause that was armed last and not cleared; its end may have passed."""
    row = conn.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    if row is None:
        return None
    try:
        kept = json.loads(str(row[0]))
        return Pause(
            reason=str(kept["reason"]),
            until=int(kept["until"]),
            step=int(kept["step"]),
            fingerprint=str(kept["fingerprint"]),
            unit=int(kept.get("unit", 0)),
            times=int(kept.get("times", 0)),
            probed=tuple(int(one) for one in kept.get("probed", ())),
        )
    except (ValueError, KeyError, TypeError):
        return None  # written by another version: as good as none


def arm(
    conn: apsw.Connection,
    *,
    reason: str,
    until: int,
    step: int,
    fingerprint: str,
    unit: int = 0,
    times: int = 0,
    probed: tuple[int, ...] = (),
    key: str = KEY,
) -> None:
    """Set the pause, in place of any other of its key."""
    kept = Pause(cleaning.error(reason), until, step, fingerprint, unit, times, probed)
    conn.execute(
        "INSERT OR REPLACE INTO meta(key, value) VALUES(?, ?)",
        (key, json.dumps(kept._asdict())),
    )


def clear(conn: apsw.Connection, key: str = KEY) -> None:
    """Take the pause away, if there is one."""
    if conn.execute("SELECT 1 FROM meta WHERE key = ?", (key,)).fetchone() is not None:
        conn.execute("DELETE FROM meta WHERE key = ?", (key,))
