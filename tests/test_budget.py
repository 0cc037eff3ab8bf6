"""Daily budgets: where a day ends, what is refused, how a budget is said."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from cmem import breaker, budget
from cmem.budget import Limits
from cmem.errors import UsageError
from cmem.store.ledger import Expected, Spent
from cmem.store.pause import Pause

HOUR = 3_600_000
CALL = Expected("anthropic", "m", 900, 100, 5_000)


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    def choose(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield choose
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def berlin(zone: Callable[[str], None]) -> None:
    zone("Europe/Berlin")


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(
    ("now", "began", "hours"),
    [
        (1_795_993_200_000, 1_795_993_200_000, 24),  # 2026-11-30T00:00 there
        (1_795_993_199_999, 1_795_906_800_000, 24),
        (1_774_774_800_000, 1_774_738_800_000, 23),  # the clock goes forward in March
        (1_792_922_400_000, 1_792_879_200_000, 25),  # and back in October
    ],
)
def test_a_day_is_what_the_clock_on_the_wall_says(now: int, began: int, hours: int) -> None:
    assert budget.day(now) == (began, began + hours * HOUR)


ZONES = (
    *("America/Havana", "Atlantic/Azores", "America/Sao_Paulo", "Africa/Cairo", "Europe/Dublin"),
    *("Australia/Lord_Howe", "Pacific/Apia", "America/St_Johns", "America/Santiago", "UTC"),
)


@pytest.mark.parametrize("name", ZONES)
def test_every_moment_is_in_its_day_and_days_follow_each_other(
    name: str, zone: Callable[[str], None]
) -> None:
    zone(name)
    half_hours = range(1_767_225_600_000, 1_798_761_600_000, HOUR // 2)  # those of 2026
    days = {budget.day(now): now for now in half_hours}
    assert all(began <= now < ends for (began, ends), now in days.items())
    assert len(days) in (365, 366)
    ends = [end for _, end in days]
    assert [began for began, _ in days][1:] == ends[:-1]


def test_the_clock_may_go_back_over_midnight(zone: Callable[[str], None]) -> None:
    zone("America/Havana")
    began = 1_793_505_600_000  # 2026-11-01T00:00 there, in summer time
    hours = (began, began + HOUR // 3, began + HOUR, began + 24 * HOUR)
    assert {budget.day(now) for now in hours} == {(began, began + 25 * HOUR)}


def spent(tokens: int, microusd: int) -> Spent:
    return Spent(1, tokens, microusd, 0)


@pytest.mark.parametrize(
    ("limits", "so_far", "expected", "said"),
    [
        (Limits(0, 0), spent(10**9, 10**9), CALL, ""),
        (Limits(1_000_000, 0), spent(1, 995_000), CALL, ""),
        (
            Limits(1_000_000, 0),
            spent(1, 995_001),
            CALL,
            "daily budget of $1.00 reached ($1.00 spent today)",
        ),
        (
            Limits(10_000, 0),
            spent(1, 9_000),
            CALL,
            "daily budget of $0.0100 leaves no room for the next call ($0.0090 spent today)",
        ),
        (Limits(0, 3_000), spent(2_000, 0), CALL, ""),
        (
            Limits(0, 3_000),
            spent(2_001, 0),
            CALL,
            "daily budget of 3,000 tokens leaves no room for the next call (2,001 used today)",
        ),
        (Limits(1, 1), spent(0, 0), CALL, ""),
        (Limits(1, 0), spent(5_000, 0), CALL._replace(microusd=None), ""),
    ],
    ids=[
        "no limit",
        "fits",
        "does not fit",
        "small money has four places",
        "tokens fit",
        "tokens do not fit",
        "the first call of a day is always made",
        "an unknown price is held by tokens only",
    ],
)
def test_a_call_is_refused_when_the_day_would_end_above_its_budget(
    limits: Limits, so_far: Spent, expected: Expected, said: str
) -> None:
    assert budget.refusal(limits, so_far, expected) == said


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("2.50", Limits(2_500_000, 0)),
        ("$3", Limits(3_000_000, 0)),
        (" 0.000001 ", Limits(1, 0)),
        ("0.0000001", Limits(1, 0)),
        ("500k", Limits(0, 500_000)),
        ("1.5M", Limits(0, 1_500_000)),
        ("800 tokens", Limits(0, 800)),
        ("2m tokens", Limits(0, 2_000_000)),
        ("none", Limits(0, 0)),
    ],
)
def test_a_budget_is_dollars_or_tokens_or_none(text: str, limits: Limits) -> None:
    assert budget.parse(text) == limits


@pytest.mark.parametrize(
    "text",
    ["", "much", "-1", "1e3", "$5k", "$5 tokens", "nan", "٣", "k", "."]
    + ["0", "0.00", "$0", "0k", "0 tokens"],  # who types that means nothing, and not all there is
)
def test_what_is_no_budget_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="give dollars"):
        budget.parse(text)


def test_a_budget_below_a_millionth_is_not_no_budget() -> None:
    assert budget.limits(1e-9, 7) == Limits(1, 7)
    assert budget.limits(0.0, 0) == Limits(0, 0)


def test_the_pause_of_a_budget_ends_with_the_day_and_with_another_budget() -> None:
    limits = Limits(1_000_000, 0)
    now = 1_795_993_200_000
    paused = Pause("daily budget", now + 3 * HOUR, 0, breaker.budget_key(limits))
    assert breaker.budget_holds(paused, limits=limits, now=now)
    assert not breaker.budget_holds(paused, limits=limits, now=now + 3 * HOUR)
    assert not breaker.budget_holds(paused, limits=limits, now=now - 23 * HOUR)
    assert not breaker.budget_holds(paused, limits=Limits(2_000_000, 0), now=now)
    assert not breaker.budget_holds(None, limits=limits, now=now)


def test_the_budget_of_a_run_holds_for_its_first_call_too() -> None:
    nothing = Spent(0, 0, 0, 0)
    assert budget.refusal(Limits(4_999, 0), nothing, CALL) == ""
    assert budget.refusal(Limits(5_000, 0), nothing, CALL, whose=budget.RUN) == ""
    assert budget.refusal(Limits(4_999, 0), nothing, CALL, whose=budget.RUN) == (
        "this run's budget of $0.0050 leaves no room for the next call ($0.00 spent by it)"
    )
    assert budget.refusal(Limits(0, 1_500), spent(1_000, 0), CALL, whose=budget.RUN) == (
        "this run's budget of 1,500 tokens leaves no room for the next call (1,000 used by it)"
    )
