"""What was captured in one folder that is no project. HOT there.

All such folders are one project of the store, and what is new in one of them lies among any number
of newer rows of others. So the sessions that began in the folder are found first, and what is theirs
by session: every statement walks an index from its newest end and stops at a limit.
"""

from apsw import SQLError

from cmem.store import recent
from cmem.store.further import NOW
from cmem.store.rows import rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    # number, when it was last heard of; heard of last first
    Sessions = Sequence[tuple[int, int]]

MOST = 10_000
SESSIONS = """SELECT id, last_event_at FROM sessions INDEXED BY sessions_project
    WHERE project_id = ? AND cwd = ? ORDER BY started_at DESC LIMIT ?"""
_COLUMNS = """id, created_at, type, pinned, taint, prompt_number, session_id, agent_type,
        evidence_tokens, read_tokens, title, subtitle, branch"""
_TOLD = "hidden_at IS NULL AND superseded_by IS NULL AND taint <> 'external'"
_HERE = "(SELECT cwd FROM sessions WHERE id = session_id) = ?"
OF_SESSION = f"""SELECT {_COLUMNS} FROM observations INDEXED BY observations_session
    WHERE session_id = ? AND (created_at, id) < (?, ?) AND created_at > ? AND {_TOLD}
    ORDER BY created_at DESC, id DESC LIMIT ?"""
PINNED = f"""SELECT {_COLUMNS} FROM observations INDEXED BY observations_pinned
    WHERE project_id = ? AND pinned = 1 AND {_TOLD} AND {_HERE}
    ORDER BY created_at DESC LIMIT ?"""
LASTING = f"""SELECT {_COLUMNS} FROM observations INDEXED BY observations_lasting
    WHERE project_id = ? AND created_at <= ? AND type IN ('decision', 'note', 'security_alert')
        AND {_TOLD} AND {_HERE}
    ORDER BY created_at DESC, id DESC LIMIT ?"""
# In the order of the sessions that are given: one statement for thousands of them.
SUMMARIES = """SELECT r.id, session_id, created_at, taint, request, learned, completed, next_steps
    FROM json_each(?) s CROSS JOIN session_summaries r INDEXED BY session_summaries_session
        ON r.session_id = s.value
    WHERE hidden_at IS NULL AND instr(metadata, '"superseded_by"') = 0 LIMIT ?"""
# So many, of the sessions heard of last, are looked at for the newest few.
LOOKED_AT = 50
OPEN_ITEMS = f"""SELECT item, text, taint FROM (
        SELECT w.item, w.text, w.taint, {recent.OPEN} AS open
        FROM work_state_entries w INDEXED BY work_state_entries_session
        WHERE w.session_id = (SELECT id FROM sessions
                WHERE host = 'user' AND content_session_id = ?)
            AND w.id = w.item AND w.hidden_at IS NULL AND w.created_at > ?
        ORDER BY w.id DESC LIMIT {recent.ITEMS})
    WHERE open LIMIT ?"""
COUNT = """SELECT count(*) FROM (SELECT 1 FROM json_each(?) s
    CROSS JOIN observations o INDEXED BY observations_session ON o.session_id = s.value
    WHERE hidden_at IS NULL AND superseded_by IS NULL AND (taint = 'external') = ? LIMIT ?)"""
COUNT_EXTERNAL = f"""SELECT count(*) FROM (SELECT 1 FROM observations
    INDEXED BY observations_external WHERE project_id = ? AND taint = 'external'
        AND hidden_at IS NULL AND superseded_by IS NULL AND {_HERE} LIMIT ?)"""


def sessions(conn: "apsw.Connection", project: int, folder: str) -> "Sessions":
    """Those that began in this very folder."""
    found: list[tuple[int, int]] = rows(conn, SESSIONS, (project, folder, MOST))
    return sorted(found, key=lambda one: (-one[1], -one[0]))


def newest(
    conn: "apsw.Connection",
    here: "Sessions",
    limit: int,
    *,
    session: int = 0,
    before: tuple[int, int] = NOW,
    after: int = -1,
) -> "list[recent.Observation]":
    """The newest that other sessions of the folder than this one have made, after a time and
    before the one of a time and an id."""
    found: list[recent.Observation] = []
    for ref, heard in here:
        if len(found) == limit and heard < found[-1][1]:  # this and all behind it are older
            break
        if ref == session:
            continue
        more = rows(conn, OF_SESSION, (ref, *before, after, limit))
        if more:
            found = sorted([*found, *more], key=lambda row: (-row[1], -row[0]))[:limit]
    return found


def lasting(
    conn: "apsw.Connection", project: int, folder: str, *, until: int, pinned: int, others: int
) -> "list[recent.Observation]":
    """What stays in reach however much came after it: the newest pinned, and up to a time the
    newest of the others that last."""
    found: list[recent.Observation] = rows(conn, PINNED, (project, folder, pinned))
    try:
        return found + rows(conn, LASTING, (project, until, folder, others))
    except SQLError:  # a store of an older cmem has no such index
        return found


def summaries(
    conn: "apsw.Connection", here: "Sessions", limit: int, *, session: int = 0
) -> "list[recent.Summary]":
    """The newest visible summaries of other sessions of the folder than this one."""
    ids = _listed([ref for ref, _heard in here if ref != session])
    found: list[recent.Summary] = rows(conn, SUMMARIES, (ids, LOOKED_AT))
    return sorted(found, key=lambda row: (-row[2], -row[0]))[:limit]


def open_items(
    conn: "apsw.Connection", project: int, folder: str, *, limit: int, after: int = -1
) -> "list[recent.Item]":
    """What is still to be done in the folder and was opened after a time, opened last first."""
    name = recent.by_hand(recent.name_of(conn, project)[1], folder)
    try:
        return rows(conn, OPEN_ITEMS, (name, after, limit))
    except SQLError:  # a store of an older cmem has no such table
        return []


def counted(
    conn: "apsw.Connection", project: int, folder: str, *, here: "Sessions", limit: int
) -> tuple[int, int]:
    """(how many visible observations of the folder may be told, how many came from outside
    sources), each counted to ``limit``."""
    ids = _listed([ref for ref, _heard in here])
    told = int(rows(conn, COUNT, (ids, 0, limit))[0][0])
    if told < limit:
        return told, int(rows(conn, COUNT, (ids, 1, limit))[0][0])
    # Of a folder with many memories not all are looked through for those from outside.
    try:
        return told, int(rows(conn, COUNT_EXTERNAL, (project, folder, limit))[0][0])
    except SQLError:  # a store of an older cmem has no such index
        return told, 0


def _listed(ids: "Sequence[int]") -> str:
    """The numbers as JSON."""
    return f"[{','.join([str(ref) for ref in ids])}]"
