from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import apsw
import pytest
import seeding
import store_rows
import support

from cmem.errors import ConfigError
from cmem.store import (
    connection,
    functions,
    ledger,
    migrations,
    recent,
    schema_0001,
    schema_0002,
    segment,
)

NOW = 1_764_424_800_000
COUNT = len(schema_0001.STATEMENTS)
NEWEST = migrations.MIGRATIONS[-1][0]
NAMES = [(version, step.NAME) for version, step in migrations.MIGRATIONS]


def bare(home: Path) -> apsw.Connection:
    """A connection to an empty file, as a writer has it before migrating."""
    (home / "memory.db").touch(0o600)
    conn = apsw.Connection(str(home / "memory.db"))
    connection._configure_writer(conn)
    functions.register(conn)
    return conn


def shape(conn: apsw.Connection) -> list[tuple[object, ...]]:
    query = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
    return conn.execute(query).fetchall()


def second_step(statement: str = "CREATE TABLE later(id INTEGER PRIMARY KEY)") -> SimpleNamespace:
    return SimpleNamespace(NAME="later", STATEMENTS=(statement,))


def test_fresh_store_is_complete(home: Path) -> None:
    conn = connection.open_writer(str(home), now=NOW)
    assert conn.pragma("user_version") == NEWEST
    history = conn.execute("SELECT * FROM schema_versions").fetchall()
    assert history == [(*one, NOW) for one in NAMES]
    meta = dict(conn.execute("SELECT key, value FROM meta"))
    assert meta["segmenter_version"] == segment.SEGMENTER_VERSION
    assert isinstance(meta["hmac_key"], bytes)
    assert len(meta["hmac_key"]) == 32
    assert set(meta) == {"segmenter_version", "hmac_key"}
    assert conn.pragma("integrity_check") == "ok"


def test_opening_again_changes_nothing(home: Path) -> None:
    first = connection.open_writer(str(home), now=NOW)
    key = first.execute("SELECT value FROM meta WHERE key = 'hmac_key'").fetchall()
    before = shape(first)
    first.close()
    again = connection.open_writer(str(home), now=NOW + 1)
    assert again.execute("SELECT value FROM meta WHERE key = 'hmac_key'").fetchall() == key
    assert again.execute("SELECT applied_at FROM schema_versions").fetchall() == [(NOW,)] * NEWEST
    assert shape(again) == before


@pytest.mark.parametrize("fails_at", range(COUNT + 1))
def test_failing_statement_leaves_nothing_and_a_rerun_completes(home: Path, fails_at: int) -> None:
    statements = (
        *schema_0001.STATEMENTS[:fails_at],
        "INSERT INTO no_such_table VALUES(1)",
        *schema_0001.STATEMENTS[fails_at:],
    )
    conn = bare(home)
    broken = SimpleNamespace(NAME="broken", STATEMENTS=statements)
    with pytest.raises(apsw.SQLError, match="no_such_table"):
        migrations.migrate(conn, NOW, ((1, broken),))
    assert (conn.pragma("user_version"), shape(conn)) == (0, [])
    assert migrations.migrate(conn, NOW) == NEWEST
    whole = shape(conn)
    conn.close()
    (home / "memory.db").unlink()
    assert shape(connection.open_writer(str(home), now=NOW)) == whole


def test_statements_can_run_twice(home: Path) -> None:
    conn = connection.open_writer(str(home), now=NOW)
    before = shape(conn)
    for statement in schema_0001.STATEMENTS:
        conn.execute(statement).fetchall()
    conn.pragma("user_version", 1)
    assert migrations.migrate(conn, NOW) == NEWEST
    assert shape(conn) == before


OPEN = """
import sys
from cmem.store import connection
sys.stdin.read(1)
conn = connection.open_writer(sys.argv[1], now=int(sys.argv[2]))
print(conn.execute("SELECT count(*), max(version) FROM schema_versions").fetchall())
"""


