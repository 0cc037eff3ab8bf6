"""How long a provider in trouble is left alone."""

from __future__ import annotations

import pytest

from cmem import breaker
from cmem.store.pause import Pause

HOUR = 3_600_000


@pytest.mark.parametrize(
    ("step", "retry_after_s", "seconds"),
    [
        (0, None, 10),
        (1, None, 20),
        (8, None, 2560),
        (9, None, 3600),
        (10**6, None, 3600),
        (0, 0.0, 10),
        (0, -5.0, 10),
        (0, 90.0, 90),
        (9, 1.5, 1.5),
        (0, 86_400.0, 3600),
    ],
)
def test_a_pause_doubles_up_to_an_hour_and_obeys_the_provider(
    step: int, retry_after_s: float | None, seconds: float
) -> None:
    assert breaker.pause_ms(step, retry_after_s) == seconds * 1000


def test_steps_count_on_for_the_same_settings_only() -> None:
    assert breaker.next_step(None, "mine") == 0
    assert breaker.next_step(Pause("", 5, 3, "mine"), "mine") == 4
    assert breaker.next_step(Pause("", 5, 3, "other"), "mine") == 0


@pytest.mark.parametrize(
    ("until", "holds"), [(1, True), (0, False), (-1, False), (HOUR, True), (HOUR + 1, False)]
)
def test_a_pause_holds_until_its_end_unless_the_clock_has_jumped(until: int, holds: bool) -> None:
    paused = Pause("overload", 10**12 + until, 0, "mine")
    assert breaker.holds(paused, fingerprint="mine", now=10**12) is holds
    assert not breaker.holds(paused, fingerprint="other", now=10**12)
