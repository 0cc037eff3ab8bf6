from __future__ import annotations

import json
import secrets
from pathlib import Path

import exported
import pytest
from machines import DAY, T0, Machine, assert_alike, settle, texts
from transcribed import FIXTURES, LATER, imported

from cmem.store import connection, edits, forget, state, touched


def two(tmp_path: Path) -> tuple[Machine, Machine]:
    return Machine(tmp_path, "a"), Machine(tmp_path, "b")


def test_a_whole_memory_arrives(tmp_path: Path) -> None:
    exported.full(tmp_path / "a").close()
    a, b = two(tmp_path)
    a.erase(("T", 7))
    a.conn.execute(
        "UPDATE turns SET closed_at = ?, closed_by = 'stop' WHERE closed_at IS NULL", (T0,)
    )
    a.sync()
    done = b.sync()
    assert (done.bad, done.waiting, done.told) == (0, 0, 0)
    settle(a, b)
    assert_alike(a, b)
    again = b.sync()
    assert (again.changed, again.told, again.taken) == (0, 0, {})


def test_decisions_travel(tmp_path: Path) -> None:
    a, b = two(tmp_path)
    for text in ("one", "two", "three", "four"):
        a.at(T0 + 1000).note(text)
    settle(a, b)
    assert b.titles() == ["four", "one", "three", "two"]
    b.at(T0 + 2000).edit(b.ref("one"), "uno")
    b.pin(b.ref("two"))
    edits.supersede(b.conn, b.ref("three"), b.ref("four"))
    settle(b, a)
    assert a.titles() == ["four", "two", "uno"]
    assert a.value("SELECT pinned FROM observations WHERE title = 'two'") == 1
    assert b'"one"' not in texts(a.folder)
    assert_alike(a, b)
    a.at(T0 + 3000).hide(("O", a.ref("uno")))
    settle(a, b)
    assert b.titles() == ["four", "two"]
    assert b"uno" not in texts(a.folder)
    forget.unhide(b.at(T0 + 4000).conn, [("O", b.ref("uno"))])
    settle(b, a)
    assert a.titles() == b.titles() == ["four", "two", "uno"]
    a.at(T0 + 5000).erase(("O", a.ref("uno")))
    settle(a, b)
    assert b.titles() == ["four", "two"]
    assert_alike(a, b)


def test_what_an_import_brought_back_is_told_anew_to_who_erased_it_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["0" * 8, "f" * 8]  # of two that tell the row first, b would be right
    random = secrets.token_hex
    a, b = two(tmp_path)[0], Machine(tmp_path, "b", skew=-400 * DAY)
    b.at(T0 + 1000).note("one")
    b.at(T0 + 2000).hide(("O", b.ref("one")))
    with monkeypatch.context() as patch:
        patch.setattr(secrets, "token_hex", lambda n: names.pop() if n == 4 else random(n))
        settle(b, a)
    forget.unhide(b.at(T0 + 3000).conn, [("O", b.ref("one"))])
    b.sync()
    exported.bring_in(a.at(T0 + 4000).conn, exported.export(b.conn), now=a.now)
    a.sync()
    b.at(T0 + 5000).erase(("O", b.ref("one")))
    settle(b, a)
    assert a.titles() == b.titles() == ["one"]
    assert_alike(a, b)


def test_open_work_is_told_although_every_note_beside_it_was_forgotten(tmp_path: Path) -> None:
    a, b = two(tmp_path)
    a.note("one")
    a.open_work("write the docs")
    a.erase(("O", a.ref("one")))
    settle(a, b)
    assert b.work() == [("write the docs", "open")]
    assert_alike(a, b)


def test_what_became_of_open_work_is_the_last_word_whatever_the_clocks(tmp_path: Path) -> None:
    a, b = Machine(tmp_path, "a", skew=DAY), two(tmp_path)[1]
    a.at(T0).note("one")
    item = a.open_work("write the docs")
    with connection.transaction(a.conn):
        state.move(a.conn, item, state=state.DONE, uid="done", now=a.now)
    settle(a, b.at(T0 + 1))
    (ref,) = b.conn.execute("SELECT id FROM work_state_entries WHERE id = item").fetchall()[0]
    with connection.transaction(b.conn):
        state.move(b.conn, ref, state=state.OPEN, uid="again", now=b.now)
    settle(b, a)
    assert a.work() == b.work() == [("write the docs", "open")]


def test_the_same_transcripts_imported_in_another_order_are_not_doubled(tmp_path: Path) -> None:
    a, b = two(tmp_path)
    names = ["claude-code/2.1.332", "claude-code/2.1.332-interactive"]
    for one, order in ((a, names), (b, names[::-1])):
        for name in order:
            imported(one.home, FIXTURES / name)
        one.at(LATER)
    counts = {
        table: a.value(f"SELECT count(*) FROM {table}")
        for table in ("observations", "session_summaries", "user_prompts", "tool_uses")
    }
    settle(a, b)
    assert_alike(a, b)
    for one in (a, b):
        for table, count in counts.items():
            assert one.value(f"SELECT count(*) FROM {table}") == count


def test_what_vanishes_is_looked_for_when_something_was_changed(tmp_path: Path) -> None:
    a = Machine(tmp_path, "a")
    kept, gone = a.note("kept"), a.note("gone")
    a.sync()
    told = texts(a.folder)
    assert not touched.are_any(a.conn)
    assert a.at(T0 + DAY).sync().told == 0
    assert texts(a.folder) == told
    a.hide(("O", gone))
    assert touched.are_any(a.conn)
    a.at(T0 + 2 * DAY).sync()
    lines = [json.loads(line) for line in texts(a.folder).splitlines()]
    assert [one["title"] for one in lines if one["record"] == "observation"] == ["kept"]
    assert a.ref("kept") == kept
