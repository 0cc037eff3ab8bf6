"""What the recorded sessions cost stays within its limits."""

from __future__ import annotations

import subprocess
import sys

from support import ROOT, clean_env


def test_the_recorded_sessions_stay_within_the_limits() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "bench_cost.py"), "--check"],
        env=clean_env(),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.split("\n")
    assert lines[0].startswith("| session | events | turns | observation calls |")
    assert any(line.startswith("| all | ") for line in lines)
    assert any(line.startswith("Prefixes of observation requests: 1 different") for line in lines)
