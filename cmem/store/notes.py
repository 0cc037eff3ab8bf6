"""Memories written by hand: observations that rest on no evidence but a person's word.

They hang on a session of their own in each project, one turn a note, so that forgetting one
takes no other along. What holds everywhere belongs to the project ``global``, which no folder
ever is. A reader knows them by the host ``user``.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

from cmem import tokens
from cmem.errors import CmemError
from cmem.model import Origin, ProjectIdentity, Repo
from cmem.store import (
    cleaning,
    documents,
    drafts,
    edits,
    observation_files,
    projects,
    recent,
    sessions,
    titles,
    turns,
)
from cmem.store.connection import transaction
from cmem.store.portable import BY_HAND
from cmem.store.rows import insert, row, value

if TYPE_CHECKING:
    import apsw

HOST = BY_HAND
TYPE = "note"
TAINT = "local"
# The scope of notes that hold in every project. No directory has this key.
GLOBAL = ProjectIdentity(projects.GLOBAL, projects.GLOBAL, projects.GLOBAL, "", ())
MAX_CHARS, MAX_TITLE = edits.MOST["narrative"], edits.MOST["title"]
TITLE_CHARS = 100
SAME = "SELECT id, hidden_at FROM observations WHERE session_id = ? AND content_hash = ?"
PIN = "UPDATE observations SET pinned = 1 WHERE id = ?"


class Note(NamedTuple):
    """What is to be remembered, as it was written. ``title`` "": the text's first line."""

    text: str
    title: str = ""
    type: str = TYPE
    concepts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    pinned: bool = False
    repo: Repo = Repo("", "", "", "")
    cwd: str = ""


class Added(NamedTuple):
    """The note's row; ``new`` is False where the same note was there and was counted again."""

    id: int
    title: str
    project: str
    new: bool


def clean(note: Note) -> Note:
    """The note fit to store: without secrets, with a title. CmemError where nothing is left,
    or where it is too long to be one."""
    if len(note.text) > MAX_CHARS:
        raise CmemError(
            f"a note takes at most {MAX_CHARS} characters; keep the text in a file and note where"
        )
    text = cleaning.paragraphs(note.text).strip()
    title = cleaning.line(note.title).strip() or headline(text)
    if not title:
        raise CmemError("the note is empty; say what to remember")
    if len(title) > MAX_TITLE:
        raise CmemError(f"the title has {len(title)} characters, at most {MAX_TITLE} fit")
    first, _, rest = text.partition("\n")
    return note._replace(
        text=rest.strip() if first.strip() == title else text,
        title=title,
        type=cleaning.line(note.type).strip().casefold() or TYPE,
        concepts=tuple(cleaning.lines(note.concepts)),
        files=tuple(cleaning.lines(note.files)),
    )


