"""Whose fault it is that a try gave nothing: the provider's or the unit's.

One rule: a unit is judged by what becomes of the others in the same run.

- Nobody was answered: it is the provider. The try is given back, nobody is asked for a while, and
  then one unit is, one call a pause: the oldest; another in its place when it failed at several
  pauses in a row; where the units of several turns got the same useless reply, one of another
  turn. Such others are the newest, of other sessions first, for what fails alike lies together.
- That other one is answered: it is not the provider. What had failed is *suspected* from then on
  (nothing counts before it was asked again: it may be the provider that was mended, and with other
  settings nothing is held against anybody), and the run goes on. A unit that fails now is suspected
  too, and the newest one is asked next: when that fails as well, it is the provider after all.
- A suspect is asked last, at most once a run, and only where others have been answered in it (or,
  where none waits, something small was). A failure then counts as a try, at the third the unit is
  halved, at the fifth a piece that cannot be is put aside. What only says that there is too much
  to do (``is_busy``) never counts. An answer clears it all.

And an unusable reply is the unit's, until the units of several turns in a row got the same one and
none was answered: then their tries are given back as well. Where it is the pieces of one turn, and
no other waits, something small is asked before more of them are. A suspect's is its own in any case.
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
BUSY = re.compile(r"\b(?:429|503|529)\b|overload|rate.?limit|too many requests", re.I)


class Course(NamedTuple):
    """How a run goes. ``answered``: somebody was in it. ``goes_on``: that was one asked in place
    of another, so that a failure does not end the run. ``failed``: the last one did so. ``small``:
    something small was answered."""

    answered: bool = False
    goes_on: bool = False
    failed: bool = False
    small: bool = False


class Chosen(NamedTuple):
    """The unit to ask about next. ``suspect``: the one in whose place it is, 0 for none; itself
    where another one is due and none is left. ``probe``: its answer tells of others."""

    unit_id: int
    suspect: int = 0
    probe: bool = False


class Try(NamedTuple):
    """One try that failed: of which unit, in whose place, and with what settings. ``well``: the
    provider has just answered others, or (``small``) something small."""

    unit_id: int
    suspect: int
    well: bool
    fingerprint: str
    now: int
    small: bool = False


def choose(
    conn: apsw.Connection,
    fingerprint: str,
    *,
    tried: Collection[int],
    session: str | None,
    course: Course = Course(),  # noqa: B008 - it cannot change
) -> Chosen | None:
    """The unit to ask about next; None when none waits."""
    late = units.suspects(conn)
    spared = {*tried, *late}
    oldest = units.next_pending(conn, exclude=spared, session=session)
    if course.failed:
        other = units.newest_pending(conn, exclude=spared, session=session)
        if other is not None:
            return Chosen(other)
    elif not course.answered and oldest is not None:
        return _first(conn, fingerprint, oldest, spared=spared, session=session, course=course)
    if oldest is not None:
        return Chosen(oldest)
    last = units.next_pending(conn, exclude=tried, session=session)
    return None if last is None else Chosen(last, 0 if course.answered else last)


def in_doubt(conn: apsw.Connection, fingerprint: str) -> bool:
    """Has the provider with these settings answered nobody since it was in trouble?"""
    current = pause.get(conn)
    alike = streak.get(conn)
    return (current is not None and current.fingerprint == fingerprint) or (
        alike is not None and alike.fingerprint == fingerprint and len(alike.turns) >= SAME
    )


def _first(
    conn: apsw.Connection,
    fingerprint: str,
    oldest: int,
    *,
    spared: set[int],
    session: str | None,
    course: Course,
) -> Chosen:
    """Whom to ask while nobody has been answered in a run."""
    alike = streak.get(conn)
    if alike is not None and alike.fingerprint == fingerprint and alike.tries >= SAME:
        many = len(alike.turns) >= SAME
        other = units.newest_pending(conn, exclude=spared, session=session, turns=alike.turns)
        if other is not None:
            return Chosen(other, probe=many)
        return Chosen(oldest, 0 if many or course.small else oldest)
    current = pause.get(conn)
    if current is None or (current.unit, current.fingerprint) != (oldest, fingerprint):
        return Chosen(oldest)
    if not breaker.is_probe_due(current):
        return Chosen(oldest)
    spared = {*spared, oldest, *units.kin(conn, oldest)}
    beside = units.session_of(conn, oldest)
    for exclude in ({*spared, *current.probed}, spared):
        other = units.newest_pending(conn, exclude=exclude, session=session, beside=beside)
        if other is not None:
            return Chosen(other, oldest, probe=True)
    return Chosen(oldest, oldest)


def of_provider(conn: apsw.Connection, tried: Try, error: ProviderError) -> tuple[str, str]:
    """Settle a try that the provider failed: (why the run stops asking, what is held against the
    unit), one of them ""."""
    said = f"{error.kind}: {second.scrub(str(error))}"
    busy = is_busy(error)
    if tried.well and not (busy and tried.small):
        with transaction(conn):
            if busy:
                units.give_back(conn, tried.unit_id)
                units.suspect(conn, tried.unit_id, said)
            else:
                units.fail_beside(conn, tried.unit_id, said, now=tried.now)
        return "", f"unit {tried.unit_id} alone: {said}"
    with transaction(conn):
        units.give_back(conn, tried.unit_id)
        return _rest(conn, tried, said, retry_after_s=error.retry_after_s), ""


def of_small(conn: apsw.Connection, tried: Try, error: ProviderError) -> str:
    """Settle something small that was not answered: so nothing is held against the units whose
    replies could not be used. Why the run stops asking."""
    said = f"{error.kind}: {second.scrub(str(error))}"
    with transaction(conn):
        alike = streak.get(conn)
        if alike is not None and alike.fingerprint == tried.fingerprint:
            for unit_id in streak.settled(conn):
                units.undo(conn, unit_id)
        return _rest(conn, tried, said, retry_after_s=error.retry_after_s)


def is_well(conn: apsw.Connection, unit_id: int, course: Course) -> bool:
    """Is a failure of this unit now its own? Once somebody was answered it is if the unit has
    failed before; of a new one the first, but not two in a row."""
    if not course.answered:
        return False
    return units.has_failed(conn, unit_id) or (course.goes_on and not course.failed)


def is_busy(error: ProviderError) -> bool:
    """Does it say no more than that there is too much to do, or that too much was done?"""
    return (
        error.kind == "quota"
        or error.retry_after_s is not None
        or BUSY.search(error.message) is not None
    )


def of_reply(conn: apsw.Connection, tried: Try, reason: str) -> str:
    """Settle a try whose reply cannot be used; why the run stops asking, "" when it goes on."""
    if SIZE.search(reason):
        units.fail(conn, tried.unit_id, error=f"unusable: {reason}", now=tried.now)
        return ""
    if tried.well or units.is_suspect(conn, tried.unit_id):
        said = f"unusable: {reason}"[:400] + units.SUSPECT
        units.fail(conn, tried.unit_id, error=said, now=tried.now)
        return ""
    kind = COUNTED.sub("#", reason)
    with transaction(conn):
        alike = streak.add(
            conn, kind, said=reason, fingerprint=tried.fingerprint, unit_id=tried.unit_id
        )
        if len(alike) < SAME:
            units.fail(conn, tried.unit_id, error=f"unusable: {reason}", now=tried.now)
            return ""
        units.give_back(conn, tried.unit_id)
        for unit_id in streak.settled(conn)[1:]:
            units.undo(conn, unit_id)
        said = f"unusable: {len(alike)} turns in a row got the same: {second.scrub(reason)}"
        return _rest(conn, tried, f"{said}; check provider and model", retry_after_s=None)


def answered(conn: apsw.Connection, fingerprint: str, *, suspect: int = 0) -> None:
    """A unit is done: nothing is held against the provider any more. Whoever failed while it was is
    suspected, the ``suspect`` in whose place this one was asked and, with the same settings, the
    units that a row of equal replies was about."""
    with transaction(conn):
        alike = streak.get(conn)
        if alike is not None and alike.fingerprint == fingerprint and len(alike.turns) >= SAME:
            for unit_id in alike.held:
                units.suspect(conn, unit_id, f"unusable: {alike.said}")
        current = pause.get(conn)
        if suspect and current is not None:
            units.suspect(conn, suspect, current.reason)
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
