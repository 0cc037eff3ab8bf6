"""Unknown words: pieces of words, and slips."""

from __future__ import annotations

import pytest
import store_rows as make
from hypothesis import given
from hypothesis import strategies as st

from cmem.search import near
from cmem.search.run import Filters, search
from cmem.store import documents, vocabulary

T0 = make.T0
TEXTS = (
    ("Authentication moved", "The environment handles it."),
    ("Token bucket", "A connection limit of the broken client."),
    ("Numbers", "Timeout after a retry; retrying is happier."),
    ("Обновление кэша", "Счётчик посещений"),
    ("Cập nhật đăng nhập", "Tiếng Việt"),
)

DISTANCES = {
    ("abc", "abc"): 0,
    ("abc", "abd"): 1,
    ("abc", "acb"): 1,
    ("abc", "ab"): 1,
    ("abc", "abcd"): 1,
    ("timeout", "tiemotu"): 2,
    ("ca", "abc"): 3,
    ("abc", "xyz"): 3,
    ("", "a"): 1,
}


@pytest.mark.parametrize(("pair", "slips"), DISTANCES.items(), ids=str)
def test_distance(pair, slips):
    assert near.distance(*pair, 3) == slips
    assert near.distance(*pair[::-1], 3) == slips


@given(st.text(max_size=8), st.text(max_size=8), st.integers(0, 3))
def test_a_limit_changes_no_distance_below_it(one, other, most):
    whole = near.distance(one, other, 99)
    cut = near.distance(one, other, most)
    assert cut == whole if whole <= most else cut > most


@pytest.fixture
def store(home):
    conn = make.open_store(home)
    turn = make.turn(conn, make.session(conn, make.project(conn)))
    for title, narrative in TEXTS:
        make.observation(conn, turn, title, narrative)
    yield conn
    conn.close()


def found(store, text, **filters):
    result = search(store, text=text, filters=Filters(**filters), limit=20, now=T0)
    return result.steps, [hit.id for hit in result.hits], result.replaced


PART, SIMILAR = ["part of a word"], ["similar word"]
WORDS = {
    "authe": (PART, ["O1"], {"authe": ["Authentication"]}),
    "oken": (PART, ["O2"], {"oken": ["broken", "Token"]}),
    "nviron": (PART, ["O1"], {"nviron": ["environment"]}),
    "connectionless": (PART, ["O2"], {"connectionless": ["connection"]}),
    "authentcation": (SIMILAR, ["O1"], {"authentcation": ["Authentication"]}),
    "enviroment": (SIMILAR, ["O1"], {"enviroment": ["environment"]}),
    "conection": (SIMILAR, ["O2"], {"conection": ["connection"]}),
    "numebrs": (SIMILAR, ["O3"], {"numebrs": ["Numbers"]}),
    "itmeout": (SIMILAR, ["O3"], {"itmeout": ["Timeout"]}),
    "tokne": (SIMILAR, ["O2"], {"tokne": ["Token"]}),
    "обновлние": (SIMILAR, ["O4"], {"обновлние": ["Обновление"]}),
    "nhâjt": (SIMILAR, ["O5"], {"nhâjt": ["nhật"]}),
    "zebra": (["all words"], [], {}),
    "tim": (["all words"], [], {}),
    '"authentcation"': (["all words"], [], {}),
}


# A word of a text, and a piece of it whose English ending one of them loses in the index.
ENDINGS = {
    "microservice": "service",
    "precached": "cache",
    "rebase": "base",
    "rebasing": "base",
    "autosave": "save",
    "reusable": "usable",
    "unhandled": "handled",
    "bidirectional": "direction",
    "misconfigured": "configuration",
    "reconnecting": "connection",
    "prefetches": "fetching",
    "database": "base",
}


