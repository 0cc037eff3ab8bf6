"""A session observed again: both results are kept, one is shown, and it can be taken back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import scripted
import seeding

from cmem import anew, budget, recompress, replan, settings
from cmem.budget import Limits
from cmem.model import Reply, TurnUnit
from cmem.observer.errors import MissingCredential, ProviderError, UnusableReply
from cmem.recompress import Options
from cmem.store import counts, forget, places, recent, replacements
from cmem.store.places import Wanted
from cmem.store.rows import rows

NOON = seeding.T0 + seeding.DAY  # the raw evidence is still there
USUAL = Options()
ALL = """SELECT title, generated_by_model, superseded_by FROM observations
    WHERE hidden_at IS NULL ORDER BY id"""


@pytest.fixture
def world(home: Path, monkeypatch: pytest.MonkeyPatch) -> scripted.World:
    """Three turns observed by rules, and a provider that answers as it is told."""
    made = scripted.world(home, monkeypatch)
    fill(made, 3)
    first = made.run(NOON, provider="extract")
    assert (first.units, first.observations) == (3, 3)
    return made


def fill(world: scripted.World, turns: int) -> None:
    """Turns that do not tell the same."""
    world.fill(turns)
    change(world, "UPDATE turns SET assistant_message = 'The limit is ' || number || ' now.'")


def again(
    world: scripted.World, options: Options = USUAL, *, at: int = NOON, **flags: str
) -> anew.Report:
    flags = {"provider": "scripted", **flags}
    chosen = settings.load(str(world.home), env={}, flags=flags, trusted_env=True)
    return recompress.recompress(
        str(world.home), chosen, Wanted(1), options=options, clock=lambda: at
    )


def undo(world: scripted.World) -> tuple[int, int]:
    return recompress.undo(str(world.home), 1, wait_s=1, now=NOON)


def everything(world: scripted.World) -> list[tuple[Any, ...]]:
    conn = world.store()
    found = rows(conn, ALL)
    conn.close()
    return found


def shown(world: scripted.World) -> list[str]:
    """What a new session of the project would be told, oldest first."""
    conn = world.store()
    found = [str(one[10]) for one in rows(conn, recent.NEWEST, (1, 50))]
    conn.close()
    return found[::-1]


def change(world: scripted.World, statement: str) -> None:
    conn = world.store()
    conn.execute(statement).fetchall()
    conn.close()


def test_the_new_result_is_shown_and_the_old_one_kept(world: scripted.World) -> None:
    before = everything(world)
    report = again(world)
    assert (report.places, report.replaced, report.observations, report.superseded) == (3, 3, 3, 3)
    assert (report.calls, report.microusd, report.left, report.reason) == (3, 30_000, 0, "")
    found = everything(world)
    old = [(title, model, number + 3) for number, (title, model, _) in enumerate(before, 1)]
    assert found[:3] == old
    assert [one[1:] for one in found[3:]] == [("some-model", None)] * 3
    assert [title.partition(" (")[0] for title in shown(world)] == ["turn 1", "turn 2", "turn 3"]


def test_undo_brings_the_old_result_back_and_keeps_the_new_one(world: scripted.World) -> None:
    before = shown(world)
    again(world)
    assert undo(world) == (3, 3)
    assert shown(world) == before
    assert len(everything(world)) == 6
    assert undo(world) == (0, 0)


def test_two_undos_go_two_results_back(world: scripted.World) -> None:
    first = shown(world)
    again(world)
    second = shown(world)
    world.provider.usage = scripted.USAGE
    again(world, model="other-model")
    assert shown(world) != second
    assert (undo(world), shown(world)) == ((3, 3), second)
    assert (undo(world), shown(world)) == ((3, 3), first)


def test_the_same_provider_is_not_asked_twice(world: scripted.World) -> None:
    again(world)
    report = again(world)
    assert (report.places, report.calls, len(world.provider.asked)) == (0, 0, 3)


def test_back_to_the_first_provider_shows_its_rows_again_and_doubles_none(
    world: scripted.World,
) -> None:
    before = everything(world)
    again(world)
    report = again(world, provider="extract")
    assert (report.replaced, report.observations, report.superseded) == (3, 3, 3)
    assert everything(world)[:3] == before
    assert len(everything(world)) == 6
    conn = world.store()
    assert rows(conn, "SELECT DISTINCT occurrence_count FROM observations") == [(1,)]
    conn.close()
    assert undo(world) == (3, 3)
    assert [title.partition(" (")[0] for title in shown(world)] == ["turn 1", "turn 2", "turn 3"]


def test_the_same_rows_from_another_provider_stay_as_they_are(
    world: scripted.World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cmem.observer import extract

    monkeypatch.setattr(world.provider, "observe", extract.observe)
    before = everything(world)
    report = again(world)
    assert (report.replaced, report.observations, report.superseded) == (3, 0, 0)
    assert everything(world) == before
    assert undo(world) == (3, 3)
    assert everything(world) == before


def test_where_nothing_new_is_found_the_old_rows_stay(
    world: scripted.World, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything(world)
    empty = Reply((), None, "nothing to record", ())
    answer = world.provider._answer()._replace(reply=empty)
    monkeypatch.setattr(world.provider, "observe", lambda _unit: answer)
    report = again(world)
    assert (report.kept, report.replaced, everything(world)) == (3, 0, before)
    assert undo(world) == (0, 0)


@pytest.mark.parametrize("column", ["pinned = 1", "metadata = '{\"edited_at\": 1}'"])
def test_what_a_person_pinned_or_edited_stays(column: str, world: scripted.World) -> None:
    change(world, f"UPDATE observations SET {column} WHERE id = 2")
    assert again(world).superseded == 2
    assert [one[2] is None for one in everything(world)] == [False, True, False, True, True, True]


def test_a_forgotten_turn_is_not_asked_about(world: scripted.World) -> None:
    conn = world.store()
    forget.hide(conn, forget.plan(conn, [("O", 2)]), now=NOON)
    conn.close()
    report = again(world)
    assert report.places == 2
    asked = [unit.prompt for unit in world.provider.asked if isinstance(unit, TurnUnit)]
    assert asked == ["turn 1", "turn 3"]
    assert not any("turn 2" in title for title in shown(world))


def test_forgetting_what_is_shown_takes_the_earlier_telling_along(world: scripted.World) -> None:
    again(world)
    conn = world.store()
    plan = forget.plan(conn, [("O", 5)])
    assert plan.observations == (2, 5)
    forget.hide(conn, plan, now=NOON)
    conn.close()
    undo(world)
    assert shown(world) == ["The limit is 1 now", "The limit is 3 now"]


def test_the_budget_of_the_day_ends_it_and_the_next_try_goes_on(world: scripted.World) -> None:
    report = again(world, Options(limits=Limits(0, 1500)))
    assert (report.calls, report.left) == (1, 2)
    assert report.reason.startswith("daily budget of 1,500 tokens leaves no room for the next call")
    assert again(world, Options(limits=budget.NO_LIMITS)).calls == 2
    assert again(world).places == 0


def test_most_calls_end_it(world: scripted.World) -> None:
    report = again(world, Options(max_calls=2))
    assert (report.calls, report.left, report.reason) == (2, 1, "at most 2 calls in one run")


@pytest.mark.parametrize(
    ("error", "calls", "unusable", "left", "reason"),
    [
        (ProviderError("overload", "529: busy"), 1, 0, 3, "overload: 529: busy"),
        (MissingCredential("no key"), 0, 0, 3, "no key"),
        (ProviderError("config", "no way", sent=False), 0, 0, 3, "config: no way"),
        (UnusableReply("prose", usage=scripted.USAGE), 3, 3, 0, ""),
    ],
    ids=["overload", "no key", "not sent", "unusable"],
)
def test_trouble_leaves_the_old_rows_and_pauses_no_ordinary_run(
    error: Exception,
    calls: int,
    unusable: int,
    left: int,
    reason: str,
    world: scripted.World,
) -> None:
    before = everything(world)

    def fail(_unit: object) -> None:
        raise error

    world.provider.act = fail
    report = again(world)
    found = (report.calls, report.unusable, report.left, report.reason)
    assert found == (calls, unusable, left, reason)
    assert everything(world) == before
    world.provider.act = lambda _unit: None
    assert again(world).replaced == 3


def test_a_run_cut_off_leaves_whole_results_and_goes_on(
    world: scripted.World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CMEM_TEST", "1")
    for point in ("again_before_call", "again_after_call", "again_after_commit"):
        monkeypatch.setenv("CMEM_FAILPOINT", f"{point}=raise")
        with pytest.raises(RuntimeError):
            again(world)
        monkeypatch.delenv("CMEM_FAILPOINT")
        conn = world.store()
        visible = rows(conn, ALL.replace("WHERE", "WHERE superseded_by IS NULL AND"))
        conn.close()
        assert len(visible) == 3
    # A left unit is no work for an ordinary run, and the next try takes it up.
    assert world.run(NOON, provider="extract").units == 0
    assert again(world).left == 0
    conn = world.store()
    states = rows(conn, "SELECT state, count(*) FROM work_units GROUP BY 1 ORDER BY 1")
    assert states == [("done", 6)]
    conn.close()


def test_a_summary_is_made_anew_of_the_new_observations(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = scripted.world(home, monkeypatch)
    fill(world, 2)
    change(world, f"UPDATE sessions SET last_event_at = {seeding.T0}")
    assert world.run(NOON, provider="extract").summaries == 1
    conn = world.store()
    first = rows(conn, recent.SUMMARIES, (1, 0, 5))
    conn.close()
    report = again(world)
    assert (report.places, report.replaced, report.superseded) == (3, 3, 3)
    told = world.provider.asked[-1]
    drafts = [one.title for turn in told.turns for one in turn.observations]  # type: ignore[union-attr]
    assert [title.partition(" (")[0] for title in drafts] == ["turn 1", "turn 2"]
    conn = world.store()
    second = rows(conn, recent.SUMMARIES, (1, 0, 5))
    assert (len(first), len(second), first != second) == (1, 1, True)
    assert rows(conn, "SELECT metadata FROM session_summaries ORDER BY id") == [
        (f'{{"superseded_by":"S2","superseded_at":{NOON}}}',),
        ("{}",),
    ]
    assert counts.status_counts(conn, midnight=0).summaries == 1
    assert replacements.undo(conn, 1, now=NOON) == (3, 3)
    assert rows(conn, recent.SUMMARIES, (1, 0, 5)) == first
    conn.close()


def test_the_plan_tells_what_would_be_asked_and_writes_nothing(world: scripted.World) -> None:
    before = everything(world)
    flags = {"provider": "anthropic", "model": "claude-haiku-4-5"}
    chosen = settings.load(str(world.home), env={}, flags=flags, trusted_env=True)
    found = replan.plan(str(world.home), chosen, Wanted(1), options=USUAL)
    assert (found.places, found.done, found.calls, found.unsettled) == (3, 0, 3, 0)
    assert found.input_tokens > 3 * 100
    assert found.cost_usd is not None
    assert found.cost_usd > 0
    assert (everything(world), world.provider.asked) == (before, [])


def test_a_turn_without_its_raw_evidence_stays_as_it_is(world: scripted.World) -> None:
    change(world, "UPDATE tool_uses SET tool_input = NULL, tool_response = NULL WHERE id = 1")
    chosen = settings.load(
        str(world.home), env={}, flags={"provider": "scripted"}, trusted_env=True
    )
    assert replan.plan(str(world.home), chosen, Wanted(1), options=USUAL)[2:6] == (2, 0, 0, 1)
    assert again(world).replaced == 2
    assert shown(world)[0] == "The limit is 1 now"


def test_nothing_runs_beside_it(world: scripted.World) -> None:
    from cmem import lock, paths
    from cmem.errors import BusyError

    held = lock.acquire(paths.lock_file(str(world.home)))
    with pytest.raises(BusyError):
        again(world, Options(wait_s=0))
    lock.release(held)


@pytest.mark.parametrize("state", ["pending", "parked", "batched"])
def test_what_was_never_observed_is_counted_wherever_it_waits(
    state: str, world: scripted.World
) -> None:
    conn = world.store()
    unit = seeding.add_unit(conn, seeding.add_turn(conn, 1, 9, prompt="another"))
    conn.execute("UPDATE work_units SET state = ? WHERE id = ?", (state, unit))
    assert places.unsettled(conn, 1, Wanted(1)) == 1
    conn.close()
