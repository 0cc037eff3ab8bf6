"""The one gate for text that becomes memory or an error message: no secret, no control."""

from __future__ import annotations

MAX_ERROR = 500


def paragraphs(text: str) -> str:
    """Return the text fit to store, its line breaks kept."""
    return _clean(text, one_line=False)


def line(text: str) -> str:
    """Return the text fit to store, on one line."""
    return _clean(text, one_line=True)


def lines(texts: tuple[str, ...]) -> list[str]:
    """Return every text fit to store, empty ones and repeats dropped, order kept."""
    return list(dict.fromkeys(cleaned for text in texts if (cleaned := line(text))))


def error(text: str) -> str:
    """Return a message fit to store: one line, cut to its first 500 characters."""
    return line(text)[:MAX_ERROR]


def _clean(text: str, *, one_line: bool) -> str:
    from cmem.privacy.sanitise import clean
    from cmem.privacy.second import scrub

    # Cleaned first, because an invisible character inside a secret would hide it from a rule.
    return scrub(clean(text, one_line=one_line))
