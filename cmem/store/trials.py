"""Calls of ``cmem provider test``: they belong to no turn, so they stand beside the ledger's rows.

One value of ``meta``, a call an entry: they are few, and the oldest of a thousand is given up.
A call is written down before it is made, as every call is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cmem.store import meta
from cmem.store.connection import transaction

if TYPE_CHECKING:
    import apsw

MOST = 1_000


class Trial(NamedTuple):
    """One call. ``microusd`` None: nobody knows what it cost."""

    started_at: int
    provider: str
    model: str
    outcome: str
    input_tokens: int
    output_tokens: int
    microusd: int | None


def listed(conn: apsw.Connection, *, since: int, until: int) -> list[Trial]:
    """The calls begun in that time, oldest first."""
    return [one for one in _all(conn) if since <= one.started_at < until]


def begin(conn: apsw.Connection, expected: Trial) -> None:
    """Write down a call that is about to be made, by what it is expected to take."""
    with transaction(conn):
        _put(conn, [*_all(conn), expected])


def end(conn: apsw.Connection, expected: Trial, told: Trial) -> None:
    """Write down what the call took, in the place of what was expected."""
    with transaction(conn):
        found = _all(conn)
        if expected in found:
            found[found.index(expected)] = told
        _put(conn, found)


def cancel(conn: apsw.Connection, expected: Trial) -> None:
    """The call was not made after all."""
    with transaction(conn):
        found = _all(conn)
        if expected in found:
            found.remove(expected)
        _put(conn, found)


def _all(conn: apsw.Connection) -> list[Trial]:
    return [Trial(*one) for one in meta.listed(conn, "trial_calls")]


def _put(conn: apsw.Connection, calls: list[Trial]) -> None:
    meta.put_json(conn, "trial_calls", calls[-MOST:])
