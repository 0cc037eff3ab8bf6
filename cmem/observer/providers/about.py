"""What a person has to know of each provider before choosing it: price, place, needs."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from cmem.observer import prices
from cmem.observer.errors import told
from cmem.observer.providers import anthropic, claude_cli
from cmem.observer.providers.settings import ProviderSettings

# A usual turn and a usual reply to it, in tokens, for an order of magnitude.
TURN, REPLY = 6_000, 600


class About(NamedTuple):
    """``paid``: a call may cost money or use up a plan. The rest are clauses without a full
    stop."""

    name: str
    paid: bool
    how: str
    price: str
    where: str


def about(name: str, chosen: ProviderSettings) -> About:
    """The provider of that name as these settings make it; KeyError for an unknown one."""
    return _ABOUT[name](chosen)


def lacks(chosen: ProviderSettings, env: Mapping[str, str]) -> str:
    """What the chosen provider needs and has not: a clause with the setting that gives it, ""
    when it has all. ``env`` tells where programs are."""
    if chosen.provider == "anthropic" and not chosen.api_key:
        return "a key: the setting api_key"
    if chosen.provider == "command" and not chosen.command:
        return "a program: the setting command"
    if chosen.provider == "command":
        program = os.path.expanduser(shlex.split(chosen.command)[0])
        return "" if shutil.which(program, path=env.get("PATH")) else f"the program {program}"
    if chosen.provider == "claude-cli" and not claude_cli.find(chosen.claude_path, env):
        named = chosen.claude_path or "claude"
        return f"the program {named}: install Claude Code, or name it by the setting claude_path"
    return ""


def _extract(_chosen: ProviderSettings) -> About:
    return About(
        name="extract",
        paid=False,
        how="rules on this machine, without any model",
        price="nothing",
        where="nothing leaves this machine",
    )


def _claude_cli(chosen: ProviderSettings) -> About:
    model = chosen.model or claude_cli.MODEL
    return About(
        name=claude_cli.NAME,
        paid=True,
        how=f"your own Claude Code (`claude -p`, model {model}), one call per turn",
        price="no bill with a Claude subscription, but it counts towards its limits; with an API "
        "key, tokens are paid",
        where="each turn goes to where your Claude Code sends its own, with its login",
    )


def _anthropic(chosen: ProviderSettings) -> About:
    model = chosen.model or anthropic.MODEL
    host = urlsplit(anthropic.endpoint(chosen.base_url)).hostname
    return About(
        name=anthropic.NAME,
        paid=True,
        how=f"the Messages API (model {model}), one call per turn",
        price=_price(model) if not chosen.base_url else f"what {host} asks for it",
        where=f"each turn goes to {host}, with your key",
    )


def _price(model: str) -> str:
    price = prices.find(model)
    if price is None:
        return f"what the vendor asks for {model}; no price is known here"
    cents = (TURN * price.input + REPLY * price.output) / 10_000
    return (
        f"${price.input:g} in and ${price.output:g} out per million tokens, about "
        f"{max(round(cents, 1), 0.1):g} cents a turn"
    )


def _command(chosen: ProviderSettings) -> About:
    program = told(chosen.command, 80) or "a program you name (setting command)"
    return About(
        name="command",
        paid=True,
        how=f"{program}, one call per turn",
        price="what that program's service costs; cmem cannot tell",
        where="each turn is given to that program, and goes where it sends it",
    )


_ABOUT = {
    "extract": _extract,
    "claude-cli": _claude_cli,
    "anthropic": _anthropic,
    "command": _command,
}
NAMES = tuple(_ABOUT)
