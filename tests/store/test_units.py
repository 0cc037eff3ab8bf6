from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
import seeding

from cmem.model import Evidence, SessionTurn, SummaryUnit, TurnUnit
from cmem.store import memory, unit_rows, units
from cmem.store.rows import rows

NOW = seeding.T0 + seeding.DAY


@pytest.fixture
def conn(home: Path) -> apsw.Connection:
    return seeding.open_store(home)


def turn_with_tools(conn: apsw.Connection, tools: int, name: str = "alpha") -> tuple[int, int]:
    """A closed turn with so many tool uses, and its pending unit."""
    turn = seeding.add_turn(conn, seeding.add_session(conn, name))
    for _ in range(tools):
        seeding.add_tool(conn, turn)
    return turn, seeding.add_unit(conn, turn)


def states(conn: apsw.Connection) -> list[tuple[object, ...]]:
    return rows(conn, "SELECT id, state, attempts, crashes FROM work_units ORDER BY id")


def test_next_is_the_oldest_not_tried_yet(conn: apsw.Connection) -> None:
    _, first = turn_with_tools(conn, 1, "a")
    _, second = turn_with_tools(conn, 1, "b")
    assert units.next_pending(conn) == first
    assert units.next_pending(conn, exclude={first}) == second
    assert units.next_pending(conn, exclude={first, second}) is None


def test_next_of_one_session_by_each_of_its_names(conn: apsw.Connection) -> None:
    turn_with_tools(conn, 1, "a")
    _, second = turn_with_tools(conn, 1, "b")
    for name in ("b", "claude-code:b", "N2"):
        assert units.next_pending(conn, session=name) == second
    assert units.next_pending(conn, session="nobody") is None


def test_summary_waits_for_the_turns_of_its_session_only(conn: apsw.Connection) -> None:
    turn, unit = turn_with_tools(conn, 1, "a")
    summary = seeding.add_unit(conn, turn, kind="summary", reason="end")
    _, other = turn_with_tools(conn, 1, "b")
    assert units.next_pending(conn, exclude={unit, other}) is None
    seeding.park(conn, unit, "no use", NOW)
    assert units.next_pending(conn, exclude={other}) == summary
    assert units.next_pending(conn, exclude={summary}) == other


def test_unit_of_a_hidden_turn_is_not_next_and_holds_nothing_up(conn: apsw.Connection) -> None:
    session = seeding.add_session(conn)
    hidden = seeding.add_turn(conn, session, 1)
    seeding.add_unit(conn, hidden)
    summary = seeding.add_unit(
        conn, seeding.add_turn(conn, session, 2), kind="summary", reason="idle"
    )
    conn.execute("UPDATE turns SET hidden_at = 1 WHERE id = ?", (hidden,))
    assert units.next_pending(conn) == summary


def test_pending_units_are_read_from_their_index(conn: apsw.Connection) -> None:
    plan = rows(conn, "EXPLAIN QUERY PLAN " + units.PENDING, ("turn", None))
    steps = [str(step[3]) for step in plan]
    assert steps[0] == "SEARCH u USING INDEX work_units_pending (kind=?)"
    assert not any(step.startswith("SCAN") or "TEMP B-TREE" in step for step in steps)


def test_turn_unit_holds_the_visible_evidence_in_order(conn: apsw.Connection) -> None:
    session = seeding.add_session(conn)
    turn = seeding.add_turn(conn, session)
    first = seeding.add_tool(conn, turn, response='{"stdout":"' + "x" * 2000 + '"}')
    hidden = seeding.add_tool(conn, turn, tool_input='{"command":"secret"}')
    late = seeding.add_tool(conn, turn, name="WebFetch", taint="external")
    conn.execute("UPDATE tool_uses SET hidden_at = 1 WHERE id = ?", (hidden,))
    conn.execute("UPDATE tool_uses SET created_at = 5 WHERE id = ?", (late,))
    unit = seeding.add_unit(conn, turn)
    at = seeding.T0 + seeding.MINUTE
    assert units.load(conn, unit, language="ja") == TurnUnit(
        unit_id=unit,
        session_id=session,
        project="calc",
        project_root="/home/dev/calc",
        language="ja",
        turn_number=1,
        prompt_id=1,
        prompt="fix the subtract function",
        prompt_at=at,
        evidence=(
            Evidence(
                id=late,
                tool_name="WebFetch",
                tool_input='{"command":"make"}',
                tool_response='{"stdout":"ok"}',
                outcome="ok",
                at=5,
                cwd="/home/dev/calc",
                agent_id="",
                agent_type="",
                taint="external",
            ),
            Evidence(
                id=first,
                tool_name="Bash",
                tool_input='{"command":"make"}',
                tool_response='{"stdout":"' + "x" * 2000 + '"}',
                outcome="ok",
                at=at + 1000,
                cwd="/home/dev/calc",
                agent_id="",
                agent_type="",
                taint="local",
            ),
        ),
        assistant_message="Fixed: the operands were swapped.",
        outcome="stop",
        error="",
        closed_at=at + 30_000,
        attempts=0,
    )


