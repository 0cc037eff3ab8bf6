"""The way to the Messages API: what leaves, through which door, and how long that may take.

The SDK's client also reads the process's variables and sends headers of its own, so that every
request is held against a list before it leaves, and every answer against a size and a time.
"""

from __future__ import annotations

import functools
import gc
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from cmem.observer.errors import ProviderError

if TYPE_CHECKING:
    import ssl

MAX_ANSWER = 8 * 1024 * 1024
GRACE_S = 0.5  # a read that times out by itself says more
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


class EndlessError(Exception):
    """The answer is larger than any reply is."""


class Net(NamedTuple):
    """The way there: more headers, a proxy, certificates, and whether the variables of the
    process count, which a repository may have set in a run that a hook started."""

    headers: tuple[tuple[str, str], ...] = ()
    proxy: str = ""
    ca_file: str = ""
    trusts_environment: bool = False


class Departure:
    """Whether a request has left this process: what goes wrong before is nobody's answer."""

    left = False


def within(seconds: float, call: Callable[[], Any]) -> Any:
    """What the call returns or raises; TimeoutError when it takes longer in all, for a server
    that sends a byte now and then never exceeds the limit of a single read."""
    ended: queue.SimpleQueue[tuple[Any, Exception | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            ended.put((call(), None))
        except Exception as error:  # noqa: BLE001 - it is raised again where it is waited for
            ended.put((None, error))

    threading.Thread(target=run, daemon=True).start()
    try:
        value, error = ended.get(timeout=seconds + GRACE_S)
    except queue.Empty:
        raise TimeoutError(f"it was not complete after {seconds:g} s") from None
    if error is not None:
        raise error
    return value


@functools.cache
def settle_in() -> None:
    """Once after the SDK is there: its thousands of objects are looked at no more, which the end
    of a run would spend 0.7 s on (measured)."""
    gc.freeze()


def http_client(way: Net, base_url: str, *, auth: Mapping[str, str], departure: Departure) -> Any:
    """The way to one endpoint: no redirects, no header but ours, no endless answer. ``auth``:
    the headers with the key. ``departure`` is told when a request goes."""
    import anthropic

    settle_in()

    def hold(sent: Any) -> None:
        """Only headers on the list leave, those of the settings, and the one key."""
        for name in list(sent.headers.keys()):
            if name.lower() not in HEADERS and not name.lower().startswith("x-stainless-"):
                del sent.headers[name]
        for name, value in (*auth.items(), *way.headers):
            sent.headers[name] = value
        departure.left = True

    def bound(answer: Any) -> None:
        whole = answer.iter_bytes
        answer.iter_bytes = lambda *words, **named: _bounded(whole(*words, **named))

    near = _is_here(base_url)
    more: dict[str, Any] = {"proxy": way.proxy} if way.proxy and not near else {}
    if way.ca_file:
        more["verify"] = _certificates(way.ca_file)
    return anthropic.DefaultHttpxClient(
        follow_redirects=False,
        trust_env=way.trusts_environment and not near,
        event_hooks={"request": [hold], "response": [bound]},
        **more,
    )


def _bounded(chunks: Iterator[bytes]) -> Iterator[bytes]:
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > MAX_ANSWER:
            raise EndlessError(f"it has more than {MAX_ANSWER // 1024 // 1024} MiB")
        yield chunk


def _is_here(url: str) -> bool:
    return urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1")


def _certificates(path: str) -> ssl.SSLContext:
    """The usual certificates and those of the file."""
    import ssl

    context = ssl.create_default_context()
    try:
        context.load_verify_locations(path)
    except (OSError, ssl.SSLError) as error:
        reason = (error.strerror or "not a file of certificates").lower()
        said = f"{path}: {reason}; check the setting ca_file"
        raise ProviderError("config", said, sent=False) from None
    return context
