"""A batch in trouble is its own: it holds up nobody, is not lost, and is paid for once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import scripted
import seeding
from fake_anthropic import FakeAnthropic
from support import run_json
from test_batch import BOOKS, NOW, STATES, ask, made, reply, run

from cmem import batch, batch_collect, store
from cmem.store import reasons

HOUR = 3_600_000
HTML = {"raw": "<html>gateway</html>", "content_type": "text/html"}


@pytest.fixture
def api() -> Iterator[FakeAnthropic]:
    with FakeAnthropic([reply(n) for n in range(1, 10)]) as found:
        yield found


@pytest.fixture
def world(home: Path, monkeypatch: pytest.MonkeyPatch) -> scripted.World:
    """Two closed turns that wait."""
    made = scripted.world(home, monkeypatch)
    made.fill(2)
    return made


def more(world: scripted.World) -> None:
    """One more turn is done."""
    conn = world.store()
    seeding.add_unit(conn, seeding.add_turn(conn, 1, 9, prompt="another"))
    conn.close()


def looked(api: FakeAnthropic) -> int:
    return sum(one["method"] == "GET" for one in api.requests)


def choose(world: scripted.World, api: FakeAnthropic, **more: str) -> None:
    chosen = {"provider": "anthropic", "base_url": api.url, "api_key": "dummy"} | more
    text = "".join(f'{name} = "{value}"\n' for name, value in chosen.items())
    (world.home / "config.toml").write_text(text)


FAULTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "look 500": ("look", {"status": 500}, "500: injected api_error"),
    "look 403": ("look", {"status": 403}, "403: injected permission_error; check api_key"),
    "look HTML": ("look", HTML, "the answer is not one of the Message Batches API"),
    "look nothing": ("look", {"drop": True}, "no usable answer from "),
    "results 500": ("results", {"status": 500}, "500: injected api_error"),
    "results HTML": ("results", HTML, "the answer could not be read: "),
    "results torn": ("results", {"raw": '{"custom_id": "x", "resul\n'}, "the answer could not be "),
    "results strange": ("results", {"raw": "7\n"}, "the answer is not one of the Message Batches"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_batch_that_cannot_be_collected_holds_up_nobody(
    case: str, world: scripted.World, api: FakeAnthropic
) -> None:
    where, fault, why = FAULTS[case]
    run(world, api)
    more(world)
    api.batch_faults = {where: fault}
    report = run(world, api, give=False)
    assert (report.units, report.pending, report.reason) == (1, 0, "")
    (said,) = report.warnings
    assert said.startswith(f"a batch of 2 could not be collected: {why}")


def test_it_is_left_alone_for_longer_and_longer(world: scripted.World, api: FakeAnthropic) -> None:
    run(world, api)
    api.batch_faults = {"look": {"status": 500}}
    assert len(run(world, api, give=False).warnings) == 1
    before = looked(api)
    assert run(world, api, at=NOW + 9_000, give=False).warnings == ()
    assert looked(api) == before
    choose(world, api)
    told = run_json("status")["health"]
    assert "2 units in a batch since 20" in told
    assert "which could not be collected: 500: injected api_error; looked for again from " in told
    for at in (NOW + 10_000, NOW + HOUR, NOW + 2 * HOUR):
        assert len(run(world, api, at=at, give=False).warnings) == 1
    assert run(world, api, at=NOW + 2 * HOUR + 39_000, give=False).warnings == ()
    api.batch_faults = {}
    report = run(world, api, at=NOW + 3 * HOUR, give=False)
    assert (report.units, report.warnings, made(api)) == (2, (), 1)
    assert ask(world, STATES) == [("done", 2)]


GONE: dict[str, dict[str, dict[str, Any]]] = {
    "look 404": {"look": {"status": 404}},
    "results 404": {"results": {"status": 404}},
    "ended without results": {"look": {"gone": True}},
}


@pytest.mark.parametrize("case", GONE)
def test_results_that_are_kept_no_longer_stay_on_the_books_and_the_units_wait_again(
    case: str, world: scripted.World, api: FakeAnthropic
) -> None:
    run(world, api)
    sent = ask(world, BOOKS)
    api.batch_faults = GONE[case]
    report = run(world, api, give=False)
    (said,) = report.warnings
    assert said.startswith("a batch of 2 is given up: ")
    assert "; 2 of them wait again, and what they may have cost counts" in said
    kept = [("interrupted", *row[1:]) for row in sent]
    assert [row[0] for row in sent] == ["batched"] * 2
    assert ask(world, BOOKS)[:2] == kept
    assert (report.units, ask(world, STATES)) == (2, [("done", 2)])


def test_a_batch_of_which_nobody_knows_is_given_up_after_a_day(
    world: scripted.World, api: FakeAnthropic
) -> None:
    api.batch_faults = {"submit": {"drop": True}, "list": {"status": 404}}
    assert run(world, api).reason.startswith("transport: ")
    more(world)
    report = run(world, api, give=False)
    assert (report.units, report.reason) == (1, "")
    assert report.warnings[0].startswith(
        "a batch of 2 could not be collected: this server lists no batches; looked for again from "
    )
    report = run(world, api, at=NOW + batch_collect.MADE_MS + 1, give=False)
    assert report.warnings[0].startswith("a batch of 2 is given up: this server lists no batches; ")
    assert ask(world, STATES) == [("done", 3)]


@pytest.mark.parametrize("status", [504, 524])
def test_a_batch_that_may_have_arrived_in_spite_of_an_error_is_looked_for(
    status: int, world: scripted.World, api: FakeAnthropic
) -> None:
    api.batch_faults = {"submit": {"status": status, "arrives": True}}
    assert run(world, api).reason.startswith(f"overload: {status}")
    assert ask(world, STATES) == [("batched", 2)]
    api.batch_faults = {}
    assert run(world, api).units == 2
    assert (made(api), len(api.messages)) == (1, 0)


def test_a_batch_that_cannot_have_arrived_is_none(
    world: scripted.World, api: FakeAnthropic
) -> None:
    for base in ("http://127.0.0.1:9", "http://127.0.0.1:9/?x=1"):
        run(world, api, chosen={"base_url": base})
        assert ask(world, STATES) == [("pending", 2)]
        conn = world.store()
        conn.execute("DELETE FROM meta WHERE key = 'pause'")
        conn.close()


@pytest.mark.parametrize("change", ["base_url", "api_key", "provider"])
def test_a_batch_belongs_to_the_settings_it_was_sent_with(
    change: str, world: scripted.World, api: FakeAnthropic
) -> None:
    run(world, api)
    with FakeAnthropic({"default": reply(7)}) as other:
        values = {"base_url": other.url, "api_key": "another", "provider": "extract"}
        chosen = {change: values[change]}
        before = looked(api)
        more(world)
        report = run(world, api, at=NOW + 1, give=False, chosen=chosen)
        assert (report.units, looked(api), looked(other)) == (1, before, 0)
        assert ask(world, STATES)[0] == ("batched", 2)
        choose(world, api, **chosen)
        told = run_json("status")["health"]
        by = "of anthropic since 20" if change == "provider" else "sent with other settings"
        assert "2 units in a batch " in told and by in told and batch.TAKE_BACK in told
        if change == "base_url":
            late = NOW + batch_collect.KEPT_MS + 1
            report = run(world, api, at=late, give=False, chosen=chosen)
            assert report.warnings[0].startswith(
                "a batch of 2 is given up: nobody has collected it in 29 days; 2 of them wait again"
            )
            assert [row[0] for row in ask(world, BOOKS)[:2]] == ["interrupted"] * 2
            return
    report = run(world, api, at=NOW + 2, give=False, chosen={"model": "claude-sonnet-4-5"})
    assert (report.units, len(ask(world, BOOKS))) == (2, 3)


CHANGES = {
    "language": ({"language": "de"}, ""),
    "mode": ({"mode": "research"}, ""),
    "name of the project": ({}, "UPDATE projects SET name = 'other'"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_what_is_no_text_of_the_turn_makes_no_reply_outdated(
    case: str, world: scripted.World, api: FakeAnthropic
) -> None:
    chosen, change = CHANGES[case]
    run(world, api)
    if change:
        ask(world, change)
    report = run(world, api, give=False, chosen=chosen)
    assert (report.units, report.calls, api.messages) == (2, 2, [])
    versions = "SELECT DISTINCT substr(prompt_version, 1, 5) FROM observations"
    assert ask(world, versions) == [("code/",)]


def test_a_summary_of_what_was_forgotten_meanwhile_is_outdated(world: scripted.World) -> None:
    conn = world.store()
    unit = store.units.load(
        conn, seeding.add_unit(conn, 1, kind="summary", reason="end"), language="auto"
    )
    before = batch.digest(unit)
    assert batch.digest(unit._replace(project="other", language="de")) == before
    conn.execute("UPDATE turns SET assistant_message = '' WHERE id = 1")
    assert batch.digest(store.units.load(conn, unit.unit_id, language="auto")) != before
    conn.close()


def test_one_result_that_is_no_message_is_that_units_alone(world: scripted.World) -> None:
    with FakeAnthropic([reply(1), reply(2)]) as api:
        run(world, api)
        api.batches[0]["results"][0]["result"]["message"] = {"type": "message", "content": 3}
        run(world, api, give=False, max_calls=1)
    assert ask(world, "SELECT unit_id, outcome FROM observer_runs ORDER BY 1 LIMIT 2") == [
        (1, "unusable"),
        (2, "done"),
    ]


def test_replies_to_other_settings_say_nothing_about_those_of_now(world: scripted.World) -> None:
    more(world)
    with FakeAnthropic({"default": "I would rather not."}) as api:
        run(world, api, chosen={"model": "wrong"})
        api.default = reply(1)
        report = run(world, api, at=NOW + 1, give=False)
    assert (report.units, report.calls, report.pending) == (3, 6, 0)
    assert ask(world, STATES) == [("done", 3)]


def test_why_it_could_not_be_collected_goes_with_what_is_forgotten(
    world: scripted.World, api: FakeAnthropic
) -> None:
    run(world, api)
    api.batch_faults = {"look": {"status": 500}}
    run(world, api, give=False)
    conn = world.store()
    reasons.blank(conn, lambda text: "injected" in text)
    ((kept,),) = conn.execute("SELECT value FROM meta WHERE key = 'batch_notes'").fetchall()
    conn.close()
    assert reasons.BLANK in kept and "injected" not in kept
