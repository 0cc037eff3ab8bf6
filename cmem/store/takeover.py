"""What claude-mem has told of a turn before the host's own words came: taken over, not doubled.

claude-mem knows a prompt by its session, number and time, the host by an id of its own. Who has
both has one prompt and one turn, whichever came first: those that the host tells, in the turn that
claude-mem's memories stand in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from cmem.eid import WINDOW_MS
from cmem.store import documents, evidence, projects, tombstones
from cmem.store.rows import row, rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    import apsw

    from cmem.model import PromptSubmitted
    from cmem.store.sessions import Session

NAME = "claude-mem"
# Turns of memories that nothing is known of but themselves have numbers from here on.
ALONE = 1_000_000_000


class Held(NamedTuple):
    """A prompt that only claude-mem has told of, and its turn. ``hidden``: a person does not want
    it."""

    prompt: int
    turn: int
    hidden: bool


class Same(NamedTuple):
    """A prompt that the host has told of, by its uid and the number of its turn."""

    uid: str
    turn: int


def is_known(conn: apsw.Connection) -> bool:
    """Whether claude-mem's memories were brought in."""
    query = "SELECT 1 FROM sessions WHERE project_key_source = ? LIMIT 1"
    return row(conn, query, (NAME,)) is not None


def prompt_uid(session_uid: str, number: int, at: int) -> str:
    """What a prompt is called that only claude-mem has told of."""
    return evidence.uid_in(session_uid, NAME, "prompt", str(number), str(at))


def held(
    conn: apsw.Connection, session_id: int, text: str, *, at: int, within_ms: int
) -> Held | None:
    """claude-mem's prompt of these words and about this time."""
    found = row(
        conn,
        """SELECT p.id, t.id, p.hidden_at IS NOT NULL OR t.hidden_at IS NOT NULL
        FROM user_prompts p JOIN turns t ON t.id = p.turn_id
        WHERE p.session_id = ?1 AND p.native_prompt_id = '' AND p.prompt_text = ?2
            AND t.closed_by = ?3 AND t.native_prompt_id = '' AND abs(p.created_at - ?4) <= ?5
        ORDER BY abs(p.created_at - ?4), p.id LIMIT 1""",
        (session_id, text, NAME, at, within_ms),
    )
    return None if found is None else Held(int(found[0]), int(found[1]), bool(found[2]))


def lost(conn: apsw.Connection, session: Session, *, at: int, within_ms: int) -> bool:
    """Whether a person has had claude-mem's prompt of about this time erased. A turn that never
    had one says nothing."""
    if not tombstones.are_any(conn):
        return False
    found = rows(
        conn,
        """SELECT number, opened_at FROM turns t WHERE session_id = ?1 AND closed_by = ?2
            AND number < ?3 AND abs(opened_at - ?4) <= ?5
            AND NOT EXISTS(SELECT 1 FROM user_prompts WHERE turn_id = t.id)""",
        (session.id, NAME, ALONE, at, within_ms),
    )
    return any(
        tombstones.is_forgotten(conn, "P", prompt_uid(session.uid, int(number), int(opened)))
        for number, opened in found
    )


def told(conn: apsw.Connection, session: int, columns: Mapping[str, Any]) -> Held | None:
    """claude-mem's prompt that the host's own, told by another store, is. Its turn may be the
    host's by now, for turns are told before what is in them."""
    text, at = str(columns["prompt_text"]), int(columns["created_at"])
    for found in rows(
        conn,
        """SELECT p.id, t.id, p.hidden_at IS NOT NULL OR t.hidden_at IS NOT NULL, p.uid, s.uid,
            p.prompt_number, p.created_at
        FROM user_prompts p JOIN turns t ON t.id = p.turn_id JOIN sessions s ON s.id = p.session_id
        WHERE p.session_id = ?1 AND p.native_prompt_id = '' AND p.prompt_text = ?2
            AND abs(p.created_at - ?3) <= ?4 ORDER BY abs(p.created_at - ?3), p.id""",
        (session, text, at, WINDOW_MS),
    ):
        if found[3] == prompt_uid(str(found[4]), int(found[5]), int(found[6])):
            return Held(int(found[0]), int(found[1]), bool(found[2]))
    return None


