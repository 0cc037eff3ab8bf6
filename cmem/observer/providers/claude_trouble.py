"""What Claude Code says when it does not answer, as a class of failure. Pure.

It says most of it in prose: the status is told where there was one, everything else is known
by its words. ``subtype`` tells nothing: it is ``success`` in most failures.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cmem.model import Usage
from cmem.observer.errors import ProviderError, UnusableReply, told
from cmem.observer.providers.sentences import LIMIT, LOGIN, of_limit, reset_s

OPTION = re.compile(r"unknown (?:option|argument)|error: option|invalid value for", re.I)
MODEL = re.compile(r"model", re.I)
LONG = re.compile(r"too long|too large|exceeds? the (?:maximum|context)|context window", re.I)
CUT = re.compile(r"output token maximum|max_output_tokens|output limit", re.I)
REFUSED = re.compile(r"refus|usage policy|unable to respond", re.I)
UPDATE = "this Claude Code is too old for provider claude-cli; run `claude update`"
LOG_IN = "run `claude` once and log in"


def of_answer(
    answer: Mapping[str, Any], *, usage: Usage, model: str, now: float
) -> ProviderError | UnusableReply:
    """The failure in a result that says of itself that it is one."""
    text = answer.get("result")
    said = text if isinstance(text, str) else ""
    status = answer.get("api_error_status")
    status = status if isinstance(status, int) else 0
    if answer.get("stop_reason") == "refusal":
        return UnusableReply("the model refused", usage=usage)
    if answer.get("subtype") == "error_max_turns":
        return UnusableReply("the model asked for a tool", usage=usage)
    if status in (401, 403) or (not status and LOGIN.search(said)):
        return ProviderError("auth", f"{told(said)}; {LOG_IN}")
    if status == 402 or (status in (0, 400, 429) and LIMIT.search(said)):
        return ProviderError("quota", told(said), retry_after_s=reset_s(said, now=now))
    if status == 404 or (status == 400 and MODEL.search(said) and not LONG.search(said)):
        return ProviderError("config", f"{told(said)}; check the setting model ({model})")
    if status == 429 or status >= 500:
        return ProviderError("overload", told(said))
    if status in (400, 413, 422) or (not status and LONG.search(said)):
        return UnusableReply(f"the request was refused: {told(said)}", usage=usage)
    if not status and CUT.search(said):
        return UnusableReply("the reply was cut at the token limit", usage=usage)
    if not status and REFUSED.search(said):
        return UnusableReply("the model refused", usage=usage)
    return ProviderError("transport", told(said) or "claude failed without a reason")


def of_words(said: str, code: int, *, now: float) -> ProviderError:
    """The failure where there is no result at all: what stood on stderr, and how it ended."""
    if OPTION.search(said):
        return ProviderError("config", f"{told(said)}; {UPDATE}")
    if LOGIN.search(said):
        return ProviderError("auth", f"{told(said)}; {LOG_IN}")
    limit = of_limit(said, now=now)
    if limit is not None:
        return limit
    how = f"was ended by signal {-code}" if code < 0 else f"ended with {code}"
    kind = "config" if code in (126, 127) else "transport"
    line = told(said, end=True)
    return ProviderError(kind, f"claude {how} without a result" + (f": {line}" if line else ""))
