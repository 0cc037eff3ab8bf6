"""What the rules make of the recorded sessions, whole, as text for people.

``CMEM_GOLDEN=write pytest tests/observer/test_extract_golden.py`` rewrites the files; read the
difference as a colleague who has to work from it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import recorded as other_hosts
from capturing import put
from support import SESSIONS

from cmem import compress, settings
from cmem.store import connection
from cmem.store.rows import rows

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "extract"
WRITE = os.environ.get("CMEM_GOLDEN") == "write"


@pytest.mark.parametrize("name", SESSIONS)
def test_recorded_session(name: str, recorded: Callable[[str], str]) -> None:
    path = GOLDEN / name.replace(".jsonl", ".txt")
    text = recorded(name)
    if WRITE:
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("host", other_hosts.OTHERS)
def test_recorded_session_of_another_host_through_the_store(host: str, home: Path) -> None:
    """From the wire to the rows, as ``cmem compress`` does it."""
    at = 0
    for event, at, payload in other_hosts.session(host):
        put(home, event, payload, at, host=host)
    chosen = settings.load(str(home), env={}, flags={}, trusted_env=False)
    later = at + 3_600_000
    options = compress.Options(close_open=True)
    report = compress.compress(str(home), chosen, options, clock=lambda: later)
    assert (report.provider, report.pending, report.parked) == ("extract", 0, 0)
    path = GOLDEN / f"{host}-session-basic.txt"
    text = stored(home, later)
    if WRITE:
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def stored(home: Path, now: int) -> str:
    """Everything that was made, and why nothing was, as text."""
    conn = connection.open_writer(str(home), now=now)
    skipped = "SELECT kind, error FROM observer_runs WHERE outcome = 'skipped' ORDER BY id"
    lines = [f"{kind} skipped: {reason}" for kind, reason in rows(conn, skipped)]
    made = """SELECT id, type, title, subtitle, narrative, facts, concepts, files_read,
        files_modified, taint FROM observations ORDER BY id"""
    for ref, kind, title, subtitle, narrative, facts, concepts, read, modified, taint in rows(
        conn, made
    ):
        lines += [f"[{kind}] {title}", f"  sub: {subtitle}"]
        lines += [f"  {line}" for line in narrative.splitlines()]
        lines += [f"  * {fact}" for fact in json.loads(facts)]
        lines += [f"  concepts: {concepts}", f"  read: {read}", f"  modified: {modified}"]
        found = "SELECT kind || ref FROM observation_sources WHERE observation_id = ? ORDER BY 1"
        sources = ", ".join(one for (one,) in rows(conn, found, (ref,)))
        lines += [f"  from: {sources} ({taint})", ""]
    names = ("request", "investigated", "learned", "completed", "next_steps", "notes")
    summaries = f"SELECT {', '.join(names)} FROM session_summaries ORDER BY id"
    for values in rows(conn, summaries):
        lines += ["== summary"]
        lines += [f"{name}: {value}" for name, value in zip(names, values, strict=True) if value]
    conn.close()
    return "\n".join([*lines, ""])