def same(conn: apsw.Connection, session_id: int, columns: Mapping[str, Any]) -> Same | None:
    """The host's own prompt that claude-mem's is: of its words, and of its number or time."""
    found = row(
        conn,
        """SELECT p.uid, t.number FROM user_prompts p JOIN turns t ON t.id = p.turn_id
        WHERE p.session_id = ?1 AND p.native_prompt_id <> '' AND p.kind = 'user'
            AND p.prompt_text = ?2 AND (p.prompt_number = ?3 OR abs(p.created_at - ?4) <= ?5)
        ORDER BY abs(p.created_at - ?4), p.id LIMIT 1""",
        (
            session_id,
            columns["prompt_text"],
            columns["prompt_number"],
            columns["created_at"],
            WINDOW_MS,
        ),
    )
    return None if found is None else Same(str(found[0]), int(found[1]))


def is_erased(
    conn: apsw.Connection, session_id: int, number: int, columns: Mapping[str, Any]
) -> bool:
    """Whether the host's own prompt that claude-mem's is was erased: its turn has none."""
    if not tombstones.are_any(conn):
        return False
    found = row(
        conn,
        """SELECT 1 FROM turns t WHERE session_id = ? AND number = ? AND native_prompt_id <> ''
            AND abs(opened_at - ?) <= ?
            AND NOT EXISTS(SELECT 1 FROM user_prompts WHERE turn_id = t.id AND kind = 'user')""",
        (session_id, number, columns["created_at"], WINDOW_MS),
    )
    return found is not None


def rename(conn: apsw.Connection, known: Held, columns: Mapping[str, Any]) -> None:
    """Let claude-mem's prompt be the host's own. Part of the caller's transaction."""
    names = ("uid", "native_prompt_id", "native_prompt_hash", "created_at", "cwd")
    values = tuple(columns[name] for name in names)

    def change() -> None:
        marks = ", ".join(f"{name} = ?" for name in names)
        query = f"UPDATE user_prompts SET {marks} WHERE id = ?"
        conn.execute(query, (*values, known.prompt)).fetchall()

    documents.refresh(conn, "P", known.prompt, change)
    conn.execute(
        "UPDATE documents SET created_at = ? WHERE kind = 'P' AND ref = ?",
        (columns["created_at"], known.prompt),
    ).fetchall()


def take(conn: apsw.Connection, known: Held, session: Session, event: PromptSubmitted) -> None:
    """Make claude-mem's prompt the host's own and its turn one that goes on, as if the host had
    told of both first. Part of the caller's transaction."""
    origin = event.origin
    uid, digest = evidence.prompt_name(session, event)
    named = {"uid": uid, "native_prompt_id": origin.prompt_id, "native_prompt_hash": digest}
    rename(conn, known, {**named, "created_at": origin.at, "cwd": origin.cwd})
    conn.execute(
        """UPDATE turns SET native_prompt_id = ?, kind = 'user', opened_at = ?, last_event_at = ?,
            closed_at = NULL, closed_by = NULL, outcome = NULL, branch = ?, commit_sha = ?
        WHERE id = ?""",
        (
            origin.prompt_id,
            origin.at,
            origin.at,
            origin.repo.branch,
            origin.repo.commit,
            known.turn,
        ),
    ).fetchall()


def is_homeless(conn: apsw.Connection, session_id: int) -> bool:
    """Whether only claude-mem has told of the session, and nobody where it was."""
    query = "SELECT 1 FROM sessions WHERE id = ? AND cwd = '' AND project_key_source = ?"
    return row(conn, query, (session_id, NAME)) is not None


def settle(conn: apsw.Connection, session_id: int, *, cwd: str, project: int, source: str) -> None:
    """The session was in this folder. It is of the folder's project where claude-mem's own has
    no folder."""
    conn.execute(
        """UPDATE sessions SET cwd = ?2, project_key_source = ?4, project_id = CASE
            WHEN EXISTS(SELECT 1 FROM projects p WHERE p.id = sessions.project_id
                AND p.root = '' AND p.key_source IN (?5, ?6)) THEN ?3 ELSE project_id END
        WHERE id = ?1""",
        (session_id, cwd, project, source, NAME, projects.UNSORTED),
    ).fetchall()
