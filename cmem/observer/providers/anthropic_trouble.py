"""What an error status of the Messages API means: whose trouble it is, and what helps."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from cmem.observer.errors import ProviderError, UnusableReply, told

if TYPE_CHECKING:
    import anthropic

SPENT = ("credit", "quota", "billing", "usage limit", "spend", "insufficient", "exceeded your")
# What a gateway says whose model is still at work.
LATE = (504, 524)
# What a request that is too large is refused with: it is the unit's size, and no wrong model.
LONG = re.compile(r"too (?:long|large|many)|exceed|maximum|context|tokens", re.I)


def classify(error: anthropic.APIStatusError, *, model: str, base_url: str) -> Exception:
    """The class of an error status: whose trouble it is, and what helps."""
    status = error.status_code
    said = _said(error)
    spent = any(word in said.lower() for word in SPENT)
    wait = _retry_after(error)
    if status in (401, 403):
        return ProviderError("auth", f"{status}: {said}; check api_key")
    if status == 402 or (spent and status in (400, 429)):
        return ProviderError("quota", f"{status}: {said}", retry_after_s=wait)
    if status == 404 or (status == 400 and "model" in said.lower() and not LONG.search(said)):
        where = f"model {model} at {base_url}"
        return ProviderError(
            "config", f"{status}: {said}; check the settings model and base_url ({where})"
        )
    if status == 429 or status >= 500:
        late = status in LATE
        return ProviderError("overload", f"{status}: {said}", retry_after_s=wait, served=late)
    if status in (400, 413, 422):
        return UnusableReply(f"the request was refused ({status}): {said}")
    if status == 408:
        return ProviderError("transport", f"{status}: {said}", retry_after_s=wait)
    return ProviderError("config", f"{status}: {said}; check the setting base_url ({base_url})")


# An error's own name where a message should stand, by whose trouble it is.
DRESSED = {
    "authentication_error": "auth",
    "permission_error": "auth",
    "billing_error": "quota",
    "not_found_error": "config",
    "overloaded_error": "overload",
    "rate_limit_error": "overload",
    "api_error": "overload",
    "timeout_error": "overload",
}


def dressed(given: object) -> Exception | None:
    """An error that came as a success: the trouble that it names; None where it names none."""
    inner = given if isinstance(given, dict) else {}
    kind, said = str(inner.get("type", "")), told(str(inner.get("message") or ""))
    text = f"{kind} in place of a message" + (f": {said}" if said else "")
    if kind in ("invalid_request_error", "request_too_large"):
        return UnusableReply(f"the request was refused: {text}")
    if kind not in DRESSED:
        return None
    return ProviderError(DRESSED[kind], text, served=kind == "timeout_error")


def _said(error: anthropic.APIStatusError) -> str:
    """The provider's own words, one short line without markup or the key."""
    body = error.body
    inner = body.get("error") if isinstance(body, dict) else None
    said = inner.get("message") if isinstance(inner, dict) else None
    if not isinstance(said, str):
        said = "" if "<" in error.message else error.message
    return told(said) or "no reason given"


def _retry_after(error: anthropic.APIStatusError) -> float | None:
    """Seconds, or a date; the server's own clock is the one the date is meant by."""
    given = error.response.headers.get("retry-after", "")
    try:
        seconds = float(given)
    except ValueError:
        return _until(given, error.response.headers.get("date", ""))
    return seconds if math.isfinite(seconds) else None


def _until(date: str, now: str) -> float | None:
    try:
        then = parsedate_to_datetime(date)
        here = parsedate_to_datetime(now) if now else datetime.now(UTC)
        return max(1.0, (then - here).total_seconds())
    except (ValueError, TypeError):
        return None
