"""The Messages API through its SDK, imported only when a call is about to be made.

One call per unit, no retry of its own: who asks decides when to ask again. Key and endpoint
are the ones of the settings and no others: ``ANTHROPIC_*`` variables, which the SDK listens to
as well, belong to the user's main client.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from cmem.model import Usage
from cmem.observer import prices, prompt, waiting
from cmem.observer.errors import ProviderError
from cmem.observer.providers.anthropic_client import ENDPOINT, Anthropic, call, load
from cmem.observer.providers.anthropic_net import Net
from cmem.observer.providers.anthropic_trouble import dressed
from cmem.observer.providers.asked import Asked, Model, count
from cmem.observer.providers.settings import ProviderSettings
from cmem.setting_checks import header_list
from cmem.settings import environment, trusts_environment

NAME = "anthropic"
MODEL = "claude-haiku-4-5"
MAX_TOKENS = 4096


def provider(settings: ProviderSettings) -> Model:
    who = settle(settings)
    return Model(NAME, partial(ask, who), partial(load, who))


def settle(settings: ProviderSettings) -> Anthropic:
    """What the settings say of it."""
    return Anthropic(
        base_url=endpoint(settings.base_url),
        api_key=settings.api_key,
        model=settings.model or MODEL,
        timeout_s=float(settings.timeout_s),
        net=Net(
            headers=tuple(header_list(settings.headers)),
            proxy=settings.proxy,
            ca_file=os.path.expanduser(settings.ca_file),
            trusts_environment=trusts_environment(environment()),
        ),
    )


def endpoint(base_url: str) -> str:
    """The address the SDK adds ``/v1/messages`` to, whichever way the user spelled it."""
    url = base_url.strip().rstrip("/")
    url = url.removesuffix("/messages").removesuffix("/v1").rstrip("/")
    return url or ENDPOINT


# --- the call ------------------------------------------------------------------------


def ask(who: Anthropic, request: prompt.Request) -> Asked:
    """One call. Raises MissingCredential before anything is imported or sent."""
    with waiting.outside():
        message = call(who, partial(_send, who, request))
    return read(message, who.model)


def _send(who: Anthropic, request: prompt.Request, client: Any) -> Any:
    system: Any = {"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}
    return client.messages.create(
        model=who.model,
        max_tokens=MAX_TOKENS,
        system=[system],
        messages=[{"role": "user", "content": request.user}],
    )


def read(message: Any, model: str) -> Asked:
    """The parts of a reply that matter. Anything that is no message is a broken transport: a
    gateway's page, an error dressed as success."""
    content = getattr(message, "content", None)
    if not isinstance(content, list):
        named_trouble = dressed(getattr(message, "error", None))
        if named_trouble is not None:
            raise named_trouble
        said = "the answer is not one of the Messages API; check base_url"
        raise ProviderError("transport", said)
    texts = [one.text for one in content if getattr(one, "type", "") == "text" and one.text]
    given = getattr(message, "usage", None)
    named = getattr(message, "model", None)
    used = named if isinstance(named, str) and named else model
    usage = Usage(
        input_tokens=count(getattr(given, "input_tokens", 0)),
        output_tokens=count(getattr(given, "output_tokens", 0)),
        cache_read_tokens=count(getattr(given, "cache_read_input_tokens", 0)),
        cache_write_tokens=count(getattr(given, "cache_creation_input_tokens", 0)),
        cost_usd=0.0,
    )
    price = prices.find(used) or prices.find(model)
    notes = () if price else (f"no price known for model {used}: cost counted as 0",)
    usage = usage._replace(cost_usd=prices.cost(usage, price) if price else 0.0)
    reason = getattr(message, "stop_reason", None) or ""
    return Asked("\n".join(texts), str(reason), used, usage, notes)