def test_turn_without_a_prompt_of_the_user(conn: apsw.Connection) -> None:
    turn = seeding.add_turn(
        conn, seeding.add_session(conn), prompt="<task-notification>", kind="notification"
    )
    unit = units.load(conn, seeding.add_unit(conn, turn), language="auto")
    assert isinstance(unit, TurnUnit)
    assert (unit.prompt_id, unit.prompt, unit.prompt_at) == (
        None,
        "",
        seeding.T0 + seeding.MINUTE,
    )


def test_unknown_unit_cannot_be_loaded(conn: apsw.Connection) -> None:
    with pytest.raises(LookupError):
        units.load(conn, 99, language="auto")


def observe(conn: apsw.Connection, unit_id: int, title: str) -> None:
    unit = units.load(conn, unit_id, language="auto")
    assert isinstance(unit, TurnUnit)
    found = seeding.observed(seeding.draft(title))
    memory.commit(conn, unit=unit, observed=found, started_at=NOW, now=NOW)


def test_summary_unit_holds_the_turns_since_the_last_summary(conn: apsw.Connection) -> None:
    session = seeding.add_session(conn)
    turns = []
    for number in range(1, 6):
        turns.append(seeding.add_turn(conn, session, number, closed=number != 5))
        tool = seeding.add_tool(conn, turns[-1])
        observe(conn, seeding.add_unit(conn, turns[-1]), f"title {number}")
    conn.execute("UPDATE turns SET hidden_at = 1 WHERE number = 3")
    first = seeding.add_unit(conn, turns[0], kind="summary", reason="compact")
    unit = units.load(conn, first, language="auto")
    assert isinstance(unit, SummaryUnit)
    assert [turn.number for turn in unit.turns] == [1]
    memory.commit(
        conn,
        unit=unit,
        observed=seeding.observed(summary=seeding.SUMMARY),
        started_at=NOW,
        now=NOW,
    )
    second = seeding.add_unit(conn, turns[4], kind="summary", reason="end")
    tool = tool - 1
    assert units.load(conn, second, language="de") == SummaryUnit(
        unit_id=second,
        session_id=session,
        project="calc",
        language="de",
        reason="end",
        turns=(
            SessionTurn(
                number=2,
                prompt="fix the subtract function",
                assistant_message="Fixed: the operands were swapped.",
                outcome="stop",
                observations=(seeding.draft("title 2", sources=(tool - 2,)),),
            ),
            SessionTurn(
                number=4,
                prompt="fix the subtract function",
                assistant_message="Fixed: the operands were swapped.",
                outcome="stop",
                observations=(seeding.draft("title 4", sources=(tool,)),),
            ),
        ),
        at=seeding.T0 + 4 * seeding.MINUTE + 30_000,
        attempts=0,
    )


def test_number_of_statements_does_not_grow_with_the_unit(conn: apsw.Connection) -> None:
    session = seeding.add_session(conn)
    for number in range(1, 31):
        turn = seeding.add_turn(conn, session, number)
        observe(conn, seeding.add_unit(conn, turn), f"title {number}")
    unit = seeding.add_unit(conn, turn, kind="summary", reason="end")
    statements: list[str] = []
    conn.exec_trace = lambda _cursor, sql, _values: statements.append(sql) is None
    unit_rows.load(conn, unit, language="auto")
    conn.exec_trace = None
    assert len(statements) == 5


def test_claim_counts_and_an_outage_gives_it_back(conn: apsw.Connection) -> None:
    _, unit = turn_with_tools(conn, 1)
    assert units.count_attempt(conn, unit) == 1
    assert states(conn) == [(unit, "pending", 1, 1)]
    units.give_back(conn, unit)
    assert states(conn) == [(unit, "pending", 0, 0)]


