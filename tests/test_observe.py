"""The ledger, the daily budget and the breaker, by runs in this process at times of our choice."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import scripted
import seeding

from cmem import budget, observe
from cmem.budget import Limits
from cmem.compress import Options
from cmem.observer import mended, modes, prices
from cmem.observer.errors import MissingCredential, ProviderError, UnusableReply
from cmem.store import ledger, pause
from cmem.store.rows import rows

NOON = int(time.mktime((2026, 11, 30, 12, 0, 0, 0, 0, -1))) * 1000
MIDNIGHT = budget.day(NOON)[1]
LEDGER = """SELECT unit_id, provider, model, outcome, calls, input_tokens, output_tokens,
        cost_microusd, error FROM observer_runs ORDER BY id"""


@pytest.fixture
def world(home: Path, monkeypatch: pytest.MonkeyPatch) -> scripted.World:
    return scripted.world(home, monkeypatch)


def books(world: scripted.World) -> list[tuple[Any, ...]]:
    conn = world.store()
    found = rows(conn, LEDGER)
    conn.close()
    return found


def raiser(error: BaseException) -> Any:
    def act(_unit: object) -> None:
        raise error

    return act


# --- the ledger ----------------------------------------------------------------------


def test_a_call_is_on_the_books_with_what_it_took(world: scripted.World) -> None:
    world.fill(1)
    report = world.run(NOON)
    assert (report.calls, report.cost_usd, report.unpriced) == (1, 0.01, 0)
    assert books(world) == [(1, "scripted", "some-model", "done", 1, 900, 100, 10_000, "")]


def test_a_price_nobody_knows_is_not_zero(world: scripted.World) -> None:
    world.fill(1)
    world.provider.usage = scripted.USAGE._replace(cost_usd=0.0)
    report = world.run(NOON)
    assert (report.cost_usd, report.unpriced) == (0.0, 1)
    assert books(world)[0][7] is None


@pytest.mark.parametrize(
    ("error", "row"),
    [
        (ProviderError("overload", "529: busy"), ("overload", 1, 0, 0, 0, "overload: 529: busy")),
        (ProviderError("auth", "401: no"), ("auth", 1, 0, 0, 0, "auth: 401: no")),
        (
            UnusableReply("prose", usage=scripted.USAGE),
            ("unusable", 1, 900, 100, 10_000, "unusable: prose"),
        ),
    ],
    ids=["overload", "auth", "unusable"],
)
def test_a_call_that_gave_nothing_is_on_the_books_too(
    error: Exception, row: tuple[Any, ...], world: scripted.World
) -> None:
    world.fill(1)
    world.provider.act = raiser(error)
    world.run(NOON, model="asked-for")
    assert books(world) == [(1, "scripted", "asked-for", *row)]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MissingCredential("no key"), "no key"),
        (ProviderError("config", "a SOCKS proxy", sent=False), "config: a SOCKS proxy"),
    ],
)
def test_a_call_that_was_not_made_is_not_on_the_books(
    error: Exception, reason: str, world: scripted.World
) -> None:
    world.fill(1)
    world.provider.act = raiser(error)
    for at in range(10):  # nothing is armed either
        report = world.run(NOON + at)
        assert (report.calls, report.reason, books(world)) == (0, reason, [])
    conn = world.store()
    assert rows(conn, "SELECT state, attempts, crashes FROM work_units") == [("pending", 0, 0)]
    conn.close()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(143)])
def test_a_call_that_a_person_cut_off_counts_by_its_estimate(
    error: BaseException, world: scripted.World
) -> None:
    world.fill(1)
    world.provider.act = raiser(error)
    with pytest.raises(type(error)):
        world.run(NOON)
    ((unit, *_who, outcome, calls, went_in, came_out, microusd, told),) = books(world)
    assert (unit, outcome, calls, came_out, microusd, told) == (1, "interrupted", 1, 600, None, "")
    assert went_in > 500


def test_a_call_whose_run_was_killed_counts_by_its_estimate(world: scripted.World) -> None:
    world.fill(1)
    world.provider.act = raiser(RuntimeError("as good as killed"))
    with pytest.raises(RuntimeError):
        world.run(NOON)
    assert [row[3] for row in books(world)] == ["started"]
    world.provider.act = lambda _unit: None
    assert world.run(NOON + 1).units == 1
    assert [row[3:5] for row in books(world)] == [("interrupted", 1), ("done", 1)]


def test_rules_are_on_the_books_without_a_call(world: scripted.World) -> None:
    world.fill(1)
    world.run(NOON, provider="extract")
    ((_unit, provider, model, outcome, *took),) = books(world)
    assert (provider, model, outcome) == ("extract", "extract", "done")
    assert took == [0, 0, 0, 0, ""]


# --- the daily budget ----------------------------------------------------------------


def test_a_day_ends_at_its_budget_and_the_next_goes_on(world: scripted.World) -> None:
    """Each call takes 10,000 micro-dollars and is expected to take an unknown sum, so money is
    found spent only afterwards: one call more than fits at most."""
    world.fill(8)
    limits = Options(limits=Limits(30_000, 0))
    first = world.run(NOON, limits)
    assert (first.units, first.calls, first.pending) == (4, 4, 4)
    assert first.reason == (
        "daily budget of $0.0300 reached ($0.0400 spent today); goes on at 00:00, "
        "`cmem compress --budget none` goes on now"
    )
    assert world.run(MIDNIGHT - 1, limits).calls == 0
    assert world.run(MIDNIGHT, limits).calls == 4
    conn = world.store()
    assert rows(conn, "SELECT DISTINCT state, attempts FROM work_units") == [("done", 1)]


def test_a_known_price_is_weighed_before_the_call(world: scripted.World) -> None:
    (world.home / "prices.toml").write_text(
        "[models.some-model]\ninput = 10\noutput = 10\n", encoding="utf-8"
    )
    world.fill(8)
    report = world.run(NOON, Options(limits=Limits(30_000, 0)), model="some-model")
    conn = world.store()
    assert 0 < ledger.spent(conn, since=0).microusd <= 30_000
    assert (report.units + report.pending, report.parked) == (8, 0)
    assert report.pending > 0


def test_tokens_are_weighed_before_the_call(world: scripted.World) -> None:
    world.fill(100)
    report = world.run(NOON, Options(limits=Limits(0, 12_000)))
    conn = world.store()
    assert 0 < ledger.spent(conn, since=0).tokens <= 12_000
    assert report.units == report.calls > 3
    assert report.reason.startswith(
        "daily budget of 12,000 tokens leaves no room for the next call ("
    )
    assert report.pending == 100 - report.units


def test_a_turn_larger_than_a_whole_budget_is_the_first_of_its_day(world: scripted.World) -> None:
    world.fill(3)
    limits = Options(limits=Limits(1, 1))
    assert [world.run(NOON + day * seeding.DAY, limits).units for day in range(4)] == [1, 1, 1, 0]


def test_a_larger_budget_goes_on_at_once(world: scripted.World) -> None:
    world.fill(4)
    assert world.run(NOON, Options(limits=Limits(1, 0))).units == 1
    assert world.run(NOON, Options(limits=budget.NO_LIMITS)).units == 3


def test_rules_need_no_budget(world: scripted.World) -> None:
    world.fill(4)
    assert world.run(NOON, Options(limits=Limits(1, 1)), provider="extract").units == 4


def test_two_runs_cannot_both_spend_what_is_left(world: scripted.World) -> None:
    """As where somebody has taken the lock's file away while a run held it."""
    world.fill(3)
    expected = ledger.Expected("scripted", "m", 900, 100, 10_000)
    claims = []
    for unit_id in (1, 2, 3):
        conn = world.store()
        run = observe.Run(
            conn=conn,
            provider=world.provider,
            provider_name="scripted",
            fingerprint="",
            language="auto",
            expect=lambda _unit: expected,
            limits=Limits(20_000, 0),
            prices=prices.load(),
            clock=lambda: NOON,
            progress=None,
            mode=modes.load(),
        )
        unit = observe.units.load(conn, unit_id, language="auto")
        claims.append(observe._claim(run, unit))
    assert [isinstance(one, observe.Claim) for one in claims] == [True, True, False]
    conn = world.store()
    assert rows(conn, "SELECT attempts FROM work_units") == [(1,), (1,), (0,)]
    assert pause.get(conn, pause.BUDGET) is not None
    assert pause.get(conn) is None


