"""What of a record is its content, by which key it is known, and what is decided beside it. Pure.

The fields that count are listed, so that a later version with more columns finds no change in
rows that nobody has touched.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import orjson

from cmem.store.portable import BY_TYPE, OBSERVATION, PROJECT, SESSION, TURN, Record

PINNED, SEEN, PAIRS = "pinned", "seen", "pairs"
SUPERSEDED, MERGED = "superseded_by", "merged_into"
GONE, ALIAS, MARK = "gone", "alias", "mark"
# An alias that names a folder is this machine's own.
ALIASES = ("env", "remote")
_SEEN = ("occurrence_count", "last_reinforced", "reinforcement_dates")
_TITLE = ("cwd", "model", "title")
_FIELDS: dict[str, tuple[str, ...]] = {
    PROJECT: ("created_at", "name"),
    SESSION: ("completed_at", "last_event_at", "prompt_counter", "started_at", "status", *_TITLE),
    TURN.type: (
        *("assistant_message", "branch", "closed_at", "closed_by", "commit_sha", "error"),
        *("forgotten", "kind", "last_event_at", "opened_at", "outcome", "private"),
    ),
    "prompt": ("created_at", "cwd", "kind", "prompt_number", "prompt_text"),
    "tool_use": (
        *("agent_id", "agent_type", "branch", "commit_sha", "created_at", "cwd", "duration_ms"),
        *("outcome", "prompt_number", "taint", "tool_input", "tool_name", "tool_response"),
    ),
    OBSERVATION.type: (
        *("agent_id", "agent_type", "branch", "commit_sha", "concepts", "content_hash"),
        *("created_at", "facts", "files_modified", "files_read", "metadata", "narrative"),
        *("prompt_number", "read_tokens", "subtitle", "taint", "title", "type"),
    ),
    "summary": (
        *("branch", "completed", "created_at", "files_edited", "files_read", "investigated"),
        *("learned", "metadata", "next_steps", "notes", "request", "taint"),
    ),
    "work_state": ("branch", "created_at", "item", "state", "taint", "text"),
}


def key_of(record: Record) -> str:
    """What the record's register goes by."""
    if record["record"] == PROJECT:
        return str(record["key"])
    if record["record"] == TURN.type:
        return f"{record['session']}/{record['number']}"
    return str(record["uid"])


def digest(record: Record) -> str:
    """A hash of the content; of a session also one of its words alone, after a point."""
    kind = str(record["record"])
    made = _hash(record, _FIELDS[kind])
    return f"{made}.{_hash(record, _TITLE)}" if kind == SESSION else made


def is_worded_alike(one: str, other: str) -> bool:
    """Whether two contents of a session differ in nothing but times and counts."""
    return "." in one and one.partition(".")[2] == other.partition(".")[2]


def is_pruned(record: Record) -> bool:
    """A tool call whose payload has had its time here: that is no change to be told."""
    return record["record"] == "tool_use" and record.get("tool_input") is None


def plain(record: Record) -> Record:
    """The record as it is told: without what is decided beside it."""
    made = dict(record)
    if record["record"] == OBSERVATION.type:
        made |= {"pinned": 0, "occurrence_count": 1}
        made.pop(SUPERSEDED, None)
        made.pop(PAIRS, None)
    if record["record"] == PROJECT:
        made |= {"aliases": [], MERGED: None}
    return made


def marks(record: Record) -> dict[str, str]:
    """What is decided of an observation besides its words, by name, as it is kept."""
    seen = [record.get(name) for name in _SEEN]
    alike = record.get(PAIRS, [])
    return {PINNED: told(record.get("pinned", 0)), SEEN: told(seen), PAIRS: told(alike)}


def is_usual(name: str, record: Record) -> bool:
    """Whether a mark says what it would say of any new observation."""
    if name in (PINNED, PAIRS):
        return not record.get(name)
    return record.get("occurrence_count") == 1 and record.get("last_reinforced") == record.get(
        "created_at"
    )


def seen_columns(value: Any) -> dict[str, int | str] | None:
    """The columns that a mark ``seen`` sets; None for a value that can be none."""
    if not isinstance(value, list) or len(value) != 3:
        return None
    count, last, dates = value
    whole = isinstance(count, int) and isinstance(last, int) and 0 < count < 2**53
    if not whole or not isinstance(dates, list) or not all(isinstance(one, str) for one in dates):
        return None
    return {
        "occurrence_count": count,
        "last_reinforced": last,
        "reinforcement_dates": json.dumps(dates),
    }


def acyclic(edges: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """Which of the edges (revision, from, to) hold: in the order in which they were decided, but
    for one that would close a circle. An edge to itself is none of a circle."""
    made: dict[str, str] = {}
    for _rev, source, target in sorted(edges):
        at = target
        while at in made and made[at] != at:
            at = made[at]
        if source == target or at != source:
            made[source] = target
    return made


def letter(record: Record) -> str:
    """The letter of a row that can be forgotten by itself; "" for what cannot."""
    kind = BY_TYPE.get(str(record["record"]))
    return kind.letter if kind else ""


def told(value: object) -> str:
    """A value as it is kept."""
    return json.dumps(value, separators=(",", ":"))


def _hash(record: Record, fields: tuple[str, ...]) -> str:
    known = {name: record.get(name) for name in fields}
    try:
        data = orjson.dumps(known, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # half a surrogate pair, or a number that orjson does not know
        data = json.dumps(known, sort_keys=True).encode("utf-8", "replace")
    return hashlib.sha256(data).hexdigest()[:16]
