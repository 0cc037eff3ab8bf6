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


@given(st.text(max_size=400), st.lists(st.text(max_size=8), max_size=4))
def test_any_text_gives_one_short_line(body, words):
    text = snippet.around(record(body, "sub"), words)
    assert len(text) <= snippet.WIDTH
    assert len(text.splitlines()) <= 1
