"""What can be observed again: the places that results stand in, of one session or of the past.

A *place* is what one unit of work stands for: a turn, a part of one after halving, or the
stretch of a session that a summary tells of. Of its settled units the one that was observed last
says what stands there, who made it, and whether it came in by an import of transcripts: where a
later import has told more of a turn, that is what `extract` has made anew.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from cmem.store.rows import row, rows, value

if TYPE_CHECKING:
    import apsw

TOO_LONG = "too long"  # the outcome of a try with what the model does not take, whole or in pieces
# What a model has made on another machine: it came in without a unit of work.
ELSEWHERE = """+unit_id IS NULL AND hidden_at IS NULL
    AND prompt_version NOT IN ('', 'claude-mem') AND prompt_version NOT LIKE 'extract/%'"""
_MODELS = """(SELECT json_group_array(DISTINCT generated_by_model) FROM {table}
    WHERE session_id = ?1 AND turn_id = n.turn_id AND {condition})"""
_RUN = """(SELECT max(x.id) FROM observer_runs x
    WHERE x.unit_id = u.id AND x.outcome IN ('done', 'skipped'))"""
_SETTLED = """u.state IN ('done', 'skipped') AND t.hidden_at IS NULL AND t.private = 0
    AND (u.kind = 'summary' OR NOT EXISTS (SELECT 1 FROM tool_uses x
    WHERE x.turn_id = u.turn_id AND x.hidden_at IS NULL AND x.tool_input IS NULL))"""
_TRIES = """work_units w JOIN observer_runs x ON x.unit_id = w.id
    WHERE w.turn_id = n.turn_id AND w.kind = n.kind AND w.first_tool IS n.first_tool
    AND w.last_tool IS n.last_tool AND x.provider = ?4"""
# ?1: the session; ?2: only what was imported; ?3: only turns that went on since then. Turns come
# before the summaries that are made of them. A turn whose raw evidence has had its time cannot be
# observed again. The last columns are of tries with this provider (?4): whether one has failed and
# none succeeded since, whether it was too long for the model that is asked (?5), by which models those were which a person took back;
# and which models have made something of it on other machines.
_PLACES = f"""WITH settled AS (
        SELECT u.id, u.kind, u.turn_id, u.first_tool, u.last_tool, u.reason, {_RUN} AS run
        FROM work_units u JOIN turns t ON t.id = u.turn_id
        WHERE u.session_id = ?1 AND t.last_event_at >= ?3 AND {_SETTLED}),
    ranked AS (SELECT *, row_number() OVER (PARTITION BY kind, turn_id, first_tool, last_tool
        ORDER BY run DESC, id DESC) AS nth FROM settled)
    SELECT n.id, n.kind, n.turn_id, n.first_tool, n.last_tool, coalesce(r.provider, ''),
        coalesce(r.model, ''), EXISTS (SELECT 1 FROM {_TRIES} AND w.state = 'again'
            AND x.outcome NOT IN ('done', 'skipped', 'stale', 'started', 'interrupted')),
        EXISTS (SELECT 1 FROM {_TRIES} AND w.state = 'again' AND x.outcome = '{TOO_LONG}'
            AND x.model = ?5),
        (SELECT json_group_array(DISTINCT x.model) FROM {_TRIES} AND w.state = 'undone'
            AND x.outcome = 'done'),
        CASE n.kind WHEN 'turn' THEN {_MODELS.format(table="observations", condition=ELSEWHERE)}
            ELSE {_MODELS.format(table="session_summaries", condition=ELSEWHERE)} END
    FROM ranked n LEFT JOIN observer_runs r ON r.id = n.run
    WHERE n.nth = 1 AND (NOT ?2 OR n.reason = 'import') ORDER BY n.kind = 'summary', n.id"""
_CURRENT = f"""SELECT u.id, {_RUN} AS run FROM work_units u JOIN turns t ON t.id = u.turn_id
    WHERE u.kind = ?1 AND u.turn_id = ?2 AND u.first_tool IS ?3 AND u.last_tool IS ?4
    AND {_SETTLED} ORDER BY run DESC, u.id DESC LIMIT 1"""
_SESSIONS = """SELECT s.id FROM sessions s
    WHERE s.id IN (SELECT session_id FROM work_units WHERE reason = 'import')
    AND (?1 IS NULL OR s.project_id IN (SELECT value FROM json_each(?1)))
    AND s.last_event_at >= ?2 ORDER BY s.last_event_at DESC, s.id DESC"""
_UNSETTLED = """SELECT count(*) FROM work_units WHERE session_id = ?1
    AND state IN ('pending', 'parked', 'batched') AND (NOT ?2 OR reason = 'import')"""
_PRUNED = """SELECT count(*) FROM turns t WHERE t.session_id = ?1 AND t.hidden_at IS NULL
    AND t.last_event_at >= ?3 AND EXISTS (SELECT 1 FROM tool_uses x
        WHERE x.turn_id = t.id AND x.hidden_at IS NULL AND x.tool_input IS NULL)
    AND (NOT ?2 OR EXISTS (SELECT 1 FROM work_units u
        WHERE u.turn_id = t.id AND u.reason = 'import'))"""
_IMPORTED = f"""SELECT u.id FROM work_units u JOIN turns t ON t.id = u.turn_id
    WHERE u.reason = 'import' AND u.state IN ('done', 'skipped') AND t.hidden_at IS NULL
    AND t.private = 0 AND NOT EXISTS (SELECT 1 FROM observer_runs r
        WHERE r.unit_id = u.id AND r.calls > 0)
    AND NOT EXISTS (SELECT 1 FROM work_units w WHERE w.turn_id = u.turn_id AND w.kind = u.kind
        AND w.id > u.id AND w.state IN ('done', 'skipped'))
    AND NOT EXISTS (SELECT 1 FROM observations o WHERE u.kind = 'turn'
        AND o.turn_id = u.turn_id AND {ELSEWHERE})
    AND NOT EXISTS (SELECT 1 FROM session_summaries m WHERE u.kind = 'summary'
        AND m.session_id = u.session_id AND m.turn_id = u.turn_id AND {ELSEWHERE})
    ORDER BY u.id"""


class Wanted(NamedTuple):
    """What is to be observed again: a session, or (0) what imports of transcripts have brought,
    of these projects (None: all), as far as it went on ``since`` then."""

    session: int = 0
    projects: tuple[int, ...] | None = None
    since: int = 0


class Place(NamedTuple):
    """A place with the unit whose result stands there, and who made it. ``failed``: the provider
    that is asked now has been asked about it and gave nothing; ``too_long``: its model does not
    take so much; ``undone``: its models whose results a
    person has taken back; ``elsewhere``: the models that have made something of it on another
    machine, whether that is shown or not."""

    unit_id: int
    kind: str
    turn_id: int
    first_tool: int | None
    last_tool: int | None
    provider: str
    model: str
    failed: bool
    too_long: bool
    undone: tuple[str, ...]
    elsewhere: tuple[str, ...]

    @property
    def key(self) -> tuple[str, int, int | None, int | None]:
        return (self.kind, self.turn_id, self.first_tool, self.last_tool)


def sessions(conn: apsw.Connection, wanted: Wanted) -> list[int]:
    """The sessions in which something may be wanted, the newest first."""
    if wanted.session:
        return [wanted.session]
    named = None if wanted.projects is None else json.dumps(wanted.projects)
    return [int(ref) for (ref,) in rows(conn, _SESSIONS, (named, wanted.since))]


def listed(
    conn: apsw.Connection, session_id: int, wanted: Wanted, *, by: tuple[str, str]
) -> list[Place]:
    """What is wanted of one of them and has been observed, in the order to do so again. ``by``:
    the provider and the model that are asked now."""
    found = rows(conn, _PLACES, (session_id, not wanted.session, wanted.since, *by))
    return [
        Place._make((*one[:7], bool(one[7]), bool(one[8]), *map(_names, one[9:]))) for one in found
    ]


def _names(told: str) -> tuple[str, ...]:
    return tuple(json.loads(told))


def is_current(conn: apsw.Connection, place: Place) -> bool:
    """Whether this is still what stands there: nothing forgotten, pruned or put in its place."""
    found = row(conn, _CURRENT, place.key)
    return found is not None and found[0] == place.unit_id


def unsettled(conn: apsw.Connection, session_id: int, wanted: Wanted) -> int:
    """How many units of the session were never observed."""
    return int(value(conn, _UNSETTLED, (session_id, not wanted.session)))


def pruned(conn: apsw.Connection, session_id: int, wanted: Wanted) -> int:
    """How many turns cannot be observed again, because their raw evidence is gone."""
    return int(value(conn, _PRUNED, (session_id, not wanted.session, wanted.since)))


def by_nobody(conn: apsw.Connection) -> list[int]:
    """The units of imports in whose place no model's result stands, made here or elsewhere."""
    return [int(ref) for (ref,) in rows(conn, _IMPORTED)]
