"""``cmem queue list|retry|drop``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from cmem.cli import asking, boundary, output, place
from cmem.cli.writing import writer
from cmem.errors import CmemError, UsageError
from cmem.plural import counted
from cmem.privacy.sanitise import clean
from cmem.store import counts
from cmem.store import queue as core

if TYPE_CHECKING:
    import apsw

    from cmem.cli.output import Line
    from cmem.store.queue import Unit

TITLE_MAX = 80
STATES = (core.PENDING, core.PARKED, core.DROPPED, core.BATCHED)
STYLES = {core.PENDING: "green", core.PARKED: "red", core.DROPPED: "dim", core.BATCHED: "yellow"}


class Choice(NamedTuple):
    """The units to change, and the ids that name none that could be."""

    ids: tuple[int, ...]
    unknown: tuple[str, ...]


def run_list(values: Mapping[str, Any]) -> int:
    """Print what waits to be observed and what was put aside."""
    states = _states(values["state"])
    if values["limit"] < 1:
        raise UsageError("--limit must be at least 1")
    found: list[Unit] = []
    work = counts.Work(0, 0, None)
    conn = place.store()
    if conn is not None:
        try:
            found = core.listing(conn, states, limit=values["limit"])
            work = counts.work(conn)
        finally:
            conn.close()
    if values["json"]:
        units = [_document(one) for one in found]
        output.write_json({"units": units, "pending": work.pending, "parked": work.parked})
        return 0
    output.write_lines(_line(one) for one in found)
    output.write_lines([output.plain(f"{work.pending} pending, {work.parked} parked")])
    return 0


def run_retry(values: Mapping[str, Any]) -> int:
    """Let parked units wait again, and dropped ones or ones in a batch that are named."""
    _check(values)
    with _writer() as conn:
        choice = _choose(conn, values, (core.PARKED, core.DROPPED, core.BATCHED), done=core.PENDING)
        core.retry(conn, choice.ids, now=place.now_ms())
    if values["json"]:
        output.write_json({"retried": list(choice.ids)})
    else:
        hint = " `cmem compress` does it now." if choice.ids else ""
        _say(f"To be tried again: {_told(choice)}.{hint}")
    return _end(choice)


def run_drop(values: Mapping[str, Any]) -> int:
    """Give up parked units, and pending ones that are named."""
    _check(values)
    takes = (core.PARKED, core.PENDING, core.BATCHED)
    dry_run = bool(values["dry_run"])
    with _reader() as conn:
        choice = _choose(conn, values, takes, done=core.DROPPED)
    if not dry_run:
        if choice.ids and not values["yes"]:
            _ask(choice, named=not values["all"])
        with _writer() as conn:
            # What was tried meanwhile may be done, and is left alone then.
            now_there = _choose(conn, values, takes, done=core.DROPPED)
            choice = choice._replace(ids=_both(choice.ids, now_there.ids))
            core.drop(conn, choice.ids, now=place.now_ms())
    if values["json"]:
        output.write_json({"dropped": list(choice.ids), "dry_run": dry_run})
    else:
        undo = choice.ids and not dry_run
        hint = " `cmem queue retry` with the id takes it back." if undo else ""
        _say(f"{'Would give up' if dry_run else 'Given up'}: {_told(choice)}.{hint}")
    return _end(choice)


# --- which units ---------------------------------------------------------------------


def _states(named: str | None) -> tuple[str, ...]:
    if named is None:
        return core.PENDING, core.PARKED, core.BATCHED
    if named not in STATES:
        raise UsageError(f"no such state: {named}; known: {', '.join(STATES)}")
    return (named,)


def _check(values: Mapping[str, Any]) -> None:
    if bool(values["ids"]) == bool(values["all"]):
        raise UsageError("name units by their ids from `cmem queue list`, or give --all")


def _choose(
    conn: apsw.Connection, values: Mapping[str, Any], takes: tuple[str, ...], *, done: str
) -> Choice:
    """The units that are in a state of ``takes``; ``--all`` is every parked one. One that is
    ``done`` already needs nothing. CmemError when the ids name no unit at all."""
    if values["all"]:
        return Choice(tuple(core.in_state(conn, core.PARKED)), ())
    numbers = {text: _number(text) for text in values["ids"]}
    states = core.states(conn, {one for one in numbers.values() if one is not None})
    known = {text: states.get(number or 0, "") for text, number in numbers.items()}
    unknown = tuple(text for text, state in known.items() if state not in (*takes, done))
    if len(unknown) == len(known):
        raise CmemError(_no_such(unknown))
    chosen = (numbers[text] for text, state in known.items() if state in takes)
    return Choice(tuple(dict.fromkeys(one for one in chosen if one is not None)), unknown)


def _number(text: str) -> int | None:
    word = text.strip().removeprefix("#")
    return int(word) if word.isascii() and word.isdigit() and len(word) < 19 else None


def _both(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(one for one in first if one in set(second))


def _no_such(unknown: tuple[str, ...]) -> str:
    return f"no such unit in the queue: {', '.join(unknown)}; `cmem queue list` shows them"


def _end(choice: Choice) -> int:
    if not choice.unknown:
        return 0
    boundary.complain(_no_such(choice.unknown))
    return 1


def _ask(choice: Choice, *, named: bool) -> None:
    """Let a person decide; CmemError for a no. Where nobody can be asked, units named by id
    go as the caller said, and ``--all`` needs ``--yes``."""
    if not asking.person():
        if named:
            return
        raise CmemError(f"nothing was dropped: that would be {_told(choice)}; add --yes to do it")
    if not asking.agrees(f"Give up: {_told(choice)}. Go on?"):
        raise CmemError("nothing was dropped")


# --- the store -----------------------------------------------------------------------


@contextmanager
def _reader() -> Iterator[apsw.Connection]:
    conn = place.store()
    if conn is None:
        raise CmemError("no memories yet, so nothing waits")
    try:
        yield conn
    finally:
        conn.close()


@contextmanager
def _writer() -> Iterator[apsw.Connection]:
    """The store for writing, where there is one: a compress may be trying one of the units."""
    with _reader():
        pass
    with writer(take_in=False) as conn:
        yield conn


# --- output --------------------------------------------------------------------------


def _document(one: Unit) -> dict[str, Any]:
    return one._asdict() | {"session": f"N{one.session}", "title": _title(one.title)}


def _line(one: Unit) -> Line:
    tries = counted(one.attempts, "attempt")
    line = [
        (f"{one.id:<4} ", "yellow"),
        (f"{one.kind:<7}  ", ""),
        (f"{one.state:<7}", STYLES[one.state]),
        (f"  N{one.session}  {clean(one.project, one_line=True)}  {tries}", ""),
        (f"  {output.when(one.since)}  ", "dim"),
        (_title(one.title) or "without a prompt", "bold"),
    ]
    if one.reason:
        line.append((f"  ({clean(one.reason, one_line=True)})", "red"))
    return line


def _title(text: str) -> str:
    line = clean(text, one_line=True)
    return line if len(line) <= TITLE_MAX else line[: TITLE_MAX - 1].rstrip() + "…"


def _told(choice: Choice) -> str:
    if not choice.ids:
        return "nothing"
    number = len(choice.ids)
    return f"{counted(number, 'unit')} ({' '.join(map(str, choice.ids))})"


def _say(text: str) -> None:
    output.write_lines([output.plain(text)])