def test_a_piece_at_the_end_of_a_word_is_found_whatever_the_ending(home):
    conn = make.open_store(home)
    turn = make.turn(conn, make.session(conn, make.project(conn)))
    for word, piece in ENDINGS.items():
        ref = make.observation(conn, turn, f"about a {word} here")
        assert found(conn, piece) == (PART, [f"O{ref}"], {piece: [word]})
        conn.execute("UPDATE observations SET hidden_at = 1")
        documents.remove(conn, "O", ref)
    make.observation(conn, turn, "basic unusual directory")
    assert [found(conn, piece)[1] for piece in ("base", "usable", "service")] == [[], [], []]
    conn.close()


# A text, and queries that find it by other signs of its vowels, or by none.
POINTED = {
    "مُحَمَّد": ("محمد", "مُحَمَّد"),
    "كَتَبَ": ("كتب",),
    "الرحمـــن": ("الرحمن",),
    "تسجيل": ("تَسجيل", "تســجيل"),
    "שָׁלוֹם": ("שלום", "שָׁלוֹם"),
    "כניסה": ("כְּנִיסָה",),
    "خطأ في": ("خَطأ-في",),
}


def test_vowels_of_arabic_and_hebrew_can_be_left_out(home):
    conn = make.open_store(home)
    turn = make.turn(conn, make.session(conn, make.project(conn)))
    for text in POINTED:
        make.observation(conn, turn, text, "a b")
    asked = [
        (f"O{ref}", query) for ref, queries in enumerate(POINTED.values(), 1) for query in queries
    ]
    assert [(found(conn, query)[1], query) for _, query in asked] == [
        ([ref], query) for ref, query in asked
    ]
    assert found(conn, "محمد") == (PART, ["O1"], {"محمد": ["مُحَمَّد"]})
    assert found(conn, "مح")[1] == found(conn, "محمود")[1] == []
    conn.close()


@pytest.mark.parametrize(("text", "expected"), WORDS.items(), ids=map(ascii, WORDS))
def test_unknown_word(store, text, expected):
    assert found(store, text) == expected


def test_hits_of_the_words_as_typed_stand_above_those_of_replaced_ones(store):
    for _ in range(5):
        make.observation(store, 1, "client")
    result = search(store, text="client conection", filters=Filters(), limit=4, now=T0)
    assert result.steps == ["any word", "similar word"]
    assert [hit.id for hit in result.hits] == ["O10", "O9", "O8", "O2"]
    assert result.replaced == {"conection": ["connection"]}
    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)


def test_a_known_word_is_never_replaced(store):
    make.prompt(store, 1, "tokens of my own")
    assert found(store, "token")[2] == {}


def test_a_word_known_elsewhere_is_replaced_by_one_of_this_project(store):
    other = make.turn(store, make.session(store, make.project(store, "blog"), "s2"))
    make.observation(store, other, "authe")
    assert found(store, "authe", projects=(1,)) == (PART, ["O1"], {"authe": ["Authentication"]})
    assert found(store, "authe")[1] == ["O6"]


def test_an_unknown_word_of_a_question_is_left_as_it_is(store):
    text = "why did the authentication of the client change conection"
    assert found(store, text)[0] == ["any word"]


def test_pieces_inside_words_are_not_looked_for_in_a_large_store(store, monkeypatch):
    monkeypatch.setattr(vocabulary, "WALKED_MAX", 3)
    assert found(store, "nviron") == (["all words"], [], {})


def test_filters_are_no_words(store):
    assert vocabulary.holding(store, "discovery") == []
    assert near.parts(store, "t_discovery") == []


def test_forgotten_words_are_not_offered(store):
    documents.remove(store, "O", 1)
    assert near.parts(store, "authe") == near.slips(store, "authentcation") == []


def test_stem():
    conn = __import__("apsw").Connection(":memory:")
    words = ("authentication", "timeouts", "обновление", "tiếng", "can't")
    assert [vocabulary.stem(conn, word) for word in words[:4]] == [
        "authent",
        "timeout",
        "обновление",
        "tiếng",
    ]
