"""What every provider with a model has in common: a unit becomes a request, the reply drafts.

Such a provider is one function, ``ask``: a request goes in, a reply comes out as it came.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cmem.model import Observed, Reply, SummaryUnit, TurnUnit, Usage
from cmem.observer import modes, parser, prompt
from cmem.observer.errors import UnusableReply


class Asked(NamedTuple):
    """A reply as it came: its text, how it ended, what it took."""

    text: str
    stop_reason: str
    model: str
    usage: Usage
    notes: tuple[str, ...]


Ask = Callable[[prompt.Request], Asked]


class Model(NamedTuple):
    """A provider that asks a model: by its name and its one function."""

    name: str
    ask: Ask

    def observe(self, unit: TurnUnit) -> Observed:
        mode = unit.mode or modes.load()
        request = prompt.observation_request(unit, mode)
        reply = self.ask(request)
        found = read(reply, lambda text: parser.parse_observation(text, unit, mode))
        return found._replace(provider=self.name, prompt_version=request.version)

    def summarise(self, unit: SummaryUnit) -> Observed:
        request = prompt.summary_request(unit, unit.mode or modes.load())
        reply = self.ask(request)
        found = read(reply, lambda text: parser.parse_summary(text, unit))
        return found._replace(provider=self.name, prompt_version=request.version)


def read(asked: Asked, parse: Callable[[str], Reply]) -> Observed:
    """The parsed reply with what it took. A reply that cannot be used keeps its price."""
    if asked.stop_reason == "refusal":
        raise UnusableReply("the model refused", usage=asked.usage)
    try:
        reply = parse(asked.text)
    except UnusableReply as error:
        cut = " (cut at the token limit)" if asked.stop_reason == "max_tokens" else ""
        raise UnusableReply(error.reason + cut, usage=asked.usage) from None
    notes = (*reply.notes, *asked.notes)
    if asked.stop_reason == "max_tokens":
        notes = (*notes, "reply cut at the token limit")
    return Observed(
        reply=reply._replace(notes=notes),
        usage=asked.usage,
        provider="",
        model=asked.model,
        prompt_version="",
        calls=1,
    )
