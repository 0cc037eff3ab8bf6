from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import apsw
import pytest
import samples

from cmem.store import connection, read, window
from cmem.store.read import Ref

KINDS = ("P", "T", "O", "S")


@pytest.fixture
def conn(home: Path) -> apsw.Connection:
    """Two projects, overlapping sessions over two months, many rows at equal moments."""
    store = samples.open_store(home)
    chance = random.Random(7)
    with connection.transaction(store):
        for name in ("a", "b"):
            ref = samples.project(store, name, "/src/" + name)
            for number in range(4):
                begun = samples.NOON + chance.randrange(60) * samples.DAY
                length = chance.choice((samples.HOUR, 40 * samples.DAY))
                session = samples.session(
                    store,
                    ref,
                    f"{name}{number}",
                    started_at=begun,
                    last_event_at=begun + length,
                )
                for count in range(5):
                    turn = samples.turn(store, session, count)
                    at = begun + length * count // 5
                    values = {"created_at": at}
                    samples.prompt(store, session, turn, f"prompt {count}", **values)
                    samples.tool(store, session, turn, "Bash", {}, {}, **values)
                    for one in range(3):
                        samples.observation(
                            store, ref, session, turn, title=f"{count} {one}", **values
                        )
                    samples.summary(store, ref, session, turn, **values)
        store.execute("UPDATE observations SET hidden_at = 1 WHERE id % 7 = 0")
        store.execute("UPDATE observations SET superseded_by = 1 WHERE id % 11 = 5")
        store.execute("UPDATE user_prompts SET kind = 'notification' WHERE id % 5 = 0")
    return store


def everything(conn: apsw.Connection, project: int, session: int | None) -> list[Ref]:
    """All visible rows in time order, the slow way."""
    found = []
    for kind, table in read._TABLES.items():
        if kind == "N":
            continue
        only = {"O": "AND r.superseded_by IS NULL", "P": "AND r.kind = 'user'"}.get(kind, "")
        rows = conn.execute(
            f"""SELECT r.created_at, r.id FROM {table} r JOIN sessions n ON n.id = r.session_id
            WHERE r.hidden_at IS NULL {only} AND n.project_id = ? AND (?2 IS NULL OR n.id = ?2)""",
            (project, session),
        )
        found += [((at, window.ORDER[kind], ref), (kind, ref)) for at, ref in rows]
    return [ref for _, ref in sorted(found)]


@pytest.mark.parametrize("session", [None, 2])
@pytest.mark.parametrize(("before", "after"), [(0, 0), (3, 2), (0, 9), (40, 40)])
def test_window_is_what_sorting_everything_gives(
    conn: apsw.Connection, session: int | None, before: int, after: int
) -> None:
    rows = everything(conn, 1, session)
    for at in range(0, len(rows), 9):
        anchor = read.place(conn, rows[at])
        assert anchor is not None
        found = window.around(
            conn,
            anchor,
            projects=[1],
            session=session,
            kinds=KINDS,
            before=before,
            after=after,
        )
        assert found == rows[max(0, at - before) : at + after + 1]
    conn.close()


def test_newest_of_each_choice(conn: apsw.Connection) -> None:
    for session in (None, 2):
        rows = everything(conn, 1, session)
        newest = window.newest(conn, projects=[1], session=session, kinds=KINDS)
        assert newest == rows[-1]
    prompts = [ref for ref in everything(conn, 1, None) if ref[0] == "P"]
    assert window.newest(conn, projects=[1], session=None, kinds=["P"]) == prompts[-1]
    assert window.newest(conn, projects=[], session=None, kinds=KINDS) is None
    conn.close()


def test_place_knows_visible_rows_only(conn: apsw.Connection) -> None:
    assert read.place(conn, ("O", 1)) == read.Place("O", 1, *_where(conn, 1))
    for ref in (("O", 7), ("O", 10**9), ("O", 2**70), ("X", 1), ("N", 99)):
        assert read.place(conn, ref) is None
    conn.close()


def _where(conn: apsw.Connection, ref: int) -> Any:
    sql = "SELECT created_at, project_id, session_id FROM observations WHERE id = ?"
    return conn.execute(sql, (ref,)).fetchall()[0]
