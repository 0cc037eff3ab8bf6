from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
import support

from cmem.errors import ConfigError
from cmem.store import connection, hard_reading, migrations

NOW = 1_764_424_800_000
NEWEST = migrations.MIGRATIONS[-1][0]


def test_writer_has_every_pragma(home: Path) -> None:
    conn = connection.open_writer(str(home), now=NOW)
    expected = {
        "page_size": 8192,
        "auto_vacuum": 2,
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "secure_delete": 1,
        "wal_autocheckpoint": 500,
        "journal_size_limit": 4194304,
        "trusted_schema": 0,
        "cell_size_check": 1,
        "temp_store": 2,
    }
    assert {name: conn.pragma(name) for name in expected} == expected


@pytest.mark.parametrize("index", [True, False])
def test_reader_has_every_pragma(home: Path, index: bool) -> None:
    connection.open_writer(str(home), now=NOW).close()
    conn = connection.open_reader(str(home), index=index)
    assert conn is not None
    expected = {"trusted_schema": 0, "cell_size_check": 1, "temp_store": 2}
    assert {name: conn.pragma(name) for name in expected} == expected


def test_every_file_is_the_owners_alone_whatever_the_umask(home: Path) -> None:
    before = os.umask(0)
    try:
        conn = connection.open_writer(str(home), now=NOW)
        conn.execute("INSERT INTO seen_events VALUES('e', 1)")
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in home.iterdir()}
    finally:
        os.umask(before)
    assert modes == {"memory.db": 0o600, "memory.db-wal": 0o600, "memory.db-shm": 0o600}


def test_writer_makes_a_missing_home(tmp_path: Path) -> None:
    home = tmp_path / "not" / "yet"
    connection.open_writer(str(home), now=NOW).close()
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_writer_initialises_a_zero_byte_file(home: Path) -> None:
    (home / "memory.db").touch(0o600)
    conn = connection.open_writer(str(home), now=NOW)
    assert (conn.pragma("user_version"), conn.pragma("page_size")) == (NEWEST, 8192)


@pytest.mark.parametrize("opener", ["writer", "reader"])
def test_what_is_no_database_is_named_and_left_alone(home: Path, opener: str) -> None:
    path = home / "memory.db"
    path.write_bytes(b"a letter to my aunt\n" * 500)
    with pytest.raises(ConfigError) as caught:
        if opener == "writer":
            connection.open_writer(str(home), now=NOW)
        else:
            connection.open_reader(str(home))
    assert str(caught.value) == (
        f"{path} is not a cmem database; run `cmem doctor --repair`, or move it away"
    )
    assert path.read_bytes() == b"a letter to my aunt\n" * 500


def test_writer_refuses_a_link_in_place_of_the_file(home: Path, tmp_path: Path) -> None:
    (home / "memory.db").symlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(ConfigError, match="is a symbolic link"):
        connection.open_writer(str(home), now=NOW)
    assert not (tmp_path / "elsewhere.db").exists()


def test_writer_refuses_a_home_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot use the data directory"):
        connection.open_writer(str(tmp_path / "file"), now=NOW)


def test_reader_of_nothing_is_none_and_makes_nothing(home: Path) -> None:
    assert connection.open_reader(str(home)) is None
    assert list(home.iterdir()) == []
    (home / "memory.db").touch()
    assert connection.open_reader(str(home)) is None


def test_reader_sees_what_was_committed_and_cannot_write(home: Path) -> None:
    writer = connection.open_writer(str(home), now=NOW)
    writer.execute("INSERT INTO seen_events VALUES('e', 1)")
    reader = connection.open_reader(str(home))
    assert reader is not None
    assert reader.execute("SELECT * FROM seen_events").fetchall() == [("e", 1)]
    assert reader.execute("SELECT count(*) FROM documents_text").fetchall() == [(0,)]
    with pytest.raises(apsw.ReadOnlyError):
        reader.execute("DELETE FROM seen_events")


