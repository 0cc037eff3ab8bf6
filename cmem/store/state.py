"""What is still to be done in a project: W1, W2 … opened and closed by entries.

Nothing is rewritten: closing an item appends an entry, and so does opening it again. A session
start reads here, so nothing is imported that costs.
"""

from cmem.store.rows import insert, row, rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

OPEN, DONE = "open", "done"
LIMIT = 1000
# item, state, opened at, changed at, branch, text, project
Item = tuple[int, str, int, int, str, str, str]

_NEWEST = """(SELECT e.{column} FROM work_state_entries e WHERE e.item = w.item
    ORDER BY e.created_at DESC, e.uid DESC LIMIT 1)"""
_ITEMS = f"""SELECT w.item, {_NEWEST.format(column="state")}, w.created_at,
        {_NEWEST.format(column="created_at")}, w.branch, w.text, p.name
    FROM work_state_entries w JOIN projects p ON p.id = w.project_id
    WHERE w.project_id = ?1 AND w.id = w.item AND w.hidden_at IS NULL
        AND (?2 OR {_NEWEST.format(column="state")} = 'open')
    ORDER BY w.id DESC LIMIT {LIMIT}"""
_ONE = f"""SELECT w.project_id, w.session_id, {_NEWEST.format(column="state")}, w.text,
        {_NEWEST.format(column="created_at")}
    FROM work_state_entries w WHERE w.id = ? AND w.id = w.item AND w.hidden_at IS NULL"""


_SAME = f"""SELECT w.id FROM work_state_entries w
    WHERE w.project_id = ?1 AND w.id = w.item AND w.hidden_at IS NULL AND w.text = ?2
    AND (?3 IS NULL OR w.session_id = ?3)
    AND {_NEWEST.format(column="state")} = 'open' ORDER BY w.id LIMIT 1"""


def items(conn: "apsw.Connection", projects: "Sequence[int]", *, done: bool = False) -> list[Item]:
    """The open items of the projects, those opened last first; with ``done`` the closed ones
    too. [] in a store that is older than they are."""
    if not are_known(conn):
        return []
    found: list[Item] = []
    for project in projects:
        found.extend(rows(conn, _ITEMS, (project, done)))
    found.sort(key=lambda item: -item[0])
    return found


def are_known(conn: "apsw.Connection") -> bool:
    """False in a store that is older than they are, which a reader may meet."""
    return row(conn, "SELECT 1 FROM sqlite_schema WHERE name = 'work_state_entries'") is not None


def current(conn: "apsw.Connection", item: int) -> tuple[str, int]:
    """How an item that is there stands, and since when."""
    found = row(conn, _ONE, (item,))
    assert found is not None
    return found[2], found[4]


def add(
    conn: "apsw.Connection",
    text: str,
    *,
    uid: str,
    project: int,
    session: int,
    branch: str,
    now: int,
) -> int:
    """Open an item with a clean text; return its number. Part of a transaction."""
    ref = _append(
        conn,
        {
            "uid": uid,
            "project_id": project,
            "session_id": session,
            "item": 0,
            "state": OPEN,
            "created_at": now,
            "branch": branch,
            "text": text,
        },
    )
    conn.execute("UPDATE work_state_entries SET item = id WHERE id = ?", (ref,)).fetchall()
    return ref


def standing(
    conn: "apsw.Connection", text: str, *, project: int, session: int | None = None
) -> int | None:
    """The open item of this text in a project, or of those on one session."""
    for (ref,) in rows(conn, _SAME, (project, text, session)):
        return int(ref)
    return None


def move(conn: "apsw.Connection", item: int, *, state: str, uid: str, now: int) -> bool | None:
    """Append what became of an item; False when it is so already, None for no such item.

    Part of a transaction."""
    found = row(conn, _ONE, (item,))
    if found is None:
        return None
    project, session, before, _text, newest = found
    if before == state:
        return False
    entry = {"uid": uid, "project_id": project, "session_id": session, "item": item}
    # Later than what it follows, whatever the clock of the machine was that it came from.
    _append(conn, {**entry, "state": state, "created_at": max(now, newest + 1)})
    return True


def _append(conn: "apsw.Connection", columns: "dict[str, int | float | str | bytes | None]") -> int:
    ref = insert(conn, "work_state_entries", columns)
    assert ref is not None
    return ref
