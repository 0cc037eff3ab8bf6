"""A damaged memory: every row on an intact page comes back, and nothing else does."""

from __future__ import annotations

import json
import os
import random
import shutil
import stat
from pathlib import Path

import apsw
import pytest
import samples
from support import run_cmem, run_json

from cmem import backup, paths, repair
from cmem import forget as everywhere
from cmem.errors import ConfigError
from cmem.store import check, connection, copies, forget, mend, pages, salvage, state
from cmem.store.rows import rows

NOW = samples.NOON + samples.DAY
PAGE = 8192
TEXTS = (
    "SELECT uid, title, narrative, facts FROM observations ORDER BY uid",
    "SELECT uid, prompt_text FROM user_prompts ORDER BY uid",
    "SELECT uid, tool_name, tool_input, tool_response FROM tool_uses ORDER BY uid",
    "SELECT uid, request FROM session_summaries ORDER BY uid",
)
Rows = list[set[tuple[object, ...]]]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of about 150 pages, with long rows and short ones; made once, copied by each test."""
    home = tmp_path_factory.mktemp("filled") / "home"
    home.mkdir(mode=0o700)
    draw = random.Random(7)
    conn = samples.calc(home)
    with connection.transaction(conn):
        for number in range(2, 60):
            turn = samples.turn(conn, 1, number)
            words = " ".join(draw.choice(("gate", "läuft", "验证", "parser")) for _ in range(60))
            samples.prompt(conn, 1, turn, f"prompt {number} {words}", prompt_number=number)
            answer = {"stdout": words * (1 + 60 * (number % 7 == 0))}
            call = samples.tool(
                conn, 1, turn, "Bash", {"command": f"run {number}"}, answer,
                uid=f"tool {number}", tool_use_id=f"toolu_x{number}",
            )  # fmt: skip
            samples.observation(
                conn, 1, 1, turn, title=f"Title {number}", narrative=words, sources=[("T", call)]
            )
    conn.close()
    return home


@pytest.fixture(scope="module")
def known(filled: Path) -> list[salvage.Table]:
    """What the rows of each table look like."""
    conn = connection.open_reader(str(filled))
    assert conn is not None
    try:
        return salvage.tables(conn)
    finally:
        conn.close()


@pytest.fixture
def home(filled: Path, tmp_path: Path) -> Path:
    target = tmp_path / "home"
    shutil.copytree(filled, target)
    return target


def texts(path: str) -> Rows:
    conn = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return [set(rows(conn, query)) for query in TEXTS]
    finally:
        conn.close()


def overwrite(home: Path, page: int, content: bytes | None = None) -> None:
    with open(home / "memory.db", "r+b") as file:
        file.seek((page - 1) * PAGE)
        file.write(bytes(PAGE) if content is None else content)


def on_intact_pages(path: str, known: list[salvage.Table]) -> int:
    """How many rows of the four kinds lie on pages that can be read."""
    names = ("observations", "user_prompts", "tool_uses", "session_summaries")
    return sum(count for _page, name, count in owned(path, known) if name in names)


def owned(path: str, known: list[salvage.Table]) -> list[tuple[int, str, int]]:
    """(page, table, rows) of every page that belongs to a table."""
    source = pages.open_pages(path)
    try:
        found = []
        for number in range(1, source.total + 1):
            kind, cells, _bad = pages.cells(source, number)
            table = salvage.owner(known, kind, cells) if cells else None
            if table is not None:
                found.append((number, table.name, len(cells)))
        return found
    finally:
        source.close()


def test_every_page_lost_in_turn_costs_only_its_own_rows(
    filled: Path, known: list[salvage.Table], tmp_path: Path
) -> None:
    whole = texts(str(filled / "memory.db"))
    total = sum(map(len, whole))
    source = str(filled / "memory.db")
    assert on_intact_pages(source, known) == total
    size = os.path.getsize(source) // PAGE
    step = 1 if os.environ.get("CMEM_TEST_PAGES") else 5
    for page in range(1, size + 1, step):
        work = tmp_path / f"page{page}"
        work.mkdir(mode=0o700)
        shutil.copy(source, work / "memory.db")
        overwrite(work, page)
        done = repair.repair(str(work), now=NOW)
        if not done.kept or done.done.startswith("the index"):
            assert texts(str(work / "memory.db")) == whole, page
            continue
        assert_sound(work)
        found = texts(str(work / "memory.db"))
        for now, before in zip(found, whole, strict=True):
            assert now <= before, page
        lost = total - sum(map(len, found))
        told = sum(done.lost.get(name, 0) for name in ("observations", "user_prompts", "tool_uses"))
        told += done.lost.get("session_summaries", 0)
        assert lost == told, (page, lost, done.lost)
        assert lost < 60
        shutil.rmtree(work)


def assert_sound(home: Path) -> None:
    conn = connection.open_reader(str(home))
    assert conn is not None
    try:
        assert mend.faults(conn) == []
        assert rows(conn, "SELECT count(*) FROM documents") == rows(
            conn, "SELECT count(*) FROM documents_fts_docsize"
        )
    finally:
        conn.close()


def test_without_its_first_page_every_row_comes_back_and_is_found(home: Path) -> None:
    before = texts(str(home / "memory.db"))
    overwrite(home, 1)
    failed = run_cmem("search", "parser")
    assert failed.returncode == 78
    done = repair.repair(str(home), now=NOW)
    assert (done.lost, done.bad_pages) == ({}, 1)
    assert texts(str(home / "memory.db")) == before
    assert_sound(home)
    assert run_json("search", "Title 17", "--all-projects")["hits"]
    kept = Path(done.kept)
    assert kept.parent == home / "quarantine"
    assert (kept / "memory.db").read_bytes()[:PAGE] == bytes(PAGE)
    assert stat.S_IMODE(os.stat(home / "memory.db").st_mode) == 0o600
    assert {stat.S_IMODE(os.stat(one).st_mode) for one in (kept, kept.parent)} == {0o700}
    assert not (home / "repairing").exists()


@pytest.mark.parametrize("count", [1, 5, 40])
@pytest.mark.parametrize("what", ["zeros", "noise"])
def test_random_pages_damaged_leave_the_rest(
    count: int, what: str, home: Path, known: list[salvage.Table]
) -> None:
    before = texts(str(home / "memory.db"))
    draw = random.Random(count)
    size = os.path.getsize(home / "memory.db") // PAGE
    for page in draw.sample(range(1, size + 1), count):
        overwrite(home, page, draw.randbytes(PAGE) if what == "noise" else None)
    expected = on_intact_pages(str(home / "memory.db"), known)
    repair.repair(str(home), now=NOW)
    assert_sound(home)
    found = texts(str(home / "memory.db"))
    assert all(now <= old for now, old in zip(found, before, strict=True))
    assert sum(map(len, found)) == expected


def test_a_file_cut_short_keeps_what_is_left(home: Path) -> None:
    before = texts(str(home / "memory.db"))
    os.truncate(home / "memory.db", os.path.getsize(home / "memory.db") * 9 // 10 + 100)
    done = repair.repair(str(home), now=NOW)
    assert done.kept
    assert_sound(home)
    found = texts(str(home / "memory.db"))
    assert all(now <= old for now, old in zip(found, before, strict=True))
    assert sum(map(len, found)) > sum(map(len, before)) // 2


@pytest.mark.parametrize("part", [0.15, 0.5])
def test_of_a_file_cut_in_half_no_kind_of_row_is_lost_unsaid(part: float, home: Path) -> None:
    before = contents(home)
    os.truncate(home / "memory.db", int(os.path.getsize(home / "memory.db") * part) + 123)
    done = repair.repair(str(home), now=NOW)
    assert_sound(home)
    after = contents(home)
    about = {"observation_files", "observation_sources"}  # they go with what they are about
    short = {name for name in before.keys() - about if len(after[name]) < len(before[name])}
    assert short
    told = {*done.lost, *done.uncounted}
    # Where the table of contents is gone too, nobody can say what lay there.
    assert short <= told or "unknown" in done.uncounted, (short, done)


LOST_OF_CALC = {
    "observations": {"observations": 2},
    "projects": {"projects": 1},
    "session_summaries": {"session_summaries": 1},
    "sessions": {"sessions": 1},
    "tool_uses": {"tool_uses": 2},
    "turns": {"turns": 1},
    "user_prompts": {"user_prompts": 1},
}
# Nobody knows what was on their first pages.
UNCOUNTED = {
    "batch_units", "batches", "meta", "near_duplicates", "observation_sources", "observer_runs",
    "project_aliases", "replacements", "seen_events", "tombstones", "work_state_entries",
    "work_units",
}  # fmt: skip
FROM_COPY = (*LOST_OF_CALC, "project_aliases", "seen_events", "tombstones", "work_state_entries")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of one page a table, with an item of open work and something forgotten for good;
    a copy lies beside it."""
    home = tmp_path_factory.mktemp("small") / "home"
    home.mkdir(mode=0o700)
    conn = samples.calc(home)
    ref = samples.observation(conn, 1, 1, 1, uid="gone", title="To be forgotten", content_hash="x")
    everywhere.purge(str(home), conn, forget.Plan(observations=(ref,)), now=NOW)
    with connection.transaction(conn):
        state.add(conn, "Paint it", uid="w1", project=1, session=1, branch="", now=NOW)
    conn.close()
    return home


