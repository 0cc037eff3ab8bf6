"""What a running session has done so far, for the block after a compaction. HOT.

Each statement walks an index from its newest end and stops at a limit.
"""

from cmem.store.rows import rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    import apsw

    from cmem.store.recent import Observation

    Turn = tuple[int, int, str, str]  # turn, prompt, what was asked, what was answered
    Own = tuple[int, Observation]  # turn, row

SESSION = """SELECT id, last_event_at FROM sessions
    WHERE host IN ({}) AND content_session_id = ? ORDER BY id DESC LIMIT 1"""
# An answer that may repeat what came from outside is not told.
TURNS = """SELECT t.id, p.id, substr(p.prompt_text, 1, 2000),
        CASE WHEN EXISTS (SELECT 1 FROM tool_uses u WHERE u.turn_id = t.id
            AND u.taint = 'external') THEN '' ELSE substr(t.assistant_message, 1, 2000) END
    FROM turns t CROSS JOIN user_prompts p ON p.turn_id = t.id
    WHERE t.session_id = ? AND t.private = 0 AND t.hidden_at IS NULL
        AND p.hidden_at IS NULL AND p.kind = 'user'
    ORDER BY t.number DESC LIMIT ?"""
OBSERVATIONS = """SELECT turn_id, id, created_at, type, pinned, taint, prompt_number, session_id,
        agent_type, evidence_tokens, read_tokens, title, subtitle, branch
    FROM observations INDEXED BY observations_session
    WHERE session_id = ? AND hidden_at IS NULL AND superseded_by IS NULL
    ORDER BY created_at DESC LIMIT ?"""


def session(
    conn: "apsw.Connection", hosts: "Iterable[str]", host_session: str
) -> "tuple[int, int] | None":
    """(number, time of its last event) of the newest session that one of the hosts calls so."""
    names = tuple(hosts)
    query = SESSION.format(",".join("?" * len(names)))
    for ref, at in rows(conn, query, (*names, host_session)) if host_session else ():
        return int(ref), int(at)
    return None


def turns(conn: "apsw.Connection", ref: int, limit: int) -> "list[Turn]":
    """The newest turns of a session that a person began, newest first."""
    return rows(conn, TURNS, (ref, limit))


def observations(conn: "apsw.Connection", ref: int, limit: int) -> "list[Own]":
    """The newest observations of a session with their turns, newest first."""
    return [(int(row[0]), row[1:]) for row in rows(conn, OBSERVATIONS, (ref, limit))]


def host_id(conn: "apsw.Connection", ref: int) -> str:
    """What its host calls a session; "" when there is none of that number."""
    for (name,) in rows(conn, "SELECT content_session_id FROM sessions WHERE id = ?", (ref,)):
        return str(name)
    return ""
