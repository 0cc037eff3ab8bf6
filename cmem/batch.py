"""Batches: units are given to the Messages API in one run and their results stored in a later one.

Exactly once, whatever is killed when. The batch with its units and calls is committed before it
is sent (``batch_send``); each result is stored in one transaction with the end of its unit
(``batch_collect``). What a kill (or a lost answer) between sending and noting the provider's id
leaves is a batch of which nobody knows whether it arrived: it is looked for among the provider's
newest batches by the names of its requests, and only when it is certainly not there do its units
wait again.

A batch belongs to the endpoint and the key it was sent with, and is looked for nowhere else.
Here is what both have in common, and what people are told.
"""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING

from cmem import breaker
from cmem.errors import ConfigError
from cmem.model import SummaryUnit, TurnUnit
from cmem.observer import modes, prompt
from cmem.observer.providers import anthropic
from cmem.store import batches

if TYPE_CHECKING:
    import apsw

    from cmem.observer.providers.anthropic_client import Anthropic
    from cmem.settings import Settings
    from cmem.store.batches import Waiting

# How much a provider's clock may differ, and how long a new batch may be missing from its list.
SLACK_MS = 600_000
Unit = TurnUnit | SummaryUnit
COLLECTS = "a later run collects the results"
TAKE_BACK = "`cmem queue retry` with their ids takes them back"


def half(microusd: int | None) -> int | None:
    """The price of a call in a batch."""
    return None if microusd is None else (microusd + 1) // 2


def taker(settings: Settings, *, wanted: bool) -> Anthropic | None:
    """Who takes batches, None where the provider does not. ConfigError when one is wanted."""
    if settings.provider == anthropic.NAME:
        return anthropic.settle(settings)
    if wanted:
        raise ConfigError(f"provider {settings.provider} takes no batches; --batch needs anthropic")
    return None


def origin(who: Anthropic | None) -> str:
    """What a batch is bound to; "" for a provider that takes none."""
    return "" if who is None else breaker.origin(who.base_url, who.api_key)


def request(unit: Unit) -> prompt.Request:
    mode = unit.mode or modes.load()
    if isinstance(unit, TurnUnit):
        return prompt.observation_request(unit, mode)
    return prompt.summary_request(unit, mode)


def digest(unit: Unit) -> str:
    """Of what a person may forget or make private, and of nothing else: another language, mode or
    name of the project makes no reply outdated that has been paid for."""
    hashed = hashlib.sha256()
    for text in _forgettable(unit):
        hashed.update(text.encode("utf-8", "replace") + b"\0")
    return hashed.hexdigest()


def _forgettable(unit: Unit) -> list[str]:
    if isinstance(unit, TurnUnit):
        found = [unit.prompt, unit.assistant_message]
        for one in unit.evidence:
            found += [str(one.id), one.tool_name, one.tool_input, one.tool_response]
        return found
    found = []
    for turn in unit.turns:
        found += [str(turn.number), turn.prompt, turn.assistant_message]
        for draft in turn.observations:
            found += [draft.title, draft.subtitle, draft.narrative, *draft.facts]
    return found


# --- what people are told ------------------------------------------------------------


def told(conn: apsw.Connection, settings: Settings) -> tuple[str, ...]:
    """How much is in batches, since when, and why it is not collected: a text for each kind."""
    who = taker(settings, wanted=False)
    return said(batches.waiting(conn, origin(who)), settings.provider)


def said(waiting: Waiting, provider: str = anthropic.NAME) -> tuple[str, ...]:
    """The same of what is known already."""
    here, elsewhere = (
        _many(waiting.here, waiting.since),
        _many(waiting.others, waiting.others_since),
    )
    if provider != anthropic.NAME:
        both = _many(waiting.here + waiting.others, _first(waiting.since, waiting.others_since))
        whose = both.replace("a batch", f"a batch of {anthropic.NAME}", 1)
        return (f"{whose}, which {provider} does not collect; {TAKE_BACK}",) if both else ()
    found = []
    if here and waiting.reason:
        at = time.strftime("%H:%M", time.localtime(waiting.until / 1000))
        why = f"which could not be collected: {waiting.reason}; looked for again from {at} on"
        found.append(f"{here}, {why}")
    elif here:
        found.append(f"{here}; {COLLECTS}")
    if elsewhere:
        why = "sent with other settings (base_url, api_key), which alone collect it"
        found.append(f"{elsewhere}, {why}; {TAKE_BACK}")
    return tuple(found)


def _many(count: int, since: int | None) -> str:
    if not count or since is None:
        return ""
    at = time.strftime("%Y-%m-%d %H:%M", time.localtime(since / 1000))
    return f"{'1 unit' if count == 1 else f'{count} units'} in a batch since {at}"


def _first(one: int | None, other: int | None) -> int | None:
    return min((at for at in (one, other) if at is not None), default=None)
