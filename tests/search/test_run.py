from __future__ import annotations

import json

import pytest
import store_rows as make

from cmem.errors import UsageError
from cmem.search.run import Filters, search
from cmem.store import connection, find

T0 = make.T0


@pytest.fixture
def store(home):
    conn = make.open_store(home)
    yield conn
    conn.close()


def shop(store, name="shop", native="s1", **values):
    project = make.project(store, name)
    return make.turn(store, make.session(store, project, native, **values))


def ids(store, text="", *, limit=20, **filters):
    result = search(store, text=text, filters=Filters(**filters), limit=limit, now=T0)
    return [hit.id for hit in result.hits]


def test_hit_shows_everything_of_an_observation(store):
    turn = shop(store)
    ref = make.observation(
        store,
        turn,
        "Fixed the timeout",
        "The refresh waited for ever.",
        facts=("limit is 5 s",),
        files=("/p/shop/src/auth.ts", "/etc/hosts"),
        type="bugfix",
        subtitle="auth",
    )
    (hit,) = search(store, text="timeout", filters=Filters(), limit=5, now=T0).hits
    assert hit._asdict() == {
        "id": f"O{ref}",
        "kind": "O",
        "project": "shop",
        "session": "N1",
        "host_session": "s1",
        "type": "bugfix",
        "title": "Fixed the timeout",
        "subtitle": "auth",
        "snippet": "auth limit is 5 s The refresh waited for ever.",
        "created_at": T0 + 1,
        "files": ["src/auth.ts", "/etc/hosts"],
        "tokens": 40,
        "score": hit.score,
    }
    assert 1 < hit.score <= 2


def test_other_kinds_have_a_title_too(store):
    turn = shop(store)
    make.prompt(store, turn, "why is\nthe login slow")
    make.tool(store, turn, "Read", given={"file_path": "/p/shop/login.py"}, answer="x")
    make.summary(store, turn, "Speed up login", completed="Cached it.", files_edited='["a.py"]')
    hits = search(store, text="login", filters=Filters(), limit=5, now=T0).hits
    told = [(h.id, h.type, h.title, h.snippet, h.files, h.tokens) for h in hits]
    assert told == [
        ("S1", "summary", "Speed up login", "Cached it.", ["a.py"], 50),
        ("T1", "Read", "Read: /p/shop/login.py", "/p/shop/login.py x", ["login.py"], 10),
        ("P1", "prompt", "why is", "the login slow", [], 6),
    ]


def test_observations_stand_above_raw_evidence_for_equal_matches(store):
    turn = shop(store)
    make.prompt(store, turn, "cache timeout")
    make.tool(store, turn, "Bash", given={"command": "cache timeout"}, answer="cache timeout")
    make.observation(store, turn, "cache timeout")
    assert ids(store, "cache timeout")[0] == "O1"


def test_title_stands_above_body(store):
    turn = shop(store)
    make.observation(store, turn, "something else", "about the cache")
    make.observation(store, turn, "about the cache", "something else")
    make.observation(store, turn, "third", "nothing")
    assert ids(store, "cache") == ["O2", "O1"]


def test_rows_with_all_words_stand_above_rows_with_any(store):
    turn = shop(store)
    make.prompt(store, turn, "retry logic for uploads")
    make.observation(store, turn, "uploads uploads", "uploads")
    result = search(store, text="retry uploads", filters=Filters(), limit=5, now=T0)
    assert [hit.id for hit in result.hits] == ["P1", "O1"]
    assert result.steps == ["all words", "any word"]
    assert result.hits[0].score > 1 > result.hits[1].score


def test_hidden_and_superseded_rows_never_show(store):
    turn = shop(store)
    for number in range(4):
        make.observation(store, turn, f"cache {number}", hidden_at=T0 if number == 0 else None)
    store.execute("UPDATE observations SET superseded_by = 4 WHERE id = 2")
    make.prompt(store, turn, "cache", hidden_at=T0)
    make.tool(store, turn, "Bash", given={"command": "cache"}, answer="", hidden_at=T0)
    make.summary(store, turn, "cache", hidden_at=T0)
    assert ids(store, "cache") == ["O4", "O3"]
    assert ids(store) == ["O4", "O3"]


def test_many_hidden_rows_do_not_hide_the_others(store):
    turn = shop(store)
    make.observation(store, turn, "cache that stays", "a much longer text about other things")
    for _ in range(150):
        make.observation(store, turn, "cache", hidden_at=T0)
    assert ids(store, "cache", limit=3) == ["O1"]


