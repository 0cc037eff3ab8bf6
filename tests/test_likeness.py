"""What is alike and what is not: titles by rare words, texts by what could turn them round."""

from __future__ import annotations

import pytest

from cmem import likeness
from cmem.likeness import Pair, Title

FILLER = [
    f"{verb} {noun} in the build of service {name}"
    for verb in ("raise", "fix", "move")
    for noun in ("limit", "timeout", "cache")
    for name in ("alpha", "beta", "gamma")
]


def found(*titles: str) -> list[Pair]:
    """The pairs among the titles, which stand after others of the project."""
    words = [Title(ref, tuple(text.split())) for ref, text in enumerate(FILLER)]
    words += [Title(100 + ref, tuple(text.split())) for ref, text in enumerate(titles)]
    return [pair for pair in likeness.pairs(words) if pair.newer >= 100 and pair.older >= 100]


def test_the_same_title_is_a_pair_of_level_0() -> None:
    assert found("retry after reset", "retry after reset") == [Pair(100, 101, 0, 1.0)]


def test_a_common_word_more_is_a_pair_of_level_1() -> None:
    title = "zebra stripes in the quokka build"
    (pair,) = found(title, title + " cache")
    assert (pair.older, pair.newer, pair.level) == (100, 101, 1)
    assert likeness.LIKE <= pair.score < 1


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("fix ffmpeg-7.1.conf in the build", "fix ffmpeg-6.0.conf in the build"),
        ("raise limit of quokka", "raise limit of zebra"),
        ("cache holds rows", "cache not holds rows"),
        ("fix c in the build", "fix c++ in the build"),
        ("fix the cache", "move timeout in service gamma"),
    ],
    ids=["version", "rare-word", "negation", "sign", "nothing-shared"],
)
def test_a_telling_difference_keeps_titles_apart(left: str, right: str) -> None:
    assert found(left, right) == []


def test_of_several_older_ones_the_likest_is_taken() -> None:
    title = "zebra stripes in the quokka build"
    pairs = found(title + " cache", title, title)
    assert pairs[-1] == Pair(101, 102, 0, 1.0)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("", "", False),
        ("It gave up too early.", "it gave up too early", False),
        ("It gave up too early after a reset.", "It gave up too early after the reset.", False),
        ("The limit is 3.", "The limit is 4.", True),
        ("The cache is kept.", "The cache is not kept.", True),
        ("缓存 不 过期", "缓存 过期", True),
        ("One thing.", "Wholly other words here.", True),
        ("Some text.", "", True),
    ],
    ids=["empty", "equal", "near", "number", "negated", "chinese", "other", "one-empty"],
)
def test_in_doubt_two_texts_contradict(first: str, second: str, *, expected: bool) -> None:
    assert likeness.contradict(first, second) is expected
    assert likeness.contradict(second, first) is expected
