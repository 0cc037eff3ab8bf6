"""Rows of claude-mem as records of ours.

A record's uid is made of what claude-mem knows the row by on every machine; a tool use has the
one that hooks give it. What has no column here is kept in ``metadata``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from cmem import taint, tokens
from cmem.importers import claude_mem_db as peer_db
from cmem.importers import claude_mem_fields as fields
from cmem.privacy.sanitise import clean
from cmem.store import drafts, evidence, takeover, titles

if TYPE_CHECKING:
    from cmem.importers.claude_mem_db import Found
    from cmem.store.portable import Record

NAME = takeover.NAME
_PROSE = ("request", "investigated", "learned", "completed", "next_steps", "notes")
_LETTERS = {"prompt": "P", "tool_use": "T"}
_KEPT = (
    "id",
    "content_hash",
    "observed_model",
    "observed_billing",
    "memory_session_id",
    "merged_into_project",
    "relevance_count",
    "sync_rev",
    "synced_at",
) + ("metadata", "text", "project", "created_at")


class Session(NamedTuple):
    """One session there: its own row, and the rows in it by table. ``keys``: our projects by
    the names there, in small letters."""

    row: Found
    host: str
    uid: str
    project: str
    rows: Mapping[str, list[Found]]
    keys: Mapping[str, str]


def prompt(session: Session, row: Found, started: int) -> Record:
    number, at = fields.whole(row.get("prompt_number")), fields.time(row, "created_at", started)
    uid = takeover.prompt_uid(session.uid, number, at)
    return {
        "record": "prompt",
        "uid": uid,
        "session": session.uid,
        "turn": number,
        "prompt_number": number,
        "kind": "user",
        "native_prompt_id": "",
        "native_prompt_hash": uid[:16],
        "created_at": at,
        "cwd": "",
        "prompt_text": str(row.get("prompt_text") or ""),
    }


def prompts(session: Session, rows: list[Found], started: int) -> list[Record]:
    """The prompts. Of two that differ in their words alone, both are kept."""
    made: dict[str, Record] = {}
    for row in rows:
        one = prompt(session, row, started)
        if made.get(one["uid"], one)["prompt_text"] != one["prompt_text"]:
            uid = drafts.digest(one["uid"], one["prompt_text"], by="\0")[:32]
            one |= {"uid": uid, "native_prompt_hash": uid[:16]}
        made.setdefault(one["uid"], one)
    return list(made.values())


def tool_use(session: Session, row: Found, started: int) -> Record:
    number, cwd = fields.whole(row.get("prompt_number")), str(row.get("cwd") or "")
    given, answer = (fields.document(row.get(name)) for name in ("tool_input", "tool_response"))
    name = str(row.get("tool_name") or "unknown")
    native = str(row.get("tool_use_id") or f"{NAME}:{row['rowid_']}")
    return {
        "record": "tool_use",
        "uid": evidence.uid_in(session.uid, "tool", native),
        "session": session.uid,
        "turn": number,
        "tool_use_id": native,
        "tool_name": name,
        "outcome": "ok",
        "prompt_number": number,
        "cwd": cwd,
        "duration_ms": None,
        "agent_id": str(row.get("agent_id") or ""),
        "tool_input": given,
        "agent_type": str(row.get("agent_type") or ""),
        "tool_response": answer,
        "taint": taint.of_tool(name, json.loads(given), cwd=cwd, roots=[cwd]),
        "created_at": fields.time(row, "created_at", started),
        "evidence_tokens": tokens.count(given) + tokens.count(answer),
    }


def observation(
    session: Session,
    row: Found,
    *,
    started: int,
    sources: list[Record],
) -> Record:
    at, number = fields.time(row, "created_at", started), fields.whole(row.get("prompt_number"))
    facts = fields.lines(row.get("facts"))
    narrative = fields.prose(row.get("narrative")) or fields.prose(row.get("text"))
    title = clean(str(row.get("title") or ""), one_line=True) or fields.title(narrative, facts)
    turn = number if sources else _own_turn(session, row, at)
    told = row.get("content_hash") or f"{row.get('id', row['rowid_'])}|{at}"
    uid = drafts.digest(NAME, session.uid, "observation", str(told), by="\0")
    return {
        "record": "observation",
        "uid": uid,
        "session": session.uid,
        "turn": turn,
        "project": _project_of(session, row),
        "host": session.host,
        "prompt_number": number,
        "created_at": at,
        "taint": "agent",
        "type": clean(str(row.get("type") or "discovery"), one_line=True) or "discovery",
        "evidence_tokens": sum(_tokens(one) for one in sources),
        "discovery_tokens": fields.whole(row.get("discovery_tokens")),
        "read_tokens": tokens.count("\n".join((title, narrative, *facts))),
        "occurrence_count": fields.whole(row.get("occurrence_count")) or 1,
        "last_reinforced": fields.stamp(row.get("last_reinforced")) or at,
        "reinforcement_dates": fields.lines(row.get("reinforcement_dates")) or [drafts.day(at)],
        "content_hash": uid[:16],
        "title_norm_key": titles.norm_key(title),
        **{name: str(row.get(name) or "") for name in ("agent_id", "agent_type")},
        **_origin(row),
        "title": title,
        "subtitle": clean(str(row.get("subtitle") or ""), one_line=True),
        "narrative": narrative,
        "facts": facts,
        **{
            name: fields.lines(row.get(name))
            for name in ("concepts", "files_read", "files_modified")
        },
        "metadata": _metadata(row, narrative),
        "sources": [[_LETTERS[one["record"]], one["uid"]] for one in sources],
    }


def _own_turn(session: Session, row: Found, at: int) -> int:
    """A turn for an observation that nothing is known of but itself: in one with others, they
    would be forgotten together."""
    name = drafts.digest(session.uid, str(at), str(row.get("id")), by="\0")
    return takeover.ALONE + int(name[:7], 16)


def _tokens(source: Record) -> int:
    told = source.get("evidence_tokens")
    return tokens.count(str(source["prompt_text"])) if told is None else int(told)


def summary(session: Session, row: Found, started: int) -> Record:
    at, number = fields.time(row, "created_at", started), fields.whole(row.get("prompt_number"))
    prose = {name: fields.text(row.get(name)) for name in _PROSE}
    uid = drafts.digest(NAME, session.uid, "summary", str(number), str(at), by="\0")
    return {
        "record": "summary",
        "uid": uid,
        "session": session.uid,
        "turn": number,
        "project": _project_of(session, row),
        "prompt_number": number,
        "created_at": at,
        "taint": "agent",
        "evidence_tokens": 0,
        "discovery_tokens": fields.whole(row.get("discovery_tokens")),
        "read_tokens": tokens.count("\n".join(filter(None, prose.values()))),
        **_origin(row),
        **prose,
        **{name: fields.lines(row.get(name)) for name in ("files_read", "files_edited")},
        "metadata": _metadata(row, ""),
    }


def _origin(row: Found) -> Record:
    """Who made the row, and what it is called there."""
    return {
        "generated_by_model": str(row.get("generated_by_model") or NAME),
        "prompt_version": NAME,
        "origin_device_id": str(row.get("origin_device_id") or ""),
        "origin_local_id": fields.whole(row.get("origin_local_id") or row.get("id")),
    }


def _metadata(row: Found, narrative: str) -> Record:
    """What there is no column for."""
    kept = {name: row[name] for name in _KEPT if row.get(name) not in (None, "", 0)}
    if narrative and kept.get("text") == narrative:
        del kept["text"]
    if "metadata" in kept:
        try:
            kept["metadata"] = json.loads(str(kept["metadata"]))
        except (ValueError, RecursionError):
            pass
    return {NAME: kept}


def _project_of(session: Session, row: Found) -> str:
    """A row that was merged into another project is that one's."""
    name = str(row.get("merged_into_project") or row.get("project") or "")
    return session.keys.get(name.casefold(), session.project) if name else session.project


def sources_of(
    session: Session, row: Found, *, prompts: list[Record], tools: Mapping[object, Record]
) -> list[Record]:
    """What the observation was made of: the prompt of its number, the tool uses that name it."""
    number, asked = row.get("id"), fields.whole(row.get("prompt_number"))
    found = [one for one in prompts if asked and one["prompt_number"] == asked]
    for one in session.rows[peer_db.TOOLS]:
        if number is not None and one.get("observation_id") == number and one.get("id") in tools:
            found.append(tools[one["id"]])
    return found
