"""How asking a provider can fail. Who asks decides what becomes of the work unit."""

from __future__ import annotations

from cmem.model import Usage
from cmem.privacy import second
from cmem.privacy.sanitise import clean

NO_USAGE = Usage(0, 0, 0, 0, 0.0)


class ProviderError(Exception):
    """The provider is in trouble, not the unit. ``kind``: auth | config | quota | overload |
    transport. ``retry_after_s`` is what the provider itself asked for. ``usage``: what the call
    took, where that was told. ``served``: it may have been answered and charged, and nobody
    knows for how much; so is a transport that broke, unless it is said that nothing arrived.
    ``sent`` False: nobody was asked, because the request could not even be made."""

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        retry_after_s: float | None = None,
        usage: Usage = NO_USAGE,
        served: bool | None = None,
        sent: bool = True,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.retry_after_s = retry_after_s
        self.usage = usage
        self.served = (kind == "transport" if served is None else served) and sent
        self.sent = sent


class UnusableReply(Exception):  # noqa: N818 - the reply is the subject, not the error
    """The provider answered, and the answer is neither a record nor an explicit skip.
    ``served``: it was charged, and nobody knows for how much."""

    def __init__(
        self, reason: str, *, usage: Usage = NO_USAGE, calls: int = 1, served: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.usage = usage
        self.calls = calls
        self.served = served


class MissingCredential(Exception):  # noqa: N818 - the credential is the subject
    """There is no key to ask with; nothing was asked."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def told(text: str, limit: int = 200, *, end: bool = False) -> str:
    """What a program or server said, or the end of it, as one line that may be shown and kept."""
    line = clean(second.scrub(text), one_line=True)
    if len(line) <= limit:
        return line
    return "…" + line[1 - limit :] if end else line[: limit - 1] + "…"
