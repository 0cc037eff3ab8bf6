"""Batches: what is given away in one run is stored once by a later one, whatever happens between."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import scripted
from fake_anthropic import FakeAnthropic
from support import run_json

from cmem import batch, breaker, budget, compress, settings
from cmem.errors import ConfigError
from cmem.store import batches, ledger
from cmem.store.rows import rows

RECORD = """<observation><type>change</type><title>{{n}} changed</title>
<facts><fact>it changed</fact></facts><narrative>It did.</narrative></observation>"""
STATES = "SELECT state, count(*) FROM work_units GROUP BY 1 ORDER BY 1"
BOOKS = """SELECT outcome, calls, input_tokens, output_tokens, cost_microusd FROM observer_runs
    ORDER BY id"""
USAGE = {"input_tokens": 1000, "output_tokens": 200}
NOW = int(time.time()) * 1000


def reply(n: int) -> dict[str, Any]:
    return {"text": RECORD.replace("{{n}}", str(n)), "usage": USAGE}


@pytest.fixture
def api() -> Iterator[FakeAnthropic]:
    with FakeAnthropic([reply(1), reply(2), reply(3)]) as found:
        yield found


@pytest.fixture
def world(home: Path, monkeypatch: pytest.MonkeyPatch) -> scripted.World:
    """Three closed turns that wait."""
    made = scripted.world(home, monkeypatch)
    made.fill(3)
    return made


def run(
    world: scripted.World,
    api: FakeAnthropic,
    *,
    at: int = NOW,
    give: bool = True,
    chosen: dict[str, str] | None = None,
    **more: Any,
) -> compress.Report:
    flags = {"provider": "anthropic", "base_url": api.url, "api_key": "dummy", **(chosen or {})}
    loaded = settings.load(str(world.home), env={}, flags=flags, trusted_env=True)
    options = compress.Options(batch=give, **more)
    return compress.compress(str(world.home), loaded, options, clock=lambda: at)


def ask(world: scripted.World, query: str) -> list[tuple[Any, ...]]:
    conn = world.store()
    found = rows(conn, query)
    conn.close()
    return found


def made(api: FakeAnthropic) -> int:
    """Batches that were sent."""
    return sum(one["method"] == "POST" and one["path"].endswith("/batches") for one in api.requests)


def test_a_batch_is_given_away_and_collected_later_at_half_the_price(
    world: scripted.World, api: FakeAnthropic
) -> None:
    api.end_batches = False
    report = run(world, api)
    assert (report.units, report.calls, report.pending) == (0, 0, 0)
    assert report.reason.startswith("3 units in a batch since ")
    assert ask(world, STATES) == [("batched", 3)]
    # Neither a run that gives nothing away nor one more that does asks again.
    assert (run(world, api, give=False).calls, run(world, api).calls) == (0, 0)
    assert (made(api), api.messages) == (1, [])
    api.end_batches = True
    report = run(world, api, give=False)
    assert (report.units, report.observations, report.calls) == (3, 3, 3)
    assert report.cost_usd == pytest.approx(3 * (1000 * 1.0 + 200 * 5.0) / 2 / 1_000_000)
    assert ask(world, BOOKS) == [("done", 1, 1000, 200, 1000)] * 3
    assert ask(world, STATES) == [("done", 3)]
    assert run(world, api).calls == 0
    assert made(api) == 1


def test_results_belong_to_their_units_in_any_order(
    world: scripted.World, api: FakeAnthropic
) -> None:
    run(world, api)
    run(world, api)
    query = "SELECT unit_id, title FROM observations ORDER BY unit_id"
    assert ask(world, query) == [(1, "1 changed"), (2, "2 changed"), (3, "3 changed")]


def test_expired_and_canceled_ones_wait_again_and_errored_ones_count_a_try(
    world: scripted.World,
) -> None:
    ends = [{"error": "expired"}, {"error": "canceled"}, {"error": "errored"}]
    with FakeAnthropic({"replies": ends, "default": reply(9)}) as api:
        run(world, api)
        run(world, api, give=False, max_calls=1)
        query = "SELECT id, attempts FROM work_units ORDER BY id"
        tried = dict(ask(world, query))
        assert tried[3] >= 1
        assert ask(world, BOOKS)[:2] == [("returned", 0, 0, 0, 0)] * 2


@pytest.mark.parametrize("point", ["batch_before_send", "batch_after_send", "batch_after_note"])
def test_a_kill_anywhere_sends_nothing_twice_and_loses_nothing(
    point: str, world: scripted.World, api: FakeAnthropic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CMEM_TEST", "1")
    monkeypatch.setenv("CMEM_FAILPOINT", f"{point}=raise")
    with pytest.raises(RuntimeError):
        run(world, api)
    monkeypatch.delenv("CMEM_FAILPOINT")
    assert ask(world, STATES) == [("batched", 3)]
    sent = point != "batch_before_send"
    assert run(world, api).units == (3 if sent else 0)
    assert made(api) == int(sent)
    later = NOW + batch.SLACK_MS + 1000
    run(world, api, at=later)
    run(world, api, at=later + 1000)
    assert (made(api), ask(world, STATES)) == (1, [("done", 3)])
    assert ask(world, "SELECT count(*) FROM observations") == [(3,)]


def test_a_kill_between_two_results_stores_each_once(
    world: scripted.World, api: FakeAnthropic, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(world, api)
    monkeypatch.setenv("CMEM_TEST", "1")
    monkeypatch.setenv("CMEM_FAILPOINT", "batch_after_result@2=raise")
    with pytest.raises(RuntimeError):
        run(world, api, give=False)
    monkeypatch.delenv("CMEM_FAILPOINT")
    assert ask(world, STATES) == [("batched", 1), ("done", 2)]
    assert run(world, api, give=False).units == 1
    assert ask(world, "SELECT count(*) FROM observations") == [(3,)]


def test_a_lost_answer_is_found_again(world: scripted.World) -> None:
    with FakeAnthropic([{**reply(1), "drop": True}, reply(2), reply(3)]) as api:
        assert run(world, api).reason.startswith("transport: ")
        assert ask(world, STATES) == [("batched", 3)]
        api.end_batches = False
        # It may be the one that is under way, so nothing is decided, however late it is.
        assert run(world, api, at=NOW + 2 * batch.SLACK_MS).units == 0
        api.end_batches = True
        assert run(world, api).units == 3
        assert made(api) == 1


def test_a_batch_that_the_provider_forgot_is_asked_anew(
    world: scripted.World, api: FakeAnthropic
) -> None:
    run(world, api)
    api.batches.clear()
    api.push(reply(4), reply(5), reply(6))
    run(world, api)
    assert made(api) == 2
    assert run(world, api, give=False).units == 3


@pytest.mark.parametrize(
    ("change", "state"),
    [
        ("UPDATE tool_uses SET hidden_at = 1 WHERE turn_id = 2", "pending"),
        ("UPDATE turns SET private = 1, assistant_message = '' WHERE id = 2", "skipped"),
    ],
    ids=["forgotten", "private"],
)
def test_a_reply_to_what_was_forgotten_meanwhile_is_never_stored(
    change: str, state: str, world: scripted.World, api: FakeAnthropic
) -> None:
    api.end_batches = False
    run(world, api)
    ask(world, change)
    api.end_batches = True
    # Nothing is left of today's calls, so that the unit is not asked anew at once.
    run(world, api, give=False, limits=budget.Limits(1, 0))
    assert ask(world, "SELECT title FROM observations ORDER BY 1") == [
        ("1 changed",),
        ("3 changed",),
    ]
    assert ask(world, "SELECT state FROM work_units WHERE id = 2") == [(state,)]
    assert ask(world, BOOKS)[1] == ("stale", 1, 1000, 200, 1000)


def test_the_budget_holds_for_a_batch_by_half_prices(
    world: scripted.World, api: FakeAnthropic
) -> None:
    report = run(world, api, limits=budget.Limits(1, 0))
    assert report.reason.startswith("daily budget of $0.000001 reached")
    assert ask(world, STATES) == [("batched", 1), ("pending", 2)]


def test_a_refused_batch_leaves_the_units_waiting(world: scripted.World) -> None:
    with FakeAnthropic([], api_key="other") as api:
        report = run(world, api)
    assert report.reason.startswith("auth: 401")
    assert (report.pending, ask(world, STATES)) == (3, [("pending", 3)])


def test_a_summary_waits_for_the_turns_in_a_batch(
    world: scripted.World, api: FakeAnthropic
) -> None:
    conn = world.store()
    conn.execute("UPDATE sessions SET last_event_at = 0")
    conn.close()
    run(world, api)
    conn = world.store()
    assert batches.waiting(conn, "").others == 3
    assert ledger.spent(conn, since=0).calls == 3
    conn.close()
    assert len(api.batches[0]["results"]) == 3


def test_most_calls_bound_a_batch(world: scripted.World, api: FakeAnthropic) -> None:
    run(world, api, max_calls=2)
    assert ask(world, STATES) == [("batched", 2), ("pending", 1)]


def test_only_anthropic_takes_batches(world: scripted.World) -> None:
    chosen = settings.load(str(world.home), env={}, flags={"provider": "extract"}, trusted_env=True)
    with pytest.raises(ConfigError, match="provider extract takes no batches"):
        compress.compress(str(world.home), chosen, compress.Options(batch=True))


def test_status_says_what_is_in_a_batch_since_when(
    world: scripted.World, api: FakeAnthropic
) -> None:
    api.end_batches = False
    run(world, api)
    (world.home / "config.toml").write_text('provider = "anthropic"\napi_key = "dummy"\n')
    health = run_json("status")["health"]
    assert "3 units in a batch since 20" in health and health.count("in a batch") == 1


@pytest.mark.parametrize(
    ("text", "outcome", "said"),
    [
        ("Nothing of note.", "unusable", "unusable: 3 turns in a row got the same: "),
        ("You've hit your usage limit.", "quota", "quota: You've hit your usage limit."),
    ],
)
def test_a_batch_whose_replies_are_all_useless_is_held_against_no_unit(
    text: str, outcome: str, said: str, world: scripted.World
) -> None:
    with FakeAnthropic({"default": {"text": text, "usage": USAGE}}) as api:
        run(world, api)
        report = run(world, api, at=NOW + 1, give=False)
    assert (report.calls, report.pending, report.parked) == (3, 3, 0)
    assert report.reason.startswith(said)
    tries = "SELECT DISTINCT state, attempts, crashes, error FROM work_units"
    assert ask(world, tries) == [("pending", 0, 0, "")]
    assert ask(world, "SELECT outcome, count(*) FROM observer_runs GROUP BY 1") == [(outcome, 3)]
    assert [row[0] for row in ask(world, "SELECT key FROM meta WHERE key = 'pause'")] == ["pause"]


def test_after_that_one_turn_is_sent_until_somebody_is_answered(
    world: scripted.World, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = "SELECT count(*) FROM work_units WHERE state = 'batched'"
    at = NOW
    with FakeAnthropic({"default": {"text": "I would rather not.", "usage": USAGE}}) as api:
        sent = []
        for _ in range(4):
            run(world, api, at=at)
            sent.append(ask(world, waiting)[0][0])
            run(world, api, at=at + 1, give=False)
            at += 4 * 3_600_000
    assert sent == [3, 1, 1, 1]
    with FakeAnthropic([reply(n) for n in range(9)]) as api:
        monkeypatch.setattr(breaker, "fingerprint", lambda _settings: "the same")
        conn = world.store()
        for key in ("pause", "alike"):
            conn.execute(
                "UPDATE meta SET value = json_set(value, '$.fingerprint', 'the same') WHERE key = ?",
                (key,),
            )
        conn.close()
        run(world, api, at=at)
        assert ask(world, waiting) == [(1,)]
        run(world, api, at=at + 1)  # answered: now the others go
    assert ask(world, STATES)[0] == ("batched", 2) or ask(world, waiting)[0][0] >= 2
