"""What a check has to say: a level, the name of the link, what was seen, what to do."""

from __future__ import annotations

from typing import NamedTuple

from cmem.plural import counted

OK = "ok"
WARN = "warn"
ERROR = "error"


class Finding(NamedTuple):
    """``level``: ok | warn (works, but look at it) | error (memory does not work).
    ``fix`` is "" where nothing is to be done."""

    level: str
    name: str
    detail: str
    fix: str = ""


def healthy(findings: list[Finding]) -> bool:
    """No link is broken; warnings do not count."""
    return all(one.level != ERROR for one in findings)


def age(ms: int) -> str:
    """A duration in its largest whole unit."""
    for name, size in (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000)):
        if ms >= size:
            return counted(ms // size, name)
    return "less than a minute"
