"""``--since`` and ``--until``: instants, whole local days, and the words people use.

A moment of the past is named by a span: an instant, a day, a week. ``since`` takes where the
span begins, ``until`` where it ends; so both ends are included.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from cmem.errors import UsageError

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_AGO = re.compile(r"(\d{1,5}) ?(h|d|w|hours?|days?|weeks?)(?: ago)?")
_UNIT_HOURS = {"h": 1, "d": 24, "w": 168}
_MONTH = re.compile(r"(\d{4})-(\d\d)")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")

Span = tuple[datetime, datetime]


def parse_range(since: str | None, until: str | None, now: int) -> tuple[int | None, int | None]:
    """Both ends in ms, the second one excluded; UsageError when they are the wrong way round."""
    first = None if since is None else parse_since(since, now)
    last = None if until is None else parse_until(until, now)
    if first is not None and last is not None and first >= last:
        raise UsageError(f"the range is empty: --since {since} is after --until {until}")
    return first, last


def parse_since(text: str, now: int) -> int:
    """The first millisecond that counts."""
    return _milliseconds(_span(text, now, "--since")[0])


def parse_until(text: str, now: int) -> int:
    """The first millisecond that does not count any more."""
    return _milliseconds(_span(text, now, "--until")[1])


def _span(text: str, now: int, option: str) -> Span:
    said = " ".join(text.lower().split())
    present = datetime.fromtimestamp(now / 1000).replace(microsecond=0)  # noqa: DTZ006 - local days are meant
    try:
        span = _named(said, present) or _ago(said, present) or _written(said, text.strip())
        if span:
            _milliseconds(span[0]), _milliseconds(span[1])
            return span
    except (ValueError, OverflowError, OSError):
        pass  # no such day, or none that a clock could show
    raise UsageError(
        f"cannot read {option} {text!r}: give a date (2026-11-30), an instant "
        "(2026-11-30T14:00), a day (yesterday, monday, last week) or an age (7d, 12h, 2w)"
    )


def _named(said: str, present: datetime) -> Span | None:
    today = present.replace(hour=0, minute=0, second=0)
    week = today - timedelta(days=today.weekday())
    month = today.replace(day=1)
    last_month = (month - timedelta(days=1)).replace(day=1)
    named = {
        # Not by the clock on the wall, which shows an hour of autumn twice.
        "now": (present, datetime.fromtimestamp(present.timestamp() + 1)),  # noqa: DTZ006
        "today": _days(today, 1),
        "yesterday": _days(today - timedelta(days=1), 1),
        "this week": _days(week, 7),
        "last week": _days(week - timedelta(days=7), 7),
        "this month": (month, _next_month(month)),
        "last month": (last_month, month),
    }
    weekday = said.removeprefix("last ")
    names = [day for day in _DAYS if weekday in (day, day[:3])]
    if names:
        back = (today.weekday() - _DAYS.index(names[0])) % 7
        if weekday != said and back == 0:
            back = 7
        return _days(today - timedelta(days=back), 1)
    return named.get(said)


def _ago(said: str, present: datetime) -> Span | None:
    found = _AGO.fullmatch(said)
    if not found:
        return None
    hours = int(found[1]) * _UNIT_HOURS[found[2][0]]
    then = datetime.fromtimestamp(present.timestamp() - hours * 3600)  # noqa: DTZ006 - as above
    return then, then


def _written(said: str, text: str) -> Span | None:
    month = _MONTH.fullmatch(said)
    if month:
        first = datetime(int(month[1]), int(month[2]), 1)  # noqa: DTZ001 - as above
        return first, _next_month(first)
    if _DATE.fullmatch(said):
        return _days(datetime.fromisoformat(said), 1)
    if "t" not in said and ":" not in said:
        return None
    instant = datetime.fromisoformat(text.upper())
    return instant, instant + timedelta(milliseconds=1)


def _days(first: datetime, count: int) -> Span:
    """Whole local days: the wall clock counts, so a day of 23 or 25 hours is one day."""
    return first, first + timedelta(days=count)


def _next_month(first: datetime) -> datetime:
    return (first + timedelta(days=32)).replace(day=1)


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
