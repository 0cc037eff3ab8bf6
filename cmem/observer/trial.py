"""Asking a provider one small question, to see that it answers, and saying what helps if not."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cmem.observer import prices, providers
from cmem.observer.errors import MissingCredential, ProviderError, UnusableReply, told
from cmem.observer.prompt import Request
from cmem.observer.providers.asked import Asked
from cmem.observer.providers.settings import ProviderSettings

QUESTION = Request(
    "You are asked whether you can be reached. Answer with one word.", "Answer: ready", "trial/1"
)
AUTH = {
    "anthropic": "write the right api_key into config.toml: `cmem provider use anthropic "
    "--key-from-stdin`",
    "claude-cli": "run `claude` once and log in; with another configuration folder, write "
    "claude_config_dir into config.toml",
    "command": "log in to the service that the command asks",
}
HELP = {
    "config": "correct what is named in config.toml (`cmem provider show` says where it is)",
    "quota": "wait until the limit is lifted; turns are kept until then, or are observed without "
    "a model after `cmem provider use extract`",
    "overload": "try again later; turns are kept until then",
    "transport": "check the network, base_url and proxy, or allow more time (timeout_s); turns "
    "are kept until then",
    "unusable": "choose another model (setting model)",
}
SET_UP = {"anthropic": " --key-from-stdin", "command": " --command LINE"}


class Answer(NamedTuple):
    """What came of it. ``kind``: free | ok | auth | config | quota | overload | transport |
    unusable | missing. ``cost_usd`` None: not known. ``asked`` False: the question was not sent."""

    ok: bool
    kind: str
    detail: str
    fix: str
    seconds: float = 0.0
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    asked: bool = True


def ask(chosen: ProviderSettings, *, clock: Callable[[], float]) -> Answer:
    """One call, whatever it takes."""
    make = providers.MODELS.get(chosen.provider)
    if make is None:
        return Answer(True, "free", "", "")
    begin = clock()
    try:
        reply = make(chosen).ask(QUESTION)
    except ProviderError as error:
        found = _failed(chosen.provider, error.kind, str(error), seconds=clock() - begin)
        return found._replace(asked=error.sent)
    except UnusableReply as error:
        return _failed(chosen.provider, "unusable", error.reason, seconds=clock() - begin)
    except MissingCredential as error:
        found = _failed(chosen.provider, "missing", str(error), seconds=clock() - begin)
        return found._replace(asked=False)
    if reply.stop_reason == "refusal" or not reply.text.strip():
        return _failed(chosen.provider, "unusable", "an empty reply", seconds=clock() - begin)
    return _answered(reply, clock() - begin)


def _answered(reply: Asked, seconds: float) -> Answer:
    usage = reply.usage
    read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    priced = usage.cost_usd > 0 or prices.find(reply.model) is not None
    return Answer(
        ok=True,
        kind="ok",
        detail=told(reply.text),
        fix="",
        seconds=round(seconds, 3),
        model=reply.model,
        input_tokens=read,
        output_tokens=usage.output_tokens,
        cost_usd=usage.cost_usd if priced else None,
    )


def _failed(name: str, kind: str, detail: str, *, seconds: float) -> Answer:
    if kind == "missing":
        fix = f"`cmem provider use {name}{SET_UP.get(name, '')}` sets it up"
    else:
        fix = AUTH[name] if kind == "auth" else HELP[kind]
    return Answer(False, kind, told(detail, 400), fix, seconds=round(seconds, 3), cost_usd=None)
