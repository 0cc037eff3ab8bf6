"""Copies of the memory: whole, private, rotated, and put back without what was forgotten."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest
import samples
from support import ROOT, clean_env, run_cmem, run_json

from cmem import backup, compress, paths, repair, restore
from cmem.errors import CmemError, ConfigError
from cmem.settings import load
from cmem.store import connection, copies, edits, forget, snapshot
from cmem.store.rows import rows, value

DAY = samples.DAY


@pytest.fixture
def calc(home: Path) -> Path:
    """A home with a recorded turn and what was made of it."""
    samples.calc(home).close()
    return home


def titles(home: Path, query: str = "SELECT title FROM observations ORDER BY id") -> list[str]:
    conn = connection.open_reader(str(home))
    assert conn is not None
    try:
        return [str(title) for (title,) in rows(conn, query)]
    finally:
        conn.close()


def maintain(home: Path, day: int, **flags: object) -> tuple[str, ...]:
    """The upkeep of a run so many days after the store was made."""
    now = samples.NOON + day * DAY
    conn = connection.open_writer(str(home), now=now)
    try:
        chosen = load(str(home), env={}, flags=flags, trusted_env=True)
        return compress._maintain(str(home), conn, now=now, settings=chosen)
    finally:
        conn.close()


def names(home: Path) -> list[str]:
    folder = home / "backups"
    return sorted(os.listdir(folder)) if folder.is_dir() else []


# --- by hand -------------------------------------------------------------------------------


def test_a_copy_is_the_whole_memory_and_its_owners_alone(calc: Path) -> None:
    made = run_json("backup")
    assert made["kind"] == "by hand"
    assert stat.S_IMODE(os.stat(made["path"]).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(calc / "backups").st_mode) == 0o700
    assert names(calc) == [made["name"]]
    copy = apsw.Connection(made["path"], flags=apsw.SQLITE_OPEN_READONLY)
    assert value(copy, "PRAGMA integrity_check") == "ok"
    assert rows(copy, "SELECT title FROM observations") == [(one,) for one in titles(calc)]
    assert [one["name"] for one in run_json("backup", "list")["backups"]] == [made["name"]]


def test_a_named_file_may_have_spaces_and_is_never_overwritten(calc: Path, tmp_path: Path) -> None:
    target = tmp_path / "my copies" / "記憶.db"
    missing = run_cmem("backup", str(target))
    assert (missing.returncode, missing.stderr.decode()) == (
        1,
        f"cmem: there is no folder {target.parent}\n",
    )
    target.parent.mkdir()
    assert run_json("backup", str(target))["path"] == str(target)
    before = target.read_bytes()
    again = run_cmem("backup", str(target))
    assert (again.returncode, again.stdout) == (1, b"")
    assert (
        again.stderr.decode() == f"cmem: {target} exists; name another file, or delete it first\n"
    )
    assert target.read_bytes() == before
    assert os.listdir(target.parent) == ["記憶.db"]


def test_without_a_memory_there_is_nothing_to_copy_or_restore(home: Path) -> None:
    assert "no backup yet" in run_cmem("backup", "restore", "latest", "--yes").stderr.decode()
    assert run_json("backup", "list") == {"backups": []}
    listed = run_cmem("backup", "list")
    assert (listed.stdout, listed.stderr.decode()) == (
        b"",
        "cmem: no backups yet; `cmem backup` makes one, `cmem compress` one a day\n",
    )


def test_no_room_is_said_with_numbers_and_leaves_nothing(
    calc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(calc)._replace(free=1024)
    monkeypatch.setattr(snapshot.shutil, "disk_usage", lambda _path: usage)
    with pytest.raises(CmemError, match=r"it takes \d+\.\d MiB and 0\.0 MiB are free at"):
        backup.take(str(calc), "", now=samples.NOON)
    assert names(calc) == []
    assert "no room for a copy" in maintain(calc, 1)[0]


def test_a_copy_made_while_others_write_is_a_consistent_cut(calc: Path) -> None:
    code = """