def test_four_processes_at_once_make_one_store(home: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN, str(home), str(NOW + n)],
            env=support.clean_env(PYTHONPATH=str(support.ROOT)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(4)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("x")
        process.stdin.flush()
    told = [(*process.communicate(timeout=60), process.returncode) for process in processes]
    assert told == [(f"[({NEWEST}, {NEWEST})]\n", "", 0)] * 4
    conn = connection.open_writer(str(home), now=NOW)
    assert conn.pragma("integrity_check") == "ok"
    assert conn.pragma("page_size") == 8192


def test_newer_file_is_refused_by_a_writer_and_read_by_a_reader(home: Path) -> None:
    conn = connection.open_writer(str(home), now=NOW)
    conn.execute("INSERT INTO seen_events VALUES('e', 1)")
    conn.pragma("user_version", NEWEST + 6)
    conn.close()
    before = (home / "memory.db").read_bytes()
    with pytest.raises(ConfigError) as caught:
        connection.open_writer(str(home), now=NOW)
    assert str(caught.value) == (
        f"{home}/memory.db was made by a newer cmem: schema {NEWEST + 6}, "
        f"this one knows {NEWEST}; upgrade cmem"
    )
    assert (home / "memory.db").read_bytes() == before
    reader = connection.open_reader(str(home))
    assert reader is not None
    assert reader.execute("SELECT eid FROM seen_events").fetchall() == [("e",)]


def test_somebody_elses_database_is_refused(home: Path) -> None:
    other = apsw.Connection(str(home / "memory.db"))
    other.execute("CREATE TABLE invoices(id)")
    other.close()
    with pytest.raises(ConfigError, match=r"is not a cmem database \(it holds 'invoices'\)"):
        connection.open_writer(str(home), now=NOW)


def test_next_step_is_backed_up_first(home: Path) -> None:
    conn = seeding.open_store(home)
    seeding.add_turn(conn, seeding.add_session(conn))
    steps = (*migrations.MIGRATIONS, (NEWEST + 1, second_step()))
    assert migrations.migrate(conn, NOW + 5, steps) == NEWEST + 1
    assert conn.execute("SELECT version, name FROM schema_versions").fetchall() == [
        *NAMES,
        (NEWEST + 1, "later"),
    ]
    assert [path.name for path in (home / "backups").iterdir()] == [f"memory-schema{NEWEST}.db"]
    copy = home / "backups" / f"memory-schema{NEWEST}.db"
    assert copy.stat().st_mode & 0o777 == 0o600
    kept = apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READONLY)
    assert kept.pragma("user_version") == NEWEST
    assert kept.execute("SELECT prompt_text FROM user_prompts").fetchall() == [
        ("fix the subtract function",)
    ]
    assert kept.pragma("integrity_check") == "ok"


def test_failing_next_step_keeps_the_store_as_it_was(home: Path) -> None:
    conn = seeding.open_store(home)
    before = shape(conn)
    (home / "backups").mkdir()
    (home / "backups" / f"memory-schema{NEWEST}.db.tmp").write_text("a killed run's")
    (home / "backups" / f"memory-schema{NEWEST}.db.tmp-journal").write_text("a killed run's")
    steps = (*migrations.MIGRATIONS, (NEWEST + 1, second_step("CREATE TABLE later(id) nonsense")))
    for _ in range(2):
        with pytest.raises(apsw.SQLError):
            migrations.migrate(conn, NOW, steps)
        assert (conn.pragma("user_version"), shape(conn)) == (NEWEST, before)
        assert [path.name for path in (home / "backups").iterdir()] == [f"memory-schema{NEWEST}.db"]


def test_the_ledger_of_the_first_schema_becomes_whole_micro_dollars(home: Path) -> None:
    conn = bare(home)
    migrations.migrate(conn, NOW, migrations.MIGRATIONS[:1])
    unit = seeding.add_unit(conn, seeding.add_turn(conn, seeding.add_session(conn)))
    old = """INSERT INTO observer_runs(unit_id, session_id, project_id, kind, provider, model,
            prompt_version, outcome, calls, input_tokens, output_tokens, cache_read_tokens,
            cache_write_tokens, cost_usd, started_at, ended_at)
        VALUES(?, 1, 1, 'turn', 'p', 'm', '', 'done', ?, ?, 0, 0, 0, ?, ?, ?)"""
    for calls, size, usd in ((1, 700, 0.1234567), (1, 700, 0.0), (0, 0, 0.0)):
        conn.execute(old, (unit, calls, size, usd, NOW, NOW))
    looked = ledger.spent(conn, since=NOW)
    assert looked == ledger.Spent(calls=2, tokens=1400, microusd=123_457, unpriced=1)
    assert migrations.migrate(conn, NOW + 5) == NEWEST
    prices = conn.execute("SELECT cost_microusd FROM observer_runs ORDER BY id").fetchall()
    assert prices == [(123_457,), (None,), (0,)]
    assert ledger.spent(conn, since=NOW) == looked
    assert schema_0002.NAME in dict(NAMES).values()


# --- every shape so far, with rows -----------------------------------------------------------

LATER = [step for step in migrations.MIGRATIONS if step[0] > 1]
# Where each step of each later schema may fail: (version, number of statements done).
POINTS = [(version, done) for version, step in LATER for done in range(len(step.STATEMENTS) + 1)]
ROWS = (
    "SELECT uid, title, narrative, created_at FROM observations",
    "SELECT uid, prompt_text, created_at FROM user_prompts",
    "SELECT uid, tool_name, tool_input, tool_response FROM tool_uses",
    "SELECT uid, content_session_id FROM sessions",
    "SELECT key, name FROM projects",
    "SELECT kind, ref FROM documents",
    "SELECT kind, state, attempts FROM work_units",
    "SELECT key, value FROM meta",
    "SELECT rowid FROM documents_fts WHERE documents_fts MATCH 'title : old AND body : words'",
    "SELECT rowid, title, body, meta, x, k FROM documents_fts",
)


