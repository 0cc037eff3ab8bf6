"""Any program as the model: the whole request on its stdin, the reply from its stdout.

What a call costs it cannot tell, so tokens are estimated and the price counts as 0. Exit codes
of ``sysexits.h`` say whose trouble it is; any other failure is one of the way there.
"""

from __future__ import annotations

import os
import shlex
from functools import partial
from typing import NamedTuple

from cmem import intake, settings, tokens
from cmem.model import Usage
from cmem.observer import prompt
from cmem.observer.errors import MissingCredential, ProviderError, UnusableReply, told
from cmem.observer.providers import child
from cmem.observer.providers.asked import Asked, Model
from cmem.observer.providers.settings import ProviderSettings

NAME = "command"
KINDS = {69: "overload", 75: "overload", 77: "auth", 78: "config", 126: "config", 127: "config"}


class Command(NamedTuple):
    """One program with its arguments, and the environment it gets."""

    argv: tuple[str, ...]
    model: str
    env: tuple[tuple[str, str], ...]
    timeout_s: float


def provider(chosen: ProviderSettings) -> Model:
    return Model(NAME, partial(ask, settle(chosen)))


def settle(chosen: ProviderSettings) -> Command:
    """What the settings say of it."""
    env = child.environment(settings.environment(), chosen)
    return Command(
        argv=tuple(shlex.split(chosen.command)),
        model=chosen.model,
        env=tuple(env.items()),
        timeout_s=float(chosen.timeout_s),
    )


def ask(who: Command, request: prompt.Request) -> Asked:
    """One call. Raises MissingCredential where no program is named."""
    if not who.argv:
        raise MissingCredential(
            'no command for provider command: write command = "…" in the config'
        )
    text = f"{intake.OWN_PROMPT}\n{request.system}\n\n{request.user}\n"
    ended = _ended(who, text)
    if ended.code:
        raise ProviderError(KINDS.get(ended.code, "transport"), _failure(who, ended))
    said = ended.out.strip()
    usage = Usage(tokens.count(text), tokens.count(said), 0, 0, 0.0)
    notes = ("tokens estimated, cost not known",)
    return Asked(said, "", who.model or os.path.basename(who.argv[0]), usage, notes)


def _ended(who: Command, text: str) -> child.Ended:
    program = os.path.expanduser(who.argv[0])
    try:
        return child.run((program, *who.argv[1:]), text, env=dict(who.env), timeout_s=who.timeout_s)
    except child.LateError:
        said = f"{who.argv[0]} did not answer within {who.timeout_s:g} s"
        raise ProviderError("transport", f"{said} (setting timeout_s)") from None
    except child.LoudError:
        size = f"{child.MAX_OUTPUT // 1024 // 1024} MiB"
        raise UnusableReply(f"{who.argv[0]} printed more than {size}", served=True) from None
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        said = f"{who.argv[0]} cannot be started: {reason}; check the setting command"
        raise ProviderError("config", said) from None


def _failure(who: Command, ended: child.Ended) -> str:
    how = f"was ended by signal {-ended.code}" if ended.code < 0 else f"ended with {ended.code}"
    said = told(ended.complaint, end=True) or told(ended.out, end=True)
    return f"{who.argv[0]} {how}" + (f": {said}" if said else "")
