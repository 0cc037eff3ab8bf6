"""``compress`` killed anywhere: every event has one outcome, nothing twice, file intact."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import apsw
import pytest
from support import ROOT, clean_env, payload_bytes, run_hook, run_json, session

KILLS = int(os.environ.get("CMEM_TEST_KILLS", "12"))
POINTS = (
    "after_lock",
    "ingest_before_commit",
    "ingest_after_commit",
    "after_claim",
    "before_call",
    "after_call",
    "in_commit",
    "after_commit",
    "before_maintain",
)


def capture(home: Path, name: str) -> int:
    events = session(name)
    for event, _at, payload in events:
        assert run_hook(home, event, payload_bytes(payload)).returncode == 0
    return len(events)


def start(**env: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "cmem", "compress", "--json"],
        env=clean_env(PYTHONPATH=str(ROOT), **env),
        cwd=os.environ["HOME"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def dump(home: Path) -> dict[str, list[tuple[object, ...]]]:
    """What is remembered, without the numbers that depend on the order of commits."""
    conn = apsw.Connection(str(home / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    tables = {
        "prompts": "SELECT native_prompt_id, prompt_text FROM user_prompts",
        "tools": "SELECT tool_use_id, tool_name, outcome FROM tool_uses",
        "turns": "SELECT number, kind, outcome, assistant_message FROM turns",
        "observations": "SELECT type, title, narrative, facts, occurrence_count FROM observations",
        "summaries": "SELECT request, completed FROM session_summaries",
        "units": "SELECT kind, state, attempts FROM work_units",
    }
    found = {name: sorted(conn.execute(sql).fetchall()) for name, sql in tables.items()}
    assert conn.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    documents = Counter(conn.execute("SELECT kind, ref FROM documents").fetchall())
    assert not documents or max(documents.values()) == 1
    conn.close()
    return found


@pytest.fixture
def expected(home: Path, tmp_path: Path) -> dict[str, list[tuple[object, ...]]]:
    """The memory of an undisturbed run over the same events."""
    other = tmp_path / "undisturbed"
    other.mkdir(mode=0o700)
    capture(other, "session-fix-subtract.jsonl")
    run_json("compress", CMEM_HOME=str(other))
    return dump(other)


def settled(found: dict[str, list[tuple[object, ...]]]) -> dict[str, list[tuple[object, ...]]]:
    """Attempts differ where a claim was killed; what came of it must not."""
    units = sorted((kind, state) for kind, state, _attempts in found["units"])
    return {**found, "units": units}


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("nth", [1, 2, 5])
def test_killed_at_a_failpoint(
    point: str, nth: int, home: Path, expected: dict[str, list[tuple[object, ...]]]
) -> None:
    capture(home, "session-fix-subtract.jsonl")
    start(CMEM_TEST="1", CMEM_FAILPOINT=f"{point}@{nth}=kill").wait(60)
    run_json("compress")
    assert settled(dump(home)) == settled(expected)


def test_killed_at_random_with_two_compressors(
    home: Path, expected: dict[str, list[tuple[object, ...]]]
) -> None:
    capture(home, "session-fix-subtract.jsonl")
    dice = random.Random(7)
    for _ in range(KILLS):
        pair = [start(), start()]
        time.sleep(dice.uniform(0.02, 0.6))
        for process in pair:
            process.kill()
        for process in pair:
            process.wait(30)
    run_json("compress")
    assert settled(dump(home)) == settled(expected)
