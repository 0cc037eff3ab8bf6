"""What a session start reads: newest first, by project. HOT.

Every statement walks an index from its newest end and stops at a limit, one arm for each
project of a family, merged here: no scan and no sort, whatever the size of the store (a test
reads the query plans). Rows are plain tuples, because a named tuple's import costs more than
the queries.
"""

from apsw import SQLError

from cmem import eid as eids
from cmem.store.rows import rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

# id, created_at, type, pinned, taint, prompt_number, session_id, agent_type,
# evidence_tokens, read_tokens, title, subtitle, branch
Observation = tuple[int, int, str, int, str, int, int, str, int, int, str, str, str]
# id, session_id, created_at, taint, request, learned, completed, next_steps
Summary = tuple[int, int, int, str, str, str, str, str]
Item = tuple[int, str, str]  # number, text, taint


NEWEST = """SELECT id, created_at, type, pinned, taint, prompt_number, session_id, agent_type,
        evidence_tokens, read_tokens, title, subtitle, branch
    FROM observations INDEXED BY observations_recent
    WHERE project_id = ? AND hidden_at IS NULL AND superseded_by IS NULL AND taint <> 'external'
    ORDER BY created_at DESC, id DESC LIMIT ?"""
# The newest of a branch, of no subagent.
BRANCH = """SELECT id, created_at, type, pinned, taint, prompt_number, session_id, agent_type,
        evidence_tokens, read_tokens, title, subtitle, branch
    FROM observations INDEXED BY observations_branch
    WHERE project_id = ? AND branch = ? AND hidden_at IS NULL AND superseded_by IS NULL
        AND taint <> 'external' AND agent_type = ''
    ORDER BY created_at DESC, id DESC LIMIT ?"""
# What is worth telling however much came after it, of what is older than a time.
LASTING = """SELECT id, created_at, type, pinned, taint, prompt_number, session_id, agent_type,
        evidence_tokens, read_tokens, title, subtitle, branch
    FROM observations INDEXED BY observations_lasting
    WHERE project_id = ? AND created_at <= ? AND type IN ('decision', 'note', 'security_alert')
        AND hidden_at IS NULL AND superseded_by IS NULL AND taint <> 'external'
    ORDER BY created_at DESC, id DESC LIMIT ?"""
# What a person has pinned or written stays in reach however much came after it.
PINNED = """SELECT id, created_at, type, pinned, taint, prompt_number, session_id, agent_type,
        evidence_tokens, read_tokens, title, subtitle, branch
    FROM observations INDEXED BY observations_pinned
    WHERE project_id = ? AND pinned = 1 AND hidden_at IS NULL AND superseded_by IS NULL
        AND taint <> 'external'
    ORDER BY created_at DESC LIMIT ?"""
NOTES = """SELECT o.id, o.created_at, type, pinned, taint, prompt_number, session_id, agent_type,
        evidence_tokens, read_tokens, o.title, subtitle, branch
    FROM observations o INDEXED BY observations_session
    WHERE session_id = (SELECT id FROM sessions WHERE host = 'user' AND content_session_id = ?)
        AND hidden_at IS NULL AND superseded_by IS NULL AND taint <> 'external'
    ORDER BY o.created_at DESC LIMIT ?"""
# Of the newest thousands of items, those that nobody has closed: whose newest entry says so,
# whatever the order in which entries of several machines came in.
ITEMS = 5_000
OPEN = """NOT EXISTS (SELECT 1 FROM work_state_entries e WHERE e.item = w.item
            AND e.state <> 'open' AND NOT EXISTS (SELECT 1 FROM work_state_entries n
                WHERE n.item = e.item AND n.state = 'open'
                    AND (n.created_at, n.uid) > (e.created_at, e.uid)))"""
OPEN_ITEMS = f"""SELECT item, text, taint FROM (
        SELECT w.item, w.text, w.taint, {OPEN} AS open
        FROM work_state_entries w INDEXED BY work_state_entries_project
        WHERE w.project_id = ? AND w.id = w.item AND w.hidden_at IS NULL AND w.created_at > ?
        ORDER BY w.id DESC LIMIT {ITEMS})
    WHERE open LIMIT ?"""
# Nearly no project has any of the three: a short question is prepared in a third of the time.
ANY_PINNED = """SELECT 1 FROM observations INDEXED BY observations_pinned
    WHERE project_id = ? AND pinned = 1 AND hidden_at IS NULL AND superseded_by IS NULL LIMIT 1"""
