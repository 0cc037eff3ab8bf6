"""What is to run and when: the same for every scheduler.

The command is the launcher's own way to compress, so that a schedule needs no PATH, no
variables and no working directory, and takes nothing from them. It ends with 0 when another
run is at work. What it did it writes to ``compress.log`` in the data home, and rotates that.
"""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

from cmem import launcher, paths
from cmem.errors import CmemError, UsageError

EVERY = re.compile(r"(\d{1,4}) ?(m|min|minutes?|h|hours?|d|days?)")
AT = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
MINUTES = {"m": 1, "h": 60, "d": 1440}
SHORTEST, LONGEST = 1, 1440


class When(NamedTuple):
    """Every so many minutes, or (``every`` 0) once a day at this local time."""

    every: int
    hour: int
    minute: int

    @property
    def words(self) -> str:
        if not self.every:
            return f"at {self.clock}"
        return "every minute" if self.every == 1 else f"every {self.every} minutes"

    @property
    def clock(self) -> str:
        return f"{self.hour:02}:{self.minute:02}"


WORDS = re.compile(r"every (\d{1,4}) minutes|at (\d\d:\d\d)")


def read(text: str) -> When | None:
    """The time a schedule's text tells in words; None where it tells none."""
    found = WORDS.search(text)
    if not found:
        return None
    return When(int(found[1]), 0, 0) if found[1] else parse(None, found[2])


class Job(NamedTuple):
    """``name`` is the home's own, so that two homes have two schedules."""

    name: str
    home: str
    argv: tuple[str, ...]
    when: When


def job(home: str, when: When) -> Job:
    """The job of a data home. Raises CmemError for a path no scheduler could hold."""
    argv = (launcher.interpreter(), "-I", "-S", paths.launcher(home), "--compress", home)
    for word in argv:
        if not word.isprintable():
            raise CmemError(f"cannot schedule {word!r}: there is a control character in the path")
    return Job(name(home), home, argv, when)


def name(home: str) -> str:
    """The schedule's name: cmem's, and the home's."""
    return f"cmem-compress-{hashlib.sha256(home.encode('utf-8', 'replace')).hexdigest()[:8]}"


def parse(every: str | None, at: str | None) -> When:
    """``--every 15m`` or ``--at 03:00``; UsageError for anything else, or for both."""
    if every is not None and at is not None:
        raise UsageError("give --every or --at, not both")
    if at is not None:
        found = AT.fullmatch(at.strip())
        if not found or not at.isascii():
            raise UsageError(f"cannot read --at {at!r}: give a time of day such as 03:00")
        return When(0, int(found[1]), int(found[2]))
    said = "15m" if every is None else " ".join(every.lower().split())
    found = EVERY.fullmatch(said) if said.isascii() else None
    minutes = int(found[1]) * MINUTES[found[2][0]] if found else 0
    if not SHORTEST <= minutes <= LONGEST:
        raise UsageError(f"cannot read --every {every!r}: give 1m to 24h, such as 15m or 2h")
    return When(minutes, 0, 0)
