"""What few session starts read besides ``recent``. HOT there.

Here too every statement walks an index from its newest end and stops at a limit.
"""

from cmem.store.recent import with_marks
from cmem.store.rows import rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from cmem.store.recent import Observation

# Behind every row.
NOW = (2**62, 2**62)
# Those before one, of other sessions, that were made after a moment.
OTHERS = """SELECT id, created_at, type, pinned, taint, prompt_number, session_id, agent_type,
        evidence_tokens, read_tokens, title, subtitle, branch
    FROM observations INDEXED BY observations_recent
    WHERE project_id = ? AND (created_at, id) < (?, ?) AND created_at > ? AND session_id <> ?
        AND hidden_at IS NULL AND superseded_by IS NULL AND taint <> 'external'
    ORDER BY created_at DESC, id DESC LIMIT ?"""
SESSIONS_IN = "SELECT id FROM sessions WHERE id IN ({}) AND cwd = ?"
LATEST_RUNS = """SELECT outcome, ended_at FROM observer_runs INDEXED BY observer_runs_started
    ORDER BY started_at DESC LIMIT 20"""
COUNT = """SELECT count(*) FROM observations
    WHERE project_id = ? AND hidden_at IS NULL AND superseded_by IS NULL"""
REINFORCED = "SELECT id, reinforcement_dates FROM observations WHERE id IN ({})"


def others(
    conn: "apsw.Connection",
    projects: "Sequence[int]",
    limit: int,
    *,
    session: int,
    before: tuple[int, int] = NOW,
    after: int = -1,
) -> "list[Observation]":
    """The newest that another session than this has made, after a time and before the one of a
    time and an id."""
    found: list[Observation] = []
    for project in projects:
        found.extend(conn.execute(OTHERS, (project, *before, after, session, limit)))
    found.sort(key=lambda row: (-row[1], -row[0]))
    return found[:limit]


def sessions_in(conn: "apsw.Connection", sessions: "set[int]", cwd: str) -> set[int]:
    """Those of the sessions that began in this very directory."""
    if not sessions:
        return set()
    ids = tuple(sorted(sessions))
    rows = conn.execute(with_marks(SESSIONS_IN, ids), (*ids, cwd))
    return {int(row[0]) for row in rows}


def last_success(conn: "apsw.Connection") -> int | None:
    """When an observer last finished a unit, among its latest runs; None when none did."""
    for outcome, at in rows(conn, LATEST_RUNS):
        if outcome in ("done", "skipped"):
            return int(at)
    return None


def count(conn: "apsw.Connection", projects: "Sequence[int]") -> int:
    """How many visible observations the projects have."""
    return sum(int(one[0]) for project in projects for one in rows(conn, COUNT, (project,)))


def reinforced(conn: "apsw.Connection", ids: "Sequence[int]") -> dict[int, str]:
    """The stored days on which each observation was met."""
    found = conn.execute(with_marks(REINFORCED, ids), tuple(ids))
    return {int(ref): str(days) for ref, days in found}
