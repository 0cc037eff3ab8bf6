"""When two memories say the same: by their titles, and by whether their texts agree. Pure.

Titles are held against each other by words weighted with how rare they are. Where the whole
difference is a rare word, a number or a version, they are two things however alike they look.
In doubt two memories are different: a wrong pair costs more than a missed one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

LIKE = 0.8
# A word that few titles have is what they are about.
RARE_SHARE = 0.01
RARE_LEAST = 2
AGREE = 0.6
# Words that turn a statement round, of the languages that we have met most.
NEGATIONS = frozenset(
    ("no", "not", "never", "none", "without", "cannot", "isn't", "don't", "doesn't", "didn't")
    + ("won't", "can't", "wasn't", "aren't", "instead", "reverted", "undone", "removed", "failed")
    + ("fails", "disabled", "dropped", "kein", "keine", "nicht", "nie", "pas", "jamais", "sin")
    + ("không", "нет", "не", "不", "没", "没有", "未", "无", "ない", "않", "ไม่")
)


class Title(NamedTuple):
    """A title by its comparable words, in order."""

    ref: int
    words: tuple[str, ...]


class Pair(NamedTuple):
    """Two memories, the older first. ``level``: 0 for the same title, 1 for one like it."""

    older: int
    newer: int
    level: int
    score: float


def pairs(titles: Sequence[Title]) -> list[Pair]:
    """The pairs of like titles, oldest first among ``titles``; for each newer one the likest."""
    weights = _weights(titles)
    rare = _rare(titles)
    by_word: dict[str, list[int]] = {}
    found: list[Pair] = []
    for at, title in enumerate(titles):
        best: Pair | None = None
        for other in _sharing(title, by_word, weights):
            pair = _pair(titles[other], title, weights=weights, rare=rare)
            if pair and (best is None or (-pair.level, pair.score) > (-best.level, best.score)):
                best = pair
        if best is not None:
            found.append(best)
        for word in set(title.words):
            by_word.setdefault(word, []).append(at)
    return found


def contradict(first: str, second: str) -> bool:
    """True unless two texts clearly say the same: one repeats the other, or they share most of
    their words and differ in no number and no negation."""
    left, right = _words(first), _words(second)
    if left == right:
        return False
    one, two = Counter(left), Counter(right)
    if _telling(one) != _telling(two):
        return True
    shared = sum((one & two).values())
    total = sum((one | two).values())
    return not total or shared / total < AGREE


def cosine(left: Sequence[str], right: Sequence[str], weights: Mapping[str, float]) -> float:
    """How alike two titles are, 0 to 1, by the weights of their words."""
    one, two = set(left), set(right)
    shared = sum(weights[word] ** 2 for word in one & two)
    size = math.sqrt(sum(weights[word] ** 2 for word in one))
    size *= math.sqrt(sum(weights[word] ** 2 for word in two))
    return shared / size if size else 0.0


def _pair(
    older: Title, newer: Title, *, weights: Mapping[str, float], rare: frozenset[str]
) -> Pair | None:
    if older.words == newer.words:
        return Pair(older.ref, newer.ref, 0, 1.0)
    apart = set(older.words) ^ set(newer.words)
    if any(word in rare or _is_number(word) or word in NEGATIONS for word in apart):
        return None
    score = cosine(older.words, newer.words, weights)
    return Pair(older.ref, newer.ref, 1, round(score, 3)) if score >= LIKE else None


def _sharing(
    title: Title, by_word: Mapping[str, Sequence[int]], weights: Mapping[str, float]
) -> list[int]:
    """The titles before this one that share its two rarest words: what is like it at all
    shares one of them."""
    rarest = sorted(set(title.words), key=lambda word: (-weights[word], word))[:2]
    return sorted({at for word in rarest for at in by_word.get(word, ())})


def _weights(titles: Sequence[Title]) -> dict[str, float]:
    counts = Counter(word for title in titles for word in set(title.words))
    return {word: 1 + math.log(len(titles) / count) for word, count in counts.items()}


def _rare(titles: Sequence[Title]) -> frozenset[str]:
    counts = Counter(word for title in titles for word in set(title.words))
    most = max(RARE_LEAST, int(len(titles) * RARE_SHARE))
    return frozenset(word for word, count in counts.items() if count <= most)


def _telling(words: Counter[str]) -> Counter[str]:
    """The words of a text that can be the whole difference."""
    return Counter({w: n for w, n in words.items() if _is_number(w) or w in NEGATIONS})


def _is_number(word: str) -> bool:
    return any(char.isdigit() for char in word)


def _words(text: str) -> list[str]:
    return [word.strip(".,;:!?()[]\"'`") for word in text.casefold().split()]
