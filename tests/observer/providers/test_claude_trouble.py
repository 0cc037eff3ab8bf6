"""When a limit is lifted, as Claude Code tells it."""

from __future__ import annotations

import pytest

from cmem.observer.providers.claude_trouble import of_limit, reset_s

# 2026-11-30 14:00 UTC, a Monday; Berlin is an hour ahead.
NOW = 1_796_047_200.0
HOUR = 3600.0

RESETS: list[tuple[str, float | None]] = [
    (f"Claude AI usage limit reached|{int(NOW) + 900}", 900.0),
    (f"Claude AI usage limit reached|{int(NOW) - 900}", 1.0),
    ("You've hit your limit · resets 3pm (UTC)", HOUR),
    ("You've hit your limit · resets 3:30pm (Europe/Berlin)", HOUR / 2),
    ("5-hour limit reached ∙ resets 2am (UTC)", 12 * HOUR),
    ("limit reached, resets at 15:30 (UTC)", 1.5 * HOUR),
    ("weekly limit · resets Dec 1 at 2pm (UTC)", 24 * HOUR),
    ("weekly limit · resets Dec 1, 2pm (UTC)", 24 * HOUR),
    ("weekly limit · resets Jan 1, 2pm (UTC)", 32 * 24 * HOUR),
    ("resets 12am (UTC)", 10 * HOUR),
    ("resets 12pm (UTC)", 22 * HOUR),
    ("resets Feb 31 at 2pm (UTC)", None),
    ("resets 99:99", None),
    ("resets soon", None),
    ("You've hit your weekly limit", None),
]


@pytest.mark.parametrize(("said", "seconds"), RESETS)
def test_when_a_limit_is_lifted(said: str, seconds: float | None) -> None:
    assert reset_s(said, now=NOW) == seconds


def test_an_unknown_zone_is_this_machines_own() -> None:
    assert reset_s("resets 3pm (Nowhere/Land)", now=NOW) == reset_s("resets 3pm", now=NOW)


def test_only_a_sentence_of_its_own_is_a_limit() -> None:
    found = of_limit("Claude AI usage limit reached|1796048100\n", now=NOW)
    assert found is not None and (found.kind, found.retry_after_s) == ("quota", 900.0)
    assert of_limit("<title>usage limit reached</title>", now=NOW) is None
    assert of_limit("usage limit reached " * 30, now=NOW) is None
    assert of_limit("All is well.", now=NOW) is None