ANY_BY_HAND = "SELECT 1 FROM sessions WHERE host = 'user' LIMIT 1"
ANY_NOTES = "SELECT 1 FROM sessions WHERE host = 'user' AND content_session_id = ?"
ANY_ITEMS = """SELECT 1 FROM work_state_entries INDEXED BY work_state_entries_project
    WHERE project_id = ? AND id = item LIMIT 1"""
# A session start counts no further than to a limit.
COUNT_TO = """SELECT count(*) FROM (SELECT 1 FROM observations
    WHERE project_id = ? AND hidden_at IS NULL AND superseded_by IS NULL LIMIT ?)"""
COUNT_TOLD = """SELECT count(*) FROM (SELECT 1 FROM observations INDEXED BY observations_recent
    WHERE project_id = ? AND hidden_at IS NULL AND superseded_by IS NULL
        AND taint <> 'external' LIMIT ?)"""
COUNT_EXTERNAL = """SELECT count(*) FROM (SELECT 1 FROM observations
    INDEXED BY observations_external WHERE project_id = ? AND taint = 'external'
        AND hidden_at IS NULL AND superseded_by IS NULL LIMIT ?)"""
SUMMARIES = """SELECT id, session_id, created_at, taint, request, learned, completed, next_steps
    FROM session_summaries INDEXED BY session_summaries_recent
    WHERE project_id = ? AND session_id <> ? AND hidden_at IS NULL
        AND instr(metadata, '"superseded_by"') = 0
    ORDER BY created_at DESC LIMIT ?"""
OLDEST_PENDING = """SELECT created_at FROM work_units INDEXED BY work_units_pending
    WHERE state = 'pending' AND kind = 'turn' ORDER BY id LIMIT 1"""
FILES = "SELECT observation_id, path FROM observation_files WHERE observation_id IN ({})"
DETAILS = "SELECT id, narrative, facts, metadata FROM observations WHERE id IN ({})"
# A fact that holds a piece which its evidence does not is told with that doubt in front.
FACTS = """SELECT o.id, f.value, EXISTS (SELECT 1 FROM json_each(o.metadata, '$.unverified') u
            WHERE json_valid(o.metadata) AND u.type = 'text' AND instr(f.value, u.value))
    FROM observations o,
        json_each(CASE WHEN json_valid(o.facts) THEN o.facts ELSE '[]' END) f
    WHERE o.id IN ({}) AND f.type = 'text'"""


def oldest_pending(conn: "apsw.Connection") -> int | None:
    """Since when the oldest closed turn waits for its observer; None when none waits."""
    for (at,) in rows(conn, OLDEST_PENDING):
        return int(at)
    return None


def name_of(conn: "apsw.Connection", project: int) -> tuple[str, str]:
    """The display name and the key of a project, "" when there is none."""
    for name, key in rows(conn, "SELECT name, key FROM projects WHERE id = ?", (project,)):
        return str(name), str(key)
    return "", ""


def observations(
    conn: "apsw.Connection", projects: "Sequence[int]", limit: int
) -> list[Observation]:
    """The newest ``limit`` observations of the projects that may be told, newest first: nothing
    from outside sources."""
    rows: list[Observation] = []
    for project in projects:
        rows.extend(conn.execute(NEWEST, (project, limit)))
    if len(projects) > 1:
        rows.sort(key=lambda row: (-row[1], -row[0]))
    return rows[:limit]


def of_branch(
    conn: "apsw.Connection", projects: "Sequence[int]", branch: str, limit: int
) -> list[Observation]:
    """The newest of a branch that no subagent has made; [] in a store that no writer of this cmem
    has opened yet."""
    found: list[Observation] = []
    try:
        for project in projects:
            found.extend(conn.execute(BRANCH, (project, branch, limit)))
    except SQLError:  # there is no such index
        return []
    found.sort(key=lambda row: (-row[1], -row[0]))
    return found[:limit]


def lasting(
    conn: "apsw.Connection", projects: "Sequence[int]", limit: int, *, until: int
) -> list[Observation]:
    """The newest of those up to a time that stay worth telling; [] in a store that no writer of
    this cmem has opened yet."""
    found: list[Observation] = []
    try:
        for project in projects:
            found.extend(conn.execute(LASTING, (project, until, limit)))
    except SQLError:  # there is no such index
        return []
    if len(projects) > 1:
        found.sort(key=lambda row: (-row[1], -row[0]))
    return found[:limit]


