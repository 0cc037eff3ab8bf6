from __future__ import annotations

from pathlib import Path

import pytest
import samples

from cmem.store import recent, window

STATEMENTS = {
    "newest": recent.NEWEST,
    "summaries": recent.SUMMARIES,
    "pending": recent.OLDEST_PENDING,
    "runs": recent.LATEST_RUNS,
    "branches": recent.BRANCHES.format("?,?"),
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
