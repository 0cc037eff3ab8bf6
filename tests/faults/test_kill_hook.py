"""kill -9 at any moment: what was acknowledged is there, nothing is doubled or torn."""

from __future__ import annotations

import os
import random
import subprocess
import time
from pathlib import Path

import apsw
from hookrun import argv, entries, ready
from support import clean_env, payload_bytes

from cmem import spill, spooled

# 30 by default; a nightly run sets 2000.
KILLS = int(os.environ.get("CMEM_KILLS", "30"))


def event(number: int) -> bytes:
    return payload_bytes(
        {
            "session_id": "s",
            "cwd": "/nowhere",
            "tool_use_id": f"t{number}",
            "tool_response": {"stdout": "x" * 4000},
        }
    )


def kept(home: Path) -> list[str]:
    rows = [entry.eid for entry in entries(home)]
    return rows + [entry.eid for _, entry in spill.read(str(home), spill.waiting(str(home)))]


def assert_sound(home: Path) -> None:
    file = home / "spool.db"
    if file.exists() and file.stat().st_size:
        conn = apsw.Connection(str(file))
        assert conn.execute("PRAGMA integrity_check").get == "ok"
        conn.close()


def test_killed_at_random_moments(home: Path) -> None:
    ready(home)
    rng = random.Random(5)
    acknowledged = []
    for number in range(KILLS):
        process = subprocess.Popen(
            argv(home, "PostToolUse"),
            stdin=subprocess.PIPE,
            env=clean_env(CMEM_AUTO_COMPRESS="0"),
        )
        assert process.stdin is not None
        process.stdin.write(event(number))
        process.stdin.close()
        time.sleep(rng.uniform(0.0005, 0.06))
        process.kill()
        if process.wait() == 0:
            acknowledged.append(f"claude-code:s:t:t{number}")
    found = kept(home)
    assert set(acknowledged) <= set(found)
    assert len(found) == len(set(found))
    assert_sound(home)
    # The host's second try of everything meets what is there already.
    for number in range(0, KILLS, max(1, KILLS // 5)):
        subprocess.run(
            argv(home, "PostToolUse"),
            input=event(number),
            check=True,
            env=clean_env(CMEM_AUTO_COMPRESS="0"),
        )
        assert kept(home).count(f"claude-code:s:t:t{number}") == 1
    assert spooled.counts(str(home))[2] == 0
