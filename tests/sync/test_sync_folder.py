"""What whatever keeps the folder alike, and a full or forbidden disk, can do to a sync."""

from __future__ import annotations

import errno
import functools
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
import store_rows
from machines import DAY, T0, Machine, assert_alike, settle, texts

from cmem.errors import CmemError
from cmem.store import connection, documents, edits, registers
from cmem.sync import folder, own, run
from cmem.sync.clock import Clock, is_sound


@pytest.fixture
def a(tmp_path: Path) -> Machine:
    return Machine(tmp_path, "a")


@pytest.fixture
def b(tmp_path: Path) -> Machine:
    return Machine(tmp_path, "b")


def test_a_line_that_is_cut_waits_until_it_is_whole(a: Machine, b: Machine) -> None:
    for text in ("one", "two", "three"):
        a.note(text)
    a.sync()
    whole = a.own.read_bytes()
    last = whole[:-1].rfind(b"\n") + 1
    seen = []
    for size in (0, 10, last - 1, last, last + 5, len(whole) - 1, len(whole)):
        a.own.write_bytes(whole[:size])
        done = b.sync()
        seen.append((len(b.titles()), done.bad))
    assert seen == [(0, 0), (0, 0), (1, 0), (2, 0), (2, 0), (2, 0), (3, 0)]


def test_a_broken_line_is_named_and_tried_again(a: Machine, b: Machine) -> None:
    for text in ("one", "two", "three"):
        a.note(text)
    a.sync()
    lines = a.own.read_bytes().split(b"\n")
    at = next(n for n, line in enumerate(lines) if b'"two"' in line)
    broken = [*lines[:at], b"\0" * len(lines[at]), *lines[at + 1 :]]
    a.own.write_bytes(b"\n".join(broken))
    done = b.sync()
    assert [(one.line, one.reason) for one in done.troubles] == [(at + 1, "not a line of cmem")]
    assert b.titles() == ["one", "three"]
    a.own.write_bytes(b"\n".join(lines))
    assert b.sync().bad == 0
    assert b.titles() == ["one", "three", "two"]


STRANGE: dict[str, Callable[[Path], object]] = {
    "of a newer cmem": lambda p: p.write_text(
        '{"record":"cmem-sync","format":2,"machine":"00000000"}\n'
    ),
    "not a file of cmem": lambda p: p.write_text("hello\n"),
    "empty": lambda p: p.write_text(""),
    "link": lambda p: p.symlink_to("/etc/hostname"),
    "pipe": os.mkfifo,
    "folder": os.mkdir,
}


@pytest.mark.parametrize("kind", STRANGE)
def test_a_file_that_is_none_of_ours_is_named_and_left(a: Machine, b: Machine, kind: str) -> None:
    a.note("one")
    a.sync()
    path = a.folder / "cmem-00000000.jsonl"
    STRANGE[kind](path)
    done = b.sync()
    assert [one.path for one in done.troubles] == [str(path)]
    assert b.titles() == ["one"]
    assert os.path.lexists(path)


@pytest.mark.parametrize(
    "line",
    [
        {"record": "observation", "rev": "f" * 16 + "-00000000"},
        {"record": "observation"},
        {"record": "gone", "key": "O1", "value": "hidden:1"},
        {"record": "gone", "key": "O" + "0" * 64, "value": "eaten:1"},
        {"record": "mark", "of": "observation", "key": "x", "name": "pinned", "value": 2},
        {"record": "mark", "of": "alias", "key": '["path","/"]', "name": "", "value": "k"},
        {"record": "mark", "of": "session", "key": "x", "name": "title", "value": "k"},
        {"record": "project", "key": 1},
        {"record": "turn", "session": [], "number": "1"},
    ],
)
def test_a_line_that_makes_no_sense_harms_nobody(
    a: Machine, b: Machine, line: dict[str, object]
) -> None:
    a.note("one")
    a.sync()
    with a.own.open("ab") as file:
        file.write(folder.encode({"rev": Clock("00000000").first(T0), **line}))
    a.note("two")
    done = b.sync()
    assert done.bad == 1
    assert b.titles() == ["one"]
    settle(a, b)
    assert_alike(a, b)


def test_revisions_of_a_time_that_never_comes_are_refused() -> None:
    assert is_sound(Clock("0123abcd").tick(T0), now=T0)
    assert not is_sound("f" * 16 + "-0123abcd", now=T0)
    assert not is_sound(None, now=T0)


