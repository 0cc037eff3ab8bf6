"""``CMEM_PROVIDER=anthropic`` end to end against the scripted Messages server."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_anthropic import FakeAnthropic
from support import payload_bytes, run_hook, run_json

OBSERVATION = """<observation><type>bugfix</type><title>Retry limit raised to {n}</title>
<subtitle>deploy script</subtitle><facts><fact>MAX_RETRIES is now {n}</fact></facts>
<narrative>The deploy gave up too early, so the limit went up to {n}.</narrative>
<concepts><concept>problem-solution</concept></concepts></observation>"""
SUMMARY = """<summary><request>Make the deploy patient</request><investigated>retries</investigated>
<learned>the server needs a minute</learned><completed>limit raised</completed>
<next_steps>watch it</next_steps></summary>"""


def turn(session: str, n: int) -> list[tuple[str, dict[str, Any]]]:
    base = {
        "session_id": session,
        "cwd": "/home/dev/project",
        "transcript_path": "/nowhere.jsonl",
        "prompt_id": f"prompt-{n}",
    }
    return [
        ("UserPromptSubmit", {**base, "prompt": f"Please raise the retry limit to {n}."}),
        (
            "PostToolUse",
            {
                **base,
                "tool_name": "Edit",
                "tool_use_id": f"toolu_{session}_{n}_a",
                "tool_input": {
                    "file_path": "/home/dev/project/deploy.py",
                    "old_string": "MAX_RETRIES = 1",
                    "new_string": f"MAX_RETRIES = {n}",
                },
                "tool_response": {"filePath": "/home/dev/project/deploy.py"},
            },
        ),
        (
            "PostToolUse",
            {
                **base,
                "tool_name": "Bash",
                "tool_use_id": f"toolu_{session}_{n}_b",
                "tool_input": {"command": "python3 deploy.py --dry-run"},
                "tool_response": {"stdout": f"would retry {n} times", "stderr": ""},
            },
        ),
        ("Stop", {**base, "last_assistant_message": f"The limit is {n} now."}),
    ]


def capture(home: Path, events: list[tuple[str, dict[str, Any]]]) -> None:
    for event, payload in events:
        full = {"hook_event_name": event, **payload}
        assert run_hook(home, event, payload_bytes(full)).returncode == 0


def end(session: str) -> list[tuple[str, dict[str, Any]]]:
    payload = {"session_id": session, "cwd": "/home/dev/project", "reason": "other"}
    return [("SessionEnd", payload)]


@pytest.fixture
def compress() -> Callable[[FakeAnthropic], dict[str, Any]]:
    def run(api: FakeAnthropic, *args: str, **env: str) -> dict[str, Any]:
        report: dict[str, Any] = run_json("compress", *args, **(settings(api) | env))
        return report

    return run


def settings(api: FakeAnthropic) -> dict[str, str]:
    return {"CMEM_PROVIDER": "anthropic", "CMEM_BASE_URL": api.url, "CMEM_API_KEY": "dummy"}


def counts(report: dict[str, Any]) -> tuple[int, ...]:
    keys = ("observations", "summaries", "skipped", "pending", "parked", "calls")
    return tuple(report[key] for key in keys)


def wait_for_pause() -> None:
    """Let the pause that a failed run armed pass by moving its end into the past."""
    from cmem.store import connection, pause

    conn = connection.open_writer(os.environ["CMEM_HOME"], now=0)
    current = pause.get(conn)
    assert current is not None
    pause.arm(
        conn,
        reason=current.reason,
        until=1,
        step=current.step,
        fingerprint=current.fingerprint,
    )
    conn.close()


def test_one_call_per_closed_turn_and_one_summary(home: Path, compress: Any) -> None:
    capture(home, turn("s1", 3) + turn("s1", 5) + end("s1"))
    replies = [OBSERVATION.format(n=3), OBSERVATION.format(n=5), SUMMARY]
    with FakeAnthropic(replies) as api:
        report = compress(api)
        assert counts(report) == (2, 1, 0, 0, 0, 3)
        assert report["ingested"] == 9
        assert report["input_tokens"] > 0 and report["output_tokens"] > 0
        bodies = [str(call["body"]["messages"]) for call in api.messages]
        items = [body.count("<observed_from_primary_session>") for body in bodies]
        assert items == [2, 2, 0]
        assert counts(compress(api)) == (0, 0, 0, 0, 0, 0)
    titles = {hit["title"] for hit in run_json("search", "retry limit", "--all")["hits"]}
    assert {"Retry limit raised to 3", "Retry limit raised to 5"} <= titles


REPLIES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "observation": (OBSERVATION.format(n=3), (1, 0, 0, 0, 0, 1)),
    "several": (OBSERVATION.format(n=3) + OBSERVATION.format(n=4), (2, 0, 0, 0, 0, 1)),
    "skip": ('<skip_summary reason="routine"/>', (0, 0, 1, 0, 0, 1)),
    "fenced": ("```xml\n" + OBSERVATION.format(n=3) + "\n```", (1, 0, 0, 0, 0, 1)),
}


@pytest.mark.parametrize("case", REPLIES)
def test_reply_that_counts_ends_the_unit(case: str, home: Path, compress: Any) -> None:
    reply, expected = REPLIES[case]
    capture(home, turn("s1", 3))
    with FakeAnthropic([reply]) as api:
        assert counts(compress(api)) == expected


def test_prose_leaves_the_work_pending_and_the_next_runs_finish_it(
    home: Path, compress: Any
) -> None:
    capture(home, turn("s1", 3))
    with FakeAnthropic(["Sorry, nothing of that can be written down."]) as api:
        assert counts(compress(api)) == (0, 0, 0, 2, 0, 1)  # halved: two tools, two units
    assert run_json("status")["paused"] is None
    with FakeAnthropic([OBSERVATION.format(n=3), '<skip_summary reason="seen"/>']) as api:
        assert counts(compress(api)) == (1, 0, 1, 0, 0, 2)


FAULTS: dict[str, Any] = {
    "529": {"status": 529},
    "401": {"status": 401},
    "429": {"status": 429, "headers": {"retry-after": "60"}},
    "500": {"status": 500},
    "cut": {"text": OBSERVATION.format(n=3), "cut": 40},
    "drop": {"drop": True},
    "html": {"raw": "<html>gateway</html>", "content_type": "text/html"},
}


@pytest.mark.parametrize("case", FAULTS)
def test_provider_fault_loses_nothing_and_a_later_run_finishes(
    case: str, home: Path, compress: Any
) -> None:
    capture(home, turn("s1", 3) + turn("s1", 5))
    with FakeAnthropic([FAULTS[case]]) as api:
        report = compress(api)
        assert counts(report) == (0, 0, 0, 2, 0, 1)
        assert report["reason"]
        assert len(api.messages) == 1
    assert run_json("status", **settings(api))["paused"]["reason"]
    wait_for_pause()
    with FakeAnthropic([OBSERVATION.format(n=3), OBSERVATION.format(n=5)]) as api:
        assert counts(compress(api)) == (2, 0, 0, 0, 0, 2)
    assert run_json("status")["paused"] is None


def test_a_pause_is_obeyed_and_other_settings_are_not_bound_by_it(
    home: Path, compress: Any
) -> None:
    capture(home, turn("s1", 3))
    with FakeAnthropic([{"status": 429, "headers": {"retry-after": "600"}}]) as api:
        compress(api)
        assert counts(compress(api)) == (0, 0, 0, 1, 0, 0)
        assert len(api.messages) == 1
    with FakeAnthropic([OBSERVATION.format(n=3)]) as api:
        assert counts(compress(api, CMEM_API_KEY="another")) == (1, 0, 0, 0, 0, 1)


def test_missing_credential_arms_no_pause_and_ingests(home: Path, compress: Any) -> None:
    capture(home, turn("s1", 3))
    with FakeAnthropic([OBSERVATION.format(n=3)]) as api:
        report = compress(api, CMEM_API_KEY="")
        assert (report["ingested"], report["pending"], report["calls"]) == (4, 1, 0)
        assert "api_key" in report["reason"]
        assert run_json("status")["paused"] is None
        assert counts(compress(api)) == (1, 0, 0, 0, 0, 1)


def test_a_single_event_is_parked_at_its_fifth_unusable_reply(home: Path, compress: Any) -> None:
    events = turn("s1", 3)
    capture(home, [events[0], events[1], events[3]])
    with FakeAnthropic({"replies": [], "default": "I cannot help with that."}) as api:
        seen = [counts(compress(api)) for _ in range(6)]
    # After the third try something small is asked beside it: is it the model or the event?
    assert seen[:3] == [(0, 0, 0, 1, 0, 1)] * 3
    assert seen[3:] == [(0, 0, 0, 1, 0, 2), (0, 0, 0, 0, 1, 2), (0, 0, 0, 0, 1, 0)]
