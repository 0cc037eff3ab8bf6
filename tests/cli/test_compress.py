"""``cmem compress`` as a person meets it: dry run, budget, progress."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
import seeding
from support import ROOT, clean_env, run_cmem, run_json

from cmem.budget import dollars
from cmem.cli import compress as command
from cmem.observe import Tally

MODEL = {"CMEM_PROVIDER": "anthropic", "CMEM_API_KEY": "dummy"}


@pytest.fixture
def filled(home: Path) -> Path:
    conn = seeding.open_store(home)
    for project in ("calc", "記憶"):
        session = seeding.add_session(conn, project, project=project)
        turn = seeding.add_turn(conn, session)
        seeding.add_tool(conn, turn)
        seeding.add_unit(conn, turn)
    conn.close()
    return home


def test_a_dry_run_asks_nobody_and_tells_what_it_would_cost(filled: Path) -> None:
    before = (filled / "memory.db").read_bytes()
    done = run_cmem("compress", "--dry-run", "--max-calls", "1", **MODEL)
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().split("\n")
    assert lines[0] == (
        "0 captured events to take in, 2 units to observe with anthropic claude-haiku-4-5."
    )
    assert lines[1].startswith("About 2 calls with ") and lines[1].endswith(".")
    assert sorted(line.partition(":")[0] for line in lines[2:4]) == ["- calc", "- 記憶"]
    assert lines[4] == ("Today 1 call of them; 1 unit would wait: at most 1 call in one run.")
    found = run_json("compress", "--dry-run", **MODEL)
    assert (found["dry_run"], found["calls"], found["now"], found["left"]) == (True, 2, 2, 0)
    assert [one["units"] for one in found["projects"]] == [1, 1]
    assert (filled / "memory.db").read_bytes() == before


@pytest.mark.parametrize("given", ["plenty", "-1", "$5k"])
def test_a_budget_that_is_none_is_a_usage_error(given: str) -> None:
    done = run_cmem("compress", f"--budget={given}")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(f"cmem: cannot read --budget '{given}': give dollars".encode())


@pytest.mark.parametrize(
    ("tally", "seconds", "said"),
    [
        (Tally(), 1.0, ""),
        (Tally(units=5), 10.0, "30 a minute"),
        (Tally(units=6, calls=6, microusd=12_300), 60.0, f"{dollars(12_300)}  6 a minute"),
        (Tally(units=1), 0.0, "60,000 a minute"),
    ],
)
def test_the_pace_tells_money_and_rate(tally: Tally, seconds: float, said: str) -> None:
    assert command._pace(tally, seconds) == said


def on_a_terminal(*words: str, **env: str) -> tuple[int, str, bytes]:
    """Exit code, what the terminal saw on stderr, and stdout."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "cmem", "compress", *words],
        env=clean_env(PYTHONPATH=str(ROOT), TERM="xterm-256color", COLUMNS="60", **env),
        cwd=os.environ["HOME"],
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    seen = b""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if select.select([ours], [], [], 0.2)[0]:
            try:
                chunk = os.read(ours, 65536)
            except OSError:
                break
            if not chunk:
                break
            seen += chunk
    out, _ = process.communicate(timeout=60)
    os.close(ours)
    return process.returncode, seen.decode("utf-8", "replace"), out


def test_a_terminal_sees_how_far_it_is(filled: Path) -> None:
    slow = {"CMEM_TEST": "1", "CMEM_FAILPOINT": "before_call@2=sleep:700"}
    code, seen, out = on_a_terminal(**slow)
    assert code == 0
    assert "observing" in seen
    assert "1/4" in seen  # two turns, and the summaries of two idle sessions
    assert "a minute" in seen
    assert out.startswith(b"Ingested 0 events; extract made ")


def test_a_program_that_reads_json_is_told_nothing_else(filled: Path) -> None:
    code, seen, out = on_a_terminal("--json")
    assert (code, seen) == (0, "")
    assert out.startswith(b'{"ingested": 0, "units": ')
