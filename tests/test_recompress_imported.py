"""What imports have brought observed again: all of it, in order, within a budget, beside others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import capturing
import pytest
import scripted
import seeding

from cmem import anew, budget, compress, held, recompress, replan, settings
from cmem.budget import Limits
from cmem.errors import CmemError, UsageError
from cmem.model import TurnUnit
from cmem.observer.errors import ProviderError, UnusableReply
from cmem.observer.providers import PROVIDERS
from cmem.observer.providers.asked import Asked, Model
from cmem.recompress import Options
from cmem.store import replacements
from cmem.store.places import Wanted
from cmem.store.rows import rows

NOON = seeding.T0 + seeding.DAY
ALL = Wanted()
OPEN = Options(limits=budget.NO_LIMITS)
SHOWN = """SELECT generated_by_model, count(*) FROM observations
    WHERE superseded_by IS NULL GROUP BY 1 ORDER BY 1"""


@pytest.fixture
def world(home: Path, monkeypatch: pytest.MonkeyPatch) -> scripted.World:
    """Three imported sessions of two turns in two projects, a captured one between them; all
    observed by rules."""
    made = scripted.world(home, monkeypatch)
    conn = made.store()
    with conn:
        for number, (name, project, reason) in enumerate(
            [
                ("old", "calc", "import"),
                ("middle", "shop", "import"),
                ("hooked", "calc", "stop"),
                ("new", "calc", "import"),
            ]
        ):
            session = seeding.add_session(conn, name, project=project)
            for turn in (1, 2):
                ref = seeding.add_turn(conn, session, turn, prompt=f"{name} {turn}")
                seeding.add_tool(conn, ref)
                seeding.add_unit(conn, ref, reason=reason)
            at = seeding.T0 + number * seeding.DAY
            conn.execute("UPDATE sessions SET last_event_at = ? WHERE id = ?", (at, session))
            conn.execute(
                "UPDATE turns SET last_event_at = ?, assistant_message = ? || number "
                "WHERE session_id = ?",
                (at, f"The {name} limit is ", session),
            )
        conn.execute("UPDATE work_units SET created_at = ?", (time.time_ns() // 1_000_000,))
    conn.close()
    limits = "UPDATE sessions SET last_event_at = last_event_at + 100000000000"
    change(made, limits)  # never idle, so that no summary is asked for
    made.run(NOON, provider="extract")
    change(made, limits.replace("+", "-"))
    return made


def change(world: scripted.World, statement: str) -> None:
    conn = world.store()
    conn.execute(statement).fetchall()
    conn.close()


def chosen(world: scripted.World, **flags: str) -> settings.Settings:
    flags = {"provider": "scripted", **flags}
    return settings.load(str(world.home), env={}, flags=flags, trusted_env=True)


def again(
    world: scripted.World, options: Options = OPEN, wanted: Wanted = ALL, **flags: str
) -> anew.Report:
    return recompress.recompress(
        str(world.home), chosen(world, **flags), wanted, options=options, clock=lambda: NOON
    )


def planned(
    world: scripted.World, options: Options = OPEN, wanted: Wanted = ALL, **flags: str
) -> replan.Plan:
    return replan.plan(str(world.home), chosen(world, **flags), wanted, options=options)


def asked(world: scripted.World) -> list[str]:
    return [unit.prompt for unit in world.provider.asked if isinstance(unit, TurnUnit)]


def shown(world: scripted.World) -> list[tuple[str, int]]:
    conn = world.store()
    found = rows(conn, SHOWN)
    conn.close()
    return [(str(model), int(count)) for model, count in found]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (ALL, ["new 1", "new 2", "middle 1", "middle 2", "old 1", "old 2"]),
        (Wanted(projects=(2,)), ["middle 1", "middle 2"]),
        (Wanted(since=seeding.T0 + 1), ["new 1", "new 2", "middle 1", "middle 2"]),
        (Wanted(projects=(1,), since=seeding.T0 + 1), ["new 1", "new 2"]),
        (Wanted(projects=()), []),
    ],
    ids=["all", "project", "since", "both", "none"],
)
def test_the_newest_session_comes_first_and_what_was_captured_stays(
    wanted: Wanted, expected: list[str], world: scripted.World
) -> None:
    found = planned(world, wanted=wanted)
    assert asked(world) == []
    report = again(world, wanted=wanted)
    assert asked(world) == expected
    count = len(expected)
    assert (report.places, report.replaced, report.left, report.reason) == (count, count, 0, "")
    assert (found.calls, found.now, found.left, found.sessions) == (count, count, 0, count // 2)
    assert shown(world) == [("extract", 8 - count), *([("some-model", count)] if count else [])]
    assert (planned(world, wanted=wanted).places, again(world, wanted=wanted).calls) == (0, 0)


def test_the_estimate_is_by_project_and_for_nothing_where_it_is_made(
    world: scripted.World,
) -> None:
    found = planned(world, provider="anthropic")
    shares = [(one.project, one.units, one.calls) for one in found.projects]
    assert shares == [("calc", 4, 4), ("shop", 2, 2)]
    assert found.cost_usd == pytest.approx(sum(one.cost_usd or 0 for one in found.projects))
    free = planned(world, provider="extract")
    assert (free.places, free.done, free.calls) == (0, 6, 0)


@pytest.mark.parametrize("tokens", [1, 3_000, 6_000, 1_000_000])
def test_a_budget_is_the_run_s_own_whatever_the_day_has_taken(
    tokens: int, world: scripted.World
) -> None:
    expected = planned(world).input_tokens // 6 + 600
    world.provider.usage = scripted.USAGE._replace(input_tokens=expected - 100, output_tokens=100)
    again(world, OPEN._replace(max_calls=1))  # somebody has spent something today
    options = OPEN._replace(purse=Limits(0, tokens))
    room = planned(world, options)
    report = again(world, options)
    assert report.input_tokens + report.output_tokens <= tokens
    assert (report.calls, report.left) == (room.now, room.left)
    assert report.calls == min(tokens // expected, 5)
    assert bool(report.reason or report.over) == (report.left > 0)
    assert again(world).left == 0


def test_without_one_the_day_s_budget_holds(world: scripted.World) -> None:
    report = again(world, Options(limits=Limits(0, 4_000), lift="say so"))
    assert report.left > 0
    assert report.reason.startswith("daily budget of 4,000 tokens leaves no room")
    assert report.reason.endswith("; say so")


def test_money_cannot_be_held_where_nobody_knows_the_price(world: scripted.World) -> None:
    for call in (planned, again):
        with pytest.raises(UsageError, match="nobody knows the price of its model, so --budget"):
            call(world, OPEN._replace(purse=Limits(2_000_000, 0)))
    assert asked(world) == []


def failing(world: scripted.World, error: Exception, *prompts: str) -> Callable[[object], None]:
    def act(unit: object) -> None:
        if isinstance(unit, TurnUnit) and (not prompts or unit.prompt in prompts):
            raise error

    world.provider.act = act
    return act


def test_a_place_that_fails_holds_up_no_other_and_comes_last_the_next_time(
    world: scripted.World,
) -> None:
    failing(world, ProviderError("transport", "cut off"), "new 1", "old 2")
    report = again(world, OPEN._replace(max_calls=4))
    assert (report.replaced, report.failed, report.left) == (3, 1, 3)
    world.provider.asked.clear()
    report = again(world)
    assert asked(world) == ["old 1", "old 2", "new 1"]
    assert (report.replaced, report.failed, report.left) == (1, 2, 2)
    assert report.reason == "transport: cut off"


@pytest.mark.parametrize(
    ("error", "calls", "reason"),
    [
        (ProviderError("transport", "no route"), 3, "3 in a row gave nothing; the last: transport"),
        (UnusableReply("prose"), 3, "3 in a row gave nothing; the last: unusable: prose"),
        (ProviderError("overload", "529: busy"), 1, "overload: 529: busy"),
        (ProviderError("auth", "401: who?"), 1, "auth: 401: who?"),
    ],
    ids=["unreachable", "prose", "busy", "stranger"],
)
def test_a_provider_in_trouble_ends_it_and_the_next_run_does_the_rest(
    error: Exception, calls: int, reason: str, world: scripted.World
) -> None:
    failing(world, error)
    report = again(world)
    assert (report.calls, report.replaced) == (calls, 0)
    assert report.reason.startswith(reason)
    world.provider.act = lambda _unit: None
    again(world)
    assert shown(world) == [("extract", 2), ("some-model", 6)]


def test_whoever_ends_it_is_told_what_was_done(world: scripted.World) -> None:
    for end, code in ((KeyboardInterrupt(), 130), (SystemExit(143), 143)):
        world.provider.asked.clear()

        def act(_unit: object, end: BaseException = end) -> None:
            if len(world.provider.asked) == 2:
                raise end

        world.provider.act = act
        report = again(world)
        assert (report.replaced, report.code, report.reason) == (1, code, "it was told to end")
    conn = world.store()
    cut = rows(conn, "SELECT count(*) FROM observer_runs WHERE outcome = 'interrupted'")
    conn.close()
    assert cut == [(2,)]
    world.provider.act = lambda _unit: None
    assert again(world).replaced == 4


@pytest.mark.parametrize("point", ["again_before_call", "again_after_call", "again_after_commit"])
def test_a_run_cut_off_leaves_each_place_one_whole_result(
    point: str, world: scripted.World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CMEM_TEST", "1")
    monkeypatch.setenv("CMEM_FAILPOINT", f"{point}@3=raise")
    monkeypatch.setattr("cmem.failpoint._hits", {})
    with pytest.raises(RuntimeError):
        again(world)
    monkeypatch.delenv("CMEM_FAILPOINT")
    done = 3 if point == "again_after_commit" else 2
    assert shown(world) == [("extract", 8 - done), ("some-model", done)]
    assert again(world).calls == 6 - done
    assert shown(world) == [("extract", 2), ("some-model", 6)]


def test_each_session_can_be_taken_back(world: scripted.World) -> None:
    again(world)
    conn = world.store()
    assert replacements.undo(conn, 2, now=NOON) == (2, 2)
    conn.close()
    assert shown(world) == [("extract", 4), ("some-model", 4)]
    assert (planned(world).places, again(world).calls) == (0, 0)  # it was taken back on purpose
    assert again(world, wanted=Wanted(2)).calls == 2


def test_what_is_forgotten_or_done_by_another_meanwhile_is_passed_over(
    world: scripted.World,
) -> None:
    def act(unit: object) -> None:
        if isinstance(unit, TurnUnit) and unit.prompt == "middle 1":
            change(world, "UPDATE turns SET hidden_at = 1 WHERE id = 4")
        if isinstance(unit, TurnUnit) and unit.prompt == "old 1":
            change(
                world,
                "INSERT INTO work_units(kind, session_id, turn_id, state, reason, created_at) "
                "VALUES('turn', 1, 2, 'done', 'import', 0)",
            )
            change(
                world,
                "INSERT INTO observer_runs SELECT max(id) + 1, (SELECT max(id) FROM work_units), "
                "session_id, project_id, kind, provider, model, prompt_version, 'done', calls, "
                "input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, "
                "started_at, ended_at, error, cost_microusd FROM observer_runs",
            )

    world.provider.act = act
    report = again(world)
    assert asked(world) == ["new 1", "new 2", "middle 1", "old 1"]
    assert (report.left, report.reason) == (0, "")


def test_a_pause_holds_here_too_and_the_estimate_says_so(world: scripted.World) -> None:
    from cmem import breaker
    from cmem.store import pause

    conn = world.store()
    now = time.time_ns() // 1_000_000
    key = breaker.fingerprint(chosen(world))
    for at in (now, NOON):
        pause.arm(conn, reason="overload: 529", until=at + 60_000, step=0, fingerprint=key)
        if at == now:
            found = planned(world)
            assert (found.now, found.left, found.reason) == (0, 6, "paused: overload: 529")
    conn.close()
    report = again(world)
    assert (report.calls, report.left, report.reason) == (0, 6, "paused: overload: 529")


def test_an_ordinary_run_gets_through(
    world: scripted.World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held, "HELD_S", 0.0)
    ended: list[int] = []

    def ordinary() -> None:
        compress.compress(str(world.home), chosen(world, provider="extract"), compress.Options())
        ended.append(len(world.provider.asked))

    thread = threading.Thread(target=ordinary)

    def act(_unit: object) -> None:
        if len(world.provider.asked) == 1:
            thread.start()
        time.sleep(0.05)

    world.provider.act = act
    assert again(world).replaced == 6
    thread.join()
    assert ended[0] < 6


@pytest.mark.parametrize("auto", [True, False])
def test_what_hooks_capture_meanwhile_comes_in(
    auto: bool, world: scripted.World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hooks start no run of their own while the lock is held."""
    monkeypatch.setattr(held, "HELD_S", 0.0)
    monkeypatch.setattr(recompress, "DRAIN_S", 0.0)
    (world.home / "config.toml").write_text(f"auto_compress = {str(auto).lower()}\n")
    now = time.time_ns() // 1_000_000
    base = {"session_id": "fresh", "cwd": "/home/dev/calc", "prompt_id": "p9"}
    seen: list[tuple[int, int]] = []

    def act(_unit: object) -> None:
        if len(world.provider.asked) == 1:
            for event, more in (
                ("UserPromptSubmit", {"prompt": "The fresh limit is nine, remember that."}),
                ("Stop", {"last_assistant_message": "The fresh limit is nine from now on."}),
            ):
                payload = {"hook_event_name": event, **base, **more}
                assert capturing.put(world.home, event, payload, now)
        conn = world.store()
        prompts = "SELECT count(*) FROM user_prompts WHERE prompt_text LIKE 'The fresh%'"
        runs = "SELECT count(*) FROM observer_runs WHERE session_id = 5"
        seen.append((rows(conn, prompts)[0][0], rows(conn, runs)[0][0]))
        conn.close()

    world.provider.act = act
    assert again(world).replaced == 6
    assert seen == [(0, 0)] + [(1, int(auto))] * 5


