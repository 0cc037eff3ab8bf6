"""claude-mem's memories as records of ours, session by session.

A session and a tool use have the uids that hooks give them, the rest has one of its own on every
machine: so a second import adds nothing, and what hooks have captured too is known.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from cmem import here
from cmem.importers import claude_mem_db as peer_db
from cmem.importers import claude_mem_fields as fields
from cmem.importers import claude_mem_rows as made_of
from cmem.importers.bring import Item
from cmem.importers.claude_mem_rows import NAME, Session
from cmem.model import ProjectIdentity
from cmem.privacy.sanitise import clean
from cmem.store import project_rows, projects, sessions

if TYPE_CHECKING:
    import apsw

    from cmem.importers.claude_mem_db import Found, Peer
    from cmem.store.portable import Record

HOSTS = {
    "": "claude-code",
    "claude": "claude-code",
    "copilot": "copilot-cli",
    "gemini": "gemini-cli",
}


def default_path(env: Mapping[str, str]) -> str:
    """Where claude-mem keeps its database."""
    folder = env.get("CLAUDE_MEM_DATA_DIR") or os.path.join(
        env.get("HOME") or os.path.expanduser("~"), ".claude-mem"
    )
    return os.path.join(folder, "claude-mem.db")


def items(peer: Peer, store: apsw.Connection | None, env: Mapping[str, str]) -> Iterator[Item]:
    """Every record: the projects, then session by session. ``store`` tells which projects are
    known here by the same name or folder."""
    found = _projects(peer, store, env)
    unsorted = found[""]
    for record in {str(one["key"]): one for one in found.values() if one != unsorted}.values():
        yield Item(f"project {record['name']}", record)
    keys = {name: str(one["key"]) for name, one in found.items()}
    for row in _session_rows(peer):
        where = f"session {row['content_session_id']}"
        try:
            session = _session(peer, row, keys)
            records = list(_records(session))
        except UnicodeDecodeError:
            yield Item(where, trouble="holds text that is not UTF-8")
            continue
        if session.project == unsorted["key"]:
            yield Item(where, unsorted)
        for record in records:
            yield Item(where, record)


# --- projects ------------------------------------------------------------------------------


def _projects(
    peer: Peer, store: apsw.Connection | None, env: Mapping[str, str]
) -> dict[str, Record]:
    """A project for each name there, in small letters: claude-mem does not tell ``Shop`` from
    ``shop``."""
    shown: dict[str, str] = {"": projects.UNSORTED}
    for table in (peer_db.SESSIONS, peer_db.OBSERVATIONS, peer_db.SUMMARIES):
        for column in ("project", "merged_into_project"):
            for name in peer.distinct(table, column):
                shown.setdefault(name.casefold(), clean(name, one_line=True))
    folders = peer.folders()
    known = {one.id: one for one in project_rows.every(store)} if store else {}
    by_name: dict[str, list[str]] = {}
    for one in known.values():
        if one.merged_into is None:
            by_name.setdefault(one.name.casefold(), []).append(one.key)
    found = {}
    for name, told in shown.items():
        identity = _identity(name, told, folder=folders.get(name, ""), env=env)
        ref = projects.find_by_identity(store, identity) if store else None
        key = known[ref].key if ref in known else identity.key
        same = by_name.get(name, [])
        if ref is None and len(same) == 1:
            key = same[0]
        found[name] = _project(identity, key)
    return found


def _identity(name: str, told: str, *, folder: str, env: Mapping[str, str]) -> ProjectIdentity:
    """The project by the folder it was worked on in, if claude-mem knows one; else its name."""
    if not name:
        unsorted = projects.UNSORTED
        return ProjectIdentity(unsorted, unsorted, unsorted, "", ())
    if folder:
        home = {"HOME": env["HOME"]} if env.get("HOME") else {}
        found = here.identity_of(folder, home)
        if found.source != projects.UNSORTED:
            return found
    return ProjectIdentity(f"{NAME}:{name}", NAME, told, "", ())


def _project(identity: ProjectIdentity, key: str) -> Record:
    aliases = identity.aliases if key == identity.key else ()
    return {
        "record": "project",
        "key": key,
        "key_source": identity.source,
        "name": identity.name,
        "root": identity.root,
        "created_at": 0,
        "merged_into": None,
        "aliases": [[kind, alias, 0] for kind, alias in aliases],
    }


# --- sessions ------------------------------------------------------------------------------


def _session_rows(peer: Peer) -> Iterator[Found]:
    """Their sessions, one made up for each that rows name and nobody knows, and one for the rows
    that name none."""
    yield from (
        {
            **row,
            "content_session_id": str(row.get("content_session_id") or f"{NAME}:{row['rowid_']}"),
        }
        for row in peer.rows(peer_db.SESSIONS)
    )
    natives = {
        name: None
        for table in (peer_db.PROMPTS, peer_db.TOOLS)
        for name in peer.strangers(table, "content_session_id")
    }
    for name in natives:
        yield {"content_session_id": name, "stranger": True}
    memories = {
        name: None
        for table in (peer_db.OBSERVATIONS, peer_db.SUMMARIES)
        for name in peer.strangers(table, "memory_session_id")
    }
    for name in memories:
        yield {"content_session_id": f"{NAME}:{name}", "memory_session_id": name}
    if any(peer.homeless(table) for table in peer_db.TABLES[1:]):
        yield {"content_session_id": f"{NAME}:", "homeless": True}


def _session(peer: Peer, row: Found, keys: Mapping[str, str]) -> Session:
    native = row["content_session_id"]
    rows = {table: list(_rows(peer, table, row)) for table in peer_db.TABLES[1:]}
    if not peer.columns[peer_db.PROMPTS] and row.get("user_prompt"):
        # Before prompts had a table, a session knew its first one.
        first = {"prompt_number": 1, "prompt_text": row["user_prompt"]}
        rows[peer_db.PROMPTS] = [{**first, "created_at_epoch": row.get("started_at_epoch")}]
    told = str(row.get("platform_source") or "").lower()
    host = HOSTS.get(told, told)
    named = [one.get("project") for table in peer_db.TABLES[1:] for one in rows[table]]
    project = next((str(one) for one in (row.get("project"), *named) if one), "")
    key = keys.get(project.casefold(), keys[""])
    return Session(row, host, sessions.uid_of(host, native), key, rows, keys)


def _rows(peer: Peer, table: str, row: Found) -> Iterator[Found]:
    """The rows of a session in a table."""
    if row.get("homeless"):
        where = peer.homeless(table)
        return peer.rows(table, where) if where else iter(())
    if table in (peer_db.PROMPTS, peer_db.TOOLS):
        return _evidence(peer, table, row)
    memory = row.get("memory_session_id")
    if memory is None or not peer.has(table, "memory_session_id"):
        return iter(())
    return peer.rows(table, "memory_session_id = ?", (memory,))


def _evidence(peer: Peer, table: str, row: Found) -> Iterator[Found]:
    """The prompts or tool uses of a session: by its number, where they have one; a host's id
    alone may be that of two sessions."""
    native = row["content_session_id"]
    by_native = peer.has(table, "content_session_id")
    if peer.has(table, "session_db_id") and not row.get("stranger"):
        if by_native:
            where = "session_db_id = ?1 OR (session_db_id IS NULL AND content_session_id = ?2)"
            return peer.rows(table, where, (row.get("id"), native))
        return peer.rows(table, "session_db_id = ?", (row.get("id"),))
    return peer.rows(table, "content_session_id = ?", (native,)) if by_native else iter(())


def _records(session: Session) -> Iterator[Record]:
    """The session, its turns, and what is in them, in the order in which they can be stored."""
    started = fields.time(session.row, "started_at", _first_time(session))
    prompts = made_of.prompts(session, session.rows[peer_db.PROMPTS], started)
    tools = [made_of.tool_use(session, row, started) for row in session.rows[peer_db.TOOLS]]
    by_row = {
        one["id"]: made
        for one, made in zip(session.rows[peer_db.TOOLS], tools, strict=True)
        if "id" in one
    }
    made = [
        *prompts,
        *tools,
        *(
            made_of.observation(
                session,
                row,
                started=started,
                sources=made_of.sources_of(session, row, prompts=prompts, tools=by_row),
            )
            for row in session.rows[peer_db.OBSERVATIONS]
        ),
        *(made_of.summary(session, row, started) for row in session.rows[peer_db.SUMMARIES]),
    ]
    times = [started, *(int(one["created_at"]) for one in made)]
    # Nobody tells of the end of most; what goes on is told by the host's own hooks.
    ended = fields.time(session.row, "completed_at", 0) or max(times)
    yield {
        "record": "session",
        "uid": session.uid,
        "host": session.host,
        "content_session_id": session.row["content_session_id"],
        "project": session.project,
        "project_key_source": NAME,
        "cwd": _folder(session),
        "model": "",
        "title": clean(str(session.row.get("custom_title") or ""), one_line=True),
        "status": "completed",
        "prompt_counter": fields.whole(session.row.get("prompt_counter")),
        "started_at": min(times),
        "last_event_at": max(times),
        "completed_at": ended,
    }
    yield from _turns(session, made)
    yield from made


def _turns(session: Session, made: list[Record]) -> Iterator[Record]:
    for number in sorted({int(one["turn"]) for one in made}):
        times = [int(one["created_at"]) for one in made if one["turn"] == number]
        yield {
            "record": "turn",
            "session": session.uid,
            "number": number,
            "kind": "user",
            "opened_at": min(times),
            "last_event_at": max(times),
            "closed_at": max(times),
            "closed_by": NAME,
            "outcome": "stop",
        }


def _first_time(session: Session) -> int:
    times = [
        fields.time(row, "created_at", 0)
        for table in peer_db.TABLES[1:]
        for row in session.rows[table]
    ]
    return min([at for at in times if at], default=0)


def _folder(session: Session) -> str:
    rows = session.rows[peer_db.TOOLS]
    return next((str(one["cwd"]) for one in (session.row, *rows) if one.get("cwd")), "")
