"""The way of one event through the store: its row, its turn, its work, what was made of it.

Events have no table of their own. A row tells its event's identity, and an identity its row,
because both are made of the host's ids; what the host gave no id goes by a hash of it. What is
hidden or erased is told as forgotten, and nothing else of it.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from cmem.store import codec, erase, evidence, projects, sessions
from cmem.store.rows import row, rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

Record = dict[str, Any]
Ref = tuple[str, int]

TABLES = {"O": "observations", "P": "user_prompts", "S": "session_summaries", "T": "tool_uses"}
_TITLES = {"O": "title", "S": "CASE request WHEN '' THEN completed ELSE request END"}
_KINDS = (":t:", ":p:", ":h:")

_UNITS = """SELECT u.id, u.kind, u.state, u.reason, u.attempts, u.error, u.created_at,
        u.finished_at, r.provider, r.model, r.outcome, r.ended_at,
        CASE r.outcome WHEN 'done' THEN r.error ELSE '' END
    FROM work_units u LEFT JOIN observer_runs r
        ON r.id = (SELECT max(x.id) FROM observer_runs x WHERE x.unit_id = u.id)
    WHERE {which} ORDER BY u.id"""
_OF_TURN = _UNITS.format(
    which="""u.kind = 'turn' AND u.turn_id = ?1
        AND (?3 IS NULL OR u.first_tool IS NULL OR ?3 BETWEEN u.first_tool AND u.last_tool)
    OR u.id = (SELECT y.id FROM work_units y WHERE y.kind = 'summary' AND y.session_id = ?2
        AND y.turn_id >= ?1 ORDER BY y.turn_id, y.id LIMIT 1)"""
)
_UNIT_KEYS = (
    *("id", "kind", "state", "reason", "attempts", "error", "created_at", "finished_at"),
    *("provider", "model", "outcome", "ended_at", "reply"),
)
_SESSION = f"""SELECT s.id, s.host, s.content_session_id, s.cwd, s.project_key_source, p.name
    FROM sessions s JOIN projects p ON p.id = {projects.ROOT_OF.format(project="s.project_id")}
    WHERE s.id = ?"""


def seen(conn: apsw.Connection, text: str, *, limit: int) -> list[tuple[str, int]]:
    """(identity, when it was taken in) of the events whose identity begins with the text."""
    sql = "SELECT eid, at FROM seen_events WHERE eid >= ?1 AND eid < ?1 || ?2 ORDER BY eid LIMIT ?3"
    return [(str(eid), int(at)) for eid, at in rows(conn, sql, (text, "\U0010ffff", limit))]


def seen_tools(conn: apsw.Connection, text: str, *, limit: int) -> list[tuple[str, int]]:
    """The same of tool calls whose id begins with the text, their rows gone or not."""
    sql = "SELECT eid, at FROM seen_events WHERE instr(eid, ':t:' || ?) ORDER BY eid LIMIT ?"
    return [(str(eid), int(at)) for eid, at in rows(conn, sql, (text, limit))]


def by_tool_use_id(conn: apsw.Connection, text: str, *, limit: int) -> list[tuple[Ref, str]]:
    """The tool uses, with their ids, that a host calls so or by a name that begins so."""
    sql = """SELECT id, tool_use_id FROM tool_uses WHERE substr(tool_use_id, 1, length(?1)) = ?1
        ORDER BY tool_use_id <> ?1, id LIMIT ?2"""
    return [(("T", int(ref)), str(name)) for ref, name in rows(conn, sql, (text, limit))]


def ref_of(conn: apsw.Connection, eid: str) -> tuple[Ref | None, bool]:
    """(the row of the event, whether it was forgotten); no row for an event that only moved
    its turn or session on."""
    host, _, rest = eid.partition(":")
    at, kind = min(((rest.find(one), one) for one in _KINDS if one in rest), default=(0, ""))
    session = sessions.find(conn, host, rest[:at])
    if session is None:
        return None, False
    name = rest[at + len(kind) :]
    if kind == ":t:":
        return _tool_ref(conn, session, name)
    if kind == ":p:":
        prompt_id, _, text_hash = name.rpartition(":")
        return _prompt_ref(conn, session, prompt_id, text_hash=text_hash)
    digest = hashlib.sha256(eid.encode()).hexdigest()
    found = _tool_ref(conn, session, f"event:{digest[:32]}")
    if found != (None, False):
        return found
    return _prompt_ref(conn, session, "", text_hash=digest[:16])


def _tool_ref(
    conn: apsw.Connection, session: sessions.Session, name: str
) -> tuple[Ref | None, bool]:
    sql = "SELECT id FROM tool_uses WHERE session_id = ? AND tool_use_id = ?"
    found = row(conn, sql, (session.id, name))
    if found is not None:
        return ("T", int(found[0])), False
    return None, erase.is_forgotten(conn, "T", evidence.uid(session, "tool", name))


def _prompt_ref(
    conn: apsw.Connection, session: sessions.Session, prompt_id: str, *, text_hash: str
) -> tuple[Ref | None, bool]:
    """The prompt of this text, else one of this id: the text may have been scrubbed since."""
    sql = """SELECT id FROM user_prompts WHERE session_id = ?1 AND native_prompt_id = ?2
        AND (native_prompt_hash = ?3 OR ?2 <> '') ORDER BY native_prompt_hash <> ?3, id LIMIT 1"""
    found = row(conn, sql, (session.id, prompt_id, text_hash))
    if found is not None:
        return ("P", int(found[0])), False
    name = evidence.uid(session, "prompt", prompt_id, text_hash)
    return None, erase.is_forgotten(conn, "P", name)


def is_hidden(conn: apsw.Connection, ref: Ref) -> bool | None:
    """Whether the row has been forgotten but not erased yet; None when there is no such row."""
    kind, number = ref
    if kind not in TABLES or number >= 2**63:
        return None
    found = row(conn, f"SELECT hidden_at FROM {TABLES[kind]} WHERE id = ?", (number,))
    return None if found is None else found[0] is not None


def record(conn: apsw.Connection, ref: Ref) -> Record:
    """All that the store knows of the way of a visible row."""
    return _made(conn, ref) if ref[0] in "OS" else _captured(conn, ref)


def texts(conn: apsw.Connection, ref: Ref) -> list[str]:
    """What is stored of a captured row, for a look at what was cut from it."""
    kind, number = ref
    if kind == "T":
        sql = "SELECT tool_input, tool_response FROM tool_uses WHERE id = ?"
    else:
        sql = "SELECT prompt_text FROM user_prompts WHERE id = ?"
    return [codec.unpack(text) for found in rows(conn, sql, (number,)) for text in found]


# --- what was captured ---------------------------------------------------------------


def _captured(conn: apsw.Connection, ref: Ref) -> Record:
    kind, number = ref
    if kind == "T":
        sql = """SELECT session_id, turn_id, created_at, cwd, tool_use_id, tool_name, outcome,
            agent_type, taint FROM tool_uses WHERE id = ?"""
    else:
        sql = """SELECT session_id, turn_id, created_at, cwd, native_prompt_id, kind,
            native_prompt_hash, '', '' FROM user_prompts WHERE id = ?"""
    found = row(conn, sql, (number,))
    assert found is not None
    session_id, turn_id, at, cwd, native, name, third, agent, taint = found
    session = _session(conn, session_id)
    stem = f"{session['host']}:{session['host_session']}"
    name_of = f"t:{native}" if kind == "T" else f"p:{native}:{third}"
    eid, ingested_at = _event(conn, f"{stem}:{name_of}")
    details: Record = {"prompt": name}
    if kind == "T":
        details = {"tool": name, "tool_use_id": native, "outcome": third, "taint": taint}
    return {
        "id": f"{kind}{number}",
        "eid": eid,
        "state": "stored",
        "captured": {"at": at, "host": session["host"], "cwd": cwd, "agent": agent} | details,
        "ingested_at": ingested_at,
        "session": session,
        "turn": _turn(conn, turn_id),
        "units": _units(conn, _OF_TURN, (turn_id, session_id, number if kind == "T" else None)),
        "observations": _observations(conn, ref),
        "summaries": _summaries(conn, session_id, turn_id),
    }


def _event(conn: apsw.Connection, eid: str) -> tuple[str | None, int | None]:
    """The identity and when it was taken in; None where the row's event had another one."""
    found = row(conn, "SELECT eid, at FROM seen_events WHERE eid = ?", (eid,))
    return (None, None) if found is None else (found[0], found[1])


