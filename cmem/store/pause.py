"""The breakers: why no provider is asked for now, and until when. A row of ``meta`` each.

A provider in trouble arms one, a daily budget that is reached the other, so that neither forgets
the other's end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cmem.store import cleaning, meta

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    import apsw

    Kind: TypeAlias = Literal["pause", "budget_pause"]

KEY: Kind = "pause"
BUDGET: Kind = "budget_pause"


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


def get(conn: apsw.Connection, key: Kind = KEY) -> Pause | None:
    """Return the pause that was armed last and not cleared; its end may have passed."""
    kept = meta.mapping(conn, key)
    try:
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
        return None  # none, or written by another version


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
    key: Kind = KEY,
) -> None:
    """Set the pause, in place of any other of its key."""
    kept = Pause(cleaning.error(reason), until, step, fingerprint, unit, times, probed)
    meta.put_json(conn, key, kept._asdict())


def clear(conn: apsw.Connection, key: Kind = KEY) -> None:
    """Take the pause away, if there is one."""
    meta.drop(conn, key)
