"""The queue of work units as a person looks at it and sorts it out.

A unit that is given up is *dropped*: like a skipped one it waits for nobody and holds nothing
up, and its evidence stays. Units of a forgotten turn are not there for anybody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cmem.store import batches, projects, units
from cmem.store.connection import transaction
from cmem.store.rows import rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import apsw

PENDING, PARKED, DROPPED, BATCHED = "pending", "parked", "dropped", "batched"

# Those first that only a person moves on. What a turn is called is its prompt, else its answer.
_UNITS = f"""SELECT u.id, u.kind, s.id, s.content_session_id, p.name,
        coalesce((SELECT x.prompt_text FROM user_prompts x
            WHERE x.turn_id = t.id AND x.hidden_at IS NULL AND x.prompt_text <> ''
            ORDER BY x.kind <> 'user', x.id LIMIT 1), t.assistant_message),
        u.state, u.attempts, u.created_at, u.error
    FROM work_units u JOIN turns t ON t.id = u.turn_id JOIN sessions s ON s.id = u.session_id
    JOIN projects p ON p.id = {projects.ROOT_OF.format(project="s.project_id")}
    WHERE u.state IN (SELECT value FROM json_each(?1)) AND t.hidden_at IS NULL
    ORDER BY u.state = 'pending', u.id LIMIT ?2"""
_STATES = """SELECT u.id, u.state FROM work_units u JOIN turns t ON t.id = u.turn_id
    WHERE u.id IN (SELECT value FROM json_each(?)) AND t.hidden_at IS NULL"""
_IN_STATE = """SELECT u.id FROM work_units u JOIN turns t ON t.id = u.turn_id
    WHERE u.state = ? AND t.hidden_at IS NULL ORDER BY u.id"""


class Unit(NamedTuple):
    """A unit in the list. ``title`` is the whole stored text it goes by, ``since`` when it
    was made, ``reason`` why the last try failed."""

    id: int
    kind: str
    session: int
    host_session: str
    project: str
    title: str
    state: str
    attempts: int
    since: int
    reason: str


def listing(conn: apsw.Connection, states: Iterable[str], *, limit: int) -> list[Unit]:
    """Return the units in one of the states, parked and dropped ones before those that wait,
    each the oldest first."""
    wanted = "[" + ", ".join(f'"{state}"' for state in states) + "]"
    return [Unit(*found) for found in rows(conn, _UNITS, (wanted, limit))]


def states(conn: apsw.Connection, unit_ids: Iterable[int]) -> dict[int, str]:
    """Return the state of each of the units that there is."""
    wanted = "[" + ", ".join(map(str, unit_ids)) + "]"
    return {int(unit_id): str(state) for unit_id, state in rows(conn, _STATES, (wanted,))}


def in_state(conn: apsw.Connection, state: str) -> list[int]:
    """Return every unit in the state, oldest first."""
    return [int(unit_id) for (unit_id,) in rows(conn, _IN_STATE, (state,))]


def retry(conn: apsw.Connection, unit_ids: Sequence[int], *, now: int) -> None:
    """Let parked and dropped units wait again with a clean count, and take those in a batch back,
    all or none."""
    with transaction(conn):
        for unit_id in unit_ids:
            if not units.retry(conn, unit_id):
                batches.release(conn, unit_id, state=PENDING, now=now)


def drop(conn: apsw.Connection, unit_ids: Sequence[int], *, now: int) -> None:
    """Give parked and pending units up, and those in a batch, all or none; why they failed stays."""
    with transaction(conn):
        for unit_id in unit_ids:
            conn.execute(
                """UPDATE work_units SET state = 'dropped', finished_at = ?
                WHERE id = ? AND state IN ('parked', 'pending')""",
                (now, unit_id),
            ).fetchall()
            batches.release(conn, unit_id, state=DROPPED, now=now)
