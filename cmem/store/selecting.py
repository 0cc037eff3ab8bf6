"""The rows that a person describes, to be forgotten: by session, project, time, a text.

What is given narrows: all of it must hold. A text is looked for in every stored word, raw
evidence, titles, folders and messages of errors included, as a search compares it: in any case
of letters, with or without accents, over the ends of lines. That reads the whole store and
needs no lock.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import apsw

from cmem.store import folded, projects, stored_text
from cmem.store.forget import Plan, Ref
from cmem.store.rows import row, rows

_TIMED = {
    "O": "observations",
    "S": "session_summaries",
    "P": "user_prompts",
    "T": "tool_uses",
    "W": "work_state_entries",
}
_AT = {kind: f"SELECT created_at FROM {table}" for kind, table in _TIMED.items()} | {
    "turn": "SELECT opened_at FROM turns",
    "N": "SELECT started_at FROM sessions",
}
# Where a text stands that is no memory: what of it can be forgotten.
_TURN_OF = {
    "unit": "SELECT turn_id FROM work_units WHERE id = ?",
    "run": "SELECT u.turn_id FROM observer_runs r JOIN work_units u ON u.id = r.unit_id"
    " WHERE r.id = ?",
}

_AMONG = "IN (SELECT value FROM json_each(?))"
# The projects of rows of a plan, by the plan's own names.
_PROJECTS_OF = {
    name: f"SELECT DISTINCT project_id FROM {table} WHERE id {_AMONG}"
    for name, table in (
        ("observations", "observations"),
        ("summaries", "session_summaries"),
        ("states", "work_state_entries"),
        ("sessions", "sessions"),
        ("titles", "sessions"),
    )
} | {
    name: f"""SELECT DISTINCT s.project_id FROM sessions s
        JOIN {table} x ON x.session_id = s.id WHERE x.id {_AMONG}"""
    for name, table in (("prompts", "user_prompts"), ("tool_uses", "tool_uses"), ("turns", "turns"))
}


class Wanted(NamedTuple):
    """What is asked for. ``sessions`` None: all; ``since`` is the first millisecond, ``until``
    the first one after."""

    text: str = ""
    sessions: tuple[int, ...] | None = None
    since: int | None = None
    until: int | None = None


class Chosen(NamedTuple):
    """The rows by kind and id; ``titles`` are sessions of which only the title tells it."""

    refs: tuple[Ref, ...]
    titles: tuple[int, ...] = ()


def choose(
    conn: apsw.Connection, wanted: Wanted, progress: Callable[[int], None] | None = None
) -> Chosen:
    """The rows that all of ``wanted`` holds for, hidden ones too."""
    if wanted.text:
        return _with_text(conn, wanted, progress)
    if wanted.since is None and wanted.until is None:
        return Chosen(tuple(("N", session) for session in wanted.sessions or ()))
    return Chosen(tuple(_in_time(conn, wanted)))


def sessions_of(conn: apsw.Connection, chosen: Sequence[int]) -> tuple[int, ...]:
    """Every session of the projects."""
    query = """SELECT id FROM sessions
        WHERE project_id IN (SELECT value FROM json_each(?)) ORDER BY id"""
    return tuple(int(found) for (found,) in rows(conn, query, (json.dumps(chosen),)))


def projects_in(conn: apsw.Connection, going: Plan) -> list[tuple[int, str, str]]:
    """(id, name, folder) of the projects that rows of the plan are of, a merged one as the project
    it was merged into."""
    found = {
        projects.root(conn, int(ref))
        for name, refs in going._asdict().items()
        for (ref,) in rows(conn, _PROJECTS_OF[name], (json.dumps(refs),))
    }
    query = f"SELECT id, name, root FROM projects WHERE id {_AMONG} ORDER BY id"
    return rows(conn, query, (json.dumps(sorted(found)),))


def _in_time(conn: apsw.Connection, wanted: Wanted) -> Iterable[Ref]:
    sessions = None if wanted.sessions is None else json.dumps(wanted.sessions)
    for kind, table in _TIMED.items():
        query = f"""SELECT id FROM {table}
            WHERE created_at >= ?1 AND created_at < ?2
            AND (?3 IS NULL OR session_id IN (SELECT value FROM json_each(?3)))"""
        for (found,) in rows(conn, query, (*_ends(wanted), sessions)):
            yield kind, int(found)


def _with_text(
    conn: apsw.Connection, wanted: Wanted, progress: Callable[[int], None] | None
) -> Chosen:
    word = folded.text(wanted.text)
    sessions = None if wanted.sessions is None else frozenset(wanted.sessions)
    refs: dict[Ref, None] = {}
    titles: list[int] = []
    for done, stored in enumerate(stored_text.every(conn, labels=True), 1):
        if progress is not None:
            progress(done)
        if sessions is not None and stored.session not in sessions:
            continue
        if not _holds(stored, word):
            continue
        ref = _forgettable(conn, stored.kind, stored.ref)
        if ref is None or not _is_in_time(conn, ref, wanted):
            continue
        if ref[0] == "N":
            titles.append(ref[1])
        else:
            refs[ref] = None
    return Chosen(tuple(refs), tuple(titles))


def _holds(stored: stored_text.Stored, word: str) -> bool:
    """Whether one of the row's texts holds the word, or all of them one after the other: a note's
    first line is its title."""
    found = [
        folded.document(text) if name in stored.documents else folded.text(text)
        for name, text in stored.texts.items()
        if text
    ]
    return word in " ".join(found)


def projects_with(conn: apsw.Connection, text: str) -> list[str]:
    """The names of the projects that hold the text in their name, their folder or an alias: these
    name what is left, so they stay."""
    word = folded.text(text)
    query = """SELECT p.name, p.name || ' ' || p.root || ' ' || p.key || ' ' || coalesce(
        (SELECT group_concat(a.alias, ' ') FROM project_aliases a WHERE a.project_id = p.id), '')
        FROM projects p ORDER BY p.name"""
    return [str(name) for name, told in rows(conn, query) if word in folded.text(str(told))]


def _forgettable(conn: apsw.Connection, kind: str, ref: int) -> Ref | None:
    query = _TURN_OF.get(kind)
    if query is None:
        return kind, ref
    found = row(conn, query, (ref,))
    return None if found is None else ("turn", int(found[0]))


def _is_in_time(conn: apsw.Connection, ref: Ref, wanted: Wanted) -> bool:
    if wanted.since is None and wanted.until is None:
        return True
    found = row(conn, f"{_AT[ref[0]]} WHERE id = ?", (ref[1],))
    first, last = _ends(wanted)
    return found is not None and first <= int(found[0]) < last


def _ends(wanted: Wanted) -> tuple[int, int]:
    return (
        -(2**62) if wanted.since is None else wanted.since,
        2**62 if wanted.until is None else wanted.until,
    )
