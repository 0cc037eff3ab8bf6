"""Message Batches: many requests given to the Messages API at once, at half the price.

The same key, endpoint and headers as for single calls. A batch has no name of ours, only its
requests do, and those come back with the results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from cmem.observer import prompt
from cmem.observer.errors import ProviderError, UnusableReply
from cmem.observer.providers.anthropic import MAX_TOKENS, read
from cmem.observer.providers.anthropic_client import Anthropic, call
from cmem.observer.providers.asked import Asked

LISTED = 100


class Remote(NamedTuple):
    """A batch as the provider tells of it; ``made_at`` in ms. ``gone``: it has ended and its results
    are kept no longer."""

    id: str
    ended: bool
    made_at: int
    size: int
    gone: bool = False


class Result(NamedTuple):
    """One request's end: succeeded with a reply, errored, canceled or expired."""

    name: str
    kind: str
    asked: Asked | None
    error: str


class UnknownBatchError(Exception):
    """The provider knows no such batch."""


def submit(who: Anthropic, requests: Sequence[tuple[str, prompt.Request]]) -> Remote:
    """Give the named requests away."""
    wanted = [{"custom_id": name, "params": _params(who, one)} for name, one in requests]
    return _remote(_call(who, lambda client: client.messages.batches.create(requests=wanted)))


def look(who: Anthropic, remote: str) -> Remote:
    return _remote(_call(who, lambda client: client.messages.batches.retrieve(remote)))


def newest(who: Anthropic) -> list[Remote]:
    """The batches made last."""
    found = _call(who, lambda client: client.messages.batches.list(limit=LISTED).data)
    if not isinstance(found, list):
        raise _strange()
    return [_remote(one) for one in found]


def results(who: Anthropic, remote: str) -> list[Result]:
    """What became of each request of an ended batch, in any order."""
    found = _call(who, lambda client: list(client.messages.batches.results(remote)))
    return [_result(who, one) for one in found]


def _call(who: Anthropic, act: Callable[[Any], Any]) -> Any:
    return call(who, act, missing=UnknownBatchError)


def _strange() -> ProviderError:
    return ProviderError("transport", "the answer is not one of the Message Batches API")


def _result(who: Anthropic, one: Any) -> Result:
    name, ended = getattr(one, "custom_id", None), getattr(one, "result", None)
    if not isinstance(name, str) or ended is None:
        raise _strange()
    kind = str(getattr(ended, "type", ""))
    if kind == "succeeded":
        try:
            return Result(name, kind, read(getattr(ended, "message", None), who.model), "")
        except (ProviderError, UnusableReply) as error:  # this one's alone
            return Result(name, "errored", None, str(error))
    inner = getattr(getattr(ended, "error", None), "error", None)
    return Result(name, kind, None, str(getattr(inner, "message", "") or "no reason given"))


def _remote(batch: Any) -> Remote:
    counts, made = getattr(batch, "request_counts", None), getattr(batch, "created_at", None)
    if not isinstance(getattr(batch, "id", None), str) or not isinstance(made, datetime):
        raise _strange()
    names = ("processing", "succeeded", "errored", "canceled", "expired")
    sizes = [getattr(counts, name, 0) for name in names]
    ended = getattr(batch, "processing_status", "") == "ended"
    return Remote(
        id=batch.id,
        ended=ended,
        made_at=int(made.timestamp() * 1000),
        size=sum(one for one in sizes if isinstance(one, int)),
        gone=ended and not getattr(batch, "results_url", None),
    )


def _params(who: Anthropic, request: prompt.Request) -> dict[str, Any]:
    system = {"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}
    return {
        "model": who.model,
        "max_tokens": MAX_TOKENS,
        "system": [system],
        "messages": [{"role": "user", "content": request.user}],
    }
