from __future__ import annotations

import time
from datetime import datetime

import pytest

from cmem.errors import UsageError
from cmem.search import when

# A Wednesday, 15:04:05 in Berlin.
NOW = 1_780_491_845_000


@pytest.fixture(autouse=True)
def berlin(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


# text: first moment, first moment after
SPANS = {
    "2026-06-01": ("2026-06-01", "2026-06-02"),
    "2026-05": ("2026-05-01", "2026-06-01"),
    "2026-12": ("2026-12-01", "2027-01-01"),
    "2026-03-29": ("2026-03-29T00:00", "2026-03-30T00:00"),  # a day of 23 hours
    "today": ("2026-06-03", "2026-06-04"),
    "Yesterday": ("2026-06-02", "2026-06-03"),
    "wednesday": ("2026-06-03", "2026-06-04"),
    "last wednesday": ("2026-05-27", "2026-05-28"),
    "monday": ("2026-06-01", "2026-06-02"),
    "thu": ("2026-05-28", "2026-05-29"),
    "last sunday": ("2026-05-31", "2026-06-01"),
    "this week": ("2026-06-01", "2026-06-08"),
    "last  week": ("2026-05-25", "2026-06-01"),
    "this month": ("2026-06-01", "2026-07-01"),
    "last month": ("2026-05-01", "2026-06-01"),
    "7d": ("2026-05-27T15:04:05", "2026-05-27T15:04:05"),
    "12h": ("2026-06-03T03:04:05", "2026-06-03T03:04:05"),
    "2w": ("2026-05-20T15:04:05", "2026-05-20T15:04:05"),
    "3 days ago": ("2026-05-31T15:04:05", "2026-05-31T15:04:05"),
    "now": ("2026-06-03T15:04:05", "2026-06-03T15:04:06"),
    "2026-06-01T10:00": ("2026-06-01T10:00", "2026-06-01T10:00:00.001"),
    "2026-06-01 10:00:30": ("2026-06-01T10:00:30", "2026-06-01T10:00:30.001"),
    "2026-06-01T08:00:00Z": ("2026-06-01T10:00", "2026-06-01T10:00:00.001"),
    "2026-06-01T10:00:00.250+02:00": ("2026-06-01T10:00:00.250", "2026-06-01T10:00:00.251"),
}


@pytest.mark.parametrize(("text", "span"), SPANS.items(), ids=SPANS)
def test_span(text, span):
    found = (when.parse_since(text, NOW), when.parse_until(text, NOW))
    assert found == (ms(span[0]), ms(span[1]))


@pytest.mark.parametrize(
    "text",
    ["", "soon", "2026-13-01", "2026-02-30", "2026", "7x", "d", "999999w", "last", "10:00", "²d"],
)
def test_bad_moment_is_a_usage_error_that_says_what_to_give(text):
    with pytest.raises(UsageError) as error:
        when.parse_since(text, NOW)
    assert str(error.value) == (
        f"cannot read --since {text!r}: give a date (2026-11-30), an instant "
        "(2026-11-30T14:00), a day (yesterday, monday, last week) or an age (7d, 12h, 2w)"
    )


def test_range_of_one_day_is_that_day():
    found = when.parse_range("2026-06-01", "2026-06-01", NOW)
    assert found == (ms("2026-06-01"), ms("2026-06-02"))


def test_now_is_now_in_the_hour_of_autumn_that_comes_twice():
    later = ms("2026-10-25T02:30:00+01:00")
    assert when.parse_range("now", "now", later) == (later, later + 1000)
    assert when.parse_range("12h", "now", later) == (later - 12 * 3_600_000, later + 1000)


def test_open_ends_are_open():
    assert when.parse_range(None, None, NOW) == (None, None)


def test_reversed_range_is_a_usage_error():
    with pytest.raises(UsageError, match="--since 2d is after --until last week"):
        when.parse_range("2d", "last week", NOW)