@pytest.mark.parametrize(
    "name",
    [
        "cmem-{} (Ann's conflicted copy 2026-11-30).jsonl",
        "cmem-{}.sync-conflict-20261130-101112-ABCDEF7.jsonl",
        "cmem-{} 2.jsonl",
    ],
)
def test_a_copy_that_a_tool_has_set_aside_is_read_and_cleaned(
    a: Machine, b: Machine, name: str
) -> None:
    a.note("one")
    a.sync()
    before = a.own.read_bytes()
    a.note("two")
    a.sync()
    copy = a.folder / name.format(a.own.stem.removeprefix("cmem-"))
    shutil.copy(a.own, copy)
    a.own.write_bytes(before)
    b.sync()
    assert b.titles() == ["one", "two"]
    a.erase(("O", a.ref("two")))
    settle(a, b)
    assert b.titles() == ["one"]
    assert not copy.exists()
    assert b'"two"' not in texts(a.folder)


def test_an_older_file_in_the_place_of_the_own_one_is_written_anew(a: Machine, b: Machine) -> None:
    a.note("one")
    a.sync()
    older = a.own.read_bytes()
    a.at(T0 + 5).edit(a.ref("one"), "uno")
    a.note("two")
    settle(a, b)
    mine = a.own
    a.own.write_bytes(older)
    settle(b, a)
    assert a.own == mine
    assert b'"two"' in a.own.read_bytes()
    assert b.titles() == ["two", "uno"]
    a.own.unlink()
    settle(a, b)
    assert b'"two"' in a.own.read_bytes()
    assert_alike(a, b)


def test_two_homes_that_are_copies_become_two_machines(tmp_path: Path, a: Machine) -> None:
    a.note("one")
    a.sync()
    a.conn.close()
    shutil.copytree(a.home, tmp_path / "b")
    a.conn = connection.open_writer(str(a.home), now=T0)
    b = Machine(tmp_path, "b")
    a.at(T0 + DAY).note("of a")
    b.at(T0 + DAY).note("of b")
    a.edit(a.ref("one"), "one of a")
    b.at(T0 + 2 * DAY).edit(b.ref("one"), "one of b")
    settle(a, b)
    assert a.own != b.own
    assert a.titles() == ["of a", "of b", "one of b"]
    assert_alike(a, b)


def test_a_memory_put_back_takes_what_it_has_told_since(a: Machine, b: Machine) -> None:
    a.note("one")
    a.sync()
    a.conn.close()
    older = (a.home / "memory.db").read_bytes()
    a.conn = connection.open_writer(str(a.home), now=T0)
    a.at(T0 + DAY).edit(a.ref("one"), "uno")
    a.note("two")
    settle(a, b)
    a.conn.close()
    (a.home / "memory.db").write_bytes(older)
    a.conn = connection.open_writer(str(a.home), now=T0)
    assert a.titles() == ["one"]
    left = a.own
    settle(a, b)
    assert a.titles() == ["two", "uno"]
    assert_alike(a, b)
    assert not left.exists()  # nobody would take out of it what is forgotten later


def test_a_store_that_knows_nothing_of_syncing_any_more_changes_nothing(
    a: Machine, b: Machine
) -> None:
    a.note("one", pinned=True)
    settle(a, b)
    b.at(T0 + DAY).edit(b.ref("one"), "uno")
    b.pin(b.ref("uno"), pinned=False)
    b.sync()
    for table in ("sync_registers", "sync_files"):
        a.conn.execute(f"DROP TABLE {table}")
    a.conn.execute("DELETE FROM meta WHERE key LIKE 'sync%'")
    a.at(T0 + 2 * DAY)
    settle(a, b)
    assert b.titles() == ["uno"]
    assert_alike(a, b)


