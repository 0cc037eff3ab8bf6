"""Runs whose provider fails or is cut off: what ``status`` says of it, and what is left."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from fake_anthropic import FakeAnthropic
from hookrun import fire, line, ready
from support import clean_env, payload_bytes, run_json

from cmem import lock, paths


def capture(home: Path) -> None:
    base = {"session_id": "s1", "cwd": os.environ["HOME"], "prompt_id": "p1"}
    for event, more in (
        ("UserPromptSubmit", {"prompt": "Hello."}),
        ("Stop", {"last_assistant_message": "Hi."}),
    ):
        fire(home, event, payload_bytes({"hook_event_name": event, **base, **more}))


CLASSES: dict[str, tuple[Any, str, tuple[float, float]]] = {
    "401": (
        {"status": 401, "message": "no such key"},
        "auth: 401: no such key; check api_key",
        (5, 10),
    ),
    "404": (
        {"status": 404, "message": "model: x"},
        "config: 404: model: x; check the settings",
        (5, 10),
    ),
    "429": (
        {"status": 429, "headers": {"retry-after": "600"}, "message": "slow down"},
        "overload: 429: slow down",
        (590, 600),
    ),
    "429 for a week": (
        {"status": 429, "headers": {"retry-after": "604800"}, "message": "usage limit reached"},
        "quota: 429: usage limit reached",
        (3590, 3600),
    ),
    "529": ({"status": 529, "message": "busy"}, "overload: 529: busy", (5, 10)),
}


@pytest.mark.parametrize("case", CLASSES)
def test_status_tells_failures_apart_and_until_when(case: str, home: Path) -> None:
    reply, reason, seconds = CLASSES[case]
    ready(home)
    capture(home)
    with FakeAnthropic([reply]) as api:
        (home / "config.toml").write_text(
            f'provider = "anthropic"\napi_key = "mine"\nbase_url = "{api.url}"\n'
        )
        begin = time.time()
        report = run_json("compress")
        took = time.time() - begin
    assert (report["pending"], report["parked"]) == (1, 0)
    paused = run_json("status")["paused"]
    assert paused["reason"].startswith(reason)
    left = paused["until"] / 1000 - begin
    assert seconds[0] <= left <= seconds[1] + took


def test_status_tells_of_a_request_that_is_too_long(home: Path) -> None:
    ready(home)
    capture(home)
    with FakeAnthropic([{"status": 400, "message": "prompt is too long"}]) as api:
        (home / "config.toml").write_text(
            f'provider = "anthropic"\napi_key = "mine"\nbase_url = "{api.url}"\n'
        )
        report = run_json("compress")
    assert "the request was refused (400): prompt is too long" in report["reason"]
    status = run_json("status")
    assert status["paused"] is None
    assert "prompt is too long" in status["health"]


def test_no_other_provider_takes_the_place_of_one_that_fails(home: Path) -> None:
    ready(home)
    capture(home)
    with FakeAnthropic({"replies": [], "default": "x"}) as api:
        (home / "config.toml").write_text(
            f'provider = "command"\ncommand = "/bin/false"\napi_key = "mine"\nbase_url = "{api.url}"\n'
        )
        report = run_json("compress")
        assert api.requests == []
    assert (report["provider"], report["observations"], report["pending"]) == ("command", 0, 1)
    assert report["reason"] == "transport: /bin/false ended with 1"


def test_a_run_that_is_killed_leaves_the_lock_to_the_next(
    home: Path, program: Any, tmp_path: Path
) -> None:
    ready(home)
    path = program(
        """
open(SEEN + "/pids", "a").write(f"{os.getppid()} {os.getpid()}\\n")
if os.path.exists(SEEN + "/again"):
    print('<skip_summary reason="nothing"/>')
else:
    time.sleep(60)
"""
    )
    (home / "config.toml").write_text(f'provider = "command"\ncommand = "{path}"\n')
    capture(home)
    subprocess.run(
        ["/bin/sh", "-c", line(home, "SessionEnd")],
        input=payload_bytes({"hook_event_name": "SessionEnd", "session_id": "s1", "reason": "x"}),
        env=clean_env(),
        timeout=30,
        check=True,
    )
    pids = tmp_path / "pids"
    deadline = time.monotonic() + 30
    while not (pids.exists() and pids.read_text().endswith("\n")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    drain, child = (int(word) for word in pids.read_text().split())
    try:
        os.kill(drain, signal.SIGKILL)
        fd = lock.acquire(paths.lock_file(str(home)), wait_ms=1000)
        assert fd is not None  # the program that still runs does not hold it
        lock.release(fd)
        (tmp_path / "again").touch()
        report = run_json("compress")
        assert (report["pending"], report["parked"]) == (0, 0)
    finally:
        os.killpg(child, signal.SIGKILL)