def headline(text: str) -> str:
    """The first line of a text, cut at a word where it is long."""
    first = text.strip().partition("\n")[0].strip()
    if len(first) <= TITLE_CHARS:
        return first
    head = first[: TITLE_CHARS - 1]
    at_word = head.rpartition(" ")[0]
    return (at_word if len(at_word) > TITLE_CHARS // 2 else head).rstrip() + "…"


def add(conn: apsw.Connection, note: Note, *, identity: ProjectIdentity, now: int) -> Added:
    """Store a clean note in the project of ``identity``. CmemError for one that lies hidden."""
    with transaction(conn):
        project = projects.resolve(conn, identity, now=now)
        return _add(conn, note, project=project, source=identity.source, now=now)


def add_to(conn: apsw.Connection, note: Note, *, project: int, now: int) -> Added:
    """Store a clean note in a project that is there."""
    with transaction(conn):
        return _add(conn, note, project=project, source=source_of(conn, project), now=now)


def source_of(conn: apsw.Connection, project: int) -> str:
    """How a project that is there was recognised."""
    return str(value(conn, "SELECT key_source FROM projects WHERE id = ?", (project,)))


def _add(conn: apsw.Connection, note: Note, *, project: int, source: str, now: int) -> Added:
    session = session_of(conn, project, source=source, cwd=note.cwd, now=now)
    name = str(value(conn, "SELECT name FROM projects WHERE id = ?", (project,)))
    known = drafts.content_hash(session.uid, note.title, note.text)
    found = row(conn, SAME, (session.id, known))
    if found is None:
        return Added(_insert(conn, note, session=session, now=now), note.title, name, new=True)
    ref, hidden_at = int(found[0]), found[1]
    if hidden_at is not None:
        raise CmemError(
            f"this note lies hidden as O{ref}; `cmem forget O{ref} --undo` brings it back"
        )
    drafts.reinforce(conn, session.id, known, at=now, label=TAINT)
    if note.pinned:
        conn.execute(PIN, (ref,)).fetchall()
    return Added(ref, note.title, name, new=False)


def _insert(conn: apsw.Connection, note: Note, *, session: sessions.Session, now: int) -> int:
    turn = turns.insert(
        conn, session.id, kind=TYPE, prompt_id="", private=False, at=now, repo=note.repo
    )
    conn.execute(
        """UPDATE turns SET closed_at = ?1, closed_by = 'note', outcome = 'stop', number = ?3
        WHERE id = ?2""",
        (now, turn.id, _number(conn, session.id, now=now)),
    ).fetchall()
    ref = insert(conn, "observations", _columns(note, session=session, turn=turn.id, now=now))
    assert ref is not None
    observation_files.add(conn, ref, read=note.files)
    documents.add(conn, "O", ref, created_at=now)
    return ref


def _number(conn: apsw.Connection, session_id: int, *, now: int) -> int:
    """A number for a note's turn that no other machine gives: the same session of notes is on
    all of them, and two notes of one turn would be forgotten together."""
    query = "SELECT coalesce(max(number), 0) + 1 FROM turns WHERE session_id = ?"
    following = int(value(conn, query, (session_id,)))
    chance = int.from_bytes(os.urandom(2), "big") % 1000
    return max(now * 1000 + chance, following + chance)


def _columns(
    note: Note, *, session: sessions.Session, turn: int, now: int
) -> dict[str, int | str | None]:
    return {
        # Random: the same note may be written again after it was forgotten.
        "uid": os.urandom(32).hex(),
        "session_id": session.id,
        "project_id": session.project_id,
        "turn_id": turn,
        "host": HOST,
        "prompt_number": 0,
        "created_at": now,
        "last_reinforced": now,
        "reinforcement_dates": json.dumps([drafts.day(now)]),
        "pinned": int(note.pinned),
        "taint": TAINT,
        "type": note.type,
        "evidence_tokens": 0,
        "discovery_tokens": 0,
        "read_tokens": tokens.count(f"{note.title}\n{note.text}"),
        "content_hash": drafts.content_hash(session.uid, note.title, note.text),
        "title_norm_key": titles.norm_key(note.title),
        "branch": note.repo.branch,
        "commit_sha": note.repo.commit,
        "generated_by_model": HOST,
        "prompt_version": "",
        "title": note.title,
        "subtitle": "",
        "concepts": drafts.json_list(note.concepts),
        "files_read": drafts.json_list(note.files),
        "files_modified": "[]",
        "facts": "[]",
        "narrative": note.text,
        "metadata": json.dumps({"provenance": HOST}),
    }


def session_of(
    conn: apsw.Connection, project: int, *, source: str, cwd: str, now: int
) -> sessions.Session:
    """The session that what is written by hand in a project, or in a folder of no project, hangs
    on; it is never one that goes on. Part of a transaction."""
    key = str(value(conn, "SELECT key FROM projects WHERE id = ?", (project,)))
    name = recent.by_hand(key, cwd if source == projects.UNSORTED else "")
    found = sessions.find(conn, HOST, name)
    if found is None:
        nowhere = Repo("", "", "", "")
        origin = Origin("", HOST, TYPE, name, now, cwd, nowhere, "", "", "", "")
        found = sessions.insert(conn, origin, project_id=project, project_key_source=source)
    sessions.touch(conn, found.id, at=now)
    sessions.complete(conn, found.id, at=now)
    return found
