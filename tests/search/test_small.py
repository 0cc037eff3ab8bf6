from __future__ import annotations

import store_rows as make

from cmem.search import query as queries
from cmem.search import small
from cmem.search.run import Filters, search
from cmem.store import segment


def kept(text):
    return [piece.strip('"') for piece in small.without(queries.atoms(queries.parse(text)))]


def test_small_words_are_left_out_while_others_are_left():
    assert kept("how did we solve the timeout again") == ["solve", "timeout"]
    assert kept("vì sao bị lỗi") == ["loi"]
    assert "连接" in kept("为什么连接")
    assert kept("how did we") == ["how", "did", "we"]


def test_every_small_word_is_spelled_as_the_index_has_it():
    assert {word: segment.words(word).split()[0] for word in small.WORDS} == {
        word: word for word in small.WORDS
    }


def test_a_row_of_small_words_does_not_stand_above_the_answer(home):
    conn = make.open_store(home)
    turn = make.turn(conn, make.session(conn, make.project(conn)))
    make.observation(conn, turn, "Sockets", "a limit of the glacier")
    make.observation(conn, turn, "how did we again", "how did we do it again")
    for number in range(5):
        make.observation(conn, turn, f"glacier {number}", "x")
    found = search(
        conn,
        text="how did we solve the sockets again",
        filters=Filters(),
        limit=9,
        now=make.T0,
    )
    assert [hit.id for hit in found.hits] == ["O1"]
    conn.close()
