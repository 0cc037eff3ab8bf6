from __future__ import annotations

import json
from collections.abc import Iterator

import apsw
import pytest
import store_rows as make

from cmem.store import selecting
from cmem.store.selecting import Wanted


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[apsw.Connection]:
    """One session with a text of its own in every column that holds one."""
    home = tmp_path_factory.mktemp("home")
    home.chmod(0o700)
    conn = make.open_store(home)
    session = make.session(
        conn, make.project(conn), title="Räume im Schloß", cwd="/p/hush", model="zebra-1"
    )
    turn = make.turn(
        conn, session, assistant_message="The Quokka\n   lives here", branch="topic/okapi"
    )
    make.prompt(conn, turn, "说明数据库\n密码轮换。Ｆｕｌｌ Width", cwd="/p/gecko")
    inner = json.dumps({"cmd": 'say\nhello "you"'})
    make.tool(
        conn, turn, "Bash", given={"command": inner}, answer={"stdout": "a\nb"}, branch="ostrich"
    )
    make.observation(
        conn,
        turn,
        "Cafe\u0301 opened",
        "in the morning",
        facts=("x = 1", "soft\u00adhyphen zero\u200bwidth"),
        concepts=("problem-solution",),
        files=("/p/shop/ibex.py",),
        metadata=json.dumps({"note": "kiwi"}),
        agent_type="lemur",
    )
    make.summary(conn, turn, "request", learned="ein Straßenfest", branch="yak")
    unit = make.insert(
        conn,
        "work_units",
        kind="turn",
        session_id=session,
        turn_id=turn,
        created_at=1,
        error="narwhal",
    )
    assert unit
    yield conn
    conn.close()


@pytest.mark.parametrize(
    ("text", "refs"),
    [
        ("quokka lives", [("turn", 1)]),
        ("QUOKKA  LIVES\tHERE", [("turn", 1)]),
        ("okapi", [("turn", 1)]),
        ("narwhal", [("turn", 1)]),
        ("数据库密码", [("P", 1)]),
        ("full width", [("P", 1)]),
        ("gecko", [("P", 1)]),
        ('say hello "you"', [("T", 1)]),
        ("ostrich", [("T", 1)]),
        ("a b", [("T", 1)]),
        ("café", [("O", 1)]),
        ("CAFE OPENED", [("O", 1)]),
        ("softhyphen zerowidth", [("O", 1)]),
        ("ibex", [("O", 1)]),
        ("kiwi", [("O", 1)]),
        ("lemur", [("O", 1)]),
        ("STRASSENFEST", [("S", 1)]),
        ("yak", [("S", 1)]),
        ("nowhere", []),
    ],
)
def test_a_text_is_found_wherever_it_stands(
    store: apsw.Connection, text: str, refs: list[tuple[str, int]]
) -> None:
    assert list(selecting.choose(store, Wanted(text=text)).refs) == refs


@pytest.mark.parametrize("text", ["raume im schloss", "hush", "zebra-1"])
def test_a_session_that_tells_it_loses_what_tells_it(store: apsw.Connection, text: str) -> None:
    assert selecting.choose(store, Wanted(text=text)).titles == (1,)


def test_projects_that_are_named_so_are_known(store: apsw.Connection) -> None:
    assert selecting.projects_with(store, "/P/SHOP") == ["shop"]
    assert selecting.projects_with(store, "okapi") == []
