"""Captured events without a hook's process, and a store's evidence as readable text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw
from support import payload_bytes

from cmem import eid, spool
from cmem.hosts.wire import HOSTS
from cmem.privacy import gates, scrub
from cmem.store import codec

NO_REPO = ("", "", "", "")


def put(
    home: Path,
    event: str,
    payload: dict[str, Any],
    at: int,
    *,
    repo: tuple[str, str, str, str] = NO_REPO,
    host: str = "claude-code",
) -> bool:
    """Append one event to the spool as the hook does: scrubbed, named, with its columns."""
    wire = HOSTS[host]
    data = payload_bytes(payload)
    if gates.hit(data):
        data = scrub.scrub_payload(data, wire.shape)
    fields = spool.fields(data.decode(), wire.paths)
    assert fields is not None
    name, digest, window = eid.derive(
        host,
        event,
        wire=wire,
        fields=fields,  # type: ignore[arg-type]
        payload=data,
        captured_at=at,
    )
    return spool.append(
        str(home),
        eid=name,
        host=host,
        event=event,
        session=fields[0],
        captured_at=at,
        cwd=fields[5],
        repo=repo,
        project_env="",
        digest=digest,
        window=window,
        payload=data,
    )


def render(conn: apsw.Connection) -> str:
    """Sessions, turns, prompts, tool uses and work units as text, times from the first one."""
    lines: list[str] = []
    for row in conn.execute(
        """SELECT s.id, content_session_id, status, p.name, project_key_source, model,
            prompt_counter, started_at, last_event_at, completed_at
        FROM sessions s JOIN projects p ON p.id = s.project_id ORDER BY s.id"""
    ):
        number, native, status, project, source, model, prompts, started, last, done = row
        lines.append(
            f"session N{number} {native[:8]} {status} project={project} ({source})"
            f" model={model or '-'} prompts={prompts} last={_since(last, started)}"
            f" completed={_since(done, started)}"
        )
        lines += _turns(conn, number, started)
        lines += _units(conn, number)
    return "\n".join(lines) + "\n"


def _turns(conn: apsw.Connection, session: int, zero: int) -> list[str]:
    lines: list[str] = []
    for row in conn.execute(
        """SELECT id, number, kind, private, outcome, closed_by, opened_at, closed_at,
            assistant_message, error FROM turns WHERE session_id = ? ORDER BY number""",
        (session,),
    ):
        turn, number, kind, private, outcome, by, opened, closed, message, error = row
        lines.append(
            f"  turn {number} {kind}{' private' * private} {_since(opened, zero)}"
            f"..{_since(closed, zero)} {outcome} by {by}" + (f" error={error!r}" if error else "")
        )
        lines += _evidence(conn, turn, zero)
        if message:
            lines.append(f"    says {_short(message)}")
    return lines


def _evidence(conn: apsw.Connection, turn: int, zero: int) -> list[str]:
    found: list[tuple[int, str]] = []
    for at, kind, number, text in conn.execute(
        """SELECT created_at, kind, prompt_number, prompt_text FROM user_prompts
        WHERE turn_id = ? ORDER BY created_at, id""",
        (turn,),
    ):
        found.append((at, f"prompt {number} {kind} {_short(text)}"))
    for row in conn.execute(
        """SELECT created_at, tool_name, outcome, prompt_number, agent_type, taint, tool_input,
            tool_response FROM tool_uses WHERE turn_id = ? ORDER BY created_at, id""",
        (turn,),
    ):
        at, name, outcome, number, agent, taint, tool_input, response = row
        who = f" by {agent}" if agent else ""
        given, got = _short(codec.unpack(tool_input)), _short(codec.unpack(response))
        found.append((at, f"tool {name} {outcome} {taint} P{number}{who} {given} -> {got}"))
    return [
        f"    {_since(at, zero)} {text}" for at, text in sorted(found, key=lambda item: item[0])
    ]


def _units(conn: apsw.Connection, session: int) -> list[str]:
    rows = conn.execute(
        """SELECT u.kind, t.number, u.state, u.reason FROM work_units u
        JOIN turns t ON t.id = u.turn_id WHERE u.session_id = ? ORDER BY u.id""",
        (session,),
    )
    return [f"  unit {kind} turn={turn} {state} ({reason})" for kind, turn, state, reason in rows]


def _since(at: int | None, zero: int) -> str:
    return "-" if at is None else f"{(at - zero) / 1000:+.3f}"


def _short(text: str) -> str:
    shown = text if len(text) <= 100 else f"{text[:80]}…{text[-20:]}"
    return json.dumps(shown, ensure_ascii=False)
