"""Revisions: which of two decisions is the later one, the same answer on every machine.

A hybrid logical clock. A revision is the wall clock's time, but never less than the newest that
this machine has seen, so that whoever decides after having seen another decision is later than
it, however wrong the clocks are. Only where two decide without having seen each other do the
clocks choose, and where they agree too, the name of the machine.
"""

from __future__ import annotations

import re

_REV = re.compile("[0-9a-f]{11}[0-9a-f]{5}-[0-9a-f]{8}")
_MOST = 0xFFFFF
# A revision further ahead than this is nobody's: it could never be outdone.
AHEAD_MS = 10 * 366 * 86_400_000


class Clock:
    """The clock of one machine. ``newest``: the newest time seen, without the machine."""

    def __init__(self, machine: str, newest: str = "") -> None:
        self.machine, self.newest = machine, newest

    def first(self, at: int) -> str:
        """The revision of what no machine has told yet: as old as the thing itself."""
        return self._rev(f"{_clip(at):011x}00000")

    def tick(self, at: int) -> str:
        """The revision of a decision of the time ``at``: later than all that was seen."""
        time = f"{_clip(at):011x}00000"
        if self.newest and time <= self.newest:
            time = _next(self.newest)
        self.newest = time
        return self._rev(time)

    def see(self, rev: str) -> None:
        """Another machine's revision was read."""
        self.newest = max(self.newest, rev[:16])

    @property
    def newest_ms(self) -> int:
        """The newest wall clock time seen."""
        return int(self.newest[:11], 16) if self.newest else 0

    def _rev(self, time: str) -> str:
        return f"{time}-{self.machine}"


def is_sound(rev: object, *, now: int) -> bool:
    """Whether this is a revision, and not of a time that never comes."""
    if not isinstance(rev, str) or not _REV.fullmatch(rev):
        return False
    return int(rev[:11], 16) <= now + AHEAD_MS


def _clip(at: int) -> int:
    return min(max(at, 0), 2**43)


def _next(time: str) -> str:
    ms, count = int(time[:11], 16), int(time[11:], 16)
    return f"{ms:011x}{count + 1:05x}" if count < _MOST else f"{ms + 1:011x}00000"
