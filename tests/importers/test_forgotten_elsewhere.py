"""What is forgotten in one store and brought back in another, in every order they meet in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
import store_rows
from exported import bring_in, export, store, told

from cmem.store import erase, forget

T0 = store_rows.T0


def small(home: Path) -> apsw.Connection:
    """Two turns of a session, each with a prompt, a call and an observation of both."""
    conn = store(home)
    session = store_rows.session(conn, store_rows.project(conn), last_event_at=T0 + 5, title="t")
    for number in (1, 2):
        turn = store_rows.turn(conn, session, number, assistant_message=f"said {number}")
        prompt = store_rows.prompt(conn, turn, f"asked {number}")
        tool = store_rows.tool(conn, turn, "Bash", given={}, answer=f"out {number}")
        sources = (("P", prompt), ("T", tool))
        store_rows.observation(conn, turn, f"found {number}", sources=sources)
    return conn


class Machines:
    """Stores that begin with the same memory; ``now`` moves on with every step."""

    def __init__(self, folder: Path) -> None:
        self.now = T0 + 10
        self.stores = {"a": small(folder / "a")}
        for name in "bc":
            self.stores[name] = store(folder / name)
            bring_in(self.stores[name], export(self.stores["a"]))

    def do(self, step: str) -> None:
        """``a>b``: b imports what a exports. Else a store and what it does with a row: hide,
        erase, undo; with a session: leave; or day: what is due goes."""
        self.now += 1
        name, _, verb = step.partition(" ")
        if ">" in step:
            source, target = step.split(">")
            bring_in(self.stores[target], export(self.stores[source]), now=self.now)
            return
        conn = self.stores[name]
        if verb == "day":
            self.now += forget.UNDO_MS
            erase.purge(conn, forget.due(conn, now=self.now), now=self.now)
            return
        kind, _, verb = ("N", "", verb) if verb.endswith("leave") else ("P", "", verb)
        query = {"P": "SELECT id FROM user_prompts WHERE uid = 'prompt-1'"}
        query["N"] = "SELECT id FROM sessions"
        refs = [(kind, int(ref)) for (ref,) in conn.execute(query[kind]).fetchall()]
        if verb == "undo":
            assert forget.unhide(conn, refs or [("O", 1)])
            return
        plan = forget.plan(conn, refs)
        if verb == "hide":
            forget.hide(conn, plan, now=self.now)
        else:
            erase.purge(conn, plan, now=self.now)

    def having(self) -> str:
        """The stores in which the prompt is to be seen, and all that goes with it."""
        found = ""
        for name, conn in self.stores.items():
            data = export(conn)
            uids = {one["uid"] for kind in ROWS for one in told(data, kind)}
            assert uids in (ALL, ALL - FIRST, set())
            found += name if uids >= FIRST else ""
        return found


ROWS = ("prompt", "tool_use", "observation")
FIRST = {"prompt-1", "tool-1", "observation-1"}
ALL = FIRST | {"prompt-2", "tool-2", "observation-2"}


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    made = Machines(tmp_path)
    yield made
    for conn in made.stores.values():
        conn.close()


@pytest.mark.parametrize(
    ("steps", "having"),
    [
        ("a hide, a>b, a undo, a>c", "abc"),
        ("a hide, a>b, b>a, a day, b>a", "bc"),
        ("a erase, b>a, c>a", "bc"),
        ("a erase, a>b, b>c, c>a", ""),
        ("a erase, a>b, b day, c>b", "c"),
        ("a erase, a>b, b undo, a>b", "bc"),
        ("a erase, a>b, b undo, b>a", "abc"),
        ("a erase, a>c, a>b, b undo, b>c", "bc"),
        ("a erase, a>b, b undo, b>c, a>c", "bc"),
        ("a erase, a>b, a>c, b undo, c day, c>b, b>c, b>a", "abc"),
        ("a erase, a>b, b undo, b>a, a erase, a>b, a>c, b>a", ""),
        ("c hide, a erase, a>c, a>b, b undo, b>c, c day", "b"),
        ("a erase, a leave, a>b, a>c, b undo, b>c, b>a", "abc"),
        ("a leave, a>b, b>a, c>a", "c"),
        ("a leave, a>b, b day, c>b", "c"),
        ("a leave, a>c, a>b, b undo, b>c, b>a", "abc"),
    ],
    ids=lambda given: given,
)
def test_the_last_decision_about_a_row_counts(machines: Machines, steps: str, having: str) -> None:
    for step in steps.split(", "):
        machines.do(step)
    assert machines.having() == having


def test_all_that_was_brought_back_comes_back_where_it_was_erased(machines: Machines) -> None:
    before = export(machines.stores["c"])
    for step in ("a leave", "a>b", "b undo", "b>a", "a>b", "b>c"):
        machines.do(step)
    exports = [_told(export(conn)) for conn in machines.stores.values()]
    assert exports == [_told(before)] * 3


def _told(data: bytes) -> list[dict[str, Any]]:
    """All records but tombstones."""
    kinds = ("project", "session", "turn", *ROWS)
    return [one for kind in kinds for one in told(data, kind)]


def test_a_session_that_went_on_elsewhere_is_forgotten_up_to_then(machines: Machines) -> None:
    a, b = machines.stores["a"], machines.stores["b"]
    machines.do("a leave")
    at = machines.now + 100
    turn = store_rows.turn(b, 1, 3, opened_at=at, last_event_at=at, assistant_message="later")
    store_rows.prompt(b, turn, "and then", uid="later", created_at=at)
    b.execute("UPDATE sessions SET last_event_at = ?", (at,))
    own = store_rows.observation(b, 1, "b's own", uid="own", sources=(("P", 1),))
    assert own
    for step in ("b>a", "a>b", "b>a", "a>c"):
        machines.do(step)
    for name in "abc":
        data = export(machines.stores[name])
        assert [one["uid"] for one in told(data, "prompt")] == ["later"]
        assert told(data, "observation") == []
        assert [one["assistant_message"] for one in told(data, "turn") if one["number"] == 3] == [
            "later"
        ]
    first = export(a)
    empty = store(Path(a.filename).parent.parent / "d")
    bring_in(empty, first)
    assert export(empty) == first


def test_what_was_made_elsewhere_of_a_forgotten_row_stays_away(machines: Machines) -> None:
    b = machines.stores["b"]
    store_rows.observation(b, 1, "b's own", uid="own", sources=(("P", 1),))
    for step in ("a erase", "b>a"):
        machines.do(step)
    assert [one["uid"] for one in told(export(machines.stores["a"]), "observation")] == [
        "observation-2"
    ]


def test_what_a_row_forgotten_elsewhere_stood_for_shows_again(machines: Machines) -> None:
    for name in "ab":
        machines.stores[name].execute("UPDATE observations SET superseded_by = 1 WHERE id = 2")
    older = export(machines.stores["b"])
    machines.do("a erase")
    machines.do("a>b")
    bring_in(machines.stores["a"], older)
    empty = store(Path(machines.stores["a"].filename).parent.parent / "d")
    for data in (export(machines.stores["a"]), older):
        bring_in(empty, data)
    for conn in (*(machines.stores[name] for name in "ab"), empty):
        (one,) = told(export(conn), "observation")
        assert (one["uid"], one["superseded_by"]) == ("observation-2", None)
