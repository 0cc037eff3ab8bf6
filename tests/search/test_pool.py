"""Short ways to the same rows: what is left unread must change nothing that is found."""

from __future__ import annotations

import random

import apsw
import pytest
import store_rows as make
from hypothesis import given
from hypothesis import strategies as st
from tricky import QUERIES, TEXTS

from cmem.search import ladder, pool, small
from cmem.search import query as queries
from cmem.search.run import Filters, search
from cmem.store import connection, find, functions, migrations, verify
from cmem.store.find import Candidate
from cmem.store.scope import Scope, scoped

WORDS = ("src", "auth", "py", "core", "the", "how", "is", "数据库", "foo_bar", "C++")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """The texts of the tricky queries, and 300 rows in which some words are common and some rare."""
    home = tmp_path_factory.mktemp("store")
    home.chmod(0o700)
    conn = make.open_store(home)
    turn = make.turn(conn, make.session(conn, make.project(conn)))
    for title, narrative in TEXTS:
        make.observation(conn, turn, title, narrative)
    chance = random.Random(20)
    with connection.transaction(conn):
        for number in range(300):
            text = _text(chance)
            if number % 3:
                make.prompt(conn, turn, text)
            else:
                make.tool(conn, turn, "Bash", given={"command": text}, answer=_text(chance))
    yield conn
    conn.close()


def _text(chance: random.Random) -> str:
    words = chance.choices(WORDS, (30, 1, 30, 3, 30, 10, 20, 2, 2, 2), k=chance.randint(2, 9))
    return "".join(word + chance.choice((" ", "/", ".", "-")) for word in words)


def _queries() -> list[str]:
    chance = random.Random(21)
    paths = [chance.choice("/.").join(chance.choices(WORDS[:7], k=4)) for _ in range(60)]
    return [*QUERIES, *(_text(chance) for _ in range(60)), *paths, "src/auth.py", "how is the auth"]


@pytest.mark.parametrize("scope", [Scope(), Scope(kinds=("P", "O"))], ids=["all", "kinds"])
def test_the_short_ways_to_all_rows_find_what_the_index_finds(store, monkeypatch, scope):
    monkeypatch.setattr(ladder, "ROWS_PER_TEXT", 3)
    monkeypatch.setattr(ladder, "PIECE_COUNT_MAX", 20)
    short = 0
    for text in _queries():
        query = queries.parse(text)
        if not query.units or queries.is_open(query):
            continue
        match = scoped(queries.match_all(query), scope)
        plain = find.oldest(store, match, Scope(), limit=1000)
        in_turn = queries.match_in_turn(query, query.units[::-1])
        assert find.oldest(store, scoped(in_turn, scope), scope, limit=1000) == plain, text
        few = ladder._few(store, query, scope)
        is_few = not plain or (len(plain) <= ladder.FEW and len(query.units) > 1)
        assert few == (plain if is_few else None), text
        short += any(ladder._part(store, unit) != unit.match for unit in query.units)
    assert short > 20


def test_beside_a_sign_in_nearly_all_rows_the_rows_with_both_are_found(store, monkeypatch):
    for walked in (ladder.WALKED_MAX, 0):
        monkeypatch.setattr(ladder, "WALKED_MAX", walked)
        for text in ("数 auth", "auth 数 src", "数 的", "foo_bar 数", "nobody 数", "src 数 -auth"):
            query = queries.parse(text)
            plain = find.oldest(store, queries.match_all(query), Scope(), limit=1000)
            best = ladder._best(store, query, Scope(), ladder._counted(store, query))
            assert sorted(best.relevance) == plain, text
            assert bool(plain) == (text not in ("数 的", "nobody 数")), text


def test_a_row_matches_by_its_text_as_it_does_by_the_index(store):
    chance = random.Random(22)
    every = range(1, find.size(store) + 1)
    for text in _queries():
        query = queries.parse(text)
        if query.units:
            match = queries.match_all(query)
            plain = find.oldest(store, match, Scope(), limit=1000)
            some = sorted({*chance.sample(every, 4), *plain[:4]})
            expected = [one for one in some if one in plain]
            assert verify.matching(store, match, some) == expected, text
    assert verify.matching(store, '"auth"', []) == []


