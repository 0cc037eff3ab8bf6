"""How a run ends that cannot do all of it: what is kept, and what the user is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from fake_anthropic import FakeAnthropic
from support import ROOT, clean_env, payload_bytes, run_cmem, run_hook, run_json, session

from cmem.observer.providers import PROVIDERS


def capture(home: Path) -> int:
    events = session("session-fix-subtract.jsonl")
    for event, _at, payload in events:
        assert run_hook(home, event, payload_bytes(payload)).returncode == 0
    return len(events)


@pytest.mark.usefixtures("plugged")
def test_unknown_provider_is_said_and_events_are_taken_in(home: Path) -> None:
    capture(home)
    (home / "config.toml").write_text('provider = "antropic"\n', encoding="utf-8")
    done = run_cmem("compress", "--json")
    assert (done.returncode, done.stdout) == (78, b"")
    known = ", ".join(PROVIDERS)
    assert done.stderr == f"cmem: unknown provider: antropic; known: {known}\n".encode()
    status = run_json("status")
    assert status["spool"]["pending"] == 0
    assert status["counts"]["prompts"] == 3
    assert status["health"].startswith("ok (4 waiting: unknown provider: antropic")


def test_settings_that_cannot_be_read_do_not_stop_a_background_run(home: Path) -> None:
    capture(home)
    (home / "config.toml").write_text("provider = \n", encoding="utf-8")
    code = (
        "import sys; from cmem import compress, lock, paths; home = sys.argv[1];"
        "compress.main_background(home, lock.acquire(paths.lock_file(home)))"
    )
    env = clean_env(PYTHONPATH=str(ROOT))
    subprocess.run([sys.executable, "-c", code, str(home)], env=env, check=True, timeout=60)
    (home / "config.toml").unlink()
    status = run_json("status")
    assert status["spool"]["pending"] == 0
    assert "waiting: could not read settings" in status["health"]


@pytest.mark.usefixtures("plugged")
def test_a_missing_key_is_no_secret_to_status(home: Path) -> None:
    capture(home)
    run_json("compress", CMEM_PROVIDER="anthropic", CMEM_BASE_URL="http://127.0.0.1:9")
    assert "api_key" in run_json("status", CMEM_PROVIDER="anthropic")["health"]
    run_json("compress")
    assert run_json("status")["health"] == "ok"


def test_an_unusable_reply_is_explained(home: Path) -> None:
    capture(home)
    with FakeAnthropic({"replies": [], "default": "I would rather not."}) as api:
        report = run_json(
            "compress", CMEM_PROVIDER="anthropic", CMEM_BASE_URL=api.url, CMEM_API_KEY="dummy"
        )
    assert report["pending"] > 0
    told = "unusable: 3 turns in a row got the same: no observation in the reply, only other text"
    assert report["reason"].startswith(told)
    assert f"waiting (the last run asked anthropic): {told}" in run_json("status")["health"]


def test_an_endless_retry_after_is_no_number(home: Path) -> None:
    capture(home)
    fault: dict[str, Any] = {"status": 429, "headers": {"retry-after": "inf"}}
    with FakeAnthropic([fault]) as api:
        settings = {
            "CMEM_PROVIDER": "anthropic",
            "CMEM_BASE_URL": api.url,
            "CMEM_API_KEY": "dummy",
        }
        report = run_json("compress", **settings)
    assert report["reason"].startswith("overload")
    assert run_json("status", **settings)["paused"]["until"] < time.time() * 1000 + 60_000


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_stopped_run_holds_nothing_against_the_unit(
    number: signal.Signals, code: int, home: Path
) -> None:
    capture(home)
    with FakeAnthropic([{"hang": 30}]) as api:
        process = subprocess.Popen(
            [sys.executable, "-m", "cmem", "compress", "--json"],
            env=clean_env(
                PYTHONPATH=str(ROOT),
                CMEM_PROVIDER="anthropic",
                CMEM_BASE_URL=api.url,
                CMEM_API_KEY="dummy",
            ),
            cwd=os.environ["HOME"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A test run in the background inherits an interrupt that is ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        )
        end = time.monotonic() + 30
        while not api.messages and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(number)
        out, _err = process.communicate(timeout=30)
    assert (process.returncode, out) == (code, b"")
    import apsw

    conn = apsw.Connection(str(home / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    found = conn.execute("SELECT DISTINCT state, attempts, crashes FROM work_units").fetchall()
    conn.close()
    assert found == [("pending", 0, 0)]


def test_a_session_nobody_knows_is_refused(home: Path) -> None:
    capture(home)
    run_json("compress")
    done = run_cmem("compress", "--session", "N99")
    said = b"cmem: no such session: N99; `cmem session list` shows which there are\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", said)
