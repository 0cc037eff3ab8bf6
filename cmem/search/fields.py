"""Filters inside a query: ``type:decision``, ``file:auth.ts``, ``since:monday``, mixed with words.

A minus in front takes out what the filter would leave: ``-type:decision``.
What stands in quotes, has another name in front or a value that cannot be meant (``since:banana``,
``host:8080``, ``file://…``) is text and searched for, so that any string stays a legal query.
"""

from __future__ import annotations

from cmem.lazy import pattern
from cmem.named import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# More text than this is not looked at; the query itself ends there too.
CHARACTERS_MAX = 1000

_FIELD = pattern(r'[“"][^"”]*[”"]|(?<!\S)(-?[A-Za-z]+):(?:"([^"\s][^"]*)"|([^\s"]+))(?!\S)|\S+')

# One filter and nothing else, whose value holds spaces.
_SPACED = pattern(r'(-?[A-Za-z]+):([^\s:"“”][^"“”]*\s[^"“”]*[^\s"“”])\Z')

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

# A time has two ends: what is before it is found by the other one.
_UNWANTED = tuple([name for name in NAMES if name not in ("since", "until")])


class Split(NamedTuple):
    """``text`` without its filters, and the values of each filter in their order; ``without``: of
    those with a minus in front."""

    text: str
    given: dict[str, list[str]]
    without: dict[str, list[str]]


def split(text: str, usable: Mapping[str, Callable[[str], bool]]) -> Split:
    """Take the filters out of ``text``. ``usable`` tells of some names whether a value can be
    meant; the others take any."""
    if ":" not in text:
        return Split(text, {}, {})
    given: dict[str, list[str]] = {}
    without: dict[str, list[str]] = {}
    left: list[str] = []
    done = 0
    for found in _FIELD.finditer(text[:CHARACTERS_MAX]):
        typed, value = (found[1] or "").lower(), found[2] or found[3] or ""
        name = typed.removeprefix("-")
        if name in (NAMES if typed == name else _UNWANTED) and _is_meant(value, name, usable):
            (given if typed == name else without).setdefault(name, []).append(value)
            left.append(text[done : found.start()])
            done = found.end()
    if not (given or without):
        return Split(text, {}, {})
    return Split("".join([*left, text[done:]]).strip(), given, without)


def spaced(word: str, is_whole: Callable[[str, str], bool]) -> str:
    """An argument as a shell gives it for ``project:"my calc"``, with its quotes again; any other
    one as it is. ``is_whole`` tells of a filter's name whether all of the value can be meant."""
    found = _SPACED.match(word.strip()) if " " in word and ":" in word else None
    if found is None:
        return word
    typed, value = found[1].lower(), found[2]
    name = typed.removeprefix("-")
    known = name in (NAMES if typed == name else _UNWANTED)
    return f'{found[1]}:"{value}"' if known and is_whole(name, value) else word


def _is_meant(value: str, name: str, usable: Mapping[str, Callable[[str], bool]]) -> bool:
    # ``file://`` begins an address, and ``type::name`` is code.
    if value.startswith((":", "//")):
        return False
    return name not in usable or usable[name](value)
