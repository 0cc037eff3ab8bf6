from __future__ import annotations

from pathlib import Path

import apsw
import pytest
import samples

from cmem.store import connection, further, recent, schema_0001, window

STATEMENTS = {
    "newest": recent.NEWEST,
    "branch": recent.BRANCH,
    "others": further.OTHERS,
    "summaries": recent.SUMMARIES,
    "pending": recent.OLDEST_PENDING,
    "runs": further.LATEST_RUNS,
    "files": recent.FILES.format("?,?"),
    "details": recent.DETAILS.format("?,?"),
    "before": window._BY_PROJECT["O"].format(sign="<", way="DESC"),
    "after": window._BY_PROJECT["O"].format(sign=">", way="ASC"),
    "session": window._BY_SESSION.format(table="observations", only="", sign="<", way="DESC"),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_no_scan_and_no_sort(home: Path, name: str) -> None:
    conn = samples.open_store(home)
    statement = STATEMENTS[name]
    values = (1,) * statement.count("?")
    plan = [row[3] for row in conn.execute("EXPLAIN QUERY PLAN " + statement, values)]
    assert plan
    walked = "observer_runs_started" if name == "runs" else "no scan at all"
    for step in plan:
        assert "TEMP B-TREE" not in step or name == "session"
        assert step.startswith("SEARCH") or walked in step or name == "session" or "LIST" in step
    conn.close()


def test_newest_reads_no_row_of_the_table(home: Path) -> None:
    conn = samples.open_store(home)
    ref = samples.project(conn, "calc", "/src/calc")
    session = samples.session(conn, ref, "a")
    turn = samples.turn(conn, session, 1)
    for number in range(50):
        samples.observation(
            conn, ref, session, turn, title=f"t{number}", narrative="a page of it " * 600
        )
    conn.close()
    reader = connection.open_reader(str(home), index=False)
    assert reader is not None
    before = misses(reader)
    assert len(recent.observations(reader, [ref], 50)) == 50
    assert misses(reader) - before < 10
    reader.close()


def misses(conn: apsw.Connection) -> int:
    """Pages read from the file so far."""
    return conn.status(apsw.SQLITE_DBSTATUS_CACHE_MISS)[0]


def test_newest_is_read_from_a_store_that_no_writer_has_opened_since(home: Path) -> None:
    conn = samples.calc(home)
    conn.execute("UPDATE observations SET branch = 'fix' WHERE id = 1")
    now = recent.observations(conn, [1], 9)
    conn.execute("DROP INDEX observations_recent")
    for statement in schema_0001.STATEMENTS:
        conn.execute(statement).fetchall()
    assert recent.observations(conn, [1], 9) == now
    assert [(row[0], row[12]) for row in now] == [(2, ""), (1, "fix")]
    conn.close()


def test_the_newest_of_a_branch_in_a_store_that_no_writer_has_opened_since(home: Path) -> None:
    conn = samples.calc(home)
    conn.execute("UPDATE observations SET branch = 'fix'")
    conn.execute("UPDATE observations SET agent_type = 'Explore' WHERE id = 2")
    assert [row[0] for row in recent.of_branch(conn, [1], "fix", 9)] == [1]
    conn.execute("DROP INDEX observations_branch")
    assert recent.of_branch(conn, [1], "fix", 9) == []
    conn.close()


def test_newest_of_a_family_is_merged_by_time(home: Path) -> None:
    conn = samples.open_store(home)
    for name in ("a", "b"):
        ref = samples.project(conn, name, "/src/" + name)
        session = samples.session(conn, ref, name)
        turn = samples.turn(conn, session, 1)
        for number in range(3):
            samples.observation(
                conn,
                ref,
                session,
                turn,
                title=f"{name}{number}",
                created_at=samples.NOON + number * 10 + (name == "b"),
            )
    rows = recent.observations(conn, [1, 2], 4)
    assert [row[10] for row in rows] == ["b2", "a2", "b1", "a1"]
    conn.close()


def test_details_survive_a_damaged_list(home: Path) -> None:
    conn = samples.calc(home)
    conn.execute("UPDATE observations SET facts = '[broken' WHERE id = 2")
    assert recent.details(conn, [1, 2]) == {
        1: (
            "Asked to fix subtract. The operands were swapped; both tests pass now.",
            ["calc.py: `return b - a` became `return a - b`", "Ran 2 tests: OK"],
        ),
        2: ("The user wants the standard library's unittest.", []),
    }
    conn.close()
