"""What Claude Code says when it does not answer, as a class of failure. Pure.

It says most of it in prose: the status is told where there was one, everything else is known
by its words. ``subtype`` tells nothing: it is ``success`` in most failures.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from cmem.model import Usage
from cmem.observer.errors import ProviderError, UnusableReply, told

LOGIN = re.compile(
    r"not logged in|please run /login|invalid api key|oauth token (?:has )?(?:expired|revoked)"
    r"|authentication_error|login expired|invalid bearer token",
    re.I,
)
LIMIT = re.compile(
    r"(?:usage|weekly|session|opus|sonnet|5-hour|five-hour|spending|monthly) limit"
    r"|(?:hit|reached) your [\w -]{0,20}limit|limit reached|out of (?:extra )?usage"
    r"|credit balance is too low|exceeded your|quota",
    re.I,
)
OPTION = re.compile(r"unknown (?:option|argument)|error: option|invalid value for", re.I)
MODEL = re.compile(r"model", re.I)
LONG = re.compile(r"too long|too large|exceeds? the (?:maximum|context)|context window", re.I)
CUT = re.compile(r"output token maximum|max_output_tokens|output limit", re.I)
REFUSED = re.compile(r"refus|usage policy|unable to respond", re.I)
STAMP = re.compile(r"\|\s*(\d{10})\b")
CLOCK = re.compile(
    r"resets?(?: at| on)?\s+(?:(?P<month>[A-Z][a-z]{2})[a-z]* (?P<day>\d{1,2})(?:,| at)* )?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s*(?P<half>[ap]m)?(?:\s*\((?P<zone>[\w/+-]{1,40})\))?",
    re.I,
)
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
UPDATE = "this Claude Code is too old for provider claude-cli; run `claude update`"
LOG_IN = "run `claude` once and log in"
# A limit is a sentence of its own; a reply that tells of one is longer and has markup.
SENTENCE = 300


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


def of_limit(said: str, *, now: float) -> ProviderError | None:
    """The limit of the user's plan, where a text is nothing but the sentence about it."""
    text = said.strip()
    if len(text) > SENTENCE or "<" in text or not LIMIT.search(text):
        return None
    return ProviderError("quota", told(text), retry_after_s=reset_s(text, now=now))


def reset_s(said: str, *, now: float) -> float | None:
    """How long until the limit is lifted, as far as the sentence says: by a time stamp, or by
    an hour of the day, which is the next one of that name."""
    stamp = STAMP.search(said)
    if stamp:
        return max(1.0, int(stamp[1]) - now)
    clock = CLOCK.search(said)
    if clock is None:
        return None
    try:
        return _until(clock, now)
    except (ValueError, OverflowError, OSError):
        return None


def _until(clock: re.Match[str], now: float) -> float:
    zone = _zone(clock["zone"])
    here = datetime.fromtimestamp(now, UTC).astimezone(zone)
    hour = int(clock["hour"])
    if clock["half"]:
        hour = hour % 12 + (12 if clock["half"].lower() == "pm" else 0)
    then = here.replace(hour=hour, minute=int(clock["minute"] or 0), second=0, microsecond=0)
    if clock["month"]:
        month = MONTHS.index(clock["month"].lower()) + 1
        then = then.replace(month=month, day=int(clock["day"]))
        if then < here - timedelta(days=1):
            then = then.replace(year=then.year + 1)
    elif then <= here:
        then += timedelta(days=1)
    return max(1.0, (then - here).total_seconds())


def _zone(name: str | None) -> ZoneInfo | None:
    """The zone that is named; None is this machine's own."""
    try:
        return ZoneInfo(name) if name else None
    except (ValueError, OSError, KeyError):
        return None