def counted(conn: "apsw.Connection", projects: "Sequence[int]", limit: int) -> tuple[int, int]:
    """(how many visible observations the projects have that may be told, how many that came from
    outside sources), each counted to ``limit``."""
    try:
        outside = sum([int(rows(conn, COUNT_EXTERNAL, (one, limit))[0][0]) for one in projects])
    except SQLError:  # a store of an older cmem has no such index
        outside = 0
    # The narrow index counts all; where most came from outside, it would be too many.
    few = outside < limit
    query, to = (COUNT_TO, limit + outside) if few else (COUNT_TOLD, limit)
    found = sum([int(rows(conn, query, (one, to))[0][0]) for one in projects])
    return min(found - outside if few else found, limit), min(outside, limit)


def pinned(conn: "apsw.Connection", projects: "Sequence[int]", limit: int) -> list[Observation]:
    """The newest pinned observations of each project."""
    some = [project for project in projects if rows(conn, ANY_PINNED, (project,))]
    return [one for project in some for one in rows(conn, PINNED, (project, limit))]


def by_hand(key: str, folder: str = "") -> str:
    """The host's name of the session that holds what was written by hand in the project of that
    key; of what belongs to no project there is one for each folder."""
    text = f"{key}\0{folder}" if folder else key
    return "notes-" + eids.sha256_hex(text.encode("utf-8", "replace"))[:16]


def notes(
    conn: "apsw.Connection", projects: "Sequence[int]", limit: int, *, folder: str = ""
) -> list[Observation]:
    """The newest notes written by hand in each of the projects, or in that folder."""
    found: list[Observation] = []
    for project in projects if rows(conn, ANY_BY_HAND) else ():
        name = by_hand(name_of(conn, project)[1], folder)
        if rows(conn, ANY_NOTES, (name,)):
            found.extend(conn.execute(NOTES, (name, limit)))
    return found


def open_items(
    conn: "apsw.Connection", projects: "Sequence[int]", limit: int, *, after: int = -1
) -> list[Item]:
    """What is still to be done and was opened after a time, opened last first; [] in a store that
    is older than such items."""
    try:
        some = [project for project in projects if rows(conn, ANY_ITEMS, (project,))]
    except SQLError:  # there is no such table
        return []
    found = [one for project in some for one in rows(conn, OPEN_ITEMS, (project, after, limit))]
    found.sort(key=lambda one: -one[0])
    return found[:limit]


def summaries(
    conn: "apsw.Connection", projects: "Sequence[int]", limit: int, *, session: int = 0
) -> list[Summary]:
    """The newest ``limit`` visible summaries of the projects, newest first, but for those of a
    session."""
    rows: list[Summary] = []
    for project in projects:
        rows.extend(conn.execute(SUMMARIES, (project, session, limit)))
    rows.sort(key=lambda row: (-row[2], -row[0]))
    return rows[:limit]


def files(conn: "apsw.Connection", ids: "Sequence[int]") -> dict[int, set[str]]:
    """The files each observation tells of."""
    found: dict[int, set[str]] = {}
    for ref, path in conn.execute(with_marks(FILES, ids), tuple(ids)):
        found.setdefault(int(ref), set()).add(str(path))
    return found


def details(conn: "apsw.Connection", ids: "Sequence[int]") -> dict[int, tuple[str, list[str]]]:
    """Narrative and facts of a few observations."""
    found: dict[int, tuple[str, list[str]]] = {}
    careful: list[int] = []
    for ref, narrative, facts, metadata in conn.execute(with_marks(DETAILS, ids), tuple(ids)):
        # A list of plain strings is read by its quotes: that saves a statement's preparation.
        plain = facts[:2] == '["' and facts[-2:] == '"]' and metadata == "{}" and "\\" not in facts
        found[int(ref)] = (str(narrative), facts.split('"')[1::2] if plain else [])
        if not plain and facts != "[]":
            careful.append(ref)
    if careful:
        for ref, fact, doubtful in conn.execute(with_marks(FACTS, careful), tuple(careful)):
            found[int(ref)][1].append(f"(unverified) {fact}" if doubtful else str(fact))
    return found


def hmac_key(conn: "apsw.Connection") -> bytes:
    """The store's own random key; b"" in a store that has none."""
    for (value,) in rows(conn, "SELECT value FROM meta WHERE key = 'hmac_key'"):
        return bytes(value) if isinstance(value, bytes) else str(value).encode()
    return b""


def with_marks(statement: str, ids: "Sequence[int]") -> str:
    return statement.format(",".join("?" * len(ids)))
