"""Projects as a person looks at them and sorts them out.

Merging only points one project at another: no memory is rewritten, so it can be taken back to
the last row. What is counted is what can be seen, as in ``counts``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cmem.store import projects
from cmem.store.rows import row, rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

# Of one project each; a session without a prompt or tool call to see is none.
_COUNTS = {
    "sessions": """SELECT s.project_id, count(*) FROM sessions s WHERE
        EXISTS (SELECT 1 FROM user_prompts p WHERE p.session_id = s.id AND p.hidden_at IS NULL)
        OR EXISTS (SELECT 1 FROM tool_uses t WHERE t.session_id = s.id AND t.hidden_at IS NULL)
        GROUP BY 1""",
    "prompts": """SELECT s.project_id, count(*) FROM user_prompts x
        JOIN sessions s ON s.id = x.session_id
        WHERE x.kind = 'user' AND x.hidden_at IS NULL GROUP BY 1""",
    "tool_uses": """SELECT s.project_id, count(*) FROM tool_uses x
        JOIN sessions s ON s.id = x.session_id
        WHERE x.hidden_at IS NULL AND x.tool_use_id NOT LIKE 'subagent:%' GROUP BY 1""",
    "observations": """SELECT project_id, count(*) FROM observations
        WHERE hidden_at IS NULL AND superseded_by IS NULL GROUP BY 1""",
    "summaries": """SELECT project_id, count(*) FROM session_summaries
        WHERE hidden_at IS NULL AND instr(metadata, '"superseded_by"') = 0 GROUP BY 1""",
}
_PROJECTS = """SELECT p.id, p.name, p.key, p.key_source, p.root, p.merged_into,
        (SELECT max(s.last_event_at) FROM sessions s WHERE s.project_id = p.id)
    FROM projects p ORDER BY p.id"""
_SESSIONS = """SELECT s.id, s.host, s.content_session_id, s.title, s.cwd, s.status,
        s.started_at, s.last_event_at, s.prompt_counter
    FROM sessions s WHERE s.project_id IN (SELECT value FROM json_each(?1)) AND (
        EXISTS (SELECT 1 FROM user_prompts p WHERE p.session_id = s.id AND p.hidden_at IS NULL)
        OR EXISTS (SELECT 1 FROM tool_uses t WHERE t.session_id = s.id AND t.hidden_at IS NULL))
    ORDER BY s.last_event_at DESC, s.id DESC LIMIT ?2"""


class Project(NamedTuple):
    """A row of ``projects`` with what hangs on it. ``counts``: its own, by name."""

    id: int
    name: str
    key: str
    source: str
    root: str
    merged_into: int | None
    last_used_at: int | None
    counts: dict[str, int]


class Alias(NamedTuple):
    kind: str
    alias: str
    project_id: int


class SessionRow(NamedTuple):
    """A session in a project's list; ``host_session`` is the host's own id."""

    id: int
    host: str
    host_session: str
    title: str
    cwd: str
    status: str
    started_at: int
    last_event_at: int
    prompts: int


def every(conn: apsw.Connection) -> list[Project]:
    """Return all projects, merged ones too, oldest first."""
    counted = {name: dict(rows(conn, query)) for name, query in _COUNTS.items()}
    return [
        Project._make((*found, {name: by_id.get(found[0], 0) for name, by_id in counted.items()}))
        for found in rows(conn, _PROJECTS)
    ]


def keys(conn: apsw.Connection) -> dict[int, str]:
    """Return the key of each project, merged ones too."""
    return dict(rows(conn, "SELECT id, key FROM projects ORDER BY id"))


def aliases(conn: apsw.Connection, project_ids: Sequence[int]) -> list[Alias]:
    """Return what the projects are recognised by, surest kind first."""
    marks = ", ".join("?" * len(project_ids))
    return [
        Alias(*found)
        for found in rows(
            conn,
            f"""SELECT kind, alias, project_id FROM project_aliases
            WHERE project_id IN ({marks})
            ORDER BY instr('env git remote path', kind), alias""",
            project_ids,
        )
    ]


def sessions(conn: apsw.Connection, project_ids: Sequence[int], limit: int) -> list[SessionRow]:
    """Return the projects' sessions, the one used last first."""
    ids = f"[{','.join(map(str, project_ids))}]"
    return [SessionRow(*found) for found in rows(conn, _SESSIONS, (ids, limit))]


def owner(conn: apsw.Connection, kind: str, alias: str) -> int | None:
    """Return the project an alias stands for, None when it is nobody's."""
    found = row(
        conn, "SELECT project_id FROM project_aliases WHERE kind = ? AND alias = ?", (kind, alias)
    )
    return None if found is None else int(found[0])


def add_alias(conn: apsw.Connection, project_id: int, alias: tuple[str, str], *, now: int) -> None:
    """Let an alias that is nobody's stand for the project."""
    conn.execute(
        "INSERT INTO project_aliases(kind, alias, project_id, created_at) VALUES(?, ?, ?, ?)",
        (*alias, project_id, now),
    )


def remove_alias(conn: apsw.Connection, alias: tuple[str, str]) -> None:
    """Let an alias stand for nothing."""
    conn.execute("DELETE FROM project_aliases WHERE kind = ? AND alias = ?", alias)


def rename(conn: apsw.Connection, project_id: int, name: str) -> None:
    """Give a project the name that is shown."""
    conn.execute("UPDATE projects SET name = ? WHERE id = ?", (name, project_id))


def point(conn: apsw.Connection, project_id: int, into: int | None) -> None:
    """Let a project count as another one, or (None) as itself."""
    conn.execute("UPDATE projects SET merged_into = ? WHERE id = ?", (into, project_id))


def folderless(conn: apsw.Connection) -> list[str]:
    """The names of claude-mem's projects of which nobody has told the folder yet."""
    query = """SELECT name FROM projects WHERE key_source = ? AND root = ''
        AND merged_into IS NULL ORDER BY name"""
    return [str(name) for (name,) in rows(conn, query, (projects.PEER,))]
