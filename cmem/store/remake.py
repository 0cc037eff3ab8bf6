"""What ``extract`` has made of a turn of which more is known now: it goes, and is made anew.

Only where nobody has touched it and no model was asked: what a person has edited, pinned or
forgotten stays as it is, and so does what was paid for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmem.store import documents
from cmem.store.rows import row, rows

if TYPE_CHECKING:
    import apsw

FREE = "extract"
# A summary has no mark of its own for what was edited: it cannot be.
_TURN_UNITS = """SELECT id FROM work_units u WHERE kind = 'turn' AND turn_id = ?1
    AND state IN ('done', 'skipped') AND first_tool IS NULL AND last_tool IS NULL
    AND NOT EXISTS(SELECT 1 FROM observer_runs r WHERE r.unit_id = u.id AND r.provider <> ?2)"""
# The summary that tells of the turn: the first that comes to it or to one after it.
_SUMMARY_UNITS = """SELECT u.id FROM work_units u JOIN turns t ON t.id = u.turn_id
    WHERE u.kind = 'summary' AND u.session_id = ?1 AND t.number >= ?2
    AND u.state IN ('done', 'skipped')
    AND NOT EXISTS(SELECT 1 FROM observer_runs r WHERE r.unit_id = u.id AND r.provider <> ?3)
    ORDER BY t.number, u.id LIMIT 1"""
_OBSERVATIONS = """SELECT id FROM observations o WHERE unit_id = ? AND hidden_at IS NULL
    AND superseded_by IS NULL AND pinned = 0 AND instr(metadata, '"edited_at"') = 0
    AND NOT EXISTS(SELECT 1 FROM observations x WHERE x.superseded_by = o.id)"""
_SUMMARIES = "SELECT id FROM session_summaries WHERE unit_id = ? AND hidden_at IS NULL"
_AGAIN = """UPDATE work_units SET state = 'pending', reason = 'import', attempts = 0, crashes = 0,
    error = '', finished_at = NULL WHERE id = ?"""


def turn(conn: apsw.Connection, turn_id: int) -> bool:
    """Let the turn be observed again, and the session summarised; whether there is anything to
    do. Part of the caller's transaction."""
    units = [int(ref) for (ref,) in rows(conn, _TURN_UNITS, (turn_id, FREE))]
    if not units:
        return False
    for unit in units:
        for (ref,) in rows(conn, _OBSERVATIONS, (unit,)):
            _drop(conn, "O", "observations", int(ref))
        conn.execute(_AGAIN, (unit,)).fetchall()
    session, number = rows(conn, "SELECT session_id, number FROM turns WHERE id = ?", (turn_id,))[0]
    for (unit,) in rows(conn, _SUMMARY_UNITS, (session, number, FREE)):
        for (ref,) in rows(conn, _SUMMARIES, (unit,)):
            _drop(conn, "S", "session_summaries", int(ref))
        conn.execute(_AGAIN, (unit,)).fetchall()
    return True


def reopen(conn: apsw.Connection, session_id: int, prompt_id: str) -> bool:
    """Let the newest turn of a session go on, which an import had closed because nothing came
    any more. Part of the caller's transaction."""
    found = row(
        conn,
        """SELECT id FROM turns t WHERE session_id = ?1 AND native_prompt_id = ?2
            AND closed_by = 'sweep' AND private = 0 AND hidden_at IS NULL
            AND EXISTS(SELECT 1 FROM work_units u WHERE u.turn_id = t.id AND u.reason = 'import')
            AND NOT EXISTS(SELECT 1 FROM turns x WHERE x.session_id = ?1
                AND x.opened_at > t.opened_at AND coalesce(x.closed_by, '') <> 'claude-mem')""",
        (session_id, prompt_id),
    )
    if found is None:
        return False
    turn(conn, int(found[0]))
    conn.execute(
        "UPDATE turns SET closed_at = NULL, closed_by = NULL, outcome = NULL WHERE id = ?",
        (found[0],),
    ).fetchall()
    return True


def _drop(conn: apsw.Connection, kind: str, table: str, ref: int) -> None:
    """Take a row out with all that hangs on it. It was not forgotten: nothing remembers it."""
    documents.remove(conn, kind, ref)
    if kind == "O":
        for name in ("observation_files", "observation_sources"):
            query = f"DELETE FROM {name} WHERE observation_id = ?"
            conn.execute(query, (ref,)).fetchall()
    conn.execute(f"DELETE FROM {table} WHERE id = ?", (ref,)).fetchall()
