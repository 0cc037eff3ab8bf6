"""Message Batches: many requests given to the Messages API at once, at half the price.

The same key, endpoint and headers as for single calls. A batch has no name of ours, only its
requests do, and those come back with the results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from cmem.observer import prompt
from cmem.observer.errors import MissingCredential, ProviderError
from cmem.observer.providers.anthropic import ENDPOINT, MAX_TOKENS, Anthropic, read
from cmem.observer.providers.anthropic_net import http_client, within
from cmem.observer.providers.anthropic_trouble import classify, reason
from cmem.observer.providers.asked import Asked

LISTED = 100


class Remote(NamedTuple):
    """A batch as the provider tells of it; ``made_at`` in ms."""

    id: str
    ended: bool
    made_at: int
    size: int


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

    def listing(client: Any) -> list[Any]:
        return list(client.messages.batches.list(limit=LISTED).data)

    return [_remote(one) for one in _call(who, listing)]


def results(who: Anthropic, remote: str) -> list[Result]:
    """What became of each request of an ended batch, in any order."""
    found = _call(who, lambda client: list(client.messages.batches.results(remote)))
    return [_result(who, one) for one in found]


def _result(who: Anthropic, one: Any) -> Result:
    kind = str(getattr(one.result, "type", ""))
    if kind == "succeeded":
        return Result(one.custom_id, kind, read(one.result.message, who.model), "")
    inner = getattr(getattr(one.result, "error", None), "error", None)
    return Result(
        one.custom_id, kind, None, str(getattr(inner, "message", "") or "no reason given")
    )


def _remote(batch: Any) -> Remote:
    if not isinstance(getattr(batch, "id", None), str):
        raise ProviderError("transport", "the answer is not one of the Message Batches API")
    counts = batch.request_counts
    size = sum(
        getattr(counts, name, 0) or 0
        for name in ("processing", "succeeded", "errored", "canceled", "expired")
    )
    ended = batch.processing_status == "ended"
    return Remote(batch.id, ended, int(batch.created_at.timestamp() * 1000), size)


def _params(who: Anthropic, request: prompt.Request) -> dict[str, Any]:
    system = {"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}
    return {
        "model": who.model,
        "max_tokens": MAX_TOKENS,
        "system": [system],
        "messages": [{"role": "user", "content": request.user}],
    }


def _call(who: Anthropic, act: Callable[[Any], Any]) -> Any:
    if not who.api_key:
        raise MissingCredential("no api_key for provider anthropic: set api_key or CMEM_API_KEY")
    import anthropic

    try:
        return within(who.timeout_s, partial(_with_client, who, act))
    except anthropic.NotFoundError:
        raise UnknownBatchError from None
    except anthropic.APIStatusError as error:
        raise classify(error, model=who.model, base_url=who.base_url) from None
    except anthropic.APIError as error:
        raise ProviderError("transport", reason(error, who.base_url)) from None
    except (ValueError, OSError) as error:
        raise ProviderError("transport", f"the answer could not be read: {error}") from None


def _with_client(who: Anthropic, act: Callable[[Any], Any]) -> Any:
    import anthropic

    auth = {"x-api-key": who.api_key}
    if who.base_url != ENDPOINT:
        auth["authorization"] = f"Bearer {who.api_key}"
    with anthropic.Anthropic(
        api_key=who.api_key,
        base_url=who.base_url,
        max_retries=0,
        timeout=who.timeout_s,
        http_client=http_client(who.net, who.base_url, auth),
    ) as client:
        return act(client)
