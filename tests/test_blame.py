"""Whether a try that gave nothing is held against the unit or the provider, by runs in this process
each of which begins when the last pause has ended."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import scripted
import seeding

from cmem import breaker
from cmem.budget import Limits
from cmem.compress import Options, Report
from cmem.model import Usage
from cmem.observer.errors import ProviderError, UnusableReply
from cmem.observer.prompt import Request
from cmem.observer.providers import PROVIDERS
from cmem.observer.providers.asked import Asked, Model
from cmem.observer.trial import QUESTION
from cmem.store import pause, streak
from cmem.store.ledger import Expected
from cmem.store.rows import rows
from cmem.store.units import SUSPECT

START = seeding.T0 + seeding.DAY
RECORD = "<observation><type>change</type><title>Done</title><narrative>It was done.</narrative></observation>"
REFUSED = "the request was refused (400): max_tokens: {} > 2048, the maximum"


@pytest.fixture
def world(home: Path, monkeypatch: pytest.MonkeyPatch) -> scripted.World:
    return scripted.world(home, monkeypatch)


def failing(*prompts: str, error: Exception | None = None) -> Callable[[Any], None]:
    """Fails on the turns of these prompts, on all where there are none."""

    def act(unit: Any) -> None:
        if not prompts or unit.prompt in prompts:
            raise error or ProviderError("overload", "500: oops")

    return act


class Steps:
    """Runs, one at each end of a pause, and what each asked."""

    def __init__(self, world: scripted.World) -> None:
        self.world, self.now = world, START

    def run(self) -> tuple[list[str], Report]:
        self.world.provider.asked.clear()
        report = self.world.run(self.now)
        conn = self.world.store()
        current = pause.get(conn)
        conn.close()
        self.now = self.now + 1 if current is None else current.until
        return [unit.prompt for unit in self.world.provider.asked], report  # type: ignore[union-attr]


def units_of(world: scripted.World) -> list[tuple[Any, ...]]:
    conn = world.store()
    found = rows(conn, "SELECT turn_id, state, attempts, crashes FROM work_units ORDER BY id")
    conn.close()
    return found


def more(world: scripted.World, number: int) -> None:
    """Another turn is done."""
    conn = world.store()
    seeding.add_unit(conn, seeding.add_turn(conn, 1, number, prompt=f"turn {number}"))
    conn.close()


def test_a_turn_that_always_fails_holds_up_no_other(world: scripted.World) -> None:
    world.fill(4, tools=2)
    world.provider.act = failing("turn 2")
    steps = Steps(world)
    asked = [steps.run()[0] for _ in range(4)]
    assert asked == [
        ["turn 1", "turn 2"],
        ["turn 2"],
        ["turn 2"],
        ["turn 4", "turn 3", "turn 2"],  # turn 4 is answered, so turn 2 is asked last
    ]
    done = [(1, "done", 1, 0), (3, "done", 1, 0), (4, "done", 1, 0)]
    assert sorted(units_of(world)) == sorted([*done, (2, "pending", 1, 0)])
    for number in (10, 11):
        more(world, number)
        assert steps.run()[0] == [f"turn {number}", "turn 2"]
    found = [one for one in units_of(world) if one[0] == 2]
    assert found == [(2, "split", 3, 0), (2, "pending", 3, 0), (2, "pending", 3, 0)]


def test_it_is_put_aside_at_the_bound_when_others_go_on(world: scripted.World) -> None:
    world.fill(12)
    world.provider.act = failing("turn 1")
    steps = Steps(world)
    steps.run()
    for _ in range(30):
        conn = world.store()
        seeding.add_unit(conn, seeding.add_turn(conn, 1, 100 + steps.now % 10**6, prompt="more"))
        conn.close()
        steps.run()
    states = {turn: (state, attempts) for turn, state, attempts, _ in units_of(world)}
    assert states.pop(1) == ("parked", 5)
    assert {state for state, _ in states.values()} == {"done"}


def test_status_is_told_which_unit_it_is(world: scripted.World) -> None:
    world.fill(2)
    world.provider.act = failing()
    steps = Steps(world)
    assert [steps.run()[1].reason for _ in range(2)] == [
        "overload: 500: oops",
        "overload: 500: oops (unit 1, 2 times; `cmem queue list` shows it)",
    ]


def test_an_outage_costs_one_call_a_step_and_no_attempt(world: scripted.World) -> None:
    world.fill(4)
    world.provider.act = failing()
    steps = Steps(world)
    asked = [steps.run()[0] for _ in range(15)]
    oldest, others = ["turn 1"], [["turn 4"], ["turn 3"]]
    assert asked == [*[oldest] * 3, others[0], *[oldest] * 3, others[1], *[oldest] * 6, ["turn 2"]]
    assert units_of(world) == [(turn, "pending", 0, 0) for turn in (1, 2, 3, 4)]
    world.provider.act = lambda _unit: None
    assert steps.run()[0] == ["turn 1", "turn 2", "turn 3", "turn 4"]


def test_an_outage_that_ends_at_another_unit_is_held_against_nobody(world: scripted.World) -> None:
    world.fill(3)
    world.provider.act = failing()
    steps = Steps(world)
    for _ in range(breaker.PROBE_AFTER):
        steps.run()
    world.provider.act = lambda _unit: None
    assert steps.run()[0] == ["turn 3", "turn 2", "turn 1"]
    assert units_of(world) == [(turn, "done", 1, 0) for turn in (1, 2, 3)]


def test_a_rate_limit_is_never_the_units(world: scripted.World) -> None:
    world.fill(6)
    limit = ProviderError("overload", "429", retry_after_s=5)
    world.provider.act = failing("turn 1", error=limit)
    steps = Steps(world)
    asked = [steps.run()[0] for _ in range(breaker.PROBE_AFTER + 1)]
    assert asked[-1] == ["turn 6", "turn 2", "turn 3", "turn 4", "turn 5", "turn 1"]
    for number in range(10, 20):
        more(world, number)
        assert steps.run()[0] == [f"turn {number}", "turn 1"]
    assert units_of(world)[0] == (1, "pending", 0, 0)
    world.provider.act = lambda _unit: None
    more(world, 30)
    assert steps.run()[0] == ["turn 30", "turn 1"]
    assert units_of(world)[0] == (1, "done", 1, 0)


def only_small_answers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A provider that answers nothing but the small question; what it was asked."""
    asked: list[str] = []

    def ask(request: Request) -> Asked:
        asked.append("small" if request == QUESTION else "turn")
        if request == QUESTION:
            return Asked("ready", "", "some-model", Usage(30, 1, 0, 0, 0.0), ())
        raise ProviderError("overload", "500: oops")

    monkeypatch.setitem(PROVIDERS, "scripted", lambda _settings: Model("scripted", ask))
    return asked


