"""Transcripts of real sessions, the hooks recorded of the same ones, and what a store holds."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import apsw
from capturing import put

from cmem import ingest, settings
from cmem.hosts.wire import HOSTS
from cmem.importers import run as core
from cmem.importers.wanted import Limits
from cmem.store import codec, connection

FIXTURES = Path(__file__).resolve().parent / "fixtures" / "transcripts"
ALL = Limits()
LATER = 1_798_000_000_000


def copied(name: str, place: Path) -> Path:
    """A copy of one host's sample, long untouched."""
    root = place / name
    shutil.copytree(FIXTURES / name, root)
    return root


def imported(
    home: Path,
    root: Path,
    *,
    host: str = "claude-code",
    limits: Limits = ALL,
    now: int = LATER,
) -> core.Report:
    """Import what lies below ``root``."""
    importer = core.IMPORTERS[host]
    chosen = settings.load(str(home), env={}, flags={}, trusted_env=False)
    return core.run(
        str(home),
        importer,
        core.find(importer, str(root)),
        settings=chosen,
        limits=limits,
        clock=lambda: now,
    )


def hooked(home: Path, path: Path, *, host: str) -> None:
    """Capture and take in a recorded session's hooks."""
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line:
            one = json.loads(line)
            if one["event"] in HOSTS[host].kinds:
                put(home, one["event"], one["stdin"], int(one["t"] * 1000), host=host)
    conn = connection.open_writer(str(home), now=LATER)
    ingest.ingest(str(home), conn, now=LATER)
    ingest.sweep(conn, now=LATER, close_open=False, session=None)
    conn.close()


def held(home: Path) -> list[tuple[Any, ...]]:
    """What the store holds of the past, without numbers and times: turns in order, with their
    prompts, tool uses and units."""
    conn = apsw.Connection(str(home / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    found: list[tuple[Any, ...]] = []
    for session, *about in conn.execute(
        """SELECT s.id, content_session_id, s.cwd, p.name, prompt_counter, status
        FROM sessions s JOIN projects p ON p.id = s.project_id ORDER BY content_session_id"""
    ):
        found.append(("session", *about))
        for turn, *said in conn.execute(
            """SELECT id, kind, private, outcome, closed_by, native_prompt_id, assistant_message,
                error FROM turns WHERE session_id = ? ORDER BY number""",
            (session,),
        ):
            found.append(("turn", *said))
            found += _evidence(conn, turn)
    conn.close()
    return found


def _evidence(conn: apsw.Connection, turn: int) -> list[tuple[Any, ...]]:
    prompts = conn.execute(
        """SELECT 'prompt', prompt_number, kind, prompt_text FROM user_prompts
        WHERE turn_id = ? ORDER BY native_prompt_id, native_prompt_hash""",
        (turn,),
    ).fetchall()
    tools = conn.execute(
        """SELECT 'tool', tool_name, tool_use_id, outcome, prompt_number, agent_id, agent_type, taint,
            tool_input, tool_response FROM tool_uses WHERE turn_id = ? ORDER BY tool_use_id""",
        (turn,),
    ).fetchall()
    units = conn.execute(
        "SELECT 'unit', kind FROM work_units WHERE turn_id = ? ORDER BY kind", (turn,)
    ).fetchall()
    plain = [(*row[:8], codec.unpack(row[8]), codec.unpack(row[9])) for row in tools]
    return [*prompts, *plain, *units]
