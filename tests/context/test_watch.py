"""What has stopped is told when a session starts, in one line, for the reasons for which
``cmem status`` ends with 1."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import capturing
import hookrun
import pytest
import samples
from support import payload_bytes, run_cmem

from cmem import paths, spill, spooled
from cmem.context import watch

HOUR = 3_600_000
START = {"session_id": "s9", "source": "startup", "cwd": "/src/calc"}


def now() -> int:
    return time.time_ns() // 1_000_000


def in_spool(home: Path, hours: int) -> None:
    payload = {"session_id": "s1", "prompt_id": "p1", "cwd": "/src/calc", "prompt": "hello"}
    capturing.put(home, "UserPromptSubmit", payload, now() - hours * HOUR)


def spilled(home: Path, hours: int) -> None:
    at = now() - hours * HOUR
    payload = b'{"session_id":"s1","tool_use_id":"t"}'
    spill.write(str(home), host="claude-code", event="PostToolUse", captured_at=at, payload=payload)


def config(home: Path, text: str) -> None:
    (home / "config.toml").write_text(text, encoding="utf-8")


LATE = "captured events have not been stored for 2 days: run `cmem compress`"
CASES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "all is well": (lambda _home: None, ""),
    "a day in the spool": (lambda home: in_spool(home, 23), ""),
    "two days in the spool": (lambda home: in_spool(home, 50), LATE),
    "a day in a file": (lambda home: spilled(home, 23), ""),
    "two days in a file": (lambda home: spilled(home, 50), LATE),
    "no TOML": (
        lambda home: config(home, "provider = "),
        "config.toml cannot be read; `cmem status` says what is wrong with it",
    ),
    "a list of the past": (lambda home: config(home, '[x]\ny = "z"\n# exclude\n'), ""),
}


@pytest.mark.parametrize("block", [True, False], ids=["with a block", "without"])
@pytest.mark.parametrize("case", CASES)
def test_a_session_that_starts_is_told(home: Path, case: str, *, block: bool) -> None:
    make, said = CASES[case]
    if block:
        samples.calc(home).close()
    make(home)
    hookrun.ready(home)
    done = hookrun.fire(home, "SessionStart", payload_bytes(START))
    document = json.loads(done.stdout)
    told = document.get("systemMessage", "")
    assert told.startswith(
        "cmem is on" if not said and not block else f"cmem: {said}"[: 999 * bool(said)]
    )
    assert ("hookSpecificOutput" in document) is block


@pytest.mark.parametrize("case", [name for name in CASES if CASES[name][1]])
def test_status_ends_with_1_for_the_same(home: Path, case: str) -> None:
    CASES[case][0](home)
    done = run_cmem("status", "--json")
    assert done.returncode == 1
    health = json.loads(done.stdout)["health"]
    wanted = "could not read settings: " if case == "no TOML" else "1 captured event has not been"
    assert health.startswith(wanted)


def test_a_home_that_takes_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch.os, "access", lambda _path, _mode: False)
    assert watch.outside(str(home), oldest=None, now=0) == (
        f"nothing is kept, because {home} cannot be written to: run `cmem doctor`"
    )


def test_a_home_that_cannot_be_used(home: Path) -> None:
    hookrun.ready(home)
    home.chmod(0o777)
    done = hookrun.fire(home, "SessionStart", payload_bytes(START))
    message = f"cmem: nothing is kept, because {home} cannot be used: run `cmem doctor`"
    assert json.loads(done.stdout) == {"systemMessage": message}
    home.chmod(0o700)
    assert spooled.counts(str(home)) == (0, 0, 1)
    assert Path(paths.dropped_file(str(home))).stat().st_size == 1


def test_a_spool_that_has_just_told_something_is_not_looked_into(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file lies there after every event that is too large, until the next drain."""
    spilled(home, 1)
    monkeypatch.setitem(sys.modules, "cmem.spool_check", None)  # importing it would raise
    monkeypatch.delattr("cmem.spool_check", raising=False)
    assert watch.outside(str(home), oldest=now() - 2 * HOUR, now=now()) == ""
    assert watch.outside(str(home), oldest=now() - 50 * HOUR, now=now()) == f"{LATE}"
    with pytest.raises(ImportError):
        watch.outside(str(home), oldest=None, now=now())