def contents(home: Path) -> dict[str, set[tuple[object, ...]]]:
    """All rows of every table, without what a repair makes anew."""
    conn = connection.open_reader(str(home))
    assert conn is not None
    try:
        query = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '%_fts%'"
        left_out = ("documents", "meta", "schema_versions")
        names = [str(name) for (name,) in rows(conn, query) if name not in left_out]
        return {name: set(rows(conn, f"SELECT * FROM {name}")) for name in names}
    finally:
        conn.close()


def root_pages(home: Path) -> dict[str, int]:
    conn = connection.open_reader(str(home))
    assert conn is not None
    query = "SELECT name, rootpage FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"
    try:
        return {str(name): int(page) for name, page in rows(conn, query)}
    finally:
        conn.close()


# About 30 ms a table and there are 26, with a copy and without.
@pytest.mark.parametrize("with_copy", [False, True])
def test_whichever_table_is_lost_the_rest_is_saved_and_the_loss_is_told(
    small: Path, tmp_path: Path, *, with_copy: bool
) -> None:
    before = contents(small)
    for table, page in root_pages(small).items():
        work = tmp_path / "work"
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(small, work)
        if with_copy:
            backup.take(str(work), "", now=NOW)
        overwrite(work, page)
        done = repair.repair(str(work), now=NOW)
        assert_sound(work)
        assert done.uncounted == ({table: 1} if table in UNCOUNTED else {}), table
        assert done.forgotten_unknown == (table in ("meta", "tombstones"))
        after = contents(work)
        if with_copy:
            assert done.lost == {}, table
            assert {name: after[name] for name in FROM_COPY} == {
                name: before[name] for name in FROM_COPY
            }, table
            continue
        assert done.lost == LOST_OF_CALC.get(table, {}), table
        about = ("observation_files", "observation_sources")
        for name in before.keys() - {table, *about}:
            assert {one[0] for one in after[name]} == {one[0] for one in before[name]}, (
                table,
                name,
            )
        # The store works on: an event that comes finds its session and its turn.
        conn = connection.open_writer(str(work), now=NOW)
        session = samples.session(conn, 1, "later")
        samples.prompt(conn, session, samples.turn(conn, session, 1), "go on")
        assert mend.faults(conn) == []
        conn.close()