import sys
from cmem.store import connection
conn = connection.open_writer(sys.argv[1], now=1)
print(flush=True)
for n in range(100000):
    with connection.transaction(conn):
        conn.execute("INSERT OR REPLACE INTO meta VALUES('a', ?)", (n,))
        conn.execute("INSERT OR REPLACE INTO meta VALUES('b', ?)", (n,))
        conn.execute("INSERT INTO seen_events VALUES(?, ?)", (str(n), n))
"""
    argv = [sys.executable, "-c", code, str(calc)]
    env = clean_env(PYTHONPATH=str(ROOT))
    with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        for turn in range(10):
            made = backup.take(str(calc), "", now=samples.NOON + turn)
            copy = apsw.Connection(made.path, flags=apsw.SQLITE_OPEN_READONLY)
            found = dict(rows(copy, "SELECT key, value FROM meta WHERE key IN ('a', 'b')"))
            assert found.get("a") == found.get("b")
            assert value(copy, "SELECT coalesce(max(at), 0) FROM seen_events WHERE at < 1e9") == (
                found.get("a", 0)
            )
            assert value(copy, "PRAGMA integrity_check") == "ok"
            copy.close()
        writer.kill()


def test_a_copy_does_not_go_to_standard_output_nor_into_a_file_of_that_name(calc: Path) -> None:
    done = run_cmem("backup", "-", cwd=calc)
    assert (done.returncode, done.stdout, done.stderr.decode()) == (
        2,
        b"",
        "cmem: a copy is a file: name one, for example ./memory.db\n",
    )
    assert not (calc / "-").exists()


# --- every day -----------------------------------------------------------------------------


def test_compress_makes_a_copy_a_day_and_keeps_the_newest(calc: Path) -> None:
    (calc / "backups").mkdir(mode=0o700)
    (calc / "backups" / "daily-notes.db").write_text("somebody's")
    assert [maintain(calc, day) for day in (0, 1, 1, 2, 3, 4)] == [()] * 6
    daily = [name for name in names(calc) if name != "daily-notes.db"]
    assert len(daily) == 3
    kinds = [(one.kind, one.damage) for one in backup.listed(str(calc))]
    assert kinds == [("daily", "")] * 3
    maintain(calc, 5, backups=1)
    assert len(names(calc)) == 2
    assert names(calc)[0] > daily[-1]


def test_a_new_store_and_one_without_the_setting_have_no_daily_copy(calc: Path) -> None:
    maintain(calc, 0)
    maintain(calc, 1, backups=0)
    assert names(calc) == []


def test_a_kill_before_the_rotation_leaves_one_more(calc: Path) -> None:
    for day in (1, 2, 3):
        maintain(calc, day)
    before = names(calc)
    done = run_cmem("compress", CMEM_TEST="1", CMEM_FAILPOINT="backup_before_rotation=kill")
    assert done.returncode == -9
    assert len(names(calc)) == 4
    assert set(before) < set(names(calc))
    assert [snapshot.check(path) for path in copies.paths(str(calc))] == [""] * 4


def test_what_a_damaged_memory_leaves_alone_are_the_old_copies(calc: Path) -> None:
    maintain(calc, 1)
    kept = (calc / "backups" / names(calc)[0]).read_bytes()
    size = os.path.getsize(calc / "memory.db")
    with open(calc / "memory.db", "r+b") as file:
        file.seek(size // 2)
        file.write(bytes(8192))
    with pytest.raises(CmemError):
        snapshot.take(paths.memory_db(str(calc)), str(calc / "backups" / "daily-29990101.db"))
    assert [(calc / "backups" / name).read_bytes() for name in names(calc)] == [kept]


@pytest.mark.parametrize("size", [None, 0, 1])
def test_a_memory_that_is_gone_is_not_begun_anew_over_its_backups(
    size: int | None, calc: Path
) -> None:
    for day in (1, 2, 3):
        maintain(calc, day)
    kept = {name: (calc / "backups" / name).read_bytes() for name in names(calc)}
    for path in calc.glob("memory.db*"):
        path.unlink()
    if size is not None:
        (calc / "memory.db").write_bytes(bytes(size))
    what = "missing" if size is None else "empty"
    told = (
        f"{calc}/memory.db is {what}, but there are backups of it; run `cmem backup restore "
        "latest`, or, to begin anew, move the folder backups away"
    )
    for day in (4, 5, 6, 7):
        with pytest.raises(ConfigError) as raised:
            maintain(calc, day)
        assert str(raised.value) == told
    with pytest.raises(ConfigError):
        connection.open_reader(str(calc))
    with pytest.raises(CmemError, match="backup restore latest"):
        repair.repair(str(calc), now=samples.NOON)
    # A hook goes on, and its person is told.
    start = {"session_id": "new", "cwd": "/src/calc", "hook_event_name": "SessionStart"}
    done = run_cmem(
        "hook",
        "claude-code",
        "SessionStart",
        stdin=json.dumps(start | {"source": "startup"}).encode(),
    )
    assert (done.returncode, done.stdout.decode()) == (
        0,
        '{"systemMessage":"cmem: memory.db is damaged; run `cmem doctor --repair`"}\n',
    )
    assert kept == {name: (calc / "backups" / name).read_bytes() for name in names(calc)}
    back = restore.restore(
        str(calc), backup.find(str(calc), "latest"), now=samples.NOON, dry_run=False
    )
    assert (back.observations, back.unread) == (2, size is not None)
    assert names(calc) == sorted(kept)  # of nothing no copy is kept
    maintain(calc, 8)


def test_copies_that_hold_something_are_kept_from_empty_ones(calc: Path) -> None:
    maintain(calc, 1)
    maintain(calc, 2)
    full = [calc / "backups" / name for name in names(calc)]
    conn = connection.open_writer(str(calc), now=samples.NOON)
    conn.execute("DELETE FROM documents").fetchall()
    conn.close()
    for day in (3, 4, 5, 6, 7):
        maintain(calc, day)
    assert len(names(calc)) == 5
    assert all(path.exists() for path in full)
    assert backup.find(str(calc), "latest") == str(full[-1])


def test_an_empty_file_is_no_copy_to_put_back(calc: Path, tmp_path: Path) -> None:
    before = (calc / "memory.db").read_bytes()
    for size in (0, 1):
        (tmp_path / "empty.db").write_bytes(bytes(size))
        done = run_cmem("backup", "restore", str(tmp_path / "empty.db"), "--yes")
        assert (done.returncode, done.stdout) == (1, b"")
        assert done.stderr.decode() == (
            f"cmem: {tmp_path}/empty.db cannot be restored: it is empty\n"
        )
    assert (calc / "memory.db").read_bytes() == before


# --- back again ----------------------------------------------------------------------------


def add(home: Path, title: str) -> int:
    """An observation of a session of its own, so that nothing else goes with it."""
    conn = connection.open_writer(str(home), now=samples.NOON)
    try:
        project = int(value(conn, "SELECT min(id) FROM projects"))
        session = samples.session(conn, project, f"s-{conn.total_changes()}-{os.urandom(4).hex()}")
        turn = samples.turn(conn, session, 1)
        return samples.observation(conn, project, session, turn, title=title)
    finally:
        conn.close()


def test_restore_puts_the_copy_in_place_and_keeps_what_was_there(calc: Path) -> None:
    before = titles(calc)
    made = run_json("backup")
    add(calc, "Later than the copy")
    dry = run_json("backup", "restore", "latest", "--dry-run")
    assert (dry["aside"], dry["observations"], dry["dry_run"]) == ("", len(before), True)
    assert titles(calc) == [*before, "Later than the copy"]
    refused = run_cmem("backup", "restore", "latest")
    assert (refused.returncode, refused.stdout) == (2, b"")
    done = run_json("backup", "restore", made["name"], "--yes")
    assert titles(calc) == before
    aside = apsw.Connection(done["aside"], flags=apsw.SQLITE_OPEN_READONLY)
    assert rows(aside, "SELECT title FROM observations ORDER BY id DESC LIMIT 1") == [
        ("Later than the copy",)
    ]
    aside.close()
    run_json("backup", "restore", done["aside"], "--yes")
    assert titles(calc) == [*before, "Later than the copy"]
    assert not (calc / "restoring").exists()


def test_forgotten_hidden_and_edited_text_does_not_come_back(calc: Path, tmp_path: Path) -> None:
    refs = [add(calc, f"Quokka {word}") for word in ("erased", "hidden", "edited")]
    outside = tmp_path / "outside.db"
    run_json("backup", str(outside))
    run_json("forget", f"O{refs[0]}", "--hard", "--yes")
    conn = connection.open_writer(str(calc), now=samples.NOON)
    old = edits.words(conn, refs[2])
    assert old is not None
    edits.edit(conn, refs[2], old=old, new=old._replace(title="New words"), now=samples.NOON)
    forget.hide(conn, forget.Plan(observations=(refs[1],)), now=samples.NOON)
    conn.close()
    done = run_json("backup", "restore", str(outside), "--yes")
    assert (done["hidden"], done["reworded"]) == (1, 1)
    assert done["erased"] > 0
    shown = "SELECT title FROM observations WHERE hidden_at IS NULL ORDER BY id"
    assert [one for one in titles(calc, shown) if "Quokka" in one or "New" in one] == ["New words"]
    found = run_json("search", "quokka", "--all-projects")["hits"]
    assert found == []
    assert b"Quokka erased" not in (calc / "memory.db").read_bytes()


def test_a_damaged_memory_goes_to_quarantine_as_it_is(calc: Path) -> None:
    before = titles(calc)
    run_json("backup")
    (calc / "memory.db").write_bytes(b"no database" * 1000)
    done = run_json("backup", "restore", "latest", "--yes")
    assert done["unread"] is True
    assert titles(calc) == before
    assert (Path(done["aside"]) / "memory.db").read_bytes() == b"no database" * 1000


@pytest.mark.parametrize("what", ["damaged", "foreign", "newer"])
def test_what_is_no_sound_copy_is_refused_and_nothing_changes(
    what: str, calc: Path, tmp_path: Path
) -> None:
    path = tmp_path / "odd.db"
    before = titles(calc)
    if what == "damaged":
        path.write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    else:
        conn = apsw.Connection(str(path))
        conn.execute("CREATE TABLE invoices(id)").fetchall()
        conn.pragma("user_version", 999 if what == "newer" else 0)
        conn.close()
    done = run_cmem("backup", "restore", str(path), "--yes")
    assert done.returncode in (1, 78)
    assert done.stderr.count(b"\n") == 1
    assert titles(calc) == before
    assert not (calc / "restoring").exists()
    assert not (calc / "quarantine").exists()


def test_a_kill_before_the_exchange_leaves_the_memory_as_it_was(calc: Path) -> None:
    before = titles(calc)
    run_json("backup")
    add(calc, "Later")
    env: dict[str, Any] = {"CMEM_TEST": "1", "CMEM_FAILPOINT": "restore_before_exchange=kill"}
    assert run_cmem("backup", "restore", "latest", "--yes", **env).returncode == -9
    assert titles(calc) == [*before, "Later"]
    manual = next(one.name for one in backup.listed(str(calc)) if one.kind == "by hand")
    run_json("backup", "restore", manual, "--yes")
    assert titles(calc) == before
