"""What calls took and what came of them, summed up from the ledger. Pure.

Only rows with a call count: what ``extract`` makes costs nothing and would flatter the figures
per observation. Calls without a price are charged by the list of today, if that has one.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cmem.errors import UsageError
from cmem.model import Usage
from cmem.observer import prices
from cmem.observer.errors import NO_USAGE, ProviderError, UnusableReply
from cmem.observer.prices import PriceList
from cmem.store.ledger import BATCHED, INTERRUPTED, STARTED, Call, Expected

BY = ("day", "project", "model", "provider")
GOOD = ("done", "skipped")


class Sum(NamedTuple):
    """``input_tokens`` are all that went in, ``cached_tokens`` those of them read from the
    provider's cache. ``unpriced`` and ``estimated``: calls of unknown price, and calls that
    were cut off, whose figures are their estimate; ``batched``: those in a batch, of which the same
    is true until it comes back; ``failed``: those that gave nothing."""

    name: str
    calls: int
    failed: int
    estimated: int
    batched: int
    unpriced: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    microusd: int
    observations: int
    facts: int

    @property
    def cached_share(self) -> float | None:
        return _per(self.cached_tokens, self.input_tokens)

    @property
    def tokens_per_observation(self) -> float | None:
        return _per(self.input_tokens + self.output_tokens, self.observations)

    @property
    def tokens_per_fact(self) -> float | None:
        return _per(self.input_tokens + self.output_tokens, self.facts)


def sums(calls: Iterable[Call], by: str, known: PriceList) -> list[Sum]:
    """A sum for each day, project, model or provider: days in their order, others by cost."""
    if by not in BY:
        raise UsageError(f"cannot show cost by {by!r}; known: {', '.join(BY)}")
    groups: dict[str, list[Call]] = {}
    for call in calls:
        if call.calls:
            groups.setdefault(_name(call, by), []).append(call)
    found = [total(group, known, name=name) for name, group in groups.items()]
    if by == "day":
        return sorted(found)
    return sorted(found, key=lambda one: (-one.microusd, -one.input_tokens, one.name))


def total(calls: Sequence[Call], known: PriceList, *, name: str = "total") -> Sum:
    """The sum of the calls."""
    asked = [call for call in calls if call.calls]
    charged = [charge(call, known) for call in asked]
    return Sum(
        name=name,
        calls=sum(call.calls for call in asked),
        failed=sum(call.calls for call in asked if call.outcome not in (*GOOD, *_OPEN, BATCHED)),
        estimated=sum(call.calls for call in asked if call.outcome in _OPEN),
        batched=sum(call.calls for call in asked if call.outcome == BATCHED),
        unpriced=sum(call.calls for call, one in zip(asked, charged, strict=True) if one is None),
        input_tokens=sum(_went_in(call) for call in asked),
        cached_tokens=sum(call.cache_read_tokens for call in asked),
        output_tokens=sum(call.output_tokens for call in asked),
        microusd=sum(one or 0 for one in charged),
        observations=sum(call.observations for call in asked),
        facts=sum(call.facts for call in asked),
    )


def charge(call: Call, known: PriceList) -> int | None:
    """What the call cost, as it was written down or else by the list."""
    if call.microusd is not None:
        return call.microusd
    tokens = (call.input_tokens, call.output_tokens)
    usage = Usage(*tokens, call.cache_read_tokens, call.cache_write_tokens, 0.0)
    return prices.charge(usage, call.model, known)


def of_failure(
    error: ProviderError | UnusableReply, expected: Expected | None, known: PriceList
) -> tuple[Usage, int | None]:
    """What a call took that gave nothing: as it was told, else by the estimate where it may have
    been answered, else nothing."""
    if any(error.usage[:4]) or error.usage.cost_usd:
        model = "" if expected is None else expected.model
        return error.usage, prices.charge(error.usage, model, known)
    if error.served and expected is not None:
        usage = NO_USAGE._replace(
            input_tokens=expected.input_tokens, output_tokens=expected.output_tokens
        )
        return usage, expected.microusd
    return NO_USAGE, 0


def unpriced_models(calls: Iterable[Call], known: PriceList) -> list[str]:
    """The models whose calls have no known price."""
    return sorted({call.model for call in calls if call.calls and charge(call, known) is None})


def free_observations(calls: Iterable[Call]) -> int:
    """What was observed without asking a model."""
    return sum(call.observations for call in calls if not call.calls)


_OPEN = (INTERRUPTED, STARTED)


def _name(call: Call, by: str) -> str:
    if by == "day":
        return time.strftime("%Y-%m-%d", time.localtime(call.started_at / 1000))
    names = {"project": call.project, "model": call.model, "provider": call.provider}
    return names[by] or "(not told)"


def _went_in(call: Call) -> int:
    return call.input_tokens + call.cache_read_tokens + call.cache_write_tokens


def _per(amount: int, count: int) -> float | None:
    return amount / count if count else None