@pytest.fixture
def mixed(store):
    turn = shop(store)
    other = shop(store, "blog", "s2", host="codex")
    make.observation(
        store,
        turn,
        "cache one",
        type="bugfix",
        concepts=("gotcha",),
        files=("src/a_b.py",),
        created_at=T0,
    )
    make.observation(store, turn, "cache two", type="feature", created_at=T0 + make.DAY)
    make.observation(
        store, other, "cache three", type="bugfix", files=("lib/a_b.py",), host="codex"
    )
    make.prompt(store, turn, "cache four", created_at=T0 + 2 * make.DAY)
    make.tool(store, other, "Bash", given={"command": "cache"}, answer="", created_at=T0 + 9)
    read = {"file_path": "C:\\work\\cache.ts"}
    make.tool(store, turn, "Read", given=read, answer="a_b.py", created_at=T0 + 3)
    patch = {"input": "*** Begin Patch\n*** Update File: src/a_b.py\n+cache"}
    make.tool(store, turn, "apply_patch", given=patch, answer="", created_at=T0 + 4)
    make.summary(store, turn, "cache six", files_edited=json.dumps(["src/a_b.py"]))
    return store


def without(**filters):
    return {"without": (Filters(**filters),)}


FILTERS = {
    "kind": ({"kinds": ("P",)}, "P1"),
    "kinds": ({"kinds": ("P", "T")}, "P1 T1 T2 T3"),
    "type": ({"types": ("bugfix",)}, "O1 O3"),
    "types": ({"types": ("feature", "summary")}, "O2 S1"),
    "tool name, any case": ({"types": ("bash",)}, "T1"),
    "project": ({"projects": (2,)}, "O3 T1"),
    "projects": ({"projects": (1, 2)}, "O1 O2 O3 P1 S1 T1 T2 T3"),
    "no project": ({"projects": ()}, ""),
    "host": ({"host": "codex"}, "O3 T1"),
    "session by id": ({"session": "N2"}, "O3 T1"),
    "session of the host": ({"session": "s1"}, "O1 O2 P1 S1 T2 T3"),
    "unknown session": ({"session": "s9"}, ""),
    "since": ({"since": T0 + make.DAY}, "O2 P1"),
    "until": ({"until": T0 + 1}, "O1"),
    "since and until": ({"since": T0 + 1, "until": T0 + make.DAY}, "O3 S1 T1 T2 T3"),
    "concept": ({"concept": "gotcha"}, "O1"),
    "concept, any case": ({"concept": "GOTCHA"}, "O1"),
    "a word of a concept": ({"concept": "got"}, ""),
    "file": ({"file": "src/a_b.py"}, "O1 S1 T3"),
    "file name": ({"file": "a_b.py"}, "O1 O3 S1 T3"),
    "absolute file": ({"file": "/p/shop/src/a_b.py"}, "O1 S1 T3"),
    "file of a tool call": ({"file": "a_b.py", "kinds": ("T",)}, "T3"),
    "file on Windows": ({"file": "cache.ts"}, "T2"),
    "the end of a path of Windows": ({"file": "work\\cache.ts"}, "T2"),
    "without a type": (without(types=("bugfix",)), "O2 P1 S1 T1 T2 T3"),
    "without kinds": (without(kinds=("T", "P")), "O1 O2 O3 S1"),
    "without a project and a type": (
        {"without": (Filters(projects=(1,)), Filters(types=("bash",)))},
        "O3",
    ),
    "without a file": ({"kinds": ("O",), **without(file="src/a_b.py")}, "O2 O3"),
    "without a concept": ({"types": ("bugfix",), **without(concept="Gotcha")}, "O3"),
    "without a session": (without(session="N2"), "O1 O2 P1 S1 T2 T3"),
    "without an unknown session": ({"kinds": ("P",), **without(session="s9")}, "P1"),
    "file is literal": ({"file": "a%b.py"}, ""),
    "all at once": (
        {"kinds": ("O",), "types": ("bugfix",), "projects": (1,), "file": "a_b.py"},
        "O1",
    ),
}


@pytest.mark.parametrize("text", ["cache", ""], ids=["query", "list"])
@pytest.mark.parametrize(("filters", "expected"), FILTERS.values(), ids=FILTERS)
def test_filters(mixed, filters, expected, text):
    assert sorted(ids(mixed, text, **filters)) == sorted(expected.split())