def test_what_is_only_in_the_log_comes_back_without_the_first_page(home: Path) -> None:
    conn = connection.open_writer(str(home), now=NOW)
    conn.pragma("wal_autocheckpoint", 0)
    conn.execute("UPDATE observations SET narrative = 'newest words' WHERE id = 9").fetchall()
    for part in ("", "-wal"):
        shutil.copy(f"{home}/memory.db{part}", home.parent / f"kept{part}")
    conn.close()
    for part in ("", "-wal"):
        shutil.copy(home.parent / f"kept{part}", f"{home}/memory.db{part}")
    overwrite(home, 1)
    with open(home / "memory.db-wal", "ab") as log:
        log.write(random.Random(1).randbytes(5000))
    repair.repair(str(home), now=NOW)
    conn = apsw.Connection(str(home / "memory.db"))
    assert rows(conn, "SELECT narrative FROM observations WHERE id = 9") == [("newest words",)]


def with_a_log(home: Path) -> None:
    """Leave four transactions in the log alone, as a run that was killed does."""
    conn = connection.open_writer(str(home), now=NOW)
    conn.pragma("wal_autocheckpoint", 0)
    for number in range(4):
        turn = samples.turn(conn, 1, 100 + number)
        with connection.transaction(conn):
            samples.observation(conn, 1, 1, turn, title=f"Logged {number}", narrative="x" * 3000)
    for part in ("", "-wal"):
        shutil.copy(f"{home}/memory.db{part}", home.parent / f"kept{part}")
    conn.close()
    for part in ("", "-wal"):
        shutil.move(home.parent / f"kept{part}", f"{home}/memory.db{part}")
    (home / "memory.db-shm").unlink(missing_ok=True)


