"""``cmem prune`` and ``cmem vacuum``: old raw payloads go, free pages are given back."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cmem import paths, settings
from cmem.cli import asking, output, place
from cmem.cli.writing import writer
from cmem.errors import CmemError, UsageError
from cmem.plural import counted
from cmem.store import maintain, retention

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from cmem.store.retention import Pruned

UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def run(values: Mapping[str, Any]) -> int:
    """Take out what is older than asked, or than the setting says."""
    days = _days(values["older"])
    by_age = values["older"] is not None
    conn = place.store()
    if conn is None:
        return _print(retention.Pruned(0, 0, complete=True), values, days=days)
    try:
        known = retention.is_there(conn)
        now = place.now_ms()
        due = retention.expired(conn, keep_days=days, now=now, by_age=by_age) if known else None
    finally:
        conn.close()
    if due is None:
        raise CmemError("the store is of an older cmem; run `cmem compress` once, then prune")
    if values["dry_run"] or not due.rows:
        return _print(due, values, days=days)
    if not values["yes"]:
        _ask(due, days)
    with writer(take_in=False) as conn:
        with _progress("pruning", due.rows) as progress:
            done = retention.prune(
                conn, keep_days=days, now=place.now_ms(), by_age=by_age, progress=progress
            )
        maintain.return_all_space(conn)
        maintain.truncate_wal(conn)
    return _print(done, values, days=days)


def run_vacuum(values: Mapping[str, Any]) -> int:
    """Give free pages back in slices, each a short transaction."""
    home = place.home()
    before = size_of(home)
    if before and not values["dry_run"]:
        with writer(take_in=False) as conn:
            total = maintain.free_pages(conn)
            with _progress("returning", total) as progress:
                maintain.return_all_space(conn, progress=progress)
            maintain.truncate_wal(conn)
        after, free = size_of(home), 0
    else:
        after, free = before, _free_bytes()
    if values["json"]:
        document = {"before": before, "after": after, "freed": before - after}
        output.write_json(document | {"free": free, "dry_run": bool(values["dry_run"])})
    elif values["dry_run"]:
        output.write_lines([output.plain(f"Would give back {amount(free)} of {amount(before)}.")])
    else:
        told = f"Gave back {amount(before - after)}; memory.db takes {amount(after)} now."
        output.write_lines([output.plain(told)])
    return 0


def size_of(home: str) -> int:
    """What the store takes on the disk, its log included."""
    base = paths.memory_db(home)
    return sum(os.path.getsize(p) for p in (base, base + "-wal") if os.path.exists(p))


def amount(count: int) -> str:
    """A number of bytes for a person."""
    size, unit = float(count), 0
    while size >= 1024 and unit < len(UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.1f} {UNITS[unit]}" if unit else f"{count} bytes"


def _free_bytes() -> int:
    conn = place.store()
    if conn is None:
        return 0
    try:
        return maintain.free_pages(conn) * int(conn.pragma("page_size"))
    finally:
        conn.close()


def _days(given: str | None) -> int:
    """How many days to keep: ``30d``, ``30``, or the setting."""
    if given is not None:
        word = given.strip().lower().removesuffix("d")
        if not (word.isascii() and word.isdigit() and 0 < int(word) < 100_000):
            raise UsageError(f"--older {given}: a number of days such as 30d")
        return int(word)
    env = settings.environment()
    trusted = settings.trusts_environment(env)
    chosen = settings.load(place.home(), env=env, flags={}, trusted_env=trusted)
    if chosen.keep_raw_days <= 0:
        raise CmemError("keep_raw_days is 0, so everything is kept; say --older 30d to prune")
    return chosen.keep_raw_days


def _ask(due: Pruned, days: int) -> None:
    told = f"input and output of {_old(due.rows, days)}"
    if not asking.person():
        raise CmemError(f"nothing was pruned: that would be {told}; add --yes to do it")
    if not asking.agrees(f"Remove for good: {told}. Go on?"):
        raise CmemError("nothing was pruned")


@contextmanager
def _progress(label: str, total: int) -> Iterator[Callable[[int], None] | None]:
    if total < 50 or not sys.stderr.isatty():
        yield None
        return
    from cmem.cli import terminal

    with terminal.progress(label, total) as advance:
        yield advance


def _print(done: Pruned, values: Mapping[str, Any], *, days: int) -> int:
    if values["json"]:
        output.write_json(
            {
                "tool_uses": done.rows,
                "bytes": done.bytes,
                "older_days": days,
                "dry_run": bool(values["dry_run"]),
            }
        )
        return 0
    verb = "Would remove" if values["dry_run"] else "Removed"
    text = f"{verb} input and output of {_old(done.rows, days)} ({amount(done.bytes)})."
    nothing = f"Nothing is older than {counted(days, 'day')}."
    output.write_lines([output.plain(text if done.rows else nothing)])
    return 0


def _old(rows: int, days: int) -> str:
    return f"{counted(rows, 'tool call')} older than {counted(days, 'day')}"