def test_only_what_is_not_wanted_is_a_search_where_something_filters(mixed):
    def found(text, filters):
        hits = search(mixed, text=text, filters=filters, limit=9, now=T0, is_filtered=True).hits
        return sorted([hit.id for hit in hits])

    bugfixes = Filters(types=("bugfix",))
    assert found("-three", bugfixes) == ["O1"]
    assert found('-"cache three" -zebra', bugfixes) == ["O1"]
    assert found("-cache", bugfixes) == []
    assert found("-three", Filters(since=T0 + make.DAY)) == ["O2", "P1"]
    assert found("-one", Filters(without=(Filters(kinds=("S", "P", "T")),))) == ["O2", "O3"]
    assert ids(mixed, "-three", types=("bugfix",)) == ["O3"]


@pytest.mark.parametrize("text", ["cache", "cache -three", "some cache words"])
def test_how_common_a_word_is_changes_nothing_of_a_filter(mixed, monkeypatch, text):
    mixed.execute(
        "UPDATE turns SET branch = 'x'; UPDATE observations SET branch = 'x' WHERE id < 3"
    )
    mixed.execute("UPDATE tool_uses SET branch = 'x' WHERE id = 3")
    chosen = [
        {"branch": "x"},
        {"branch": "y"},
        {"branch": "x", "kinds": ("O", "P")},
        {"branch": "x", "session": "N1"},
        {"session": "N1", **without(branch="x")},
        {"session": "N2", "since": T0 + 5},
    ]
    looked_at = [ids(mixed, text, **filters) for filters in chosen]
    assert sorted(looked_at[0]) == ["O1", "O2", "P1", "S1", "T3"]
    for most in (100, 2):
        monkeypatch.setattr(find, "COMMON", 0)
        monkeypatch.setattr(find, "OWN_MAX", most)
        assert [ids(mixed, text, **filters) for filters in chosen] == looked_at


def test_branch_and_agent_are_filters_of_every_kind_that_has_them(store):
    turn = shop(store)
    store.execute("UPDATE turns SET branch = 'fix/login'")
    make.observation(store, turn, "cache", branch="fix/login", agent_type="Explore")
    make.observation(store, turn, "cache", branch="main")
    make.tool(store, turn, "Bash", given={"command": "cache"}, answer="", branch="fix/login")
    make.prompt(store, turn, "cache")
    make.summary(store, turn, "cache")
    assert sorted(ids(store, "cache", branch="fix/login")) == ["O1", "P1", "S1", "T1"]
    assert sorted(ids(store, branch="main")) == ["O2"]
    assert ids(store, "cache", branch="fix") == []
    assert ids(store, "cache", agent="explore") == ids(store, agent="Explore") == ["O1"]


def test_answer_of_a_long_question_is_found_by_its_rare_words(store):
    turn = shop(store)
    make.observation(store, turn, "another thing", "glacier and umbrella went wrong")
    for number in range(40):
        make.observation(store, turn, f"about glacier {number}", "x")
        make.observation(store, turn, f"about umbrella {number}", "x")
    rare = "how can one ever again possibly solve such trouble here"
    for word in rare.split():
        make.observation(store, turn, f"{word} of nobody", "x")
    assert "O1" in ids(store, f"{rare} glacier umbrella", limit=11)


def test_a_rare_word_in_the_title_counts_more_than_a_common_one(store):
    turn = shop(store)
    make.observation(store, turn, "umbrella", "the cache of it, and of others")
    make.observation(store, turn, "the cache", "an umbrella in it, and of others")
    for _ in range(20):
        make.observation(store, turn, "nothing", "cache")
    assert ids(store, "cache umbrella", limit=2) == ["O1", "O2"]


def test_listing_is_newest_first_by_the_time_of_the_event(mixed):
    result = search(mixed, text="  ", filters=Filters(), limit=3, now=T0)
    assert [hit.id for hit in result.hits] == ["P1", "O2", "T1"]
    assert result.steps == ["newest"]


def test_reversed_range_is_a_usage_error(store):
    with pytest.raises(UsageError, match="the range is empty"):
        search(store, text="x", filters=Filters(since=5, until=5), limit=5, now=T0)


def test_limit_bounds_the_hits(mixed):
    assert len(ids(mixed, "cache", limit=2)) == 2
    assert ids(mixed, "cache", limit=0) == ids(mixed, "cache", limit=-1) == []