def _session(conn: apsw.Connection, session_id: int) -> Record:
    found = row(conn, _SESSION, (session_id,))
    assert found is not None
    number, host, native, cwd, source, project = found
    return {
        "id": f"N{number}",
        "host": host,
        "host_session": native,
        "cwd": cwd,
        "project": project,
        "project_by": source,
    }


def _turn(conn: apsw.Connection, turn_id: int) -> Record:
    found = row(
        conn,
        """SELECT number, opened_at, closed_at, closed_by, outcome, private FROM turns
        WHERE id = ?""",
        (turn_id,),
    )
    assert found is not None
    keys = ("number", "opened_at", "closed_at", "closed_by", "outcome", "private")
    sql = """SELECT 'P' || id FROM user_prompts WHERE turn_id = ? AND hidden_at IS NULL
        ORDER BY kind <> 'user', id LIMIT 1"""
    prompt = row(conn, sql, (turn_id,))
    told = dict(zip(keys, found, strict=True))
    return told | {"private": bool(found[5]), "prompt": prompt[0] if prompt else None}


def _units(conn: apsw.Connection, sql: str, values: Sequence[int | None]) -> list[Record]:
    return [dict(zip(_UNIT_KEYS, one, strict=True)) for one in rows(conn, sql, values)]


def _observations(conn: apsw.Connection, ref: Ref) -> list[Record]:
    sql = """SELECT 'O' || o.id, o.title, o.superseded_by IS NOT NULL
        FROM observation_sources s JOIN observations o ON o.id = s.observation_id
        WHERE s.kind = ? AND s.ref = ? AND o.hidden_at IS NULL ORDER BY o.id"""
    return [
        {"id": one, "title": title, "superseded": bool(superseded)}
        for one, title, superseded in rows(conn, sql, ref)
    ]


