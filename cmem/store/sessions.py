"""Content sessions: one row per host session, which every other row hangs on.

The first event fixes a session's project and folder; later ones only move its times, its
state and what the host tells of its model and title.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import apsw

    from cmem.model import Origin


class Session(NamedTuple):
    """A session as ingest needs it. ``root``: the root folder of its project, maybe ""."""

    id: int
    uid: str
    project_id: int
    root: str
    cwd: str
    prompt_counter: int


def find(conn: apsw.Connection, host: str, content_session_id: str) -> Session | None:
    """The session that a host calls by this id."""
    row = conn.execute(
        """SELECT s.id, s.uid, s.project_id, p.root, s.cwd, s.prompt_counter
        FROM sessions s JOIN projects p ON p.id = s.project_id
        WHERE s.host = ? AND s.content_session_id = ?""",
        (host, content_session_id),
    ).fetchone()
    return None if row is None else Session(*row)


def uid_of(host: str, content_session_id: str) -> str:
    """The session's name in every store; it outlives the row."""
    name = f"session\0{host}\0{content_session_id}"
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def insert(
    conn: apsw.Connection, origin: Origin, *, project_id: int, project_key_source: str
) -> Session:
    """A new session, begun by the event of ``origin``."""
    conn.execute(
        """INSERT INTO sessions(uid, host, content_session_id, project_id, project_key_source,
            cwd, started_at, last_event_at) VALUES(?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            uid_of(origin.host, origin.session),
            origin.host,
            origin.session,
            project_id,
            project_key_source,
            origin.cwd,
            origin.at,
            origin.at,
        ),
    )
    found = find(conn, origin.host, origin.session)
    assert found is not None
    return found


def touch(
    conn: apsw.Connection, session_id: int, *, at: int, model: str = "", title: str = ""
) -> None:
    """Note an event of the time ``at``. One later than a completed session's end makes it
    active again; one that only arrives late does not."""
    conn.execute(
        """UPDATE sessions SET
            started_at = min(started_at, ?1), last_event_at = max(last_event_at, ?1),
            status = CASE WHEN completed_at < ?1 THEN 'active' ELSE status END,
            completed_at = CASE WHEN completed_at < ?1 THEN NULL ELSE completed_at END,
            model = CASE WHEN ?2 <> '' THEN ?2 ELSE model END,
            title = CASE WHEN ?3 <> '' THEN ?3 ELSE title END
        WHERE id = ?4""",
        (at, model, title, session_id),
    )


def complete(conn: apsw.Connection, session_id: int, *, at: int) -> None:
    """The host has ended the session at ``at``."""
    conn.execute(
        "UPDATE sessions SET status = 'completed', completed_at = ? WHERE id = ?",
        (at, session_id),
    )


def count_prompt(conn: apsw.Connection, session_id: int) -> int:
    """The number of the session's next prompt, taken."""
    conn.execute(
        "UPDATE sessions SET prompt_counter = prompt_counter + 1 WHERE id = ?", (session_id,)
    )
    row = conn.execute("SELECT prompt_counter FROM sessions WHERE id = ?", (session_id,)).fetchone()
    return 0 if row is None else row[0]


def unsummarised(conn: apsw.Connection, session_id: int) -> int | None:
    """The session's newest closed turn that was worth a unit, if no summary reaches it."""
    row = conn.execute(
        """SELECT max(t.id) FROM turns t WHERE t.session_id = ?1 AND t.closed_at IS NOT NULL
            AND t.hidden_at IS NULL AND t.private = 0
            AND EXISTS(SELECT 1 FROM work_units u WHERE u.turn_id = t.id AND u.kind = 'turn')
            AND t.id > coalesce((SELECT max(turn_id) FROM work_units
                WHERE session_id = ?1 AND kind = 'summary'), 0)""",
        (session_id,),
    ).fetchone()
    return None if row is None or row[0] is None else int(row[0])


def idle_unsummarised(conn: apsw.Connection, *, idle_before: int, session: str | None) -> list[int]:
    """Sessions without an event since ``idle_before``, and without an open turn, that have closed
    turns no summary reaches. ``session``: a host's session id or ``N4``."""
    rows: list[tuple[int, int]] = conn.execute(
        """SELECT u.session_id, max(u.turn_id) AS newest
        FROM work_units u JOIN sessions s ON s.id = u.session_id JOIN turns t ON t.id = u.turn_id
        WHERE u.kind = 'turn' AND s.last_event_at <= ?1
            AND (?2 IS NULL OR ?2 IN (s.content_session_id, s.uid, 'N' || s.id))
            AND t.closed_at IS NOT NULL AND t.hidden_at IS NULL AND t.private = 0
            AND NOT EXISTS(SELECT 1 FROM turns o
                WHERE o.session_id = u.session_id AND o.closed_at IS NULL)
        GROUP BY u.session_id
        HAVING newest > coalesce((SELECT max(x.turn_id) FROM work_units x
            WHERE x.session_id = u.session_id AND x.kind = 'summary'), 0)
        ORDER BY u.session_id""",
        (idle_before, session),
    ).fetchall()  # type: ignore[assignment]
    return [session_id for session_id, _newest in rows]
