"""The Messages API through its SDK, imported only when a call is about to be made.

One call per unit, no retry of its own: who asks decides when to ask again. Key and endpoint
are the ones of the settings and no others. The SDK also listens to ``ANTHROPIC_*`` variables,
which belong to the user's main client, so that every request's headers are held against a
list before they leave.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from cmem.model import Observed, Reply, SummaryUnit, TurnUnit, Usage
from cmem.observer import modes, parser, prices, prompt
from cmem.observer.errors import MissingCredential, ProviderError, UnusableReply
from cmem.observer.providers.settings import ProviderSettings

if TYPE_CHECKING:
    import anthropic

ENDPOINT = "https://api.anthropic.com"
MODEL = "claude-haiku-4-5"
MAX_TOKENS = 4096
HEADERS = frozenset(
    [
        "host",
        "accept",
        "accept-encoding",
        "connection",
        "user-agent",
        "content-type",
        "content-length",
        "transfer-encoding",
        "anthropic-version",
    ]
)
SPENT = ("credit", "quota", "billing", "usage limit", "spend", "insufficient", "exceeded your")


class Asked(NamedTuple):
    """A reply as it came: its text, how it ended, what it took."""

    text: str
    stop_reason: str
    model: str
    usage: Usage
    notes: tuple[str, ...]


class Anthropic(NamedTuple):
    """One endpoint, one key, one model."""

    base_url: str
    api_key: str
    model: str
    timeout_s: float

    def observe(self, unit: TurnUnit) -> Observed:
        mode = modes.load("code")
        asked = ask(self, prompt.observation_request(unit, mode))
        return _observed(asked, lambda text: parser.parse_observation(text, unit, mode))

    def summarise(self, unit: SummaryUnit) -> Observed:
        asked = ask(self, prompt.summary_request(unit, modes.load("code")))
        return _observed(asked, lambda text: parser.parse_summary(text, unit))


def provider(settings: ProviderSettings) -> Anthropic:
    return Anthropic(
        base_url=endpoint(settings.base_url),
        api_key=settings.api_key,
        model=settings.model or MODEL,
        timeout_s=float(settings.timeout_s),
    )


def endpoint(base_url: str) -> str:
    """The address the SDK adds ``/v1/messages`` to, whichever way the user spelled it."""
    url = base_url.strip().rstrip("/")
    url = url.removesuffix("/messages").removesuffix("/v1").rstrip("/")
    return url or ENDPOINT


def _observed(asked: Asked, parse: Callable[[str], Reply]) -> Observed:
    """The parsed reply with its provenance. A reply that cannot be used keeps its price."""
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
        provider="anthropic",
        model=asked.model,
        prompt_version=prompt.PROMPT_VERSION,
        calls=1,
    )


# --- the call ------------------------------------------------------------------------


def ask(who: Anthropic, request: prompt.Request) -> Asked:
    """One call. Raises MissingCredential before anything is imported or sent."""
    if not who.api_key:
        raise MissingCredential("no api_key for provider anthropic: set api_key or CMEM_API_KEY")
    import anthropic

    try:
        with _client(who) as client:
            message = client.messages.create(
                model=who.model,
                max_tokens=MAX_TOKENS,
                system=[
                    {
                        "type": "text",
                        "text": request.system,
                        "cache_control": {"type": "ephemeral"},
                    }
                ],
                messages=[{"role": "user", "content": request.user}],
            )
        return read(message, who.model)
    except anthropic.APIStatusError as error:
        raise classify(error, who) from None
    except anthropic.APIError as error:
        raise ProviderError("transport", _reason(error, who)) from None
    except (ValueError, OSError) as error:
        raise ProviderError("transport", f"the answer could not be read: {error}") from None


def _client(who: Anthropic) -> anthropic.Anthropic:
    import anthropic

    def hold(sent: Any) -> None:
        """Only headers on the list leave, and the one key of the settings."""
        for name in list(sent.headers.keys()):
            if name.lower() not in HEADERS and not name.lower().startswith("x-stainless-"):
                del sent.headers[name]
        sent.headers["x-api-key"] = who.api_key
        if who.base_url != ENDPOINT:
            sent.headers["authorization"] = f"Bearer {who.api_key}"

    return anthropic.Anthropic(
        api_key=who.api_key,
        base_url=who.base_url,
        max_retries=0,
        timeout=who.timeout_s,
        http_client=anthropic.DefaultHttpxClient(
            follow_redirects=False, event_hooks={"request": [hold]}
        ),
    )


def read(message: Any, model: str) -> Asked:
    """The parts of a reply that matter. Anything that is no message is a broken transport: a
    gateway's page, an error dressed as success."""
    content = getattr(message, "content", None)
    if not isinstance(content, list):
        raise ProviderError("transport", "the answer is not one of the Messages API")
    texts = [one.text for one in content if getattr(one, "type", "") == "text" and one.text]
    given = getattr(message, "usage", None)
    named = getattr(message, "model", None)
    used = named if isinstance(named, str) and named else model
    usage = Usage(
        input_tokens=_count(given, "input_tokens"),
        output_tokens=_count(given, "output_tokens"),
        cache_read_tokens=_count(given, "cache_read_input_tokens"),
        cache_write_tokens=_count(given, "cache_creation_input_tokens"),
        cost_usd=0.0,
    )
    price = prices.find(used) or prices.find(model)
    notes = () if price else (f"no price known for model {used}: cost counted as 0",)
    usage = usage._replace(cost_usd=prices.cost(usage, price) if price else 0.0)
    reason = getattr(message, "stop_reason", None) or ""
    return Asked("\n".join(texts), str(reason), used, usage, notes)


