"""Which observations of some projects hold a term, and a few of them to be told. HOT.

A term's matches are walked from the newest to a limit, whatever the size of the store.
"""

from cmem.store.functions import key, leaves, output
from cmem.store.recent import COUNT_TO
from cmem.store.rows import rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from cmem.store.recent import Observation

MATCHES = """SELECT rowid FROM documents_fts WHERE documents_fts MATCH ?
    ORDER BY rowid DESC LIMIT ?"""
LOAD = """SELECT d.id, o.id, o.created_at, o.type, o.pinned, o.taint, o.prompt_number,
        o.session_id, o.agent_type, o.evidence_tokens, o.read_tokens, o.title, o.subtitle,
        o.branch
    FROM documents d CROSS JOIN observations o ON o.id = d.ref
    WHERE d.id IN ({}) AND d.kind = 'O' AND o.hidden_at IS NULL AND o.superseded_by IS NULL
        AND o.taint <> 'external'"""
OF_FILE = """SELECT o.id, o.created_at, o.type, o.pinned, o.taint, o.prompt_number,
        o.session_id, o.agent_type, o.evidence_tokens, o.read_tokens, o.title, o.subtitle,
        o.branch
    FROM observation_files f CROSS JOIN observations o ON o.id = f.observation_id
    WHERE f.path = ? AND f.role = 'modified' AND o.project_id IN ({})
        AND o.hidden_at IS NULL AND o.superseded_by IS NULL AND o.taint <> 'external'
    ORDER BY f.observation_id DESC LIMIT ?"""
# Where a file of the project may be, in any of its work trees.
PLACES = """SELECT rtrim(alias, '/') || '/' || ?1 FROM project_aliases
    WHERE kind = 'path' AND project_id IN ({}) LIMIT 16"""
# What a turn that met a failure ended with, or what itself tells of one: a change, and no mere
# sight of it.
FIXES = """SELECT o.id, o.created_at, o.type, o.pinned, o.taint, o.prompt_number,
        o.session_id, o.agent_type, o.evidence_tokens, o.read_tokens, o.title, o.subtitle,
        o.branch
    FROM observations o
    WHERE o.id IN (SELECT d.ref FROM documents d WHERE d.id IN ({0}) AND d.kind = 'O'
            UNION SELECT later.id FROM documents d
            CROSS JOIN tool_uses u ON u.id = d.ref AND u.outcome <> 'ok' AND u.hidden_at IS NULL
            CROSS JOIN observations later ON later.turn_id = u.turn_id
            WHERE d.id IN ({0}) AND d.kind = 'T')
        AND o.project_id IN ({1}) AND o.hidden_at IS NULL AND o.superseded_by IS NULL
        AND o.taint <> 'external'
        AND (o.type IN ('bugfix', 'note', 'decision') OR o.files_modified <> '[]')
    ORDER BY o.created_at DESC, o.id DESC LIMIT ?"""
TEXTS = """SELECT d.id, d.kind, u.tool_response, o.title, o.narrative, o.facts
    FROM documents d LEFT JOIN tool_uses u ON d.kind = 'T' AND u.id = d.ref
    LEFT JOIN observations o ON d.kind = 'O' AND o.id = d.ref
    WHERE d.id IN ({}) ORDER BY d.id DESC"""
COUNTED = 5_000


def scope(projects: "Sequence[int]", kinds: "Sequence[str]" = ("O",)) -> str:
    """The expression for what is of the projects and of one of the kinds."""
    own = " OR ".join([f'"{key("p", project)}"' for project in projects])
    wanted = " OR ".join([f'"{key("d", kind)}"' for kind in kinds])
    return f"k : ({wanted}) AND k : ({own})"


def documents(conn: "apsw.Connection", term: str, within: str, *, limit: int) -> list[int]:
    """The newest documents that hold a term in their text."""
    match = f"{{title body meta x}} : ({term}) AND {within}"
    return [row[0] for row in rows(conn, MATCHES, (match, limit))]


def load(conn: "apsw.Connection", found: "Sequence[int]") -> "dict[int, Observation]":
    """Document → the observation, of those that may be told unasked."""
    marks = ",".join("?" * len(found))
    return {row[0]: row[1:] for row in rows(conn, LOAD.format(marks), tuple(found))}


def texts(conn: "apsw.Connection", found: "Sequence[int]") -> list[tuple[int, str, str]]:
    """(document, its kind, its text) of tool uses and observations: what a tool printed, what a
    memory says line by line."""
    statement = TEXTS.format(",".join("?" * len(found)))
    return [
        (doc, kind, output(response) if kind == "T" else "\n".join([title, told, *leaves(facts)]))
        for doc, kind, response, title, told, facts in rows(conn, statement, tuple(found))
    ]


def fixes(
    conn: "apsw.Connection", found: "Sequence[int]", projects: "Sequence[int]", *, limit: int
) -> "list[Observation]":
    """What was changed where the documents tell of a failure, newest first, as far as it may be
    told."""
    statement = FIXES.format(",".join("?" * len(found)), ",".join("?" * len(projects)))
    return rows(conn, statement, (*found, *found, *projects, limit))


def count(conn: "apsw.Connection", projects: "Sequence[int]") -> int:
    """How many observations the projects have, counted no further than ``COUNTED`` each."""
    return sum([rows(conn, COUNT_TO, (project, COUNTED))[0][0] for project in projects])


def of_file(
    conn: "apsw.Connection", path: str, projects: "Sequence[int]", *, limit: int
) -> "list[Observation]":
    """The newest observations that tell of a change to the file, as far as they may be told.

    Files of a linked work tree once had their whole path there; these are found where the others
    are too few."""
    marks = ",".join("?" * len(projects))
    found = rows(conn, OF_FILE.format(marks), (path, *projects, limit))
    if len(found) == limit or path.startswith("/"):
        return found
    places = rows(conn, PLACES.format(marks), (path, *projects))
    for (place,) in places:
        found += rows(conn, OF_FILE.format(marks), (place, *projects, limit))
    return sorted(dict.fromkeys(found), reverse=True)[:limit]