@pytest.mark.parametrize("scope", [Scope(), Scope(since=make.T0 + 20, until=make.T0 + 90)])
def test_the_last_matches_are_those_of_the_whole_list(store, scope):
    for text in ("src", "auth", "的", "foo_bar", '"src src"', "nobody"):
        match = queries.match_all(queries.parse(text))
        plain = find.oldest(store, match, scope, limit=1000)[::-1]
        for limit in (1, 3, 40, 1000):
            assert find.last(store, match, scope, limit=limit) == plain[:limit], text
            newest = find.newest(store, match, scope, limit=limit)
            assert [one.document for one in newest] == plain[:limit], text
            assert newest == sorted(find.at(store, plain[:limit]), reverse=True)


def test_small_words_are_looked_for_last():
    query = queries.parse("the auth of src -old")
    little = [unit for unit in query.units if small.is_small(unit.match)]
    assert queries.match_in_turn(query, little) == (
        '{title body meta x} : ((((("auth" AND "src") NOT "") AND "the") NOT "") AND "of")'
        ' NOT {title body meta x} : ("old")'
    )


_CANDIDATES = st.lists(
    st.tuples(st.sampled_from("OSPT"), st.integers(1, 4), st.sampled_from((0.2, 0.5, 0.9, 1.0))),
    max_size=40,
)


@given(rows=_CANDIDATES, size=st.integers(1, 9), known=st.integers(0, 40))
def test_reading_kinds_as_far_as_needed_gives_the_order_of_reading_all(rows, size, known):
    every = [Candidate(at, kind, at, moment) for at, (kind, moment, _) in enumerate(rows)]
    relevance = {at: rank for at, (_, _, rank) in enumerate(rows)}
    read = {one.document: one for one in every[:known]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(find, "at", lambda _conn, wanted: [every[at] for at in wanted])
        found = [one for batch in pool.batches(None, pool.Pool(relevance, read), size=size) for one in batch]  # fmt: skip
    assert found == sorted([(one, relevance[one.document]) for one in every], key=pool._first_sight)


def test_of_many_matches_no_more_are_measured_than_can_be_seen(home):
    conn = make.open_store(home)
    turn = make.turn(conn, make.session(conn, make.project(conn)))
    with connection.transaction(conn):
        make.observation(conn, turn, "cache of old", "x", created_at=make.T0 - make.DAY)
        make.observation(conn, turn, "a title", "the cache")
        for _ in range(pool.BEST + 200):
            make.prompt(conn, turn, "some words\nand a cache")
    read: list[str] = []
    conn.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: read.append(event["sql"]))
    found = search(conn, text="cache", filters=Filters(), limit=5, now=make.T0)
    conn.trace_v2(0)
    assert [hit.id for hit in found.hits[:2]] == ["O1", "O2"]
    measured = [one for one in read if "documents_fts_docsize" in one]
    assert 0 < len(measured) <= pool.BEST + pool.OBSERVED + 1
    conn.close()


def test_who_holds_most_of_a_question_is_not_lost_among_titles(home, monkeypatch):
    monkeypatch.setattr(pool, "BEST", 5)
    conn = make.open_store(home)
    turn = make.turn(conn, make.session(conn, make.project(conn)))
    make.observation(conn, turn, "another thing", "glacier and umbrella went wrong")
    for number in range(20):
        make.observation(conn, turn, f"glacier {number}", "x")
    found = search(conn, text="glacier umbrella nowhere", filters=Filters(), limit=3, now=make.T0)
    assert found.hits[0].id == "O1"
    conn.close()


@pytest.mark.parametrize("version", range(1, 7))
def test_titles_count_more_than_bodies_in_a_store_that_no_writer_has_opened_yet(home, version):
    (home / "memory.db").touch(0o600)
    conn = apsw.Connection(str(home / "memory.db"))
    connection._configure_writer(conn)
    functions.register(conn)
    migrations.migrate(conn, make.T0, migrations.MIGRATIONS[:version])
    turn = make.turn(conn, make.session(conn, make.project(conn)))
    for at in range(3):
        make.observation(
            conn, turn, "others", "words of all kinds " * 3 + "and cache", created_at=at
        )
    make.observation(conn, turn, "the cache", "words of all kinds " * 3, created_at=0)
    conn.close()
    reader = connection.open_reader(str(home))
    assert reader is not None and reader.pragma("user_version") == version
    ranked = find.ranked(reader, '"cache"', [1, 2, 3, 4])
    assert ranked[0][0] == 4 and ranked[0][1] < 1.5 * ranked[1][1]
    found = search(reader, text="cache", filters=Filters(), limit=5, now=make.T0)
    assert [hit.id for hit in found.hits] == ["O4", "O3", "O2", "O1"]
    reader.close()
