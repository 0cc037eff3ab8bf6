"""Folding and cutting a short text sign by sign, as ``segment`` does by regular expressions.

A query is a few words, for which five expressions would be compiled at 10 ms in all. The results
are the same, for every text (a test compares them); a longer text is cheaper there.
"""

from __future__ import annotations

# Up to this many characters.
SHORT = 64

_ACCENTS = ("\u0300", "\u036f")
# Latin, Greek and Cyrillic letters that may have an accent of their own, and that one may follow.
_LETTERS = "\u00c0-\u024f\u0370-\u03ff\u0400-\u052f\u1e00-\u1fff"
_BASES = "A-Za-z\u00aa-\u024f\u0370-\u03ff\u0400-\u052f\u1e00-\u1fff"


def fold(text: str, *, dropped: str, strokes: dict[str, str]) -> str:
    """``text`` in compatible forms, without case and accents. ``dropped``: the signs to leave out,
    as ranges; ``strokes``: letters to take for others."""
    from unicodedata import normalize

    kept = "".join([char for char in text if char.isascii() or not within(char, dropped)])
    found: list[str] = []
    is_base = False
    for char in normalize("NFKC", kept).casefold():
        if is_base and _ACCENTS[0] <= char <= _ACCENTS[1]:
            continue
        is_base = within(char, _BASES)
        if char.isascii() or not within(char, _LETTERS):
            found.append(char)
            continue
        for part in normalize("NFD", char):
            if not _ACCENTS[0] <= part <= _ACCENTS[1]:
                found.append(strokes.get(part, part))
    return "".join(found)


def runs(folded: str, kinds: tuple[tuple[str, int], ...], *, marks: str) -> list[tuple[str, int]]:
    """The runs of one script. ``kinds``: ranges, and the length of their grams; of the length 1
    each sign is a run. ``marks``: what is part of a word beside letters and digits."""
    found: list[tuple[str, int]] = []
    last = -1
    for char in folded:
        gram = _gram(char, kinds, marks)
        # A number in a circle, or a mark, goes on with the word it stands in.
        if last == 0 and gram > 0 and (within(char, marks) or (gram == 1 and char.isalnum())):
            gram = 0
        if gram == 1:
            found.append((char, 0))
        elif gram >= 0 and gram == last:
            found[-1] = (found[-1][0] + char, gram)
        elif gram >= 0:
            found.append((char, gram))
        last = gram
    return found


def _gram(char: str, kinds: tuple[tuple[str, int], ...], marks: str) -> int:
    """The length of the grams that the sign is in; -1 for what separates."""
    if not char.isascii():
        for ranges, length in kinds:
            if within(char, ranges):
                return length
    return 0 if char.isalnum() or within(char, marks) else -1


def has_lone_dot(text: str) -> bool:
    """Whether a dot stands where a word could begin, as in ``.env``."""
    at = text.find(".")
    while at > 0 and (text[at - 1].isalnum() or text[at - 1] in "_.)]}"):
        at = text.find(".", at + 1)
    return at >= 0


def within(char: str, ranges: str) -> bool:
    """Whether the sign is one of ``ranges``, written as between the brackets of an expression."""
    if char in ranges and char != "-":
        return True
    at = ranges.find("-", 1)
    while at > 0:
        if ranges[at - 1] < char < ranges[at + 1]:
            return True
        at = ranges.find("-", at + 2)
    return False
