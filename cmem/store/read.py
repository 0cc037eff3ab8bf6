"""Rows by id: the reads behind get and raw.

Nothing hidden shows. A superseded observation still does, when it is asked for by its id.
"""

from __future__ import annotations

from cmem import plain_json, tokens
from cmem.named import NamedTuple
from cmem.store import codec, projects, state
from cmem.store.rows import rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import apsw

    Record = dict[str, Any]

Ref = tuple[str, int]

# Of a host's session id: as many characters as somebody would copy by hand.
PREFIX = 8

KIND_WORDS = {
    "O": "observation",
    "S": "summary",
    "P": "prompt",
    "T": "tool_use",
    "N": "session",
    "W": "open_work",
}
_TABLES = {
    "O": "observations",
    "S": "session_summaries",
    "P": "user_prompts",
    "T": "tool_uses",
    "N": "sessions",
    "W": "work_state_entries",
}
_LISTS = (
    "facts",
    "concepts",
    "files_read",
    "files_modified",
    "files_edited",
    "reinforcement_dates",
)


class Place(NamedTuple):
    """Where a row stands: its moment, its project and its session."""

    kind: str
    id: int
    at: int
    project: int
    session: int


def find_session(conn: apsw.Connection, text: str) -> int | None:
    """The session that a host calls by this id, or by an id that begins so, if only one."""
    exact = "SELECT id FROM sessions WHERE content_session_id = ? ORDER BY id DESC LIMIT 1"
    found = rows(conn, exact, (text,))
    if not found and len(text) >= PREFIX:
        begins = "SELECT id FROM sessions WHERE substr(content_session_id, 1, ?) = ? LIMIT 2"
        found = rows(conn, begins, (len(text), text))
    return int(found[0][0]) if len(found) == 1 else None


def place(conn: apsw.Connection, ref: Ref) -> Place | None:
    """Where a visible row stands; None when there is none."""
    kind, number = ref
    if not -(2**63) <= number < 2**63 or kind not in _TABLES:
        return None
    if kind == "W" and not state.are_known(conn):
        return None
    if kind == "N":
        sql = "SELECT started_at, project_id, id FROM sessions WHERE id = ?"
    elif kind in "OSW":
        only = "AND id = item" if kind == "W" else ""
        sql = f"""SELECT created_at, project_id, session_id FROM {_TABLES[kind]}
            WHERE id = ? AND hidden_at IS NULL {only}"""
    else:
        sql = f"""SELECT r.created_at, n.project_id, n.id FROM {_TABLES[kind]} r
            JOIN sessions n ON n.id = r.session_id WHERE r.id = ? AND r.hidden_at IS NULL"""
    for at, project, session in conn.execute(sql, (number,)):
        return Place(kind, number, int(at), int(project), int(session))
    return None


def record(conn: apsw.Connection, ref: Ref) -> Record | None:
    """Everything stored of a visible row, lists as lists; None when there is none."""
    kind, number = ref
    if place(conn, ref) is None:
        return None
    row = _row(conn, f"SELECT * FROM {_TABLES[kind]} WHERE id = ?", number)
    session = _row(conn, _SESSION, row["id"] if kind == "N" else row["session_id"])
    head = {
        "id": f"{kind}{number}",
        "kind": KIND_WORDS[kind],
        "project": session["name"],
        "session": f"N{session['id']}",
        "host_session": session["content_session_id"],
        "host": session["host"],
    }
    for name in _LISTS:
        if name in row:
            row[name] = _list(row[name])
    if kind == "T":
        # What was never there, or is private, is an empty text.
        row["pruned"] = row["tool_input"] is None and row["tool_response"] is None
    for name in ("tool_input", "tool_response"):
        if name in row:
            row[name] = _value(codec.unpack(row[name]))
    row |= _more(conn, kind, number)
    if row.get("superseded_by"):
        row["superseded_by"] = f"O{row['superseded_by']}"
    if "metadata" in row:
        row["metadata"] = _value(row["metadata"])
    return head | {key: value for key, value in row.items() if key not in (*head, *_KEYS)}


_SESSION = f"""SELECT n.id, n.content_session_id, n.host, p.name FROM sessions n
    JOIN projects p ON p.id = {projects.ROOT_OF.format(project="n.project_id")}
    WHERE n.id = ?"""
_KEYS = ("session_id", "project_id", "content_session_id", "hidden_at", "item")


def _more(conn: apsw.Connection, kind: str, number: int) -> Record:
    """What is stored of a row in other tables."""
    if kind == "O":
        sources = conn.execute(
            """SELECT kind || ref FROM observation_sources WHERE observation_id = ?
            ORDER BY kind, ref""",
            (number,),
        )
        return {"sources": [row[0] for row in sources]}
    if kind == "W":
        current, at = state.current(conn, number)
        return {"state": current, "changed_at": at}
    if kind == "P":
        return _more_of_prompt(conn, number)
    if kind == "N":
        return {
            _TABLES[one]: [f"{one}{row[0]}" for row in conn.execute(_of_session(one), (number,))]
            for one in "PTOS"
        }
    return {}


def _of_session(kind: str) -> str:
    return f"""SELECT id FROM {_TABLES[kind]} WHERE session_id = ? AND hidden_at IS NULL
        ORDER BY created_at, id"""


def _more_of_prompt(conn: apsw.Connection, number: int) -> Record:
    """``type``: where a background agent has told it, and no person."""
    ((text, kind),) = rows(
        conn, "SELECT prompt_text, kind FROM user_prompts WHERE id = ?", (number,)
    )
    return {"tokens": tokens.count(str(text)), **({} if kind == "user" else {"type": str(kind)})}


def tool_refs(conn: apsw.Connection, ref: Ref) -> list[int]:
    """The tool uses behind a row: itself, an observation's sources, a prompt's turn, all of
    a session."""
    kind, number = ref
    if kind == "T":
        return [number]
    if kind == "W":
        return []
    if kind == "O":
        sql = """SELECT t.id FROM observation_sources s JOIN tool_uses t ON t.id = s.ref
            WHERE s.kind = 'T' AND s.observation_id = ? AND t.hidden_at IS NULL
            ORDER BY t.created_at, t.id"""
    elif kind == "P":
        sql = """SELECT t.id FROM user_prompts p JOIN tool_uses t ON t.turn_id = p.turn_id
            WHERE p.id = ? AND t.hidden_at IS NULL ORDER BY t.created_at, t.id"""
    elif kind == "S":
        sql = """SELECT t.id FROM session_summaries s
            JOIN tool_uses t ON t.session_id = s.session_id
            WHERE s.id = ? AND t.turn_id <= s.turn_id AND t.hidden_at IS NULL
            ORDER BY t.created_at, t.id"""
    else:
        sql = _of_session("T")
    return [int(row[0]) for row in conn.execute(sql, (number,))]


def _list(text: object) -> list[str]:
    value = _value(text)
    return [str(one) for one in value] if isinstance(value, list) else []


def _value(text: object) -> Any:
    """A JSON text's value; the text itself when it is none."""
    try:
        return plain_json.loads(str(text))
    except (ValueError, RecursionError):
        return text


def _row(conn: apsw.Connection, sql: str, number: int) -> Record:
    cursor = conn.execute(sql, (number,))
    names = [column[0] for column in cursor.description]
    return dict(zip(names, next(cursor), strict=True))
