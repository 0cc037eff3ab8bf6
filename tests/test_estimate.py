"""What a run would take, told before: by project, by today's budget, and by the number of calls."""

from __future__ import annotations

import time
from pathlib import Path

import apsw
import capturing
import pytest
import seeding

from cmem import breaker, budget, estimate, settings
from cmem.budget import Limits
from cmem.settings import Settings
from cmem.store import ledger, pause


def add(conn: apsw.Connection, project: str, turns: int) -> None:
    session = seeding.add_session(conn, project, project=project)
    for number in range(1, turns + 1):
        turn = seeding.add_turn(conn, session, number)
        seeding.add_tool(conn, turn)
        seeding.add_unit(conn, turn)


@pytest.fixture
def filled(home: Path) -> Path:
    conn = seeding.open_store(home)
    add(conn, "calc", 2)
    add(conn, "tally", 3)
    conn.close()
    return home


def chosen(home: Path, **flags: str) -> Settings:
    flags = {"provider": "anthropic", **flags}
    return settings.load(str(home), env={}, flags=flags, trusted_env=True)


def test_rules_take_nothing(filled: Path) -> None:
    found = estimate.estimate(str(filled), chosen(filled, provider="extract"))
    assert (found.units, found.calls, found.input_tokens, found.cost_usd) == (5, 0, 0, 0.0)
    assert (found.model, found.now, found.left, found.reason) == ("", 0, 0, "")


def test_a_model_takes_a_call_for_each_unit_and_projects_add_up(filled: Path) -> None:
    found = estimate.estimate(str(filled), chosen(filled))
    assert (found.model, found.units, found.calls) == ("claude-haiku-4-5", 5, 5)
    assert [(one.project, one.units) for one in found.projects] == [("tally", 3), ("calc", 2)]
    assert sum(one.input_tokens for one in found.projects) == found.input_tokens > 5 * 500
    assert found.output_tokens == 5 * estimate.REPLY_TOKENS
    assert found.cost_usd == pytest.approx((found.input_tokens + 5 * found.output_tokens) / 1e6)
    assert (found.now, found.left, found.reason) == (5, 0, "")


def test_the_price_of_an_unknown_model_is_unknown(filled: Path) -> None:
    found = estimate.estimate(str(filled), chosen(filled, model="qwen3-coder"))
    assert (found.calls, found.cost_usd) == (5, None)
    assert {one.cost_usd for one in found.projects} == {None}


def test_what_todays_budget_leaves_waiting_is_told(filled: Path) -> None:
    each = estimate.estimate(str(filled), chosen(filled)).input_tokens // 5 + 600
    now = time.time_ns() // 1_000_000
    conn = seeding.open_store(filled)
    expected = ledger.Expected("anthropic", "m", each, 0, 1)
    for _ in range(2):
        ledger.start(conn, 1, expected, now=now)
    conn.close()
    limits = Limits(0, 4 * each + each // 2)
    found = estimate.estimate(str(filled), chosen(filled), limits=limits)
    assert (found.now, found.left) == (2, 3)
    assert found.reason == (
        f"daily budget of {limits.tokens:,} tokens leaves no room for the next call "
        f"({_spent(filled, now, found):,} used today, 2 planned calls among it)"
    )


def _spent(home: Path, now: int, found: estimate.Estimate) -> int:
    """Today's tokens with those of the calls that still fit."""
    conn = seeding.open_store(home)
    spent = ledger.spent(conn, since=budget.day(now)[0]).tokens
    conn.close()
    return spent + 2 * (found.input_tokens + found.output_tokens) // 5


def test_a_pause_leaves_everything_waiting(filled: Path) -> None:
    conn = seeding.open_store(filled)
    until = time.time_ns() // 1_000_000 + 60_000
    for mark, now in (("of other settings", 5), (breaker.fingerprint(chosen(filled)), 0)):
        pause.arm(conn, reason="auth: 401", until=until, step=0, fingerprint=mark)
        found = estimate.estimate(str(filled), chosen(filled))
        assert (found.calls, found.now, found.left) == (5, now, 5 - now)
        assert found.reason == ("" if now else "paused: auth: 401")
    conn.close()


def test_the_number_of_calls_bounds_it_too(filled: Path) -> None:
    found = estimate.estimate(str(filled), chosen(filled), max_calls=4)
    assert (found.now, found.left, found.reason) == (4, 1, "at most 4 calls in one run")


def test_without_a_store_there_is_nothing_to_weigh(home: Path) -> None:
    found = estimate.estimate(str(home), chosen(home))
    assert (found.spool, found.units, found.calls, found.projects) == (0, 0, 0, ())
    assert list(home.iterdir()) == []


def test_what_is_captured_and_not_taken_in_counts_by_its_size(home: Path) -> None:
    """A turn that has ended, one that its session's end has ended, one that runs."""
    base = {"cwd": "/home/dev/project"}
    put = lambda session, event, at, **fields: capturing.put(
        home, event, {**base, "session_id": session, "hook_event_name": event, **fields}, at
    )
    long = "word " * 2_000
    assert put("a", "UserPromptSubmit", 1, prompt="fix it", prompt_id="p1")
    assert put(
        *("a", "PostToolUse", 2),
        tool_name="Bash",
        tool_use_id="t1",
        tool_input={"command": "make"},
        tool_response={"stdout": long, "stderr": ""},
    )
    assert put("a", "Stop", 3, last_assistant_message="Done.")
    assert put("b", "UserPromptSubmit", 4, prompt="another", prompt_id="p2")
    assert put("b", "SessionEnd", 5, reason="exit")
    assert put("c", "UserPromptSubmit", 6, prompt="a third", prompt_id="p3")
    found = estimate.estimate(str(home), chosen(home))
    assert (found.spool, found.units, found.calls) == (6, 4, 4)  # two turns and two summaries
    assert 4 * 1_000 + 2_000 < found.input_tokens < 4 * 2_000 + 4_000
    assert found.cost_usd is not None
    assert found.cost_usd > 0.005
    assert [share.project for share in found.projects] == ["(not taken in yet)"]
    unknown = chosen(home)._replace(model="nobody-knows")
    assert estimate.estimate(str(home), unknown).cost_usd is None
