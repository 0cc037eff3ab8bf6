"""Sessions as a list shows them: the newest first, those with nothing to see left out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from cmem.store import projects
from cmem.store.rows import rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

_PROMPT = """coalesce((SELECT r.prompt_text FROM user_prompts r WHERE r.session_id = s.id
    AND r.hidden_at IS NULL AND r.kind = 'user' ORDER BY r.created_at, r.id LIMIT 1), '')"""
_REQUEST = """coalesce((SELECT r.request FROM session_summaries r WHERE r.session_id = s.id
    AND r.hidden_at IS NULL ORDER BY r.created_at DESC, r.id DESC LIMIT 1), '')"""
_SESSIONS = f"""SELECT s.id, s.host, s.content_session_id, p.name, s.title, s.cwd, s.model, s.status,
        s.started_at, s.last_event_at,
        (SELECT count(*) FROM user_prompts r WHERE r.session_id = s.id
            AND r.hidden_at IS NULL AND r.kind = 'user'),
        (SELECT count(*) FROM tool_uses r WHERE r.session_id = s.id AND r.hidden_at IS NULL
            AND r.tool_use_id NOT LIKE 'subagent:%'),
        (SELECT count(*) FROM observations r WHERE r.session_id = s.id
            AND r.hidden_at IS NULL AND r.superseded_by IS NULL),
        {_PROMPT}, {_REQUEST}
    FROM sessions s JOIN projects p ON p.id = {projects.ROOT_OF.format(project="s.project_id")}
    WHERE (?1 IS NULL OR s.project_id IN (SELECT value FROM json_each(?1)))
        AND (?2 IS NULL OR s.last_event_at >= ?2) AND (?3 IS NULL OR s.started_at < ?3)
        AND (?4 = '' OR s.host = ?4) AND (
        EXISTS (SELECT 1 FROM user_prompts r WHERE r.session_id = s.id AND r.hidden_at IS NULL)
        OR EXISTS (SELECT 1 FROM tool_uses r WHERE r.session_id = s.id AND r.hidden_at IS NULL)
        OR s.host <> 'user' AND EXISTS (SELECT 1 FROM observations r
            WHERE r.session_id = s.id AND r.hidden_at IS NULL))
    ORDER BY s.last_event_at DESC, s.id DESC LIMIT ?5"""


class Session(NamedTuple):
    """A session. ``host_session`` is the host's own id; ``request`` what it was about, in the
    words of the last summary or of the first prompt."""

    id: int
    host: str
    host_session: str
    project: str
    title: str
    cwd: str
    model: str
    status: str
    started_at: int
    last_event_at: int
    prompts: int
    tool_uses: int
    observations: int
    request: str


class Span(NamedTuple):
    """Which sessions: with events from ``since`` on and begun before ``until``, of a host."""

    since: int | None = None
    until: int | None = None
    host: str = ""


def sessions(
    conn: apsw.Connection, chosen: Sequence[int] | None, span: Span, *, limit: int
) -> list[Session]:
    """The sessions of the projects (None: of all), the one used last first."""
    wanted = None if chosen is None else json.dumps(list(chosen))
    return [
        Session(*[*found, str(summary or prompt)])
        for *found, prompt, summary in rows(conn, _SESSIONS, (wanted, *span, limit))
    ]


def about(conn: apsw.Connection, session: int) -> str:
    """What a session was about, as a list of them says it; "" where nothing tells."""
    asked = f"SELECT {_PROMPT}, {_REQUEST} FROM sessions s WHERE s.id = ?"
    ((prompt, request),) = rows(conn, asked, (session,))
    return str(request or prompt)
