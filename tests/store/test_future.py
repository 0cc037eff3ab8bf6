"""What a wrong clock has dated years ahead is named, and brought back in its order."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import samples

from cmem import repair
from cmem.doctor import memory
from cmem.store import check, connection, drafts, future
from cmem.store.rows import rows

NOW = samples.NOON + 30 * samples.DAY
AHEAD = 1500 * samples.DAY
TIMES = (
    "SELECT created_at FROM observations ORDER BY id",
    "SELECT created_at FROM user_prompts ORDER BY id",
    "SELECT last_event_at FROM sessions ORDER BY id",
    "SELECT created_at FROM documents WHERE kind = 'O' ORDER BY id",
)


def work(conn: apsw.Connection, name: str, at: int, *, ahead: int = 0, many: int = 20) -> None:
    """A session of one memory an hour, by a clock that is so far ahead."""
    session = samples.session(conn, 1, name, cwd="/src/calc")
    for number in range(many):
        when = at + ahead + number * samples.HOUR
        turn = samples.turn(conn, session, number + 1, opened_at=when, last_event_at=when)
        samples.prompt(conn, session, turn, f"{name} {number}", created_at=when)
        samples.observation(
            conn, 1, session, turn, title=f"{name} thing {number}", created_at=when,
            last_reinforced=when, reinforcement_dates=json.dumps([day(when)]),
        )  # fmt: skip
    conn.execute("UPDATE sessions SET started_at = ?, last_event_at = ? WHERE id = ?",
        (at + ahead, at + ahead + many * samples.HOUR, session)).fetchall()  # fmt: skip


def day(at: int) -> str:
    return drafts.day(at)


def store(home: Path) -> apsw.Connection:
    conn = samples.open_store(home)
    samples.project(conn, "calc", "/src/calc")
    with connection.transaction(conn):
        work(conn, "before", NOW - 9 * samples.DAY)
        work(conn, "ahead", NOW - 7 * samples.DAY, ahead=AHEAD, many=60)
        work(conn, "after", NOW - 2 * samples.DAY)
    return conn


def test_rows_of_the_future_are_named(home: Path) -> None:
    conn = store(home)
    assert future.find(conn, now=NOW).rows == 120
    conn.close()
    (found,) = [one for one in memory.check_work(str(home), None, now=NOW) if one.name == "clock"]
    assert found.level == "warn"
    assert found.detail.startswith("120 rows dated in the future, up to 20")
    assert found.fix == "cmem doctor --repair"
    # A clock that was never set says nothing of others.
    names = [one.name for one in memory.check_work(str(home), None, now=1_000)]
    assert "clock" not in names


def test_they_are_brought_back_in_their_order(home: Path) -> None:
    conn = store(home)
    done = repair.repair(str(home), now=NOW)
    assert done.done == "120 rows dated in the future brought back"
    assert (Path(done.kept) / "memory.db").exists()
    for query in TIMES:
        found = [at for (at,) in rows(conn, query)]
        assert found == sorted(found), query
        assert max(found) <= NOW, query
    days = [day_ for (told,) in rows(conn, "SELECT reinforcement_dates FROM observations")
            for day_ in json.loads(told)]  # fmt: skip
    assert max(days) <= day(NOW)
    assert repair.repair(str(home), now=NOW) == repair.NOTHING
    state = check.look(str(home), within_ms=5_000)
    assert state is not None
    assert (state.damage, state.indexed) == ("", state.documents)
    conn.close()


def test_a_day_with_a_wrong_clock_no_longer_hides_what_came_later(home: Path) -> None:
    store(home).close()
    repair.repair(str(home), now=NOW)
    conn = connection.open_reader(str(home))
    assert conn is not None
    titles = [row[0] for row in rows(conn, """SELECT title FROM observations
        ORDER BY created_at DESC, id DESC LIMIT 21""")]  # fmt: skip
    assert titles == [*(f"after thing {n}" for n in reversed(range(20))), "ahead thing 59"]
    conn.close()


def test_nothing_ahead_is_nothing_done(home: Path) -> None:
    conn = samples.calc(home)
    before = [rows(conn, query) for query in TIMES]
    assert repair.repair(str(home), now=samples.NOON) == repair.NOTHING
    assert [rows(conn, query) for query in TIMES] == before
    conn.close()
