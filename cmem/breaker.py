"""When to leave a provider alone, and for how long: after its failures, and at the end of a
day's budget. Decisions from values to values; the two rows they are kept in are ``store.pause``.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cmem.budget import Limits
    from cmem.settings import Settings
    from cmem.store.pause import Pause

FIRST_PAUSE_MS = 10_000
LONGEST_PAUSE_MS = 3_600_000
LONGEST_DAY_MS = 25 * 3_600_000
# After so many failures at one unit another is asked in its place.
PROBE_AFTER = 3
MOST_PROBED = 20


class Doubt(NamedTuple):
    """Which unit failed again and again, how often, and those that failed in its place."""

    unit: int
    times: int
    probed: tuple[int, ...]


def next_step(current: Pause | None, fingerprint: str) -> int:
    """The step of the next pause: one more than the last one of the same settings, else 0."""
    if current is None or current.fingerprint != fingerprint:
        return 0
    return current.step + 1


def doubt(current: Pause | None, fingerprint: str, unit_id: int, *, suspect: int) -> Doubt:
    """What is held against whom after one more failure. ``suspect``: the unit in whose place this
    one was asked, 0 for none."""
    if current is None or current.fingerprint != fingerprint:
        return Doubt(unit_id, 1, ())
    if suspect:
        return Doubt(suspect, current.times, (*current.probed, unit_id)[-MOST_PROBED:])
    if current.unit == unit_id:
        return Doubt(unit_id, current.times + 1, current.probed)
    return Doubt(unit_id, 1, ())


def is_probe_due(current: Pause) -> bool:
    """Is it time to ask another unit in place of the suspect? The more of them have failed too,
    the less it is the unit, and the rarer it becomes: the oldest comes first in an outage."""
    return current.times >= PROBE_AFTER << len(current.probed)


def pause_ms(step: int, retry_after_s: float | None) -> int:
    """How long to leave a provider alone: 10 s doubled each time, one hour at most; what the
    provider itself asks for wins, within the same hour."""
    if retry_after_s is not None and retry_after_s > 0:
        return min(int(retry_after_s * 1000), LONGEST_PAUSE_MS)
    return min(FIRST_PAUSE_MS << min(step, 20), LONGEST_PAUSE_MS)


def holds(current: Pause | None, *, fingerprint: str, now: int) -> bool:
    """Does a pause still hold? Not for other settings than it was armed under, not past its
    time, and not more than an hour ahead of now (then the clock has jumped)."""
    if current is None or current.fingerprint != fingerprint:
        return False
    return now < current.until <= now + LONGEST_PAUSE_MS


def fingerprint(settings: Settings) -> str:
    """What a pause is bound to: a changed key, model, endpoint or program is a new start. One
    way, so that no part of the key can be read back from the store."""
    parts = [settings.provider, settings.model, settings.base_url, settings.api_key]
    parts += [settings.headers, settings.proxy, settings.ca_file]
    parts += [settings.claude_path, settings.claude_config_dir, settings.command]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def origin(base_url: str, api_key: str) -> str:
    """What a batch is bound to: who has it, and for whom. One way, like the above."""
    return hashlib.sha256(f"{base_url}\0{api_key}".encode()).hexdigest()[:16]


def budget_key(limits: Limits) -> str:
    """What a budget's pause is bound to: another budget is a new start."""
    return f"{limits.microusd} {limits.tokens}"


def budget_holds(current: Pause | None, *, limits: Limits, now: int) -> bool:
    """Is the day's budget still used up, as far as the last run found?"""
    if current is None or current.fingerprint != budget_key(limits):
        return False
    return now < current.until <= now + LONGEST_DAY_MS
