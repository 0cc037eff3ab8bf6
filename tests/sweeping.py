"""A hook under strace: every system call it makes on its home, to be killed or failed there.

A first run, undisturbed, tells which calls those are and each one's number among the calls of
its name; a later run has the one of that number disturbed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest
import secret_forms
from capturing import put
from hookrun import argv
from support import clean_env, payload_bytes, run_json, session

from cmem import ingest, spill, spooled
from cmem.store import connection

WAYS = (
    *("first event", "next event", "log to write back", "session start", "secrets to cut"),
    *("too large for a row", "spool of a newer version"),
)
SECRET = secret_forms.FIRST["github"](secret_forms.drawing(9)).encode()
PRIVATE = b"nobody else's business"

_CALL = re.compile(r"^(\w+)\(")


class Way(NamedTuple):
    """One way of an event through the hook: the home as it stands, the event, its payload."""

    name: str
    template: Path
    event: str
    payload: bytes


class Point(NamedTuple):
    """The ``number``-th call of the name; ``early``: made before the hook has begun."""

    call: str
    number: int
    early: bool


def need_strace() -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    done = subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True)
    if done.returncode:
        pytest.skip("strace may not trace here")


def lay(way: Way, home: Path) -> None:
    """The home as it is before the event."""
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(way.template, home, symlinks=True)


def fire(
    way: Way, home: Path, *strace: str, trace: str = os.devnull
) -> subprocess.CompletedProcess[bytes]:
    """The event through the hook, under strace if there are options for it."""
    prefix = ["strace", "-o", trace, *strace] if strace else []
    return subprocess.run(
        [*prefix, *argv(home, way.event)],
        input=way.payload,
        capture_output=True,
        timeout=60,
        cwd=os.environ["HOME"],
        env=clean_env(CMEM_AUTO_COMPRESS="0"),
    )


def points(way: Way, home: Path, trace: Path, *, calls: Iterable[str] = ()) -> list[Point]:
    """Every call that names something in the home, in order; ``calls`` narrows to names."""
    lay(way, home)
    done = fire(way, home, "-y", "-s", "0", trace=str(trace))
    assert done.returncode == 0, done
    wanted = frozenset(calls)
    seen = Counter[str]()
    found: list[Point] = []
    early = True
    for row in trace.read_text(encoding="utf-8", errors="replace").split("\n"):
        called = _CALL.match(row)
        if called is None:
            continue
        name = called[1]
        seen[name] += 1
        # The hook's first step into its home is to look at the home itself.
        early = early and f'"{home}", {{' not in row
        if str(home) in row and name != "execve" and (not wanted or name in wanted):
            found.append(Point(name, seen[name], early))
    return found


def kill(point: Point) -> tuple[str, ...]:
    return _inject(point, f"signal=KILL:when={point.number}")


def fail(point: Point, error: str, *, ever_after: bool) -> tuple[str, ...]:
    return _inject(point, f"error={error}:when={point.number}{'+' * ever_after}")


def _inject(point: Point, what: str) -> tuple[str, ...]:
    return ("-e", f"trace={point.call}", "-e", f"inject={point.call}:{what}")


def rows(home: Path) -> list[str]:
    """The names in the spool, of whatever version it is."""
    file = home / "spool.db"
    if not file.exists() or not file.stat().st_size:
        return []
    conn = apsw.Connection(str(file))
    conn.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # the log is part of what is tested
    try:
        return [str(name) for (name,) in conn.execute("SELECT eid FROM spool ORDER BY id")]
    except (apsw.SQLError, apsw.CantOpenError):  # no table yet, or a link in the way
        return []
    finally:
        conn.close()


def kept(home: Path) -> list[str]:
    """The names of all that is kept, rows before files; a name can be among both."""
    return rows(home) + [one.eid for _, one in spill.read(str(home), spill.waiting(str(home)))]


def assert_sound(home: Path) -> None:
    file = home / "spool.db"
    if file.exists() and file.stat().st_size:
        conn = apsw.Connection(str(file))
        assert conn.execute("PRAGMA integrity_check").get == "ok"
        conn.close()


def dropped(home: Path) -> int:
    return spooled.counts(str(home))[2]


def tool(name: str, **changes: object) -> bytes:
    """A tool event of its own name, 4 kB large."""
    return payload_bytes(
        {
            "session_id": "s",
            "cwd": "/nowhere",
            "hook_event_name": "PostToolUse",
            "tool_name": "Bash",
            "tool_use_id": name,
            "tool_input": {"command": "ls"},
            "tool_response": {"stdout": "x" * 4_000},
            **changes,
        }
    )


def drain(home: Path) -> ingest.Ingested:
    """Take everything in that is kept, as ``compress`` does, and say what came of it."""
    now = 1_795_988_493_898
    conn = connection.open_writer(str(home), now=now)
    try:
        return ingest.ingest(str(home), conn, now=now)
    finally:
        conn.close()


def remember(home: Path) -> None:
    """A store with a session in it, and nothing left in the spool."""
    for event, at, payload in session("session-fix-subtract.jsonl"):
        put(home, event, payload, at)
    assert run_json("compress", "--all", CMEM_HOME=str(home))["ingested"]
