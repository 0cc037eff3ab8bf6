"""A provider that is down for three days, with 5,000 events waiting: nothing is lost, nothing is
used up, it is asked no more than the pauses allow, and all of it is done in order afterwards."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import apsw
import capturing
import pytest
import scripted
import seeding
from fake_anthropic import FakeAnthropic
from support import run_json

from cmem import breaker, budget
from cmem.compress import Options
from cmem.observer.errors import ProviderError
from cmem.store import connection, ledger, pause
from cmem.store.rows import rows

TURNS, TOOLS = 200, 23
EVENTS = TURNS * (TOOLS + 2)
DAYS = 3
START = seeding.T0 + seeding.DAY
HOME = "/home/dev/project"
RECORD = """<observation><type>change</type><title>{title}</title><narrative>Done.</narrative>
<facts><fact>step done</fact></facts></observation>"""


def turn(home: Path, number: int, *, tools: int, at: int) -> None:
    base = {"session_id": "s1", "cwd": HOME, "prompt_id": f"p{number}"}

    def put(event: str, offset: int, **fields: Any) -> None:
        payload = {**base, "hook_event_name": event, **fields}
        assert capturing.put(home, event, payload, at + offset)

    put("UserPromptSubmit", 0, prompt=f"step {number}")
    for tool in range(tools):
        put(
            "PostToolUse",
            tool + 1,
            tool_name="Bash",
            tool_use_id=f"toolu_{number}_{tool}",
            tool_input={"command": f"make step-{number}-{tool}"},
            tool_response={"stdout": "ok", "stderr": ""},
        )
    put("Stop", tools + 1, last_assistant_message=f"Step {number} is done.")


def attempts(conn: apsw.Connection) -> list[tuple[Any, ...]]:
    return rows(conn, "SELECT DISTINCT state, attempts, crashes FROM work_units ORDER BY state")


def test_three_days_without_a_provider(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = scripted.world(home, monkeypatch)
    for number in range(TURNS):
        turn(home, number, tools=TOOLS, at=START - seeding.DAY + number * 60_000)

    def refuse(_unit: object) -> None:
        raise ProviderError("transport", "no usable answer (ConnectError)")

    world.provider.act = refuse
    now, calls, ingested = START, 0, 0
    waits: list[int] = []
    while now < START + DAYS * seeding.DAY:
        report = world.run(now)
        ingested += report.ingested
        assert report.calls == 1, report
        calls += 1
        conn = world.store()
        paused = pause.get(conn)
        assert paused is not None
        waits.append(paused.until - now)
        conn.close()
        # However often hooks start a run meanwhile, nobody is asked before the pause ends.
        if calls < 12:
            assert world.run(paused.until - 1).calls == 0
        now = paused.until
    assert ingested == EVENTS
    first = [breaker.FIRST_PAUSE_MS << step for step in range(9)]
    assert waits == first + [breaker.LONGEST_PAUSE_MS] * (calls - 9)
    assert len(world.provider.asked) == calls < DAYS * 24 + 10
    conn = world.store()
    assert attempts(conn) == [("pending", 0, 0)]
    assert rows(conn, "SELECT outcome, count(*), sum(calls) FROM observer_runs GROUP BY 1") == [
        ("transport", calls, calls)
    ]
    conn.close()
    world.provider.act = lambda _unit: None
    world.provider.asked.clear()
    report = world.run(now, Options(limits=budget.NO_LIMITS))
    done = (report.units, report.observations, report.summaries, report.pending, report.parked)
    assert done == (TURNS + 1, TURNS, 1, 0, 0)
    told = [unit.prompt for unit in world.provider.asked[:-1]]  # type: ignore[union-attr]
    assert told == [f"step {number}" for number in range(TURNS)]
    conn = world.store()
    assert attempts(conn) == [("done", 1, 0)]
    assert rows(conn, "SELECT count(*) FROM tool_uses") == [(TURNS * TOOLS,)]
    assert rows(conn, "PRAGMA integrity_check") == [("ok",)]
    assert pause.get(conn) is None


def chosen(api: FakeAnthropic) -> dict[str, str]:
    return {"CMEM_PROVIDER": "anthropic", "CMEM_BASE_URL": api.url, "CMEM_API_KEY": "dummy"}


def compress(api: FakeAnthropic, **env: str) -> dict[str, Any]:
    found: dict[str, Any] = run_json("compress", **chosen(api), **env)
    return found


def end_pause(home: Path) -> None:
    conn = connection.open_writer(str(home), now=0)
    current = pause.get(conn)
    assert current is not None
    pause.arm(conn, **{**current._asdict(), "until": 1})
    conn.close()


def test_an_outage_of_a_real_server_in_real_runs(home: Path) -> None:
    now = time.time_ns() // 1_000_000
    for number in range(6):
        turn(home, number, tools=2, at=now - 60_000 + number * 1000)
    script = {"replies": [{"status": 503}, {"drop": True}], "default": {"status": 529}}
    with FakeAnthropic(script) as api:
        steps = []
        for _ in range(3):
            report = compress(api)
            assert (report["calls"], report["pending"], report["parked"]) == (1, 6, 0)
            assert compress(api)["calls"] == 0
            conn = connection.open_reader(str(home))
            assert conn is not None
            paused = pause.get(conn)
            assert paused is not None
            steps.append(paused.step)
            assert attempts(conn) == [("pending", 0, 0)]
            conn.close()
            end_pause(home)
        assert steps == [0, 1, 2]
        assert len(api.messages) == 3
    replies = [RECORD.format(title=f"Step {number}") for number in range(6)]
    with FakeAnthropic(replies) as api:
        report = compress(api)
        assert (report["units"], report["pending"], report["calls"]) == (6, 0, 6)
        asked = [call["body"]["messages"][0]["content"] for call in api.messages]
    assert [f"step {number}" in str(text) for number, text in enumerate(asked)] == [True] * 6
    conn = connection.open_reader(str(home))
    assert conn is not None
    outcomes = [call.outcome for call in ledger.calls(conn, since=0)]
    assert outcomes == ["overload", "transport", "overload"] + ["done"] * 6


TOLD: dict[str, tuple[dict[str, Any], str]] = {
    "429": (
        {"status": 429, "message": "slow down", "headers": {"retry-after": "120"}},
        "overload: 429: slow down",
    ),
    "529": ({"status": 529, "message": "Overloaded"}, "overload: 529: Overloaded"),
    "401": ({"status": 401, "message": "invalid x-api-key"}, "auth: 401: invalid x-api-key; "),
    "404": ({"status": 404, "message": "model: nope"}, "config: 404: model: nope; "),
    "quota": (
        {"status": 400, "message": "Your credit balance is too low"},
        "quota: 400: Your credit balance is too low",
    ),
    "too long": (
        {"status": 400, "message": "prompt is too long: 250000 tokens > 200000 maximum"},
        "1 reply could not be used (the request was refused (400): prompt is too long",
    ),
}


@pytest.mark.parametrize("case", TOLD)
@pytest.mark.usefixtures("plugged")
def test_status_tells_the_troubles_of_a_provider_apart(case: str, home: Path) -> None:
    reply, said = TOLD[case]
    now = time.time_ns() // 1_000_000
    turn(home, 1, tools=2, at=now - 60_000)
    with FakeAnthropic([reply]) as api:
        report = compress(api)
    status = run_json("status", **chosen(api))
    if case == "too long":
        assert (status["paused"], report["pending"]) == (None, 2)  # halved, to be tried again
        assert status["health"].startswith(f"ok (2 waiting: {said}")
        return
    assert report["pending"] == 1
    assert status["paused"]["reason"].startswith(said)
    assert said in status["health"]
    waits = (status["paused"]["until"] - now) / 1000
    expected = 120 if case == "429" else 10
    assert expected - 1 < waits < expected + 30


@pytest.mark.usefixtures("plugged")
def test_status_tells_of_a_budget_that_is_reached_until_it_is_raised(home: Path) -> None:
    now = time.time_ns() // 1_000_000
    for number in range(3):
        turn(home, number, tools=1, at=now - 60_000 + number * 1000)
    (home / "config.toml").write_text("daily_tokens = 1_000\n", encoding="utf-8")
    with FakeAnthropic({"replies": [], "default": RECORD.format(title="Step")}) as api:
        first = compress(api)
        assert (first["calls"], first["pending"], first["parked"]) == (1, 2, 0)
        assert first["reason"].startswith("daily budget of 1,000 tokens reached (")
        status = run_json("status")
        assert status["paused"]["until"] == budget.day(now)[1]
        assert status["paused"]["reason"].endswith("`cmem compress --budget none` goes on now")
        assert status["health"].startswith("paused until ")
        assert status["daily_budget"] == {"tokens": 1000, "usd": 1.0}
        assert compress(api)["calls"] == 0
        (home / "config.toml").write_text("daily_tokens = 900_000\n", encoding="utf-8")
        assert run_json("status")["paused"] is None
        assert compress(api)["calls"] == 2
    assert run_json("status")["paused"] is None
