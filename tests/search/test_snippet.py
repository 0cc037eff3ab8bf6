from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmem.search import snippet
from cmem.store.records import Record

FILLER = "and so on with words that nobody has asked for "


def record(body: str, subtitle: str = "") -> Record:
    return Record(
        kind="O",
        ref=1,
        type="change",
        title="t",
        subtitle=subtitle,
        body=body,
        files=(),
        created_at=0,
        tokens=1,
        session=1,
        host_session="s",
        project="p",
        root="",
    )


CASES = {
    "short text is shown whole": ("first\nsecond", ["second"], "first second"),
    "far match": (
        FILLER * 9 + "the Timeout was 5 s " + FILLER * 9,
        ["timeout"],
        "the Timeout was 5 s",
    ),
    "word form": (
        FILLER * 9 + "it was configured twice " + FILLER * 9,
        ["configuring"],
        "configured",
    ),
    "accents": (FILLER * 9 + "un Café noir " + FILLER * 9, ["cafe"], "Café"),
    "han": ("无关的文字，" * 60 + "数据库连接池太小" + "，别的文字" * 60, ["连接池"], "连接池"),
    "most words": (
        FILLER * 5 + "alpha " + FILLER * 9 + "alpha beta gamma " + FILLER * 9,
        ["alpha", "beta", "gamma"],
        "alpha beta gamma",
    ),
}


@pytest.mark.parametrize(("body", "words", "shown"), CASES.values(), ids=CASES)
def test_snippet_shows_the_match(body, words, shown):
    text = snippet.around(record(body), words)
    assert shown in text
    assert len(text) <= snippet.WIDTH


def test_without_a_match_the_beginning_is_shown():
    text = snippet.around(record(FILLER * 9), ["zebra"])
    assert text.startswith("and so on with words")
    assert text.endswith("…")


PIECES = {
    "each place": ("a cache of caches", ["cache"], "a [cache] of [cache]s"),
    "case": ("The TIMEOUT", ["timeout"], "The [TIMEOUT]"),
    "accents": ("un Café", ["cafe"], "un [Café]"),
    "stem": ("was configured", ["configuring"], "was [configur]ed"),
    "han": ("修改项目配置", ["项目"], "修改[项目]配置"),
    "side by side": ("foobar", ["foo", "bar"], "[foo][bar]"),
    "one in the other": ("foobar", ["foobar", "bar"], "[foobar]"),
    "none": ("text", ["zebra"], "text"),
    "no words": ("text", [], "text"),
    "nothing": ("", ["a"], ""),
}


@pytest.mark.parametrize(("text", "words", "expected"), PIECES.values(), ids=PIECES)
def test_pieces_show_the_words(text, words, expected):
    found = snippet.pieces(text, words)
    assert "".join(f"[{piece}]" if is_word else piece for piece, is_word in found) == expected


@given(st.text(max_size=80), st.lists(st.text(max_size=4), max_size=4))
def test_pieces_are_the_text(text, words):
    assert "".join(piece for piece, _ in snippet.pieces(text, words)) == text


@given(st.text(max_size=400), st.lists(st.text(max_size=8), max_size=4))
def test_any_text_gives_one_short_line(body, words):
    text = snippet.around(record(body, "sub"), words)
    assert len(text) <= snippet.WIDTH
    assert len(text.splitlines()) <= 1
