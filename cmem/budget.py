"""Daily budgets: what calls of a model may take on one local day.

Asked before each call with an estimate of it, so that a day ends below its budget, or above it
by what one call took more than was expected. The first call of a day is always made, however
small the budget is: else a turn larger than a whole day's budget would wait for ever. Nothing
is dropped; what is not observed today waits.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from cmem.errors import UsageError
from cmem.store.ledger import Expected, Spent

LIFT = "`cmem compress --budget none` goes on now"
UNITS = {"k": 1_000, "m": 1_000_000}


class Limits(NamedTuple):
    """What a day may take, in micro-dollars and in tokens; 0 is no limit."""

    microusd: int
    tokens: int


NO_LIMITS = Limits(0, 0)


def limits(daily_usd: float, daily_tokens: int) -> Limits:
    """The budget the settings name. One of less than a micro-dollar is one of a micro-dollar."""
    microusd = round(daily_usd * 1_000_000)
    return Limits(max(microusd, 1) if daily_usd else 0, daily_tokens)


def day(now: int) -> tuple[int, int]:
    """The local day of ``now``: when it began and when the next one does, in ms; ``now`` is in it.
    The clock on the wall counts, so that a day can have 23 or 25 hours, and that of two midnights,
    where the clock goes back over one, begins at the first."""
    local = time.localtime(now / 1000)
    return min(_midnight(local, 0), now), max(_midnight(local, 1), now + 1)


class Whose(NamedTuple):
    """What a budget is of, in words. ``strict``: its first call is held against it too."""

    name: str
    within: str
    strict: bool


DAY = Whose("daily budget", "today", strict=False)
RUN = Whose("this run's budget", "by it", strict=True)


def refusal(
    allowed: Limits, spent: Spent, expected: Expected, *, planned: int = 0, whose: Whose = DAY
) -> str:
    """Why the call may not be made; "" when it may. ``planned``: how many of the calls in
    ``spent`` are not made yet."""
    if not spent.tokens and not whose.strict:
        return ""
    # Tokens of a model without a price cost an unknown sum, which no budget of money can hold.
    if allowed.microusd and spent.microusd + (expected.microusd or 0) > allowed.microusd:
        is_full = dollars(spent.microusd) == dollars(allowed.microusd)
        is_full = is_full or spent.microusd > allowed.microusd
        used = f"{dollars(spent.microusd)} spent {whose.within}"
        what = f"{whose.name} of {dollars(allowed.microusd)}"
        return _full(what, used, is_full=is_full, planned=planned)
    if allowed.tokens and spent.tokens + expected.input_tokens + expected.output_tokens > (
        allowed.tokens
    ):
        is_full = spent.tokens >= allowed.tokens
        used = f"{spent.tokens:,} used {whose.within}"
        what = f"{whose.name} of {allowed.tokens:,} tokens"
        return _full(what, used, is_full=is_full, planned=planned)
    return ""


def _full(what: str, used: str, *, is_full: bool, planned: int) -> str:
    told = f"{used}, {planned} planned calls among it" if planned else used
    if is_full and not planned:
        return f"{what} reached ({told})"
    return f"{what} leaves no room for the next call ({told})"


def with_call(spent: Spent, expected: Expected) -> Spent:
    """What is spent when this call is made too."""
    return Spent(
        spent.calls + 1,
        spent.tokens + expected.input_tokens + expected.output_tokens,
        spent.microusd + (expected.microusd or 0),
        spent.unpriced + (expected.microusd is None),
    )


def most_calls(count: int) -> str:
    """Why a run ends that was allowed so many calls."""
    return f"at most {count} {'call' if count == 1 else 'calls'} in one run"


def parse(text: str) -> Limits:
    """What ``--budget`` says: ``2.50`` dollars, ``500k`` or ``3M`` tokens, or ``none``.

    Raises UsageError for anything else."""
    said = text.strip().lower()
    if said == "none":
        return NO_LIMITS
    number = said.removeprefix("$").removesuffix("tokens").strip()
    unit = number[-1:] if number[-1:] in UNITS else ""
    value = _number(number.removesuffix(unit))
    is_money = not unit and not said.endswith("tokens")
    if value == 0:
        raise UsageError(
            f"--budget {text!r} would ask nobody: give dollars (2.50), tokens (500k, 3M), or none "
            "for no bound; --dry-run tells the price"
        )
    if value is None or (said.startswith("$") and not is_money):
        raise UsageError(
            f"cannot read --budget {text!r}: give dollars (2.50), tokens (500k, 3M) or none"
        )
    if is_money:
        return limits(value, 0)
    return Limits(0, max(round(value * UNITS.get(unit, 1)), 1))


def dollars(microusd: int) -> str:
    """Money for people: cents, and more places where it is less than ten of them."""
    places = 2 if microusd >= 100_000 or not microusd else 4 if microusd >= 1_000 else 6
    return f"${microusd / 1_000_000:.{places}f}"


def _number(text: str) -> float | None:
    whole, _, rest = text.partition(".")
    return float(text) if text.isascii() and (whole + rest).isdigit() and len(text) < 16 else None


def _midnight(local: time.struct_time, days: int) -> int:
    """The first moment of the day so many days later."""
    usual = _moment(local, days, -1)
    named = time.localtime(usual)[:3]
    found = [_moment(local, days, summer) for summer in (0, 1)]
    return min([usual, *(one for one in found if time.localtime(one)[:3] == named)]) * 1000


def _moment(local: time.struct_time, days: int, summer: int) -> int:
    day = (local.tm_year, local.tm_mon, local.tm_mday + days)
    return int(time.mktime((*day, 0, 0, 0, 0, 0, summer)))
