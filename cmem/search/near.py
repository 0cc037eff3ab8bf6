"""Words the index does not know: what they may be a part of, or a slip of.

A word is first taken as the beginning or a piece of longer ones, or as a longer form of a known
one; then as misspelt: one slip (a letter too many, too few, wrong, or two swapped) in a word of
up to five letters, two in a longer one. Two of the first three letters must be there.
"""

from __future__ import annotations

from cmem.lazy import pattern
from cmem.store import segment, vocabulary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    import apsw

    from cmem.store.vocabulary import Term

# A shorter word is part of, and like, too many others.
LETTERS_MIN = 4
# A word without its vowels is shorter, and only looked for with them.
_BARE_MIN = 2
_LONG = 6
# How much of a word a shorter form of it must keep.
_KEPT = 0.65
_NEAREST_MAX = 3

_WORD = pattern(f"(?:[^\\W\\d_]|[{segment.MARKS}])+")


def parts(conn: apsw.Connection, word: str) -> list[str]:
    """The terms that ``word``, folded, is with its vowels, begins or is a piece of, or is a longer
    form of."""
    pointed = _pointed(conn, word)
    if pointed or len(word) < LETTERS_MIN:
        return pointed
    shorter = [word[:end] for end in range(len(word) - 1, int(len(word) * _KEPT), -1)]
    shorter += [vocabulary.stem(conn, one) for one in shorter]
    forms = [one for one in vocabulary.exact(conn, shorter) if len(one.text) >= LETTERS_MIN][:1]
    begun = _frequent(vocabulary.beginning(conn, word))
    held = begun or vocabulary.holding(conn, word, end=_ending(conn, word))
    return [one.text for one in [*held, *forms]]


def is_enough(word: str) -> bool:
    """Whether a word is long enough to be looked for in others."""
    return len(word) >= (_BARE_MIN if segment.is_pointed_script(word) else LETTERS_MIN)


def _pointed(conn: apsw.Connection, word: str) -> list[str]:
    """The terms that are ``word`` with signs for its vowels."""
    if not segment.is_pointed_script(word):
        return []
    found = vocabulary.beginning(conn, word[0], shortest=len(word) + 1)
    return [one.text for one in _frequent([one for one in found if segment.bare(one.text) == word])]


def _ending(conn: apsw.Connection, word: str) -> str:
    """How a longer word that ends in ``word`` ends as the index has it, if it is another way:
    ``service``, microservic."""
    stem = vocabulary.stem(conn, word)
    if stem == word:
        # A short word keeps an ending that a longer one loses: ``base``, rebas.
        return word.removesuffix("e") if word.endswith("e") else ""
    return stem if len(stem) >= LETTERS_MIN else ""


def slips(conn: apsw.Connection, word: str) -> list[str]:
    """The terms that ``word`` is most likely a slip of, the most frequent first."""
    if len(word) < LETTERS_MIN:
        return []
    allowed = 1 if len(word) < _LONG else 2
    # A word with a slip in it may keep an ending that its right form loses: ``hndle``, handl.
    forms = {word, word.removesuffix("e"), vocabulary.stem(conn, word)}
    shortest, longest = min(map(len, forms)) - allowed, len(word) + allowed
    starts = [word[:3], word[:2]] if len(word) >= _LONG else [word[:2]]
    # Then the first letters swapped, as far as one slip can be in them.
    for start in dict.fromkeys([*starts, word[0] + word[2], word[1] + word[0]]):
        near: list[tuple[int, int, str]] = []
        for one in vocabulary.beginning(conn, start, shortest=shortest, longest=longest):
            away = min([distance(form, one.text, allowed) for form in forms])
            if away <= allowed and one.text.isalpha():
                near.append((away, -one.documents, one.text))
        if near:
            least = min(near)[0]
            return [text for away, _, text in sorted(near) if away == least][:_NEAREST_MAX]
    return []


def distance(one: str, other: str, most: int) -> int:
    """Slips between two words (optimal string alignment); any number above ``most`` if more."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    # A letter that the other one has not is a slip each: this ends most comparisons.
    letters, others = set(one), set(other)
    if len(letters - others) > most or len(others - letters) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        line = [row]
        for place, compared in enumerate(other, 1):
            best = min(last[place] + 1, line[-1] + 1, last[place - 1] + (letter != compared))
            if row > 1 and place > 1 and letter == other[place - 2] and one[row - 2] == compared:
                best = min(best, before[place - 2] + 1)
            line.append(best)
        if min(line) > most:
            return most + 1
        before, last = last, line
    return last[-1]


def spelled(term: str, texts: Iterable[str]) -> str:
    """A word of ``texts`` that stands for the stem ``term``, to be shown; "" when none does."""
    # The last letter of a stem is not always one of the word's: ``happi``.
    begins = term[:-1] if len(term) > LETTERS_MIN else term
    for text in texts:
        found: list[str] = [one for one in _WORD.findall(text) if begins in segment.fold(one)]
        if found:
            _, nearest = min([(abs(len(one) - len(term)), one) for one in found])
            return nearest
    return ""


def _frequent(found: list[Term]) -> list[Term]:
    plain = [one for one in found if "_" not in one.text]
    return sorted(plain, key=lambda one: (-one.documents, one.text))[: vocabulary.TERMS_MAX]
