"""Whose fault it is that a try gave nothing: the provider's or the unit's.

A provider's failure is the provider's: the try is given back and nobody is asked for a while. But
one turn that a server always fails on (an error, a hang, a page of its gateway) would hold up all
others for ever. So a unit that failed at several pauses in a row is *suspected*: after the next
one another is asked in its place, still one call a pause. When that one is answered the suspect is
asked again at once, and a failure is then its own, as a reply is that cannot be used.

And the other way round: an unusable reply is the unit's, until the units of several turns in a row
got the same one and none was answered. Then it is the provider, the model or a setting: their tries
are given back as well, and nobody is asked for a while.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from cmem import breaker
from cmem.privacy import second
from cmem.store import pause, streak, units
from cmem.store.connection import transaction

if TYPE_CHECKING:
    import apsw

    from cmem.observer.errors import ProviderError

SAME = 3  # turns in a row
# What halving a unit helps against says nothing about others.
SIZE = re.compile(r"too (?:long|large|many)|context (?:window|length)|\(413\)|\bcut\b", re.I)
COUNTED = re.compile(r"[0-9a-f]*\d[\w-]*", re.I)


class Chosen(NamedTuple):
    """The unit to ask about next. ``suspect``: the one in whose place it is, 0 for none; itself
    where another one is due and none is left."""

    unit_id: int
    suspect: int


class Try(NamedTuple):
    """One try that failed: of which unit, in whose place, and with what settings. ``well``: the
    provider has just answered others."""

    unit_id: int
    suspect: int
    well: bool
    fingerprint: str
    now: int


def choose(
    conn: apsw.Connection, fingerprint: str, *, tried: Collection[int], session: str | None
) -> Chosen | None:
    """The oldest unit that waits, or another one in place of a suspect; None when none waits."""
    oldest = units.next_pending(conn, exclude=tried, session=session)
    current = pause.get(conn)
    if oldest is None or current is None or current.unit != oldest:
        return None if oldest is None else Chosen(oldest, 0)
    known = units.was_blamed(conn, oldest)
    if current.fingerprint != fingerprint or not breaker.is_probe_due(current, known=known):
        return Chosen(oldest, 0)
    spared = {*tried, oldest, *units.kin(conn, oldest)}
    other = units.next_pending(conn, exclude={*spared, *current.probed}, session=session)
    other = other or units.next_pending(conn, exclude=spared, session=session)
    return Chosen(oldest if other is None else other, oldest)


def of_provider(conn: apsw.Connection, tried: Try, error: ProviderError) -> tuple[str, str]:
    """Settle a try that the provider failed: (why the run stops asking, what is held against the
    unit), one of them ""."""
    said = f"{error.kind}: {second.scrub(str(error))}"
    if tried.well and error.retry_after_s is None:
        units.fail(conn, tried.unit_id, error=f"{said[:400]}; others are answered", now=tried.now)
        return "", f"unit {tried.unit_id} alone: {said}"
    with transaction(conn):
        units.give_back(conn, tried.unit_id)
        return _rest(conn, tried, said, retry_after_s=error.retry_after_s), ""


def of_reply(conn: apsw.Connection, tried: Try, reason: str) -> str:
    """Settle a try whose reply cannot be used; why the run stops asking, "" when it goes on."""
    if SIZE.search(reason):
        units.fail(conn, tried.unit_id, error=f"unusable: {reason}", now=tried.now)
        return ""
    kind = COUNTED.sub("#", reason)
    with transaction(conn):
        alike = streak.add(conn, kind, fingerprint=tried.fingerprint, unit_id=tried.unit_id)
        if len(alike) < SAME:
            units.fail(conn, tried.unit_id, error=f"unusable: {reason}", now=tried.now)
            return ""
        units.give_back(conn, tried.unit_id)
        for unit_id in streak.settled(conn)[1:]:
            units.undo(conn, unit_id)
        said = f"unusable: {len(alike)} turns in a row got the same: {second.scrub(reason)}"
        return _rest(conn, tried, f"{said}; check provider and model", retry_after_s=None)


def answered(conn: apsw.Connection) -> None:
    """A unit is done: nothing is held against the provider any more."""
    pause.clear(conn)
    pause.clear(conn, pause.BUDGET)
    streak.clear(conn)


def _rest(conn: apsw.Connection, tried: Try, said: str, *, retry_after_s: float | None) -> str:
    """Leave the provider alone for a while; return what is told of it."""
    current = pause.get(conn)
    step = breaker.next_step(current, tried.fingerprint)
    doubt = breaker.doubt(current, tried.fingerprint, tried.unit_id, suspect=tried.suspect)
    if doubt.times > 1:
        said = f"{said} (unit {doubt.unit}, {doubt.times} times; `cmem queue list` shows it)"
    pause.arm(
        conn,
        reason=said,
        until=tried.now + breaker.pause_ms(step, retry_after_s),
        step=step,
        fingerprint=tried.fingerprint,
        **doubt._asdict(),
    )
    return said