LOGGED = "SELECT title FROM observations WHERE title LIKE 'Logged%' ORDER BY title"


def logged(home: Path) -> list[str]:
    conn = connection.open_reader(str(home))
    assert conn is not None
    try:
        return [str(title)[-1] for (title,) in rows(conn, LOGGED)]
    finally:
        conn.close()


@pytest.mark.parametrize(
    ("commits", "what", "seen"),
    [(None, bytes(32), []), (0, b"\xff" * 20, []), (4, b"\xff" * 50, ["0", "1"])],
    ids=["head", "first frame", "in the middle"],
)
def test_of_a_damaged_log_what_lies_behind_the_damage_is_saved(
    commits: int | None, what: bytes, seen: list[str], home: Path
) -> None:
    """``commits``: how many of them, two for each row, stand before the damaged page."""
    with_a_log(home)
    log = home / "memory.db-wal"
    before = log.stat().st_size
    starts = range(32, before, 24 + PAGE)
    data = log.read_bytes()
    ends = [at for at in starts if any(data[at + 4 : at + 8])]
    with log.open("r+b") as file:
        if commits is not None:
            file.seek(([32] if not commits else [at for at in starts if at > ends[commits - 1]])[0])
            file.seek(24 + 100, os.SEEK_CUR)
        file.write(what)
    assert logged(home) == seen  # a reader sees less, and changes nothing
    with pytest.raises(ConfigError, match=r"memory\.db-wal is damaged.*doctor --repair"):
        connection.open_writer(str(home), now=NOW)
    found = check.look(str(home), within_ms=5000)
    assert found is not None
    assert found.damage == "memory.db-wal is damaged, and what it holds would be lost"
    done = repair.repair(str(home), now=NOW)
    assert logged(home) == ["0", "1", "2", "3"]
    assert_sound(home)
    assert (Path(done.kept) / "memory.db-wal").stat().st_size == before
    connection.open_writer(str(home), now=NOW).close()
    assert repair.repair(str(home), now=NOW) == repair.NOTHING


@pytest.mark.parametrize("left", [0, None])
def test_a_log_without_its_file_is_kept_and_read_out(left: int | None, home: Path) -> None:
    with_a_log(home)
    (home / "memory.db").unlink()
    if left is not None:
        (home / "memory.db").write_bytes(b"")
    what = "missing" if left is None else "empty"
    told = rf"memory\.db is {what}, but its log is there; run `cmem doctor --repair`"
    for opened in (connection.open_reader, lambda at: connection.open_writer(at, now=NOW)):
        with pytest.raises(ConfigError, match=told):
            opened(str(home))
    repair.repair(str(home), now=NOW)
    assert "3" in logged(home)
    assert_sound(home)


def test_a_log_that_is_in_use_or_torn_at_its_end_is_not_damaged(home: Path) -> None:
    with_a_log(home)
    path = str(home / "memory.db")
    with open(path + "-wal", "ab") as file:
        file.write(bytes(range(256)) * 40)  # a transaction that was not committed
    assert not connection.log_is_damaged(path)
    conn = connection.open_writer(str(home), now=NOW)
    conn.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
    for number in range(3):  # over the frames of before
        conn.execute("UPDATE meta SET value = value WHERE key = 'hmac_key'").fetchall()
        conn.execute("INSERT INTO seen_events VALUES(?, 1)", (str(number),)).fetchall()
        assert not connection.log_is_damaged(path)
    conn.close()


