from __future__ import annotations

import store_rows as make

from cmem.store import connection, documents


def found(conn, match):
    query = """SELECT d.kind || d.ref FROM documents_fts f JOIN documents d ON d.id = f.rowid
        WHERE documents_fts MATCH ? ORDER BY f.rowid"""
    return [ref for (ref,) in conn.execute(query, (match,))]


def is_sound(conn):
    conn.execute("INSERT INTO documents_fts(documents_fts, rank) VALUES('integrity-check', 1)")
    return True


def shop(home):
    conn = make.open_store(home)
    turn = make.turn(conn, make.session(conn, make.project(conn)))
    return conn, turn


def test_every_kind_is_found_by_its_text_and_its_keys(home):
    conn, turn = shop(home)
    make.prompt(conn, turn, "why is the login slow")
    make.tool(conn, turn, "Bash", given={"command": "grep login"}, answer="slow.py: login")
    make.observation(conn, turn, "Login waits for DNS", facts=("login takes 3 s",), type="bugfix")
    make.summary(conn, turn, "Speed up the login")
    assert found(conn, "{title body meta x} : login") == ["P1", "T1", "O1", "S1"]
    assert found(conn, 'k : "t_bugfix_"') == ["O1"]
    assert found(conn, 'k : "p_1_" AND k : "d_t_"') == ["T1"]
    assert is_sound(conn)


def test_adding_twice_changes_nothing(home):
    conn, turn = shop(home)
    ref = make.prompt(conn, turn, "once")
    assert documents.add(conn, "P", ref, 5) == documents.add(conn, "P", ref, 9) == 1
    assert found(conn, "once") == ["P1"]


def test_removed_row_is_not_found_and_its_neighbour_is(home):
    conn, turn = shop(home)
    first, second = make.prompt(conn, turn, "alpha beta"), make.prompt(conn, turn, "beta gamma")
    with connection.transaction(conn):
        documents.remove(conn, "P", first)
        conn.execute("DELETE FROM user_prompts WHERE id = ?", (first,))
    assert found(conn, "beta") == [f"P{second}"]
    assert is_sound(conn)
    documents.remove(conn, "P", first)


def test_refreshed_row_is_found_by_its_new_text_only(home):
    conn, turn = shop(home)
    ref = make.observation(conn, turn, "old title")
    with connection.transaction(conn):
        documents.refresh(
            conn,
            "O",
            ref,
            lambda: conn.execute("UPDATE observations SET title = 'new title'").fetchall(),
        )
    assert (found(conn, "old"), found(conn, "new")) == ([], ["O1"])
    assert is_sound(conn)


def test_reindex_builds_the_same_index_anew(home):
    conn, turn = shop(home)
    for number in range(120):
        make.prompt(conn, turn, f"row {number} 项目")
    conn.execute("UPDATE meta SET value = 0 WHERE key = 'segmenter_version'")
    assert documents.reindex(conn) == 120
    assert len(found(conn, '"项目"')) == 120
    assert is_sound(conn)
    query = "SELECT value FROM meta WHERE key = 'segmenter_version'"
    assert conn.execute(query).fetchall() == [(1,)]


def test_addition_is_undone_with_its_transaction(home):
    conn, turn = shop(home)
    try:
        with connection.transaction(conn):
            make.prompt(conn, turn, "never")
            raise ValueError
    except ValueError:
        pass
    assert found(conn, "never") == []
    assert is_sound(conn)