# --- the number of calls -------------------------------------------------------------


def test_the_setting_bounds_the_calls_of_a_run_and_the_option_wins(world: scripted.World) -> None:
    world.fill(6)
    report = world.run(NOON, max_calls="2")
    assert (report.calls, report.pending, report.reason) == (2, 4, "at most 2 calls in one run")
    assert world.run(NOON, Options(max_calls=3), max_calls="2").calls == 3
    last = world.run(NOON, max_calls="2")
    assert (last.calls, last.pending, last.reason) == (1, 0, "")


def test_what_a_cut_reply_did_not_come_to_is_asked_about_in_the_next_run(
    world: scripted.World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reply tells of the first two of six tool uses."""
    world.fill(1, tools=6)
    whole = world.provider.observe

    def observe(unit: Any) -> Any:
        found = whole(unit)
        if len(unit.evidence) < 6:
            return found
        told = found.reply.observations[0]._replace(sources=(1, 2))
        reply = found.reply._replace(observations=(told,), notes=(mended.CUT,))
        return found._replace(reply=reply, cut=True, mended=mended.counted(reply.notes))

    monkeypatch.setattr(world.provider, "observe", observe)
    report = world.run(NOON)
    assert (report.units, report.pending) == (1, 1)
    assert report.mended == ("1 reply cut at the token limit",)
    assert books(world)[0][-1] == "1 reply cut at the token limit"
    report = world.run(NOON + 1)
    assert (report.units, report.pending, report.mended) == (1, 0, ())
    asked = [[one.id for one in unit.evidence] for unit in world.provider.asked]  # type: ignore[union-attr]
    assert asked == [[1, 2, 3, 4, 5, 6], [3, 4, 5, 6]]


@pytest.mark.parametrize("kind", ["provider", "reply"])
def test_a_call_that_may_have_been_charged_counts_by_its_estimate(
    kind: str, world: scripted.World
) -> None:
    world.fill(2)
    error: Exception = ProviderError("transport", "no answer in time")
    if kind == "reply":
        error = UnusableReply("it printed more than any reply has", served=True)
    world.provider.act = raiser(error)
    report = world.run(NOON, Options(limits=Limits(0, 1_500)), model="claude-haiku-4-5")
    found = books(world)
    assert [row[4] for row in found] == [1] * len(found)
    assert all(row[5] > 500 and row[6] == 600 and row[7] > 3_000 for row in found)
    assert (report.calls, report.output_tokens) == (len(found), 600 * len(found))
    conn = world.store()
    conn.execute("DELETE FROM meta WHERE key = 'pause'")
    conn.close()
    again = world.run(NOON + 1, Options(limits=Limits(0, 1_500)), model="claude-haiku-4-5")
    assert (again.calls, again.reason[:28]) == (0, "daily budget of 1,500 tokens")


def test_a_connection_that_was_never_made_costs_nothing(world: scripted.World) -> None:
    world.fill(1)
    world.provider.act = raiser(ProviderError("transport", "ConnectError", served=False))
    world.run(NOON)
    assert books(world)[0][4:8] == (1, 0, 0, 0)