def test_a_glance_weighs_a_sample_of_what_no_model_has_seen(
    world: scripted.World, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, model = str(world.home), chosen(world, provider="anthropic")
    whole = planned(world, provider="anthropic")
    found = replan.glance(home, model)
    assert found is not None
    assert found == (
        "anthropic", "claude-haiku-4-5", 6, whole.input_tokens, pytest.approx(whole.cost_usd)
    )  # fmt: skip
    monkeypatch.setattr(replan, "SAMPLE", 2)
    assert (replan.glance(home, model) or found).calls == 6
    assert replan.glance(home, chosen(world, provider="extract")) is None
    again(world)
    assert replan.glance(home, model) is None


def test_two_at_once_ask_nothing_twice(
    world: scripted.World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held, "HELD_S", 0.0)
    world.provider.act = lambda _unit: time.sleep(0.03)
    reports: list[anew.Report] = []
    threads = [threading.Thread(target=lambda: reports.append(again(world))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(asked(world)) == sorted(set(asked(world)))
    assert sum(report.replaced for report in reports) == 6
    assert [(report.left, report.reason) for report in reports] == [(0, "")] * 2
    assert shown(world) == [("extract", 2), ("some-model", 6)]


def test_where_memory_is_off_everywhere_nobody_is_told_of_the_past(world: scripted.World) -> None:
    (world.home / "off").touch()
    assert planned(world).calls == 6
    for wanted in (ALL, Wanted(1)):
        with pytest.raises(CmemError, match="memory is off everywhere; `cmem on --global` turns"):
            again(world, wanted=wanted)
    assert asked(world) == []
    assert again(world, provider="extract").replaced == 0
    (world.home / "off").unlink()
    world.provider.act = lambda _unit: (world.home / "off").touch()
    report = again(world)
    assert (report.replaced, report.left) == (1, 5)
    assert report.reason == "memory is off everywhere; `cmem on --global` turns it on"


@pytest.mark.parametrize(
    ("asked_for", "answers"),
    [
        ("haiku", "claude-haiku-4-5-20251001"),
        ("small", "claude-haiku-9"),  # an alias that no list has
        ("anthropic/claude-haiku-4.5", "anthropic/claude-4.5-haiku"),
        ("gpt-5", "gpt-5-2025-08-07"),
        ("some-model", "some-model"),
    ],
)
def test_who_answers_under_another_name_is_not_asked_twice(
    asked_for: str, answers: str, world: scripted.World
) -> None:
    world.provider.model = answers
    assert again(world, model=asked_for).calls == 6
    assert (planned(world, model=asked_for).places, again(world, model=asked_for).calls) == (0, 0)
    assert again(world, wanted=Wanted(1), model=asked_for).calls == 0
    assert planned(world, model=answers).places == 0
    for other in ("sonnet", "claude-haiku-3", "gpt-5-mini", "some-model-2"):
        assert planned(world, model=other).places == 6
    conn = world.store()
    replacements.undo(conn, 2, now=NOON)
    conn.close()
    assert planned(world, model=asked_for).places == 0


def test_an_ordinary_run_learns_the_names_too(world: scripted.World) -> None:
    world.provider.model = "model-of-2026"
    change(world, "UPDATE work_units SET state = 'pending' WHERE session_id = 3")
    world.run(NOON, model="quick")
    assert again(world, wanted=Wanted(3), model="quick").calls == 0
    assert again(world, wanted=Wanted(3), model="slow").calls == 2


def test_every_model_that_was_taken_back_is_not_asked_again(world: scripted.World) -> None:
    for model in ("first", "second", "third"):
        world.provider.model = model
        assert again(world, wanted=Wanted(1), model=model).calls == 2
        conn = world.store()
        assert replacements.undo(conn, 1, now=NOON)[0] == 2
        conn.close()
    old = Wanted(projects=(1,))  # sessions 1 and 4
    for model in ("first", "second", "third"):
        assert planned(world, wanted=old, model=model).places == 2
    assert planned(world, wanted=old, model="fourth").places == 4


def large(world: scripted.World, tools: int = 16) -> None:
    """A turn of many tool uses in the newest session."""
    conn = world.store()
    with conn:
        for _ in range(tools - 1):
            seeding.add_tool(conn, 7, response="x" * 400)
    conn.close()


def taking(world: scripted.World, most: int, said: str = "prompt is too long") -> list[int]:
    """A model that takes turns of so many tool uses; the sizes that it took, or (below 0) not."""
    sizes: list[int] = []

    def act(unit: object) -> None:
        if isinstance(unit, TurnUnit) and unit.prompt == "new 1":
            fits = len(unit.evidence) <= most
            sizes.append(len(unit.evidence) if fits else -len(unit.evidence))
            if not fits:
                raise UnusableReply(f"the request was refused (400): {said}")

    world.provider.act = act
    return sizes


def test_a_turn_that_is_too_long_is_asked_about_in_pieces_and_stored_as_one(
    world: scripted.World,
) -> None:
    large(world)
    sizes = taking(world, 5)
    report = again(world)
    assert sizes == [-16, -8, 4, 4, 4, 4]
    assert (report.replaced, report.unusable, report.left, report.calls) == (6, 0, 0, 11)
    conn = world.store()
    found = rows(conn, "SELECT id FROM observations WHERE turn_id = 7 AND superseded_by IS NULL")
    cited = "SELECT count(*) FROM observation_sources WHERE kind = 'T' AND observation_id IN ({})"
    ids = ", ".join(str(ref) for (ref,) in found)
    booked = rows(
        conn,
        "SELECT outcome, calls, input_tokens FROM observer_runs WHERE id = "
        f"(SELECT run_id FROM observations WHERE id IN ({ids}))",
    )
    # The scripted model says the same of each piece, which is one memory.
    assert (len(found), rows(conn, cited.format(ids)), booked) == (1, [(16,)], [("done", 6, 3600)])
    assert replacements.undo(conn, 4, now=NOON)[0] == 2
    conn.close()
    assert again(world).calls == 0


def test_what_no_piece_of_is_taken_is_not_asked_again_unless_it_is_named(
    world: scripted.World,
) -> None:
    large(world, 2)
    sizes = taking(world, 0)
    report = again(world)
    assert sizes == [-2, -1]
    assert (report.replaced, report.too_long, report.left, report.reason) == (5, 1, 0, "")
    conn = world.store()
    kept = rows(conn, "SELECT error FROM observer_runs WHERE outcome = 'too long'")
    conn.close()
    assert kept == [("too long: the request was refused (400): prompt is too long",)]
    plan = planned(world)
    assert (plan.places, plan.too_long, again(world).calls) == (0, 1, 0)
    assert planned(world, model="greater").too_long == 0
    sizes.clear()
    assert again(world, wanted=Wanted(4)).too_long == 1
    assert sizes == [-2, -1]


def test_a_refusal_for_another_reason_makes_no_pieces(world: scripted.World) -> None:
    large(world)
    sizes = taking(world, 0, "the model refused")
    assert (again(world).unusable, sizes, planned(world).places) == (1, [-16], 1)


def test_what_alone_takes_more_than_the_budget_is_passed_over_and_named(
    world: scripted.World,
) -> None:
    large(world, 200)
    usual = planned(world, wanted=Wanted(projects=(2,))).input_tokens // 2 + 600
    options = OPEN._replace(purse=Limits(0, 6 * usual))
    plan = planned(world, options)
    assert (plan.now, plan.left, plan.reason) == (5, 1, "")
    report = again(world, options)
    assert (report.replaced, report.left, report.reason, report.over) == (5, 1, "", plan.over)
    assert len(plan.over) == 1
    assert plan.over[0].startswith("N4 turn 1 (about ")
    assert "new 1" not in asked(world)
    assert (planned(world, options).now, again(world, options).calls) == (0, 0)
    assert again(world, OPEN).replaced == 1


def test_pieces_are_held_against_the_budget_before_they_are_asked(world: scripted.World) -> None:
    large(world)
    sizes = taking(world, 5)
    only = Wanted(4)
    first = planned(world, OPEN, only)
    purse = Limits(0, first.input_tokens + first.output_tokens)
    report = again(world, OPEN._replace(purse=purse), only)
    assert max(sizes) < 0  # so nothing was paid for pieces of it
    assert (report.replaced, report.left) == (1, 1)
    assert [one.partition(" (")[0] for one in report.over] == ["N4 turn 1"]
    assert report.input_tokens + report.output_tokens <= purse.tokens


def test_nothing_slow_lies_between_the_booking_of_a_call_and_the_call(
    world: scripted.World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is killed in the second which the import of an SDK takes has spent nothing."""
    booked: list[list[tuple[object, ...]]] = []

    def look() -> None:
        conn = world.store()
        booked.append(rows(conn, "SELECT 1 FROM observer_runs WHERE outcome = 'started'"))
        conn.close()

    def ask(_request: object) -> Asked:
        look()
        return Asked("nothing", "", "some-model", scripted.USAGE, ())

    monkeypatch.setitem(PROVIDERS, "scripted", lambda _settings: Model("scripted", ask, look))
    again(world, OPEN._replace(max_calls=1))
    assert booked == [[], [(1,)]]
