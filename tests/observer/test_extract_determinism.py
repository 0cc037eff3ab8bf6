"""The same turns give the same rows, whatever the process is started with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support import clean_env

HERE = Path(__file__).resolve().parent
TELL = """
import sys
sys.path[:0] = sys.argv[1:]
import conftest, heldout, making, planted
from support import SESSIONS
for name in SESSIONS:
    sys.stdout.write(conftest.render_session(conftest.turns_of(name)))
for sessions in (planted.SESSIONS, heldout.SESSIONS):
    for session in sessions.values():
        sys.stdout.write(conftest.render_session(making.units(session)))
"""


def told(**env: str) -> bytes:
    places = [str(HERE), str(HERE.parent), str(HERE.parent.parent)]
    done = subprocess.run(
        [sys.executable, "-c", TELL, *places],
        env=clean_env(**env),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def test_neither_hash_seed_nor_time_zone_nor_locale_changes_a_byte() -> None:
    first = told(PYTHONHASHSEED="1", TZ="UTC", PYTHONUTF8="1")
    assert len(first) > 50_000
    assert told(PYTHONHASHSEED="2", TZ="Pacific/Kiritimati", PYTHONUTF8="1") == first
    other = {"LC_ALL": "C", "LANG": "C", "PYTHONIOENCODING": "utf-8"}
    assert told(PYTHONHASHSEED="0", TZ="America/St_Johns", **other) == first
