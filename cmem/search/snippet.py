"""The line of text around what was found."""

from __future__ import annotations

from cmem.privacy import sanitise
from cmem.store import segment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cmem.store.records import Record

WIDTH = 160
# Text before the first word found, so that the line reads like one.
_LEAD = 40


class _Signs(dict[int, str]):
    """Each sign folded, where it stays one sign."""

    def __missing__(self, code: int) -> str:
        folded = segment.fold(chr(code))
        self[code] = folded if len(folded) == 1 else chr(code)
        return self[code]


_SIGNS = _Signs()
# The same few words are looked for in every row.
_KNOWN: dict[str, list[str]] = {}
_KNOWN_MAX = 100
# Places looked at in one text.
_FOUND_MAX = 200


def line(text: str) -> str:
    """``text`` on one line, harmless."""
    return sanitise.clean(text, one_line=True)


def around(record: Record, words: Sequence[str]) -> str:
    """The part of the row's text that shows most of ``words``; its beginning without any.

    What the title says already is not repeated while there is more to tell."""
    text = line("\n".join([part for part in (record.subtitle, record.body) if part]))
    if not text:
        return ""
    if len(text) <= WIDTH:
        return text
    return _window(text, _start(text, words))


def pieces(text: str, words: Sequence[str]) -> list[tuple[str, bool]]:
    """``text`` in pieces: those that show one of ``words``, and what lies between."""
    folded = _folded(text)
    spans: list[tuple[int, int]] = []
    for word in words:
        for needle in _needles(word):
            at = folded.find(needle)
            if at >= 0:
                while at >= 0:
                    spans.append((at, at + len(needle)))
                    at = folded.find(needle, at + len(needle))
                break
    found: list[tuple[str, bool]] = []
    done = 0
    for start, end in sorted(spans):
        if end > done:
            first = max(start, done)
            found += [(text[done:first], False)] if first > done else []
            found.append((text[first:end], True))
            done = end
    return [*found, (text[done:], False)] if done < len(text) else found


def _start(text: str, words: Sequence[str]) -> int:
    """Where the window begins that holds the most different words; the first of equals."""
    folded = _folded(text)
    found: list[tuple[int, int]] = []
    for number, word in enumerate(words):
        for needle in _needles(word):
            at = folded.find(needle)
            is_there = at >= 0
            while at >= 0 and len(found) < _FOUND_MAX:
                found.append((at, number))
                at = folded.find(needle, at + len(needle))
            if is_there:
                break
    found.sort()
    held: dict[int, int] = {}
    best, start, end = 0, 0, 0
    for at, number in found:
        while end < len(found) and found[end][0] < at + WIDTH - _LEAD:
            held[found[end][1]] = held.get(found[end][1], 0) + 1
            end += 1
        if len(held) > best:
            best, start = len(held), at
        held[number] -= 1
        if not held[number]:
            del held[number]
    return start


def _needles(word: str) -> list[str]:
    """What to look for, from the word as typed to its stem, as the index folds it."""
    known = _KNOWN.get(word)
    if known is not None:
        return known
    folded = _folded(word)
    terms = segment.words(word).split()
    stem = folded[: max(4, len(folded) - 3)] if folded.isascii() else folded
    first = terms[0] if terms else ""
    found = [needle for needle in dict.fromkeys((folded, stem, first)) if needle]
    if len(_KNOWN) < _KNOWN_MAX:
        _KNOWN[word] = found
    return found


def _folded(text: str) -> str:
    """``text`` folded sign by sign, so that places in it are places in the text."""
    if text.isascii():
        return text.lower()
    return text.translate(_SIGNS)


def _window(text: str, at: int) -> str:
    """``WIDTH`` characters with the place ``at`` near their beginning, cut between words."""
    start = max(0, min(at - _LEAD, len(text) - WIDTH + 1))
    if start:
        space = text.find(" ", start, at)
        start = space + 1 if space >= 0 else start
    head = "…" if start else ""
    end = min(len(text), start + WIDTH - len(head) - 1)
    if end < len(text):
        space = text.rfind(" ", at + 1, end)
        end = space if space > start + WIDTH // 2 else end
    return head + text[start:end].strip() + ("…" if end < len(text) else "")