def contents(conn: apsw.Connection) -> list[list[tuple[object, ...]]]:
    return [sorted(conn.execute(query).fetchall(), key=repr) for query in ROWS]


def old(home: Path, version: int) -> list[list[tuple[object, ...]]]:
    """A store of this schema with rows of every kind, closed; its contents."""
    conn = bare(home)
    migrations.migrate(conn, NOW, migrations.MIGRATIONS[:version])
    turn = seeding.add_turn(conn, seeding.add_session(conn))
    seeding.add_tool(conn, turn, response="x" * 2000)
    seeding.add_unit(conn, turn)
    store_rows.observation(conn, turn, "An old title", "and its words", files=("calc.py",))
    found = contents(conn)
    conn.close()
    return found


@pytest.mark.parametrize("version", range(1, NEWEST + 1))
def test_both_roads_end_in_one_schema_and_no_row_differs(
    version: int, home: Path, tmp_path: Path
) -> None:
    before = old(home, version)
    conn = connection.open_writer(str(home), now=NOW + 5)
    assert contents(conn) == before
    assert conn.pragma("integrity_check") == "ok"
    assert conn.execute("PRAGMA foreign_key_check").fetchall() == []
    conn.execute("INSERT INTO documents_fts(documents_fts, rank) VALUES('integrity-check', 1)")
    assert conn.execute("SELECT version, name FROM schema_versions").fetchall() == NAMES
    fresh = tmp_path / "fresh"
    fresh.mkdir(mode=0o700)
    assert sorted(columns(conn)) == sorted(columns(connection.open_writer(str(fresh), now=NOW)))
    copies = sorted(path.name for path in (home / "backups").iterdir()) if version < NEWEST else []
    assert copies == [f"memory-schema{one}.db" for one in range(version, NEWEST)]
    conn.close()


def columns(conn: apsw.Connection) -> list[tuple[object, ...]]:
    """Every table and index with its columns; the text of a statement may differ."""
    return conn.execute(
        """SELECT s.type, s.name, s.tbl_name, c.name, c.type, c."notnull", c.pk
        FROM sqlite_schema s LEFT JOIN pragma_table_info(s.name) c"""
    ).fetchall()


@pytest.mark.parametrize(("version", "done"), POINTS)
def test_a_later_step_failing_anywhere_leaves_the_older_shape(
    version: int, done: int, home: Path
) -> None:
    before = old(home, version - 1)
    step = dict(migrations.MIGRATIONS)[version]
    statements = (*step.STATEMENTS[:done], "INSERT INTO no_such_table VALUES(1)")
    broken = SimpleNamespace(NAME="broken", STATEMENTS=statements)
    conn = apsw.Connection(str(home / "memory.db"))
    functions.register(conn)
    was = shape(conn)
    with pytest.raises(apsw.SQLError, match="no_such_table"):
        migrations.migrate(conn, NOW, (*migrations.MIGRATIONS[: version - 1], (version, broken)))
    assert (conn.pragma("user_version"), shape(conn)) == (version - 1, was)
    assert contents(conn) == before
    conn.close()
    again = connection.open_writer(str(home), now=NOW)
    assert again.pragma("user_version") == NEWEST
    assert contents(again) == before


@pytest.mark.parametrize("version", range(1, NEWEST))
def test_four_processes_at_once_bring_an_old_store_up_to_date(version: int, home: Path) -> None:
    before = old(home, version)
    argv = [sys.executable, "-c", OPEN, str(home), str(NOW)]
    env = support.clean_env(PYTHONPATH=str(support.ROOT))
    pipe = subprocess.PIPE
    processes = [
        subprocess.Popen(argv, env=env, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        for _ in range(4)
    ]
    told = [(*process.communicate("x", timeout=60), process.returncode) for process in processes]
    assert told == [(f"[({NEWEST}, {NEWEST})]\n", "", 0)] * 4
    conn = connection.open_writer(str(home), now=NOW)
    assert contents(conn) == before
    assert conn.pragma("integrity_check") == "ok"


def test_an_older_store_gets_the_index_of_branches_with_its_rows(home: Path) -> None:
    old(home, 6)
    reader = connection.open_reader(str(home))
    assert reader is not None
    branch = str(reader.execute("SELECT branch FROM observations").get)
    assert recent.of_branch(reader, [1], branch, 9) == []
    reader.close()
    conn = connection.open_writer(str(home), now=NOW + 5)
    assert [row[10] for row in recent.of_branch(conn, [1], branch, 9)] == ["An old title"]
    conn.close()