def _count(usage: Any, name: str) -> int:
    value = getattr(usage, name, 0)
    return value if isinstance(value, int) and value > 0 else 0


# --- what can go wrong ---------------------------------------------------------------


def classify(error: anthropic.APIStatusError, who: Anthropic) -> Exception:
    """The class of an error status: whose trouble it is, and what helps."""
    status = error.status_code
    said = _said(error)
    spent = any(word in said.lower() for word in SPENT)
    wait = _retry_after(error)
    if status in (401, 403):
        return ProviderError("auth", f"{status}: {said}; check api_key")
    if status == 402 or (spent and status in (400, 429)):
        return ProviderError("quota", f"{status}: {said}", retry_after_s=wait)
    if status == 404 or (
        status == 400 and "model" in said.lower() and "context" not in said.lower()
    ):
        where = f"model {who.model} at {who.base_url}"
        return ProviderError(
            "config", f"{status}: {said}; check the settings model and base_url ({where})"
        )
    if status == 429 or status >= 500:
        return ProviderError("overload", f"{status}: {said}", retry_after_s=wait)
    if status in (400, 413, 422):
        return UnusableReply(f"the request was refused ({status}): {said}")
    if status == 408:
        return ProviderError("transport", f"{status}: {said}", retry_after_s=wait)
    return ProviderError("config", f"{status}: {said}; check the setting base_url ({who.base_url})")


def _said(error: anthropic.APIStatusError) -> str:
    """The provider's own words, one short line without markup or the key."""
    body = error.body
    inner = body.get("error") if isinstance(body, dict) else None
    said = inner.get("message") if isinstance(inner, dict) else None
    if not isinstance(said, str):
        said = "" if "<" in error.message else error.message
    return " ".join(said.split())[:200] or "no reason given"


def _reason(error: Exception, who: Anthropic) -> str:
    cause = error.__cause__
    what = f"{type(cause).__name__}" if cause is not None else type(error).__name__
    return f"no usable answer from {who.base_url} ({what})"


def _retry_after(error: anthropic.APIStatusError) -> float | None:
    try:
        seconds = float(error.response.headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) else None