def test_a_full_disk_leaves_the_file_whole_and_the_rest_for_later(
    a: Machine, b: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    a.note("one")
    settle(a, b)
    before = a.own.read_bytes()
    b.note("from b")
    b.sync()
    a.note("two")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(own.os, "fsync", full)
        with pytest.raises(CmemError, match="no space left on device"):
            a.sync()
    assert a.own.read_bytes() == before
    assert a.titles() == ["from b", "one", "two"]
    settle(a, b)
    assert_alike(a, b)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may do everything")
def test_a_folder_that_may_not_be_written_is_refused(a: Machine) -> None:
    a.note("one")
    a.folder.chmod(0o500)
    with pytest.raises(CmemError, match="may not be read and written"):
        a.sync()
    a.folder.chmod(0o700)


def test_a_folder_that_is_none_is_refused(a: Machine) -> None:
    for path in (a.home, a.home / "backups"):
        path.mkdir(exist_ok=True)
        with pytest.raises(CmemError, match="is in the data home"):
            run.check(str(path), str(a.home))
    with pytest.raises(CmemError, match="there is no folder"):
        run.check(str(a.folder / "none"), str(a.home))


@pytest.mark.parametrize("point", ["sync_scanned", "sync_before_rename", "sync_written"])
def test_a_run_that_is_cut_off_is_completed(
    a: Machine, b: Machine, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    a.note("one")
    settle(a, b)
    a.note("two")
    a.at(T0 + 9).erase(("O", a.ref("one")))
    with monkeypatch.context() as patch:
        patch.setenv("CMEM_TEST", "1")
        patch.setenv("CMEM_FAILPOINT", f"{point}=raise")
        patch.setattr("cmem.failpoint._hits", {})
        with pytest.raises(RuntimeError):
            a.sync()
    settle(b, a, b)
    assert b.titles() == ["two"]
    assert b'"one"' not in texts(a.folder)
    assert_alike(a, b)


def test_secrets_are_cut_on_the_way_in_and_so_for_all(a: Machine, b: Machine) -> None:
    secret = "ghp_" + "a1B2" * 9
    a.note("the key is here")
    ref = a.ref("the key is here")
    query = "UPDATE observations SET narrative = ? WHERE id = ?"
    change = functools.partial(a.conn.execute, query, (f"it is {secret}", ref))
    documents.refresh(a.conn, "O", ref, lambda: change().fetchall() and None)
    settle(a, b)
    for one in (a, b):
        assert secret not in one.value("SELECT narrative FROM observations")
    assert secret.encode() not in texts(a.folder)
    assert_alike(a, b)


def test_words_that_were_edited_elsewhere_leave_backups_too(a: Machine, b: Machine) -> None:
    a.note("the original words")
    settle(a, b)
    (b.home / "backups").mkdir()
    b.conn.execute("VACUUM INTO ?", (str(b.home / "backups" / "copy.db"),))
    a.at(T0 + DAY).edit(a.ref("the original words"), "quite different")
    settle(a, b)
    copy = apsw.Connection(str(b.home / "backups" / "copy.db"))
    assert copy.execute("SELECT title FROM observations").fetchall() == [("quite different",)]
    copy.close()
    assert b"the original words" not in (b.home / "backups" / "copy.db").read_bytes()


def test_a_dry_run_changes_nothing(a: Machine, b: Machine) -> None:
    a.note("one")
    a.sync()
    b.note("two")
    before = b.conn.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    done = b.sync(dry_run=True)
    assert (done.taken["observation"], done.told) == (1, 0)
    assert b.titles() == ["two"]
    assert sorted(os.listdir(b.folder)) == [a.own.name]
    assert b.conn.execute("SELECT count(*) FROM sqlite_schema").fetchall() == before
    assert not registers.exist(b.conn)


def test_two_repositories_of_one_remote_become_one_project(a: Machine, b: Machine) -> None:
    for one, key in ((a, "path:x"), (b, "remote:y")):
        one.conn.execute(
            "INSERT INTO projects(key, key_source, name, root, created_at) VALUES(?, 'path', ?, '', 1)",
            (key, key),
        )
        one.conn.execute(
            "INSERT INTO project_aliases VALUES('remote', 'example.org/it', 1, 1), ('path', '/p', 1, 1)"
        )
    settle(a, b)
    query = "SELECT count(*) FROM projects WHERE merged_into IS NULL"
    assert (a.value(query), b.value(query)) == (1, 1)
    assert_alike(a, b)


def test_circles_of_decisions_are_none(a: Machine, b: Machine) -> None:
    for text in ("one", "two"):
        a.note(text)
    settle(a, b)
    edits.supersede(a.conn, a.ref("one"), a.ref("two"))
    edits.supersede(b.conn, b.ref("two"), b.ref("one"))
    settle(a, b)
    assert len(a.titles()) == 1
    assert_alike(a, b)


def test_what_is_going_on_is_told_when_it_is_over(a: Machine, b: Machine) -> None:
    project = store_rows.project(a.conn)
    session = store_rows.session(a.conn, project)
    turn = store_rows.turn(a.conn, session, closed_at=None, closed_by=None, outcome=None)
    store_rows.prompt(a.conn, turn, "work on it")
    settle(a, b)
    assert b.value("SELECT count(*) FROM sessions") == 0
    a.conn.execute("UPDATE turns SET closed_at = ?, closed_by = 'stop', outcome = 'stop'", (T0,))
    settle(a, b)
    assert b.value("SELECT prompt_text FROM user_prompts") == "work on it"
    assert b.value("SELECT count(*) FROM work_units") == 0
    assert json.loads(b.value("SELECT value FROM meta WHERE key = 'sync_last'"))["machines"] == 1