def test_reader_takes_a_path_with_signs_of_a_uri(tmp_path: Path) -> None:
    home = tmp_path / "a?b#c%41 d"
    home.mkdir(mode=0o700)
    connection.open_writer(str(home), now=NOW).close()
    path = str(home / "memory.db")
    name = f"file:{hard_reading.escape(path)}?immutable=1"
    conn = apsw.Connection(name, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    assert conn.pragma("user_version") == NEWEST


READ_ONLY = """
import os, shutil, sys, tempfile  # before: nobody may be unable to read the interpreter's files
from cmem.store import connection, functions
os.setgid(65534)
os.setuid(65534)
conn = connection.open_reader(sys.argv[1])
print(conn.execute("SELECT count(*) FROM seen_events").fetchall()[0][0])
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user to be read-only for")
@pytest.mark.parametrize(
    ("kept", "expected"), [((), "2"), (("-wal", "-shm"), "3"), (("-wal",), "3")]
)
def test_reader_in_a_read_only_directory(kept: tuple[str, ...], expected: str) -> None:
    """Without a log the file alone is read; with one, the log counts too."""
    import shutil
    import tempfile

    # tmp_path is below directories of the test's user, so a place of its own.
    place = Path(tempfile.mkdtemp())
    try:
        source, home = place / "source", place / "home"
        writer = connection.open_writer(str(source), now=NOW)
        writer.executemany("INSERT INTO seen_events VALUES(?, 1)", [("a",), ("b",)])
        writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        writer.execute("INSERT INTO seen_events VALUES('c', 1)")
        home.mkdir()
        for suffix in ("", *kept):
            shutil.copyfile(source / f"memory.db{suffix}", home / f"memory.db{suffix}")
            (home / f"memory.db{suffix}").chmod(0o444)
        writer.close()
        home.chmod(0o555)
        place.chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY, str(home)],
            env=support.clean_env(PYTHONPATH=str(support.ROOT), PYTHONDONTWRITEBYTECODE="1"),
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.stdout.strip(), done.returncode) == (expected, 0), done.stderr
        assert {path.name for path in home.iterdir()} == {
            "memory.db",
            *(f"memory.db{suffix}" for suffix in kept),
        }
    finally:
        shutil.rmtree(place)


def test_transaction_commits_or_undoes_everything(home: Path) -> None:
    conn = connection.open_writer(str(home), now=NOW)
    with connection.transaction(conn):
        conn.execute("INSERT INTO seen_events VALUES('kept', 1)")
    with pytest.raises(ZeroDivisionError), connection.transaction(conn):
        conn.execute("INSERT INTO seen_events VALUES('undone', 1)")
        raise ZeroDivisionError
    assert conn.execute("SELECT eid FROM seen_events").fetchall() == [("kept",)]
    assert not conn.in_transaction


def test_inner_transaction_undoes_only_itself(home: Path) -> None:
    conn = connection.open_writer(str(home), now=NOW)
    with connection.transaction(conn):
        conn.execute("INSERT INTO seen_events VALUES('outer', 1)")
        with pytest.raises(ZeroDivisionError), connection.transaction(conn):
            conn.execute("INSERT INTO seen_events VALUES('inner', 1)")
            raise ZeroDivisionError
        with connection.transaction(conn):
            conn.execute("INSERT INTO seen_events VALUES('second', 1)")
    found = conn.execute("SELECT eid FROM seen_events ORDER BY eid").fetchall()
    assert found == [("outer",), ("second",)]


def test_transaction_waits_for_another_writer_and_then_gives_up(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "WRITER_WAIT_MS", 50)
    first = connection.open_writer(str(home), now=NOW)
    second = connection.open_writer(str(home), now=NOW)
    with (
        connection.transaction(first),
        pytest.raises(apsw.BusyError),
        connection.transaction(second),
    ):
        pass
    with connection.transaction(second):
        second.execute("INSERT INTO seen_events VALUES('free', 1)")


READER_IMPORTS = """
import sys
before = set(sys.modules)
import apsw
with_apsw = set(sys.modules)
from cmem.store import reading
reading.open_reader(sys.argv[1]).close()
print(sorted(set(sys.modules) - with_apsw))
"""


def test_reader_imports_only_leaf_modules(home: Path) -> None:
    """A session start reads through it: each further import is paid at every start."""
    connection.open_writer(str(home), now=NOW).close()
    done = subprocess.run(
        [sys.executable, "-c", READER_IMPORTS, str(home)],
        env=support.clean_env(PYTHONPATH=str(support.ROOT)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str(
        [
            "cmem",
            "cmem.paths",
            "cmem.store",
            "cmem.store.functions",
            "cmem.store.reading",
        ]
    )
