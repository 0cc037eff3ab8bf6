"""Tricky queries over a small store in many scripts: exactly these rows, no more, no less."""

from __future__ import annotations

import pytest
import store_rows as make
import tricky
from hypothesis import given
from hypothesis import strategies as st

from cmem.search import query as queries
from cmem.search.run import Filters, search
from cmem.store import connection

# Questions no row holds as a whole: rows with the rarest of their words, the best one first.
QUESTIONS = {
    "why did the token refresh hang": "O1",
    "数据库配置怎么修改": "O13",
    "データベースに接続できない": "O16",
    "데이터베이스가 안 돼요": "O18",
    "how do I skip the commit hook please": "O11",
    "resolve xmlhttprequest polyfills": "O31",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    home = tmp_path_factory.mktemp("store")
    home.chmod(0o700)
    conn = make.open_store(home)
    turn = make.turn(conn, make.session(conn, make.project(conn)))
    for title, narrative in tricky.TEXTS:
        make.observation(conn, turn, title, narrative)
    conn.close()
    reader = connection.open_reader(str(home))
    yield reader
    reader.close()


def ids(store, text):
    result = search(store, text=text, filters=Filters(), limit=20, now=make.T0)
    return result.steps, [hit.id for hit in result.hits]


@pytest.mark.parametrize(
    ("text", "expected"), tricky.QUERIES.items(), ids=map(ascii, tricky.QUERIES)
)
def test_query_finds_exactly(store, text, expected):
    assert sorted(ids(store, text)[1]) == sorted(expected.split())


def test_a_version_is_no_number_without_its_dots(home):
    conn = make.open_store(home)
    turn = make.turn(conn, make.session(conn, make.project(conn)))
    make.observation(conn, turn, "release v1.2.3-rc.1")
    make.observation(conn, turn, "build 123 failed")
    make.observation(conn, turn, "needs 1.2.4 or later")
    make.observation(conn, turn, "backup-20261130.tar")
    asked = ("1.2.3", "v1.2.3", "1.2.3-rc.1", "v1.2.4", "123", "2026-11-30")
    found = [ids(conn, text)[1][:1] for text in asked]
    assert found == [["O1"], ["O1"], ["O1"], ["O3"], ["O2"], ["O4"]]
    conn.close()


@pytest.mark.parametrize(("text", "best"), QUESTIONS.items(), ids=map(ascii, QUESTIONS))
def test_question_finds_by_its_rarest_words(store, text, best):
    steps, found = ids(store, text)
    assert (steps, found[0]) == (["any word"], best)


@given(text=st.text(max_size=60))
def test_any_string_is_a_query(store, text):
    search(store, text=text, filters=Filters(), limit=5, now=make.T0)


@given(text=st.text(alphabet=st.sampled_from("ab\"'*:-()^NEAR AND OR{}.+#\0 项🎉é")))
def test_signs_of_query_languages_are_text(store, text):
    search(store, text=text, filters=Filters(), limit=5, now=make.T0)


LARGE = {
    "characters": "x" * 100_000,
    "words": " ".join(f"w{number}" for number in range(10_000)),
    "han": "项目配置数据库" * 2000,
    "quotes": '"' * 10_000,
    "minuses": "-a " * 5000,
}


@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE)
def test_large_query_is_bounded(store, text):
    query = queries.parse(text)
    assert len(query.units) <= queries.UNITS_MAX
    assert len(queries.match_all(query)) < 20_000 if query.units else True
    search(store, text=text, filters=Filters(), limit=5, now=make.T0)


def test_pasted_long_text_is_found_by_its_beginning(home):
    conn = make.open_store(home)
    turn = make.turn(conn, make.session(conn, make.project(conn)))
    text = "连接池太小需要调整否则请求会排队" * 20
    ref = make.prompt(conn, turn, text)
    assert ids(conn, text)[1] == [f"P{ref}"]