def test_where_no_other_unit_waits_something_small_is_asked(
    world: scripted.World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.fill(1)
    asked = only_small_answers(monkeypatch)
    steps = Steps(world)
    for _ in range(20):
        steps.run()
    assert asked == [*["turn"] * 3, *["small", "turn"] * 5]
    assert units_of(world) == [(1, "parked", 5, 0)]


# --- replies -------------------------------------------------------------------------


def refusing(*prompts: str, reason: str = REFUSED) -> Callable[[Any], None]:
    def act(unit: Any) -> None:
        if not prompts or unit.prompt in prompts:
            raise UnusableReply(reason.format(4096 + unit.unit_id))

    return act


def test_turns_that_all_fail_alike_are_the_providers_fault(world: scripted.World) -> None:
    world.fill(4, tools=4)
    world.provider.act = refusing()
    steps = Steps(world)
    asked, report = steps.run()
    assert asked == ["turn 1", "turn 2", "turn 3"]
    assert report.reason == (
        "unusable: 3 turns in a row got the same: the request was refused (400): max_tokens: "
        "4099 > 2048, the maximum; check provider and model"
    )
    assert units_of(world) == [(turn, "pending", 0, 0) for turn in (1, 2, 3, 4)]
    assert steps.run()[0] == ["turn 4"]
    assert steps.run()[0] == ["turn 1"]
    assert units_of(world) == [(turn, "pending", 0, 0) for turn in (1, 2, 3, 4)]
    world.provider.act = lambda _unit: None
    assert steps.run()[0] == ["turn 1", "turn 2", "turn 3", "turn 4"]
    assert units_of(world) == [(turn, "done", 1, 0) for turn in (1, 2, 3, 4)]
    conn = world.store()
    assert (pause.get(conn), streak.get(conn)) == (None, None)
    conn.close()


def test_with_other_settings_nothing_is_held_against_anybody(world: scripted.World) -> None:
    world.fill(8, tools=2)
    world.provider.act = refusing()
    steps = Steps(world)
    for _ in range(8):
        steps.run()
    world.provider.act = lambda _unit: None
    world.provider.asked.clear()
    world.run(steps.now, model="another")
    asked = [unit.prompt for unit in world.provider.asked]  # type: ignore[union-attr]
    assert asked == [f"turn {number}" for number in range(1, 9)]
    assert units_of(world) == [(turn, "done", 1, 0) for turn in range(1, 9)]


def test_what_still_fails_where_another_was_answered_counts_by_its_own_words(
    world: scripted.World,
) -> None:
    world.fill(5, tools=1)
    world.provider.act = refusing("turn 1", "turn 2", "turn 3")
    steps = Steps(world)
    steps.run()
    assert steps.run()[0] == ["turn 5", "turn 4", "turn 1", "turn 2", "turn 3"]
    conn = world.store()
    found = rows(conn, "SELECT state, attempts, error FROM work_units ORDER BY id LIMIT 2")
    conn.close()
    said = "unusable: the request was refused (400): max_tokens: {} > 2048, the maximum" + SUSPECT
    assert found == [("pending", 1, said.format(4097)), ("pending", 1, said.format(4098))]


def test_one_turn_alone_is_held_against_nobody_while_nothing_small_is_answered(
    world: scripted.World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.fill(1, tools=16)
    asked: list[str] = []
    broken = [True]

    def ask(request: Request) -> Asked:
        asked.append("small" if request == QUESTION else "turn")
        if broken[0]:
            raise UnusableReply("the request was refused (400): no such field")
        return Asked(RECORD, "", "some-model", Usage(30, 1, 0, 0, 0.0), ())

    monkeypatch.setitem(PROVIDERS, "scripted", lambda _settings: Model("scripted", ask))
    steps = Steps(world)
    for _ in range(12):
        steps.run()
    assert asked == [*["turn"] * 3, *["small"] * 10]
    assert {(state, attempts) for _turn, state, attempts, _ in units_of(world)} == {
        ("split", 1),
        ("pending", 1),
    }
    broken[0] = False
    steps.run()
    assert {state for _turn, state, _attempts, _ in units_of(world)} == {"split", "done"}


SAME = ("the model refused", ProviderError("overload", "500: oops"))


@pytest.mark.parametrize("fault", SAME, ids=["reply", "provider"])
@pytest.mark.parametrize("bad", [3, 4, 6])
def test_turns_in_a_row_that_fail_alike_hold_up_no_other(
    fault: str | ProviderError, bad: int, world: scripted.World
) -> None:
    world.fill(12)
    prompts = tuple(f"turn {number}" for number in range(2, 2 + bad))
    error = UnusableReply(fault) if isinstance(fault, str) else fault
    world.provider.act = failing(*prompts, error=error)
    steps = Steps(world)
    asked: list[str] = []
    for _ in range(2 if isinstance(fault, str) else breaker.PROBE_AFTER + 1):
        asked += steps.run()[0]
    good = [turn for turn, state, _attempts, _ in units_of(world) if state == "done"]
    assert len(good) == 12 - bad
    assert sum(one in prompts for one in asked) <= bad + breaker.PROBE_AFTER
    for _ in range(12):
        steps.run()
    left = [one[1:3] for one in units_of(world) if one[1] != "done"]
    assert left == [("parked", 5)] * bad or not isinstance(fault, str)


@pytest.mark.parametrize("kind", ["529: overloaded", "429: slow down"])
def test_a_provider_with_too_much_to_do_uses_up_nothing(kind: str, world: scripted.World) -> None:
    world.fill(30, tools=2)
    chance = random.Random(3)

    def act(_unit: Any) -> None:
        if chance.random() < 0.7:
            raise ProviderError("overload", kind)

    world.provider.act = act
    steps = Steps(world)
    for _ in range(200):
        if not steps.run()[1].pending:
            break
    assert units_of(world) == [(turn, "done", 1, 0) for turn in range(1, 31)]


def test_turns_that_fail_alike_in_several_runs_are_too(world: scripted.World) -> None:
    world.fill(3, tools=1)
    world.provider.act = refusing()
    for done in range(3):
        conn = world.store()
        conn.execute("UPDATE work_units SET state = iif(id <= ?, 'pending', 'done')", (done + 1,))
        conn.close()
        world.run(START + done)
    assert units_of(world) == [(turn, "pending", 0, 0) for turn in (1, 2, 3)]


@pytest.mark.parametrize(
    ("reason", "prompts", "turns"),
    [
        (REFUSED, ("turn 1", "turn 2", "turn 4"), 4),  # one between them is answered
        ("prompt is too long: {} tokens", (), 4),  # halving helps
        ("no observation (cut at the token limit) {}", (), 4),
        (REFUSED, (), 2),
    ],
    ids=["answered between", "too long", "cut", "two"],
)
def test_other_replies_that_cannot_be_used_stay_the_units_fault(
    reason: str, prompts: tuple[str, ...], turns: int, world: scripted.World
) -> None:
    world.fill(turns, tools=2)
    world.provider.act = refusing(*prompts, reason=reason)
    report = world.run(START)
    bad = {int(one[-1]) for one in prompts} or set(range(1, turns + 1))
    assert report.calls == turns
    found = units_of(world)[:turns]
    assert found == [
        (turn, "split" if turn in bad else "done", 1, 0) for turn in range(1, turns + 1)
    ]


def test_the_halves_of_one_turn_are_one_turn(world: scripted.World) -> None:
    world.fill(1, tools=8)
    world.provider.act = refusing()
    for step in range(12):
        world.run(START + step)
    assert {(state, attempts) for _turn, state, attempts, _ in units_of(world)} >= {("parked", 5)}


def test_the_small_question_counts_as_a_call_and_for_the_budget(
    world: scripted.World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.fill(1)
    asked = only_small_answers(monkeypatch)
    steps = Steps(world)
    for _ in range(breaker.PROBE_AFTER):
        steps.run()
    asked.clear()
    report = world.run(steps.now, Options(max_calls=1))
    assert (asked, report.calls) == (["small"], 1)
    spent = Expected("scripted", "m", 10, 10, 0)
    monkeypatch.setattr("cmem.estimate.expect", lambda *_: lambda _unit: spent)
    report = world.run(steps.now, Options(limits=Limits(0, 1)))
    assert (asked, report.reason[:21]) == (["small"], "daily budget of 1 tok")