def _summaries(conn: apsw.Connection, session_id: int, turn_id: int) -> list[Record]:
    """The summary of the stretch that the turn is in: the first one after it."""
    sql = f"""SELECT 'S' || id, {_TITLES["S"]} FROM session_summaries
        WHERE session_id = ? AND turn_id >= ? AND hidden_at IS NULL
        AND instr(metadata, '"superseded_by"') = 0 ORDER BY turn_id LIMIT 1"""
    return [{"id": one, "title": title} for one, title in rows(conn, sql, (session_id, turn_id))]


# --- what was made -------------------------------------------------------------------


def _made(conn: apsw.Connection, ref: Ref) -> Record:
    kind, number = ref
    sql = f"""SELECT session_id, turn_id, unit_id, created_at, generated_by_model, {_TITLES[kind]}
        FROM {TABLES[kind]} WHERE id = ?"""
    found = row(conn, sql, (number,))
    assert found is not None
    session_id, turn_id, unit_id, at, model, title = found
    return {
        "id": f"{kind}{number}",
        "eid": None,
        "state": "stored",
        "title": title,
        "created_at": at,
        "model": model,
        "session": _session(conn, session_id),
        "turn": _turn(conn, turn_id),
        "units": _units(conn, _UNITS.format(which="u.id = ?1"), (unit_id,)),
        "sources": _sources(conn, ref, session_id=session_id, turn_id=turn_id),
    }


def _sources(conn: apsw.Connection, ref: Ref, *, session_id: int, turn_id: int) -> list[Record]:
    """What the row was made of: prompts and tool uses, or the observations of its stretch."""
    if ref[0] == "S":
        sql = """SELECT 'O' || id, title FROM observations WHERE session_id = ?1
            AND turn_id <= ?2 AND hidden_at IS NULL AND turn_id > coalesce((SELECT max(turn_id)
                FROM session_summaries WHERE session_id = ?1 AND turn_id < ?2), 0)
            ORDER BY id"""
        found = rows(conn, sql, (session_id, turn_id))
    else:
        sql = """SELECT s.kind || s.ref, coalesce(t.tool_name, 'prompt')
            FROM observation_sources s
            LEFT JOIN tool_uses t ON s.kind = 'T' AND t.id = s.ref
            LEFT JOIN user_prompts p ON s.kind = 'P' AND p.id = s.ref
            WHERE s.observation_id = ? AND coalesce(t.hidden_at, p.hidden_at) IS NULL
            ORDER BY s.kind, s.ref"""
        found = rows(conn, sql, (ref[1],))
    return [{"id": one, "title": title} for one, title in found]
