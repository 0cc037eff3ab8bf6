"""What an import has to know of the store: whose a prompt is, what was read, what it made."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cmem.store import codec, documents, remake, sessions
from cmem.store.rows import row, rows, value

if TYPE_CHECKING:
    import apsw

    from cmem.model import ToolUsed

REASON = "import"  # of the units that an import makes: `extract` observes them, nobody is paid


def prompt_owners(conn: apsw.Connection, host: str) -> dict[str, str]:
    """The session that each prompt id of the host was stored for, forgotten ones included as
    long as their identity is kept."""
    found = {
        str(name): str(session)
        for name, session in rows(
            conn,
            """SELECT p.native_prompt_id, s.content_session_id
            FROM user_prompts p JOIN sessions s ON s.id = p.session_id
            WHERE s.host = ? AND p.native_prompt_id <> ''""",
            (host,),
        )
    }
    seen = "SELECT eid FROM seen_events WHERE eid >= ?1 || ':' AND eid < ?1 || ';'"
    for (eid,) in rows(conn, seen, (host,)):
        session, mark, rest = str(eid).removeprefix(host + ":").partition(":p:")
        if mark:
            found.setdefault(rest.rpartition(":")[0], session)
    return found


def has_session(conn: apsw.Connection, host: str, name: str) -> bool:
    """Whether the host's session was ever taken in, forgotten ones included as long as their
    identity is kept."""
    seen = "SELECT 1 FROM seen_events WHERE eid >= ?1 || ':' AND eid < ?1 || ';' LIMIT 1"
    return (
        sessions.find(conn, host, name) is not None
        or row(conn, seen, (f"{host}:{name}",)) is not None
    )


def turn_of(conn: apsw.Connection, session_id: int, prompt_id: str) -> bool | None:
    """Whether the session's turn of this prompt may be seen; None where there is none."""
    found = row(
        conn,
        """SELECT hidden_at IS NULL FROM turns WHERE session_id = ?1 AND (native_prompt_id = ?2
            OR id IN (SELECT turn_id FROM user_prompts
                WHERE session_id = ?1 AND native_prompt_id = ?2))
        ORDER BY hidden_at IS NULL DESC LIMIT 1""",
        (session_id, prompt_id),
    )
    return None if found is None else bool(found[0])


def has_words(
    conn: apsw.Connection, session_id: int, text: str, *, at: int, within_ms: int
) -> bool:
    """Whether the session holds a prompt without an id, of these words and about this time."""
    found = row(
        conn,
        """SELECT 1 FROM user_prompts p JOIN turns t ON t.id = p.turn_id
        WHERE p.session_id = ? AND p.native_prompt_id = '' AND p.prompt_text = ?
            AND abs(p.created_at - ?) <= ? AND coalesce(t.closed_by, '') <> 'claude-mem' LIMIT 1""",
        (session_id, text, at, within_ms),
    )
    return found is not None


def tells(conn: apsw.Connection, session_id: int, *, at: int, within_ms: int) -> bool:
    """Whether the session has a turn of this time that carries the host's own id of it, as only
    an import knows it."""
    found = row(
        conn,
        """SELECT 1 FROM turns WHERE session_id = ?1 AND native_prompt_id <> ''
            AND opened_at <= ?2 + ?3 AND last_event_at >= ?2 - ?3 LIMIT 1""",
        (session_id, at, within_ms),
    )
    return found is not None


def lost_words(conn: apsw.Connection, session_id: int, *, at: int, within_ms: int) -> bool:
    """Whether the session has a turn of about this time without an id, whose prompt has been
    erased. Turns that claude-mem has told of are looked at by ``takeover``."""
    found = row(
        conn,
        """SELECT 1 FROM turns t WHERE session_id = ? AND native_prompt_id = '' AND kind = 'user'
            AND abs(opened_at - ?) <= ? AND coalesce(closed_by, '') <> 'claude-mem'
            AND NOT EXISTS(SELECT 1 FROM user_prompts WHERE turn_id = t.id AND kind = 'user')
            LIMIT 1""",
        (session_id, at, within_ms),
    )
    return found is not None


def learn_failure(conn: apsw.Connection, session_id: int, event: ToolUsed) -> None:
    """A call that a hook has told without its end, by the words of the transcript, which has it.
    What `extract` made of its turn is made anew. Nothing else of the row changes, and nothing where the words are others. Part of the caller's
    transaction."""
    found = row(
        conn,
        """SELECT id, tool_response, turn_id FROM tool_uses WHERE session_id = ? AND tool_use_id = ?
            AND tool_name = ? AND outcome = 'ok' AND hidden_at IS NULL""",
        (session_id, event.tool_use_id, event.tool_name),
    )
    if found is None:
        return
    before, after = codec.unpack(found[1]), event.tool_response
    told = json.loads(after)
    if not before or not isinstance(told, str) or told.partition("\n")[2] != json.loads(before):
        return

    def change() -> None:
        conn.execute(
            "UPDATE tool_uses SET outcome = 'failed', tool_response = ? WHERE id = ?",
            (codec.pack(after), found[0]),
        ).fetchall()

    documents.refresh(conn, "T", int(found[0]), change)
    remake.turn(conn, int(found[2]))


def is_idle(conn: apsw.Connection, session_id: int, before: int) -> bool:
    """Whether nothing of the session is newer than ``before``."""
    found = value(
        conn, "SELECT last_event_at <= ? FROM sessions WHERE id = ?", (before, session_id)
    )
    return bool(found)


def end(conn: apsw.Connection, session_id: int, *, before: int) -> None:
    """A session that says nothing of its end has ended with its last event, if that is so long
    ago. Part of the caller's transaction."""
    conn.execute(
        """UPDATE sessions SET status = 'completed', completed_at = last_event_at
        WHERE id = ? AND completed_at IS NULL AND last_event_at <= ?""",
        (session_id, before),
    ).fetchall()


def newest_unit(conn: apsw.Connection) -> int:
    """The number of the newest work unit, 0 without one."""
    return int(value(conn, "SELECT coalesce(max(id), 0) FROM work_units") or 0)


def claim(conn: apsw.Connection, after: int) -> None:
    """Mark the units made since ``after`` as an import's. Part of the caller's transaction."""
    conn.execute("UPDATE work_units SET reason = ? WHERE id > ?", (REASON, after)).fetchall()


def pending(conn: apsw.Connection) -> list[int]:
    """The import's units that wait, turns before the summaries made of them."""
    found = rows(
        conn,
        """SELECT id FROM work_units INDEXED BY work_units_pending
        WHERE state = 'pending' AND reason = ? AND NOT EXISTS(SELECT 1 FROM turns t
            WHERE t.id = turn_id AND t.closed_at IS NULL)
        ORDER BY kind <> 'turn', id""",
        (REASON,),
    )
    return [int(one[0]) for one in found]
