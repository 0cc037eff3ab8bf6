"""Spool and spill directory: can they be used, what waits, what was lost."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from cmem import paths, spool_check
from cmem.context import health
from cmem.doctor import logs
from cmem.doctor.finding import ERROR, OK, WARN, Finding, age
from cmem.plural import counted

COMPRESS = "cmem compress"


class Lost(NamedTuple):
    """Events that did not get through: ``dropped`` could not be written at all, ``bad`` lie
    in spill/bad; ``spilled`` wait as files."""

    spilled: int = 0
    bad: int = 0
    dropped: int = 0


def check(home: str, *, now: int) -> list[Finding]:
    """Everything about events that are not in the store."""
    lost = look(home)
    return [judge(spool_check.look(home), lost, now=now), *judge_lost(lost, home=home)]


def judge(seen: spool_check.State | None, lost: Lost, *, now: int) -> Finding:
    """Whether the mailbox can be read, and whether anybody empties it."""
    if seen is None:
        return Finding(OK, "spool", f"no spool.db yet, {counted(lost.spilled, 'spilled event')}")
    if seen.trouble:
        detail = f"spool.db cannot be used: {seen.trouble}; hooks keep events as files meanwhile"
        newer = "this cmem knows" in seen.trouble
        return Finding(ERROR, "spool", detail, "upgrade cmem" if newer else COMPRESS)
    late = health.uncollected(waiting=seen.waiting, oldest_waiting=seen.oldest_at, now=now)
    if late:
        return Finding(ERROR, "spool", late.partition(": run")[0], COMPRESS)
    oldest = f", the oldest for {age(now - seen.oldest_at)}" if seen.oldest_at is not None else ""
    return Finding(OK, "spool", f"{counted(seen.waiting, 'event')} waiting{oldest}")


def look(home: str) -> Lost:
    """What lies beside the mailbox."""
    folder = paths.spill_dir(home)
    try:
        dropped = os.stat(paths.dropped_file(home)).st_size
    except OSError:
        dropped = 0
    spilled = [name for name in _names(folder) if name.endswith(".event")]
    return Lost(len(spilled), len(_names(folder + "/bad")), dropped)


def judge_lost(lost: Lost, *, home: str) -> Iterator[Finding]:
    """Events that took the second way, or none."""
    if lost.spilled:
        detail = f"{counted(lost.spilled, 'event')} waiting as files, because spool.db did not take"
        yield Finding(WARN, "spilled events", detail + " them", COMPRESS)
    if lost.bad:
        folder = paths.spill_dir(home) + "/bad"
        detail = f"{counted(lost.bad, 'event')} could not be read and lie in {folder}"
        yield Finding(WARN, "unreadable events", detail, f"look at them, then rm -r '{folder}'")
    if lost.dropped:
        file = paths.dropped_file(home)
        why = logs.why_dropped(home) or "see hook.log"
        detail = f"{counted(lost.dropped, 'event')} could not be kept at all: {why}"
        yield Finding(WARN, "dropped events", detail, f"rm '{file}' starts counting anew")
    if not any(lost):
        yield Finding(OK, "lost events", "none was dropped, none is unreadable")


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
