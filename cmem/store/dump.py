"""The store as records, session by session, in an order that is the same in every store.

What is hidden is not told: a row being forgotten, the words of a turn that lost one, the title
of a session that lost a prompt. The caller holds one moment of the store open.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from cmem.store import codec, pairs, tombstones
from cmem.store.portable import (
    KINDS,
    LOCAL,
    OBSERVATION,
    OPEN,
    PROJECT,
    SESSION,
    TOMBSTONE,
    TURN,
    WORK,
    Kind,
    Record,
)
from cmem.store.rows import rows, value

if TYPE_CHECKING:
    import apsw

_SESSIONS = """SELECT s.id FROM sessions s
    WHERE (?1 IS NULL OR s.project_id IN (SELECT value FROM json_each(?1)))
    AND s.last_event_at >= ?2 AND (
        EXISTS(SELECT 1 FROM turns x WHERE x.session_id = s.id AND x.hidden_at IS NULL)
        OR EXISTS(SELECT 1 FROM observations x WHERE x.session_id = s.id AND x.hidden_at IS NULL)
        OR EXISTS(SELECT 1 FROM tool_uses x WHERE x.session_id = s.id AND x.hidden_at IS NULL)
        OR EXISTS(SELECT 1 FROM user_prompts x WHERE x.session_id = s.id AND x.hidden_at IS NULL)
        {or_open_work}
        OR NOT EXISTS(SELECT 1 FROM turns x WHERE x.session_id = s.id))
    ORDER BY s.started_at, s.uid"""
_OR_OPEN_WORK = """OR EXISTS(SELECT 1 FROM work_state_entries x
        WHERE x.session_id = s.id AND x.hidden_at IS NULL)"""
_SESSION = """SELECT p.key AS project, {columns} FROM sessions s
    JOIN projects p ON p.id = s.project_id WHERE s.id = ?"""
_LOST_A_PROMPT = """SELECT EXISTS(SELECT 1 FROM user_prompts
    WHERE session_id = ? AND hidden_at IS NOT NULL)"""
_TURNS = """SELECT CASE WHEN t.hidden_at IS NULL THEN 0
        WHEN EXISTS(SELECT 1 FROM user_prompts x WHERE x.turn_id = t.id AND x.hidden_at IS NULL)
        OR EXISTS(SELECT 1 FROM tool_uses x WHERE x.turn_id = t.id AND x.hidden_at IS NULL)
        OR EXISTS(SELECT 1 FROM observations x WHERE x.turn_id = t.id AND x.hidden_at IS NULL)
        THEN 1 ELSE 2 END AS hidden, {columns}
    FROM turns t WHERE t.session_id = ? ORDER BY {order}"""
_ROWS = """SELECT r.id AS id, t.number AS turn, {more} {columns} FROM {table} r
    JOIN turns t ON t.id = r.turn_id
    WHERE r.session_id = ? AND r.hidden_at IS NULL ORDER BY r.created_at, r.uid"""
_STATES = """SELECT r.id AS id, {more} {columns},
        (SELECT uid FROM work_state_entries i WHERE i.id = r.item) AS item
    FROM work_state_entries r WHERE r.session_id = ? AND r.hidden_at IS NULL
    ORDER BY r.created_at, r.item <> r.id, r.uid"""
_OF_PROJECT = """(SELECT key FROM projects WHERE id = r.project_id) AS project,"""
_SUPERSEDED = """(SELECT uid FROM observations o WHERE o.id = r.superseded_by) AS superseded_by,"""
_SOURCES = """SELECT kind, uid FROM (
    SELECT c.kind, p.uid, p.hidden_at FROM observation_sources c
        JOIN user_prompts p ON c.kind = 'P' AND p.id = c.ref WHERE c.observation_id = ?1
    UNION ALL SELECT c.kind, t.uid, t.hidden_at FROM observation_sources c
        JOIN tool_uses t ON c.kind = 'T' AND t.id = c.ref WHERE c.observation_id = ?1)
    WHERE hidden_at IS NULL ORDER BY kind, uid"""


class Chosen(NamedTuple):
    """What is to be told: of these projects (None: all) the sessions with an event since."""

    projects: tuple[int, ...] | None = None
    since: int = 0


def sessions(conn: apsw.Connection, chosen: Chosen) -> list[int]:
    """The sessions to be told, the oldest first."""
    wanted = None if chosen.projects is None else json.dumps(chosen.projects)
    has_work = bool(rows(conn, "SELECT 1 FROM sqlite_schema WHERE name = ?", (WORK.table,)))
    query = _SESSIONS.format(or_open_work=_OR_OPEN_WORK if has_work else "")
    return [int(ref) for (ref,) in rows(conn, query, (wanted, chosen.since))]


def size(conn: apsw.Connection) -> int:
    """About how many records there are in all."""
    query = "SELECT (SELECT count(*) FROM documents) + (SELECT count(*) FROM turns)"
    return int(value(conn, query))


def records(conn: apsw.Connection, chosen: Chosen) -> Iterator[Record]:
    """Every record: projects, what is not to come back, then each session with all in it."""
    refs = sessions(conn, chosen)
    yield from _projects(conn, chosen, refs)
    if chosen.projects is None:
        for one in tombstones.travelling(conn, since=chosen.since):
            told = {"kind": one.kind, "hash": one.digest.hex(), "at": one.at}
            yield {"record": TOMBSTONE, **told, **({"undone": True} if one.undone else {})}
    columns = shapes(conn)
    for ref in refs:
        yield from of_session(conn, ref, columns)


Shapes = Mapping[str, list[str]]


def shapes(conn: apsw.Connection) -> Shapes:
    """The columns of every table that are told; [] for a table that the file lacks."""
    tables = ("sessions", pairs.TABLE, *(one.table for one in KINDS))
    return {table: _columns(conn, table) for table in tables}


def of_session(conn: apsw.Connection, ref: int, columns: Shapes) -> Iterator[Record]:
    """A session, and then all in it that is not hidden."""
    yield _session(conn, ref, ", ".join(f"s.{name}" for name in columns["sessions"]))
    for one in _present(columns):
        yield from _of_session(conn, one, ref, columns=columns)


def projects(conn: apsw.Connection) -> Iterator[Record]:
    """Every project."""
    return _projects(conn, Chosen(), [])


def _present(columns: Shapes) -> list[Kind]:
    """The kinds that the file has: a reader may find one of an older cmem."""
    return [kind for kind in KINDS if columns[kind.table]]


def _columns(conn: apsw.Connection, table: str) -> list[str]:
    found = rows(conn, "SELECT name FROM pragma_table_info(?) ORDER BY name", (table,))
    return [str(name) for (name,) in found if name not in LOCAL]


def _named(conn: apsw.Connection, query: str, values: tuple[Any, ...]) -> Iterator[Record]:
    cursor = conn.execute(query, values)
    names: list[str] = []
    for found in cursor:
        names = names or [column[0] for column in cursor.getdescription()]
        yield dict(zip(names, found, strict=True))


def _projects(conn: apsw.Connection, chosen: Chosen, refs: list[int]) -> Iterator[Record]:
    """All projects, or those of the sessions with what they were merged into."""
    query = """WITH RECURSIVE wanted(id) AS (
            SELECT project_id FROM sessions WHERE id IN (SELECT value FROM json_each(?1))
            UNION SELECT o.project_id FROM observations o
                WHERE o.session_id IN (SELECT value FROM json_each(?1))
            UNION SELECT p.merged_into FROM wanted JOIN projects p ON p.id = wanted.id
                WHERE p.merged_into IS NOT NULL)
        SELECT p.id, p.key, p.key_source, p.name, p.root, p.created_at,
            (SELECT key FROM projects i WHERE i.id = p.merged_into) AS merged_into
        FROM projects p WHERE ?2 OR p.id IN wanted ORDER BY p.key"""
    whole = chosen == Chosen()
    told = json.dumps([] if whole else refs)
    aliases = """SELECT kind, alias, created_at FROM project_aliases
        WHERE project_id = ? ORDER BY kind, alias"""
    for found in _named(conn, query, (told, whole)):
        ref = found.pop("id")
        yield {
            "record": PROJECT,
            **found,
            "aliases": [list(one) for one in rows(conn, aliases, (ref,))],
        }


def _session(conn: apsw.Connection, ref: int, columns: str) -> Record:
    (found,) = _named(conn, _SESSION.format(columns=columns), (ref,))
    if value(conn, _LOST_A_PROMPT, (ref,)):
        found["title"] = ""
    return {"record": SESSION, **found}


def _of_session(
    conn: apsw.Connection, kind: Kind, session: int, *, columns: Shapes
) -> Iterator[Record]:
    (uid,) = rows(conn, "SELECT uid FROM sessions WHERE id = ?", (session,))[0]
    if kind is TURN:
        told = ", ".join(f"t.{one}" for one in columns[kind.table])
        query = _TURNS.format(columns=told, order=kind.order)
        yield from (_turn(uid, found) for found in _named(conn, query, (session,)))
        return
    more = _OF_PROJECT if kind.letter in "OSW" else ""
    more += _SUPERSEDED if kind is OBSERVATION else ""
    told = ", ".join(f"r.{one}" for one in columns[kind.table])
    query = (_STATES if kind is WORK else _ROWS).format(columns=told, table=kind.table, more=more)
    tells = kind is OBSERVATION and columns[pairs.TABLE]
    alike = pairs.of_session(conn, session) if tells else {}
    for found in _named(conn, query, (session,)):
        ref = int(found.pop("id"))
        for name in kind.arrays:
            found[name] = _document(found[name])
        for name in kind.packed:
            # NULL is a payload that has had its time.
            found[name] = None if found[name] is None else codec.unpack(found[name])
        if kind is OBSERVATION:
            found["sources"] = [list(one) for one in rows(conn, _SOURCES, (ref,))]
            if found["uid"] in alike:
                found["pairs"] = alike[found["uid"]]
        yield {"record": kind.type, "session": uid, **found}


def _turn(session: str, found: Record) -> Record:
    """A turn; one that is open still is told as ended, because who goes on with it is here."""
    hidden = found.pop("hidden")
    if hidden:
        found["assistant_message"] = found["error"] = ""
    if found["closed_at"] is None:
        found |= {"closed_at": found["last_event_at"], "closed_by": OPEN, "outcome": "interrupted"}
    if hidden == 2:
        found["forgotten"] = True
    return {"record": TURN.type, "session": session, **found}


def _document(text: object) -> object:
    """A column's JSON as a value, where it is a list or an object; else the text itself."""
    try:
        found = json.loads(str(text))
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, (list, dict)) else text
