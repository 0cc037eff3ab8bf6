"""A text as it is compared when a person names a piece of it.

Folded as the index folds it; every stretch of white space is one space, and none between signs of
a script that is written without; of a document its strings, one after the other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from cmem.store import segment

# Han, kana, Hangul and their neighbours; Thai, Lao, Burmese, Khmer.
_JOINED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff"
_BETWEEN = re.compile(f"(?<=[{_JOINED}]) (?=[{_JOINED}])")


def text(given: str) -> str:
    """A text to be compared."""
    folded = " ".join(segment.fold(given).split())
    return folded if folded.isascii() else _BETWEEN.sub("", folded)


def document(stored: str) -> str:
    """A text of JSON to be compared by the words in it; as a plain text where it is no JSON."""
    try:
        found = json.loads(stored)
    except (ValueError, RecursionError):
        return text(stored)
    return text(" ".join(_strings(found)))


def _inside(given: str) -> list[object]:
    """The document that a string is, if it is one."""
    if given[:1] + given[-1:] not in ("{}", "[]"):
        return []
    try:
        return [json.loads(given)]
    except (ValueError, RecursionError):
        return []


def _strings(found: object) -> Iterator[str]:
    """Every name and value, in order; a string that is a document itself is told by its words."""
    pending = [found]
    while pending:
        one = pending.pop()
        if isinstance(one, str):
            yield one
            pending += _inside(one)
        elif isinstance(one, dict):
            pending += [part for pair in reversed(one.items()) for part in reversed(pair)]
        elif isinstance(one, list):
            pending += reversed(one)
        elif one is not None and not isinstance(one, bool):
            yield str(one)
