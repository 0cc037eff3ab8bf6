"""What a running session has done so far, for the block after a compaction. HOT.

Each statement walks an index from its newest end and stops at a limit.
"""

from cmem.store.rows import rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    import apsw

    from cmem.store.recent import Observation, Summary

    Turn = tuple[int, int, str, str]  # turn, prompt, what was asked, what was answered
    Own = tuple[int, Observation]  # turn, row
    # where, tool, what it was given as stored, whether it came from outside
    Call = tuple[str, str, "str | bytes | None", bool]

SESSION = """SELECT id, started_at, host FROM sessions
    WHERE host IN ({}) AND content_session_id = ? ORDER BY id DESC LIMIT 1"""
# Of the newest that a project had begun by the end of a time, those with a turn among their newest
# that ended, or was last heard of, within it.
# A turn whose host says nothing for so long has ended, though nobody said so (``turn_rules``).
SILENT_MS = 6 * 3_600_000
_SESSIONS = """SELECT s.id, s.started_at, s.content_session_id FROM sessions s
    WHERE s.id IN (SELECT id FROM sessions INDEXED BY sessions_project
            WHERE project_id = ?1 AND started_at <= ?3 ORDER BY started_at DESC LIMIT ?4)
        AND s.last_event_at >= ?2 - {silent}
        AND EXISTS (SELECT 1 FROM turns WHERE id IN (SELECT id FROM turns
                WHERE session_id = s.id AND number < 1000000000 ORDER BY number DESC LIMIT ?5)
            AND {which})
        AND s.host IN ({{}})"""
# Those with a turn that ended in a time.
ENDED = _SESSIONS.format(silent=0, which="closed_at BETWEEN ?2 AND ?3")
# Those with a turn that had begun and not ended then.
IN_A_TURN = _SESSIONS.format(
    silent=SILENT_MS,
    which=f"""opened_at <= ?3 AND (last_event_at >= ?2 OR closed_at >= ?2
                OR (closed_at IS NULL AND last_event_at >= ?2 - {SILENT_MS}))""",
)
SESSIONS, TURNS = 500, 50
_TOLD = """FROM turns t CROSS JOIN user_prompts p ON p.turn_id = t.id
    WHERE t.session_id = ? AND t.private = 0 AND t.hidden_at IS NULL
        AND p.hidden_at IS NULL AND p.kind = 'user'"""
# An answer that may repeat what came from outside is not told.
_TURNS = """SELECT t.id, p.id, substr(p.prompt_text, 1, 2000),
        CASE WHEN EXISTS (SELECT 1 FROM tool_uses u WHERE u.turn_id = t.id
            AND u.taint = 'external') THEN '' ELSE substr(t.assistant_message, 1, 2000) END
    {}
    ORDER BY t.number {} LIMIT ?"""
NEWEST = _TURNS.format(_TOLD, "DESC")
FIRST = _TURNS.format(_TOLD, "ASC")
COUNT = f"SELECT count(*) {_TOLD}"
CALLS = """SELECT u.cwd, u.tool_name, u.tool_input, u.taint = 'external'
    FROM tool_uses u INDEXED BY tool_uses_turn
    WHERE u.turn_id = ? AND u.hidden_at IS NULL ORDER BY u.id DESC LIMIT ?"""
SUMMARY = """SELECT id, session_id, created_at, taint, request, learned, completed, next_steps
    FROM session_summaries INDEXED BY session_summaries_session
    WHERE session_id = ? AND hidden_at IS NULL AND instr(metadata, '"superseded_by"') = 0
        AND taint <> 'external' ORDER BY id DESC LIMIT 1"""
OBSERVATIONS = """SELECT turn_id, id, created_at, type, pinned, taint, prompt_number, session_id,
        agent_type, evidence_tokens, read_tokens, title, subtitle, branch
    FROM observations INDEXED BY observations_session
    WHERE session_id = ? AND hidden_at IS NULL AND superseded_by IS NULL
    ORDER BY created_at DESC LIMIT ?"""


def session(
    conn: "apsw.Connection", hosts: "Iterable[str]", host_session: str
) -> "tuple[int, int, str] | None":
    """(number, when it began, host) of the newest session that one of the hosts calls so."""
    names = tuple(hosts)
    query = SESSION.format(",".join("?" * len(names)))
    for ref, at, host in rows(conn, query, (*names, host_session)) if host_session else ():
        return int(ref), int(at), str(host)
    return None


def at(
    conn: "apsw.Connection",
    query: str,
    projects: "Iterable[int]",
    hosts: "Iterable[str]",
    *,
    since: int,
    until: int,
) -> list[tuple[int, int, str]]:
    """(number, when it began, its host's id) of the sessions of some hosts in which a turn ended in
    a time (``ENDED``), or had begun and not ended then (``IN_A_TURN``)."""
    names = tuple(hosts)
    query = query.format(",".join("?" * len(names)))
    found = []
    for project in projects:
        found += rows(conn, query, (project, since, until, SESSIONS, TURNS, *names))
    return [(int(ref), int(at), str(host_id)) for ref, at, host_id in sorted(found)]


def project_of(conn: "apsw.Connection", ref: int) -> int:
    """The project that a session was stored in; 0 for none."""
    for (project,) in rows(conn, "SELECT project_id FROM sessions WHERE id = ?", (ref,)):
        return int(project)
    return 0


def turns(conn: "apsw.Connection", ref: int, limit: int) -> "tuple[list[Turn], int]":
    """(the newest turns of a session that a person began, newest first, and its very first one
    behind them; how many there are)."""
    found: list[Turn] = rows(conn, NEWEST, (ref, limit))
    if len(found) < limit:
        return found, len(found)
    first: list[Turn] = rows(conn, FIRST, (ref, 1))
    every = int(rows(conn, COUNT, (ref,))[0][0])
    return [*found, *(one for one in first if one[1] != found[-1][1])], every


def calls(conn: "apsw.Connection", turn: int, limit: int) -> "list[Call]":
    """The newest tool calls of a turn, newest first."""
    return rows(conn, CALLS, (turn, limit))


def summary(conn: "apsw.Connection", ref: int) -> "Summary | None":
    """The newest summary of a session that may be told; None when there is none."""
    for found in rows(conn, SUMMARY, (ref,)):
        return found
    return None


def observations(conn: "apsw.Connection", ref: int, limit: int) -> "list[Own]":
    """The newest observations of a session with their turns, newest first."""
    return [(int(row[0]), row[1:]) for row in rows(conn, OBSERVATIONS, (ref, limit))]


def host_id(conn: "apsw.Connection", ref: int) -> str:
    """What its host calls a session; "" when there is none of that number."""
    for (name,) in rows(conn, "SELECT content_session_id FROM sessions WHERE id = ?", (ref,)):
        return str(name)
    return ""