def test_killed_run_leaves_the_unit_for_the_next(home: Path, conn: apsw.Connection) -> None:
    _, unit = turn_with_tools(conn, 1)
    units.count_attempt(conn, unit)
    conn.close()
    again = seeding.open_store(home)
    assert units.next_pending(again) == unit
    assert units.count_attempt(again, unit) == 2


def test_unit_that_cannot_be_halved_is_parked_at_its_fifth_failure(conn: apsw.Connection) -> None:
    _, unit = turn_with_tools(conn, 1)
    for expected in ("pending", "pending", "pending", "pending", "parked"):
        assert units.next_pending(conn) == unit
        units.count_attempt(conn, unit)
        assert units.fail(conn, unit, error="unusable: prose", now=NOW) == expected
    assert rows(conn, "SELECT state, attempts, crashes, error, finished_at FROM work_units") == [
        ("parked", 5, 0, "unusable: prose", NOW)
    ]
    assert units.next_pending(conn) is None
    assert units.retry(conn, unit)
    assert not units.retry(conn, unit)
    assert rows(conn, "SELECT state, attempts, error, finished_at FROM work_units") == [
        ("pending", 0, "", None)
    ]


def test_kills_do_not_count_as_failures(conn: apsw.Connection) -> None:
    _, unit = turn_with_tools(conn, 1)
    for _ in range(4):
        units.count_attempt(conn, unit)
    units.count_attempt(conn, unit)
    assert units.fail(conn, unit, error="unusable", now=NOW) == "pending"


def test_unit_that_kills_eight_times_is_parked(conn: apsw.Connection) -> None:
    _, bad = turn_with_tools(conn, 3, "a")
    _, good = turn_with_tools(conn, 1, "b")
    for _ in range(8):
        assert units.next_pending(conn) == bad
        units.count_attempt(conn, bad)
    assert units.next_pending(conn) == good
    assert rows(conn, "SELECT state, error FROM work_units WHERE id = ?", (bad,)) == [
        ("parked", "crash-loop")
    ]


def test_failing_turn_is_halved_for_the_next_run(conn: apsw.Connection) -> None:
    _, unit = turn_with_tools(conn, 5)
    units.count_attempt(conn, unit)
    assert units.fail(conn, unit, error="unusable", now=NOW) == "split"
    assert units.next_pending(conn, exclude={unit}) is None
    halves = [units.next_pending(conn), units.next_pending(conn, exclude={2})]
    assert halves == [2, 3]
    loaded = [units.load(conn, half or 0, language="auto") for half in halves]
    assert [[tool.id for tool in half.evidence] for half in loaded] == [[1, 2], [3, 4, 5]]
    assert [(half.prompt_id, half.attempts) for half in loaded] == [(1, 1), (1, 1)]


def test_one_bad_event_is_parked_alone(conn: apsw.Connection) -> None:
    """Five runs in which every unit that holds tool use 3 is unusable."""
    turn_with_tools(conn, 4)
    for _ in range(5):
        tried: set[int] = set()
        while (unit_id := units.next_pending(conn, exclude=tried)) is not None:
            tried.add(unit_id)
            unit = units.load(conn, unit_id, language="auto")
            assert isinstance(unit, TurnUnit)
            units.count_attempt(conn, unit_id)
            if 3 in [tool.id for tool in unit.evidence]:
                units.fail(conn, unit_id, error="unusable", now=NOW)
            else:
                found = seeding.observed(skipped="nothing new")
                memory.commit(conn, unit=unit, observed=found, started_at=NOW, now=NOW)
    assert rows(
        conn, "SELECT state, first_tool, last_tool, attempts FROM work_units ORDER BY id"
    ) == [
        ("split", None, None, 1),
        ("skipped", None, 2, 2),
        ("split", 3, None, 2),
        ("parked", 3, 3, 5),
        ("skipped", 4, None, 3),
    ]


def test_settled_unit_stays_as_it_is(conn: apsw.Connection) -> None:
    _, unit = turn_with_tools(conn, 2)
    seeding.park(conn, unit, "no use", NOW)
    before = rows(conn, "SELECT * FROM work_units")
    assert units.fail(conn, unit, error="late", now=NOW) == "parked"
    units.give_back(conn, unit)
    assert units.count_attempt(conn, unit) == 0
    assert rows(conn, "SELECT * FROM work_units") == before


