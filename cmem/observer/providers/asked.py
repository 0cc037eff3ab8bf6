"""What every provider with a model has in common: a unit becomes a request, the reply drafts.

Such a provider is one function, ``ask``: a request goes in, a reply comes out as it came.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from cmem import tokens
from cmem.model import Observed, Reply, SummaryUnit, TurnUnit, Usage
from cmem.observer import borrowed, mended, modes, parser, prompt, reach
from cmem.observer.errors import UnusableReply
from cmem.observer.providers import sentences

# No model takes or gives so much; who tells more has told nothing.
MOST_TOKENS = 10_000_000


class Asked(NamedTuple):
    """A reply as it came: its text, how it ended, what it took."""

    text: str
    stop_reason: str
    model: str
    usage: Usage
    notes: tuple[str, ...]


Ask = Callable[[prompt.Request], Asked]


def _nothing() -> None:
    return


class Model(NamedTuple):
    """A provider that asks a model: by its name and its one function. ``load``: what can be done
    before the first call, so that less time lies between its booking and the call."""

    name: str
    ask: Ask
    load: Callable[[], None] = _nothing

    def observe(self, unit: TurnUnit) -> Observed:
        mode = unit.mode or modes.load()
        request = prompt.observation_request(unit, mode)
        reply = counted(self.ask(request), request)
        found = read(reply, lambda text: parser.parse_observation(text, unit, mode))
        found = borrowed.bounded(reach.bounded(found, unit), unit)
        return found._replace(provider=self.name, prompt_version=request.version)

    def summarise(self, unit: SummaryUnit) -> Observed:
        request = prompt.summary_request(unit, unit.mode or modes.load())
        reply = counted(self.ask(request), request)
        found = read(reply, lambda text: parser.parse_summary(text, unit))
        return found._replace(provider=self.name, prompt_version=request.version)


def count(value: object) -> int:
    """A number of tokens as it was told; 0 where it is none, or an impossible one."""
    told = isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_TOKENS
    return int(value) if told else 0  # type: ignore[call-overload]  # an int, as just seen


def counted(asked: Asked, request: prompt.Request) -> Asked:
    """The reply with its tokens counted here where nobody told them: a gateway without figures
    is not one that is free. A price that was told with none of them stays."""
    usage = asked.usage
    given = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    if given and (usage.output_tokens or not asked.text):
        return asked
    seen = usage._replace(
        input_tokens=usage.input_tokens if given else tokens.count(request.system + request.user),
        output_tokens=usage.output_tokens or tokens.count(asked.text),
        cost_usd=0.0 if given or usage.output_tokens else usage.cost_usd,
    )
    return asked._replace(usage=seen, notes=(*asked.notes, "tokens estimated"))


def read(asked: Asked, parse: Callable[[str], Reply]) -> Observed:
    """The parsed reply with what it took. A reply that cannot be used keeps its price. One that
    is the provider's word about a limit or a login is no reply: ProviderError."""
    if asked.stop_reason == "refusal":
        raise UnusableReply("the model refused", usage=asked.usage)
    try:
        reply = parse(asked.text)
    except UnusableReply as error:
        trouble = sentences.of_trouble(asked.text, now=time.time(), usage=asked.usage)
        if asked.text.strip() and trouble is not None:
            raise trouble from None
        cut = " (cut at the token limit)" if asked.stop_reason == "max_tokens" else ""
        raise UnusableReply(error.reason + cut, usage=asked.usage) from None
    is_cut = asked.stop_reason == "max_tokens"
    notes = (*reply.notes, *asked.notes, *(("reply cut at the token limit",) if is_cut else ()))
    return Observed(
        reply=reply._replace(notes=notes),
        usage=asked.usage,
        provider="",
        model=asked.model,
        prompt_version="",
        calls=1,
        cut=is_cut,
        mended=mended.counted(notes),
    )