def test_a_damaged_index_is_built_anew_in_its_place(home: Path) -> None:
    before = texts(str(home / "memory.db"))
    conn = connection.open_writer(str(home), now=NOW)
    conn.execute("INSERT INTO documents_fts(documents_fts) VALUES('delete-all')").fetchall()
    conn.close()
    done = json.loads(run_cmem("doctor", "--repair", "--json").stdout)
    assert done["repair"]["done"] == "the index was built anew"
    assert os.path.exists(os.path.join(done["repair"]["kept"], "memory.db"))
    assert texts(str(home / "memory.db")) == before
    assert_sound(home)
    assert run_json("search", "Title 17", "--all-projects")["hits"]


def test_a_sound_memory_is_left_as_it_is(home: Path) -> None:
    before = (home / "memory.db").read_bytes()
    assert repair.repair(str(home), now=NOW) == repair.NOTHING
    assert (home / "memory.db").read_bytes() == before
    assert repair.repair(str(home.parent / "nowhere"), now=NOW) == repair.NOTHING


def test_lost_rows_come_from_the_newest_copy(home: Path, known: list[salvage.Table]) -> None:
    before = texts(str(home / "memory.db"))
    backup.take(str(home), "", now=NOW)
    full = [page for page, name, _ in owned(f"{home}/memory.db", known) if name == "observations"]
    for page in full[:3]:
        overwrite(home, page)
    done = repair.repair(str(home), now=NOW)
    assert done.from_backup["observations"] > 0
    assert done.lost == {}
    assert texts(str(home / "memory.db")) == before
    assert_sound(home)


def test_what_was_forgotten_does_not_come_back(home: Path) -> None:
    run_json("forget", "O17", "--hard", "--yes")
    gone = texts(str(home / "memory.db"))
    conn = connection.open_reader(str(home))
    assert conn is not None
    (title,) = {17} - {int(ref) for (ref,) in rows(conn, "SELECT id FROM observations")}
    conn.close()
    backup.take(str(home), "", now=NOW)
    overwrite(home, 1)
    done = repair.repair(str(home), now=NOW)
    assert (title, done.forgotten) == (17, 0)
    assert texts(str(home / "memory.db")) == gone
    assert len(copies.paths(str(home))) == 1


@pytest.mark.parametrize("text", [b"no database at all " * 900, b"SQLite format 3\0"])
def test_where_nothing_can_be_read_nothing_is_touched(text: bytes, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "memory.db").write_bytes(text)
    done = run_cmem("doctor", "--repair")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode() == (
        "cmem: nothing in memory.db can be read; `cmem backup restore latest` puts a copy back\n"
    )
    assert (home / "memory.db").read_bytes() == text
    assert paths.memory_db(str(home)) == str(home / "memory.db")


def test_a_person_is_told_what_was_saved_and_what_is_lost(home: Path) -> None:
    overwrite(home, 1)
    told = run_cmem("doctor", "--repair").stdout.decode().splitlines()
    kept = next((home / "quarantine").iterdir())
    assert told[0] == "Repair: saved what can be read."
    assert "observations 60, project aliases 1, projects 1" in told[1]
    assert told[2:5] == [
        "  lost: no row that another one names",
        "  pages that were empty or unreadable: 1",
        f"  the files as they were are kept in {kept}",
    ]


def test_a_person_is_told_of_tables_whose_rows_nothing_names(small: Path, tmp_path: Path) -> None:
    shutil.copytree(small, tmp_path / "home")
    for table in ("tombstones", "work_state_entries"):
        overwrite(tmp_path / "home", root_pages(small)[table])
    told = run_cmem("doctor", "--repair").stdout.decode().splitlines()
    assert told[2:5] == [
        "  lost: nobody knows how many rows, on 1 page of tombstones, 1 page of work state entries",
        "  pages that were empty or unreadable: 2",
        "  what was removed for good before may be unknown now: an import or an old copy can bring"
        " it back",
    ]