def test_common_word_is_found_without_ranking_all(store, monkeypatch):
    turn = shop(store)
    make.observation(store, turn, "the cache of old", created_at=T0 - make.DAY)
    make.observation(store, turn, "old text", "says cache", created_at=T0 - make.DAY)
    for _ in range(30):
        make.tool(store, turn, "Bash", given={"command": "cache"}, answer="")
    monkeypatch.setattr("cmem.search.ladder.RANKED_MAX", 10)
    monkeypatch.setattr("cmem.search.ladder.NEWEST", 5)
    monkeypatch.setattr(find, "WEIGHTS", "not to be used")
    assert ids(store, "cache", limit=3) == ["O1", "O2", "T30"]


def test_of_a_very_common_word_the_titles_of_the_newest_count(store, monkeypatch):
    turn = shop(store)
    make.observation(store, turn, "Cache of old", "and a word")
    for number in range(12):
        make.observation(store, turn, "the CACHE" if number == 3 else "a title", f"cache {number}")
    make.summary(store, turn, "Cache in a request")
    monkeypatch.setattr("cmem.search.ladder.RANKED_MAX", 2)
    monkeypatch.setattr("cmem.search.ladder.NEWEST", 12)
    monkeypatch.setattr(find, "SAMPLE", 3)
    assert ids(store, "cache", limit=3) == ["O5", "O1", "S1"]
    monkeypatch.setattr("cmem.search.ladder.WALKED_MAX", 5)
    assert ids(store, "cache", limit=4) == ["O5", "S1", "O13", "O12"]


def test_raw_evidence_does_not_crowd_out_what_was_observed(store, monkeypatch):
    turn = shop(store)
    make.observation(store, turn, "a title", "cache and a few more words")
    for _ in range(30):
        make.prompt(store, turn, "cache")
    monkeypatch.setattr("cmem.search.pool.BEST", 10)
    assert "O1" in ids(store, "cache", limit=40)


def test_few_rows_with_all_words_need_no_bm25(store, monkeypatch):
    turn = shop(store)
    make.observation(store, turn, "a title", "the cache of a socket")
    make.observation(store, turn, "cache of the socket", "a text")
    make.observation(store, turn, "others", "the cache of a socket", created_at=T0 - 99 * make.DAY)
    monkeypatch.setattr(find, "ranked", None)
    assert ids(store, "the cache of a socket", limit=3) == ["O2", "O1", "O3"]


def test_about_how_many_match_is_exact_for_few_and_never_too_many(store):
    turn = shop(store)
    for number in range(400):
        make.prompt(store, turn, f"row {'even' if number % 2 else 'odd'}" + " new" * (number > 250))
    expected = {"nothing": 0, "row": 400, "even": 200}
    for word, count in expected.items():
        assert abs(find.about(store, f'"{word}"') - count) <= 5
    # They lie close together, but only at one end.
    assert 100 <= find.about(store, '"new"') <= 149


def test_common_pieces_are_found_without_ranking_all(store, monkeypatch):
    turn = shop(store)
    for _ in range(12):
        make.prompt(store, turn, "cache")
    monkeypatch.setattr("cmem.search.ladder.PIECE_MATCHES", 5)
    monkeypatch.setattr(find, "ranked", lambda *_args, **_options: [])
    assert ids(store, "cache nonsense", limit=2) == ["P12", "P11"]


def test_merged_project_shows_the_name_it_was_merged_into(store):
    turn = shop(store)
    make.observation(store, turn, "cache")
    into = make.project(store, "mall")
    store.execute("UPDATE projects SET merged_into = ? WHERE id = 1", (into,))
    (hit,) = search(store, text="cache", filters=Filters(), limit=1, now=T0).hits
    assert hit.project == "mall"


def test_hits_are_harmless(store):
    turn = shop(store)
    make.observation(
        store, turn, "cache\x1b[31m\nred\u202e", "body \x1b]0;x\x07 cache", subtitle="\x9b"
    )
    (hit,) = search(store, text="cache", filters=Filters(), limit=1, now=T0).hits
    assert (hit.title, hit.subtitle, hit.snippet) == ("cache red", "", "body cache")


def test_search_works_in_a_reader(home, store):
    turn = shop(store)
    make.tool(store, turn, "Bash", given={"command": "cache"}, answer="x" * 5000)
    reader = connection.open_reader(str(home))
    assert ids(reader, "cache") == ["T1"]
    reader.close()


def test_damaged_lists_are_no_failure(store):
    turn = shop(store)
    make.observation(store, turn, "cache", files_read="not json")
    (hit,) = search(store, text="cache", filters=Filters(), limit=1, now=T0).hits
    assert hit.files == []
