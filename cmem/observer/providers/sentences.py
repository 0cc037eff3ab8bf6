"""What services say in prose where a reply should stand: that a limit is reached, that a login is
wanted. It comes with a good status and a good exit code, whoever is asked. Pure.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cmem.model import Usage
from cmem.observer.errors import NO_USAGE, ProviderError, told

LOGIN = re.compile(
    r"not logged in|please run /login|invalid api key|oauth token (?:has )?(?:expired|revoked)"
    r"|authentication_error|login expired|invalid bearer token",
    re.I,
)
LIMIT = re.compile(
    r"(?:usage|weekly|session|opus|sonnet|5-hour|five-hour|spending|monthly) limit"
    r"|(?:hit|reached) your [\w -]{0,20}limit|limit reached|out of (?:extra )?usage"
    r"|credit balance is too low|exceeded your|quota",
    re.I,
)
STAMP = re.compile(r"\|\s*(\d{10})\b")
CLOCK = re.compile(
    r"resets?(?: at| on)?\s+(?:(?P<month>[A-Z][a-z]{2})[a-z]* (?P<day>\d{1,2})(?:,| at)* )?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s*(?P<half>[ap]m)?(?:\s*\((?P<zone>[\w/+-]{1,40})\))?",
    re.I,
)
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
# It is a sentence of its own; a reply that tells of one is longer and has markup.
SENTENCE = 300
CHECK = "check the key or login of the provider"


def of_trouble(said: str, *, now: float, usage: Usage = NO_USAGE) -> ProviderError | None:
    """The provider's trouble, where a text is nothing but the sentence about it."""
    text = said.strip()
    if _is_sentence(text) and LOGIN.search(text):
        return ProviderError("auth", f"{told(text)}; {CHECK}", usage=usage)
    return of_limit(text, now=now, usage=usage)


def of_limit(said: str, *, now: float, usage: Usage = NO_USAGE) -> ProviderError | None:
    """The limit of the user's plan, where a text is nothing but the sentence about it."""
    text = said.strip()
    if not _is_sentence(text) or not LIMIT.search(text):
        return None
    return ProviderError("quota", told(text), retry_after_s=reset_s(text, now=now), usage=usage)


def _is_sentence(text: str) -> bool:
    return len(text) <= SENTENCE and "<" not in text


def reset_s(said: str, *, now: float) -> float | None:
    """How long until the limit is lifted, as far as the sentence says: by a time stamp, or by
    an hour of the day, which is the next one of that name."""
    stamp = STAMP.search(said)
    if stamp:
        return max(1.0, int(stamp[1]) - now)
    clock = CLOCK.search(said)
    if clock is None:
        return None
    try:
        return _until(clock, now)
    except (ValueError, OverflowError, OSError):
        return None


def _until(clock: re.Match[str], now: float) -> float:
    zone = _zone(clock["zone"])
    here = datetime.fromtimestamp(now, UTC).astimezone(zone)
    hour = int(clock["hour"])
    if clock["half"]:
        hour = hour % 12 + (12 if clock["half"].lower() == "pm" else 0)
    then = here.replace(hour=hour, minute=int(clock["minute"] or 0), second=0, microsecond=0)
    if clock["month"]:
        month = MONTHS.index(clock["month"].lower()) + 1
        then = then.replace(month=month, day=int(clock["day"]))
        if then < here - timedelta(days=1):
            then = then.replace(year=then.year + 1)
    elif then <= here:
        then += timedelta(days=1)
    return max(1.0, (then - here).total_seconds())


def _zone(name: str | None) -> ZoneInfo | None:
    """The zone that is named; None is this machine's own."""
    try:
        return ZoneInfo(name) if name else None
    except (ValueError, OSError, KeyError):
        return None
