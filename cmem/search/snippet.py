"""The line of text around what was found."""

from collections.abc import Sequence

from cmem.privacy import sanitise
from cmem.store import segment
from cmem.store.records import Record

WIDTH = 160
# Text before the first word found, so that the line reads like one.
_LEAD = 40


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
            while at >= 0 and len(found) < 200:
                found.append((at, number))
                at = folded.find(needle, at + len(needle))
            if any(which == number for _, which in found):
                break
    best, start = 0, 0
    for at, _ in sorted(found):
        held = {which for place, which in found if at <= place < at + WIDTH - _LEAD}
        if len(held) > best:
            best, start = len(held), at
    return start


def _needles(word: str) -> list[str]:
    """What to look for, from the word as typed to its stem, as the index folds it."""
    folded = _folded(word)
    terms = segment.words(word).split()
    stem = folded[: max(4, len(folded) - 3)] if folded.isascii() else folded
    first = terms[0] if terms else ""
    return [needle for needle in dict.fromkeys((folded, stem, first)) if needle]


def _folded(text: str) -> str:
    """``text`` folded sign by sign, so that places in it are places in the text."""
    if text.isascii():
        return text.lower()
    folded = [segment.fold(char) for char in text]
    return "".join([new if len(new) == 1 else old for new, old in zip(folded, text, strict=True)])


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