def test_message_kept_with_a_unit_holds_no_secret(conn: apsw.Connection) -> None:
    _, unit = turn_with_tools(conn, 1)
    secret = "ghp_" + "a1B2" * 9
    units.fail(conn, unit, error=f"400\n\x1b[31mbad {secret}", now=NOW)
    kept = rows(conn, "SELECT error FROM work_units")[0][0]
    assert secret not in kept
    assert kept.startswith("400 bad [REDACTED")


def ranges(conn: apsw.Connection) -> list[tuple[object, ...]]:
    return rows(
        conn,
        "SELECT id, state, first_tool, last_tool, attempts, reason FROM work_units ORDER BY id",
    )


@pytest.mark.parametrize(
    ("tools", "told", "left"),
    [
        (6, set(), [(1, 3), (4, 6)]),
        (6, {1}, [(2, 6)]),
        (6, {1, 5}, [(6, 6)]),
        (6, {6}, [(1, 5)]),
        (6, {1, 3, 6}, [(2, 5)]),
        (6, {1, 2, 3, 4, 5, 6}, []),
        (1, set(), []),
        (0, set(), []),
    ],
    ids=["nobody knows", "first", "most", "last", "some and the last", "all", "one", "none"],
)
def test_the_rest_of_a_cut_reply_is_what_it_did_not_tell_of(
    tools: int, told: set[int], left: list[tuple[int, int]], home: Path
) -> None:
    conn = seeding.open_store(home)
    turn = seeding.add_turn(conn, seeding.add_session(conn))
    for _ in range(tools):
        seeding.add_tool(conn, turn)
    unit = seeding.add_unit(conn, turn)
    assert units.rest(conn, unit, told=told, now=1) is bool(left)
    found = [one[1:] for one in ranges(conn)[1:]]
    assert found == [("pending", first, last, 0, "half of 1") for first, last in left]


def test_a_failed_try_is_taken_back_in_one_piece(home: Path) -> None:
    conn = seeding.open_store(home)
    turn = seeding.add_turn(conn, seeding.add_session(conn))
    for _ in range(4):
        seeding.add_tool(conn, turn)
    unit = seeding.add_unit(conn, turn)
    before = ranges(conn)
    units.count_attempt(conn, unit)
    units.fail(conn, unit, error="unusable: prose", now=1)
    assert [one[1] for one in ranges(conn)] == ["split", "pending", "pending"]
    units.undo(conn, unit)
    assert ranges(conn) == before


def test_halves_that_were_tried_stay(home: Path) -> None:
    conn = seeding.open_store(home)
    turn = seeding.add_turn(conn, seeding.add_session(conn))
    for _ in range(2):
        seeding.add_tool(conn, turn)
    unit = seeding.add_unit(conn, turn)
    units.count_attempt(conn, unit)
    units.fail(conn, unit, error="unusable: prose", now=1)
    conn.execute("UPDATE work_units SET state = 'done' WHERE id = 2")
    found = ranges(conn)
    units.undo(conn, unit)
    assert ranges(conn) == found


@pytest.mark.parametrize("again", [units.retry, units.undo])
def test_a_summary_that_had_nothing_to_tell_waits_for_a_turn_that_is_tried_again(
    conn: apsw.Connection, again: Callable[[apsw.Connection, int], object]
) -> None:
    """While the turn was put aside nothing of it could be told."""
    session = seeding.add_session(conn)
    found = {}
    for number, state in ((1, "skipped"), (2, "skipped"), (3, "done"), (4, "skipped")):
        turn = seeding.add_turn(conn, session, number)
        found[number] = seeding.add_unit(conn, turn)
        summary = seeding.add_unit(conn, turn, kind="summary", reason="end")
        conn.execute("UPDATE work_units SET state = ? WHERE id = ?", (state, summary)).fetchall()
        seeding.park(conn, found[number], "no use", NOW)

    def summaries() -> list[str]:
        query = "SELECT state FROM work_units WHERE kind = 'summary' ORDER BY turn_id"
        return [state for (state,) in rows(conn, query)]

    again(conn, found[2])
    assert summaries() == ["skipped", "pending", "done", "skipped"]
    assert units.next_pending(conn) == found[2]  # the turn comes first
    again(conn, found[3])  # that one has told of the rest, and stays
    assert summaries() == ["skipped", "pending", "done", "skipped"]
