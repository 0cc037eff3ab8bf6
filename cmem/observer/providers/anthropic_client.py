"""A request to the Messages API through its SDK, and what has gone wrong when there is no answer.

Three times tell the classes apart. Before anything leaves, it is a setting: nobody was asked, and
nothing is used up. On the way there, nothing was answered. After that it may have been.
"""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from cmem.observer.errors import MissingCredential, ProviderError, told
from cmem.observer.providers.anthropic_net import Departure, EndlessError, Net, http_client, within
from cmem.observer.providers.anthropic_trouble import classify

ENDPOINT = "https://api.anthropic.com"
# Failures on the way, on which no answer has been made.
UNSENT = ("ConnectError", "ConnectTimeout", "ProxyError")
# What the HTTP client finds wrong with a request before it opens a connection.
UNMADE = ("UnsupportedProtocol", "InvalidURL", "LocalProtocolError", "CookieConflict")
SOCKS = (
    "a SOCKS proxy is not supported without the package socksio; name an http:// proxy in the "
    "setting proxy, or run it without ALL_PROXY and HTTPS_PROXY of that kind"
)


class Anthropic(NamedTuple):
    """One endpoint, one key, one model."""

    base_url: str
    api_key: str
    model: str
    timeout_s: float
    net: Net = Net()


def load(who: Anthropic) -> None:
    """Import the SDK, where there is a key to ask with; what is wrong with it the call tells."""
    if who.api_key:
        with contextlib.suppress(Exception):
            import anthropic  # noqa: F401


def call(
    who: Anthropic, act: Callable[[Any], Any], *, missing: type[Exception] | None = None
) -> Any:
    """What ``act`` makes of the SDK's client. Raises MissingCredential before anything is imported
    or sent, ProviderError or UnusableReply; ``missing`` where the answer is a 404."""
    if not who.api_key:
        raise MissingCredential("no api_key for provider anthropic: set api_key or CMEM_API_KEY")
    parts = urlsplit(who.base_url)
    if parts.query or parts.fragment:
        said = f"base_url {who.base_url} must end with its path, without ? and #"
        raise ProviderError("config", told(said), sent=False)
    departure = Departure()
    try:
        return within(who.timeout_s, partial(_with_client, who, act, departure))
    except ProviderError:
        raise
    except Exception as error:  # noqa: BLE001 - of whatever kind, it is told by when it was
        raise _trouble(error, who, departure, missing=missing) from None


def _with_client(who: Anthropic, act: Callable[[Any], Any], departure: Departure) -> Any:
    import anthropic

    auth = {"x-api-key": who.api_key}
    if who.base_url != ENDPOINT:
        auth["authorization"] = f"Bearer {who.api_key}"
    with anthropic.Anthropic(
        api_key=who.api_key,
        base_url=who.base_url,
        max_retries=0,
        timeout=who.timeout_s,
        http_client=http_client(who.net, who.base_url, auth=auth, departure=departure),
    ) as client:
        return act(client)


def _trouble(
    error: Exception, who: Anthropic, departure: Departure, *, missing: type[Exception] | None
) -> Exception:
    """The class of what a call has ended with."""
    cause = error.__cause__ if error.__cause__ is not None else error
    name = type(cause).__name__
    late = isinstance(error, TimeoutError)
    if (not departure.left and not late) or name in UNMADE:
        return ProviderError("config", _unmade(cause), sent=False)
    import anthropic

    if missing is not None and isinstance(error, anthropic.NotFoundError):
        return missing()
    if isinstance(error, anthropic.APIStatusError):
        return classify(error, model=who.model, base_url=who.base_url)
    refused = _refused(cause)
    if refused is not None:
        said = f"the certificate of {who.base_url} is not trusted ({refused}); name the file with "
        return ProviderError("config", f"{said}the one that signed it in the setting ca_file")
    if isinstance(cause, EndlessError) or not isinstance(error, anthropic.APIError):
        why = str(error) if isinstance(error, (ValueError, OSError)) else f"{cause or name}"
        said = f"the answer could not be read: {told(why) or name}"
        return ProviderError("transport", said, served=departure.left)
    said = f"no usable answer from {who.base_url} ({name})"
    return ProviderError("transport", said, served=name not in UNSENT)


def _unmade(cause: BaseException) -> str:
    if isinstance(cause, ImportError) and "socks" in str(cause).lower():
        return SOCKS
    why = told(str(cause)) or type(cause).__name__
    if type(cause).__name__ == "LocalProtocolError":
        why = "a header has a sign that none can have"  # the error's words repeat the header
    return f"the request could not be made ({why}); check base_url, api_key, headers and proxy"


def _refused(error: BaseException | None) -> str | None:
    """Why a certificate was not accepted, by the innermost of the errors; None for another."""
    seen = 0
    while error is not None and seen < 10:
        if isinstance(error, ssl.SSLCertVerificationError):
            return told(error.verify_message) or "no reason given"
        error, seen = error.__cause__ or error.__context__, seen + 1
    return None
