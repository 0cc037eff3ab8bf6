"""Turns: what the rules of ``turn_rules`` look at, and what their plans write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmem.turn_rules import Standing, Turn

if TYPE_CHECKING:
    import apsw

    from cmem.model import Repo
    from cmem.turn_rules import End

_LOOK = """SELECT t.id, t.number, t.kind, t.native_prompt_id, t.private, t.opened_at,
    t.last_event_at, t.closed_at, coalesce(t.closed_by, ''), t.assistant_message <> '',
    EXISTS(SELECT 1 FROM work_units u WHERE u.turn_id = t.id AND u.kind = 'turn'
        AND u.state = 'pending' AND u.attempts = 0 AND u.first_tool IS NULL
        AND u.last_tool IS NULL),
    EXISTS(SELECT 1 FROM user_prompts p WHERE p.turn_id = t.id AND p.kind = 'user')
    FROM turns t WHERE t.id = """

_OPEN = (
    _LOOK
    + """(SELECT id FROM turns WHERE session_id = ? AND closed_at IS NULL
    ORDER BY number DESC LIMIT 1)"""
)

_LAST = (
    _LOOK
    + """(SELECT id FROM turns WHERE session_id = ? AND closed_at IS NOT NULL
    AND coalesce(closed_by, '') <> 'claude-mem'
    ORDER BY opened_at DESC, number DESC LIMIT 1)"""
)

_MATCH = (
    _LOOK
    + """(SELECT id FROM turns WHERE session_id = ?1 AND (native_prompt_id = ?2
    OR id IN (SELECT turn_id FROM user_prompts WHERE session_id = ?1 AND native_prompt_id = ?2))
    ORDER BY closed_at IS NULL DESC, number DESC LIMIT 1)"""
)


def standing(conn: apsw.Connection, session_id: int, *, prompt_id: str) -> Standing:
    """The session as an event with this prompt id finds it."""
    return Standing(
        open=_turn(conn, _OPEN, (session_id,)),
        last=_turn(conn, _LAST, (session_id,)),
        match=_turn(conn, _MATCH, (session_id, prompt_id)) if prompt_id else None,
    )


def get(conn: apsw.Connection, turn_id: int) -> Turn:
    """The turn with this id, which must exist."""
    found = _turn(conn, _LOOK + "?", (turn_id,))
    assert found is not None
    return found


def _turn(conn: apsw.Connection, sql: str, bindings: tuple[int | str, ...]) -> Turn | None:
    row = conn.execute(sql, bindings).fetchone()
    if row is None:
        return None
    return Turn(
        id=row[0],
        number=row[1],
        kind=row[2],
        prompt_id=row[3],
        private=bool(row[4]),
        opened_at=row[5],
        last_event_at=row[6],
        closed_at=row[7],
        closed_by=row[8],
        message=bool(row[9]),
        untouched=bool(row[10]),
        prompted=bool(row[11]),
    )


def insert(
    conn: apsw.Connection,
    session_id: int,
    *,
    kind: str,
    prompt_id: str,
    private: bool,
    at: int,
    repo: Repo,
) -> Turn:
    """A new open turn, the next in number (those of ``takeover.ALONE`` and above are no turns of
    the host's)."""
    conn.execute(
        """INSERT INTO turns(session_id, number, kind, native_prompt_id, private, opened_at,
            last_event_at, branch, commit_sha)
        SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4, ?5, ?5, ?6, ?7
        FROM turns WHERE session_id = ?1 AND number < 1000000000""",
        (session_id, kind, prompt_id, int(private), at, repo.branch, repo.commit),
    )
    return get(conn, conn.last_insert_rowid())


def adopt(conn: apsw.Connection, turn_id: int, *, private: bool) -> None:
    """The prompt of a turn that tools had opened has come after them."""
    conn.execute(
        "UPDATE turns SET kind = 'user', private = ? WHERE id = ?", (int(private), turn_id)
    )


def touch(conn: apsw.Connection, turn_id: int, *, at: int, repo: Repo) -> None:
    """Note an event in the turn; where its beginning knew no branch, this one may."""
    conn.execute(
        """UPDATE turns SET opened_at = min(opened_at, ?1), last_event_at = max(last_event_at, ?1),
            branch = CASE WHEN branch = '' THEN ?2 ELSE branch END,
            commit_sha = CASE WHEN commit_sha = '' THEN ?3 ELSE commit_sha END
        WHERE id = ?4""",
        (at, repo.branch, repo.commit, turn_id),
    )


def close(conn: apsw.Connection, turn_id: int, end: End) -> None:
    """Close an open turn at the time of its last event."""
    conn.execute(
        """UPDATE turns SET closed_at = last_event_at, closed_by = ?, outcome = ?
        WHERE id = ? AND closed_at IS NULL""",
        (end.by, end.outcome, turn_id),
    )


def amend(conn: apsw.Connection, turn_id: int, end: End) -> None:
    """Correct how a closed turn ended: its own end has come after what had closed it."""
    conn.execute(
        "UPDATE turns SET closed_by = ?, outcome = ? WHERE id = ?",
        (end.by, end.outcome, turn_id),
    )


def set_message(conn: apsw.Connection, turn_id: int, *, message: str, error: str) -> None:
    """Keep the turn's last assistant message, and the error that ended it. A host that tells
    the two apart has none of the one in the event of the other."""
    conn.execute(
        """UPDATE turns SET assistant_message = CASE WHEN ?1 = '' THEN assistant_message ELSE ?1 END,
            error = CASE WHEN ?2 = '' THEN error ELSE ?2 END
        WHERE id = ?3""",
        (message, error, turn_id),
    )


def wants_unit(conn: apsw.Connection, turn_id: int) -> bool:
    """True for a closed turn that has something in it, is not private and has no unit yet."""
    row = conn.execute(
        """SELECT 1 FROM turns t WHERE t.id = ?1 AND t.closed_at IS NOT NULL AND t.private = 0
            AND NOT EXISTS(SELECT 1 FROM work_units WHERE turn_id = ?1 AND kind = 'turn')
            AND (t.assistant_message <> ''
                OR EXISTS(SELECT 1 FROM user_prompts WHERE turn_id = ?1 AND prompt_text <> '')
                OR EXISTS(SELECT 1 FROM tool_uses WHERE turn_id = ?1))""",
        (turn_id,),
    ).fetchone()
    return row is not None


def stale(
    conn: apsw.Connection, *, idle_before: int | None, session: str | None
) -> list[tuple[int, int]]:
    """(turn, session) of open turns that nothing will come to: their session is over, or has
    had no event since ``idle_before``; with None every open turn. ``session``: a host's
    session id or ``N4``."""
    rows: list[tuple[int, int]] = conn.execute(
        """SELECT t.id, s.id FROM turns t JOIN sessions s ON s.id = t.session_id
        WHERE t.closed_at IS NULL
            AND (?1 IS NULL OR s.status = 'completed' OR s.last_event_at <= ?1)
            AND (?2 IS NULL OR ?2 IN (s.content_session_id, s.uid, 'N' || s.id))
        ORDER BY t.id""",
        (idle_before, session),
    ).fetchall()  # type: ignore[assignment]
    return rows
