"""Filters inside a query: ``type:decision``, ``file:auth.ts``, ``since:monday``, mixed with words.

What stands in quotes, begins with a minus, has another name in front or a value that cannot be
meant (``since:banana``, ``host:8080``, ``file://…``) is text and searched for, so that any
string stays a legal query.
"""

from __future__ import annotations

from cmem.lazy import pattern
from cmem.named import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# More text than this is not looked at; the query itself ends there too.
CHARACTERS_MAX = 1000

_FIELD = pattern(r'[“"][^"”]*[”"]|(?<!\S)([A-Za-z]+):(?:"([^"\s][^"]*)"|([^\s"]+))(?!\S)|\S+')

NAMES = (
    "agent",
    "branch",
    "concept",
    "file",
    "host",
    "kind",
    "project",
    "session",
    "since",
    "type",
    "until",
)


class Split(NamedTuple):
    """``text`` without its filters, and the values of each filter in their order."""

    text: str
    given: dict[str, list[str]]


def split(text: str, usable: Mapping[str, Callable[[str], bool]]) -> Split:
    """Take the filters out of ``text``. ``usable`` tells of some names whether a value can be
    meant; the others take any."""
    if ":" not in text:
        return Split(text, {})
    given: dict[str, list[str]] = {}
    left: list[str] = []
    done = 0
    for found in _FIELD.finditer(text[:CHARACTERS_MAX]):
        name, value = (found[1] or "").lower(), found[2] or found[3] or ""
        if name in NAMES and _is_meant(value) and usable.get(name, _any)(value):
            given.setdefault(name, []).append(value)
            left.append(text[done : found.start()])
            done = found.end()
    if not given:
        return Split(text, {})
    return Split("".join([*left, text[done:]]).strip(), given)


def _is_meant(value: str) -> bool:
    # ``file://`` begins an address, and ``type::name`` is code.
    return not value.startswith((":", "//"))


def _any(_value: str) -> bool:
    return True
