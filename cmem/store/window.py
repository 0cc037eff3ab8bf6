"""What lies just before and just after a moment, in time order.

Observations and summaries have an index by project and time. Prompts and tool uses have none:
they are reached through the sessions that overlap a span of time, and the span is widened
until it holds enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

    from cmem.store.read import Place, Ref

Key = tuple[int, int, int]  # created_at, order of the kind, id

# At one moment: the prompt, then the tool, then what was made of them.
ORDER = {"N": 0, "P": 1, "T": 2, "O": 3, "S": 4, "W": 5}
LAST = 2**62
_DAY = 86_400_000
_SPANS = (_DAY, 30 * _DAY, LAST)

_BY_PROJECT = {
    "O": """SELECT created_at, id FROM observations
        WHERE project_id = ? AND hidden_at IS NULL AND superseded_by IS NULL
        AND (created_at, id) {sign} (?, ?) ORDER BY created_at {way}, id {way} LIMIT ?""",
    "S": """SELECT created_at, id FROM session_summaries INDEXED BY session_summaries_recent
        WHERE project_id = ? AND hidden_at IS NULL AND instr(metadata, '"superseded_by"') = 0
        AND (created_at, id) {sign} (?, ?) ORDER BY created_at {way}, id {way} LIMIT ?""",
}
_BY_SPAN = """SELECT r.created_at, r.id FROM sessions n INDEXED BY sessions_project
    CROSS JOIN {table} r ON r.session_id = n.id
    WHERE n.project_id = ? AND n.last_event_at >= ? AND n.started_at <= ?
    AND r.hidden_at IS NULL {only} AND r.created_at BETWEEN ? AND ?
    AND (r.created_at, r.id) {sign} (?, ?)
    ORDER BY r.created_at {way}, r.id {way} LIMIT ?"""
_BY_SESSION = """SELECT r.created_at, r.id FROM {table} r WHERE r.session_id = ?
    AND r.hidden_at IS NULL {only} AND (r.created_at, r.id) {sign} (?, ?)
    ORDER BY r.created_at {way}, r.id {way} LIMIT ?"""
_ONLY = {
    "O": "AND r.superseded_by IS NULL",
    "P": "AND r.kind = 'user'",
    "S": "AND instr(r.metadata, '\"superseded_by\"') = 0",
}
_TABLES = {
    "O": "observations",
    "S": "session_summaries",
    "P": "user_prompts",
    "T": "tool_uses",
}


def around(
    conn: apsw.Connection,
    anchor: Place,
    *,
    projects: Sequence[int],
    session: int | None,
    kinds: Sequence[str],
    before: int,
    after: int,
) -> list[Ref]:
    """The refs before the anchor, the anchor itself, and the refs after it, oldest first."""
    key = (anchor.at, ORDER[anchor.kind], anchor.id)
    found: list[Ref] = []
    for backward, limit in ((True, before), (False, after)):
        near: list[tuple[Key, Ref]] = []
        for kind in kinds if limit > 0 else ():
            for at, number in _near(
                conn, kind, key, projects=projects, session=session, limit=limit, back=backward
            ):
                near.append(((at, ORDER[kind], number), (kind, number)))
        near.sort(reverse=backward)
        part = [ref for _, ref in near[:limit]]
        found += [*reversed(part), (anchor.kind, anchor.id)] if backward else part
    return found


def newest(
    conn: apsw.Connection,
    *,
    projects: Sequence[int],
    session: int | None,
    kinds: Sequence[str],
) -> Ref | None:
    """The newest row of the kinds; None when there is none."""
    found: list[tuple[Key, Ref]] = []
    for kind in kinds:
        for at, number in _near(
            conn,
            kind,
            (LAST, LAST, LAST),
            projects=projects,
            session=session,
            limit=1,
            back=True,
        ):
            found.append(((at, ORDER[kind], number), (kind, number)))
    return max(found)[1] if found else None


def _near(
    conn: apsw.Connection,
    kind: str,
    key: Key,
    *,
    projects: Sequence[int],
    session: int | None,
    limit: int,
    back: bool,
) -> list[tuple[int, int]]:
    """(created_at, id) of up to ``limit`` rows of one kind strictly on one side of ``key``."""
    at, order, number = key
    if order != ORDER[kind]:
        # At the same moment a kind stands wholly before or wholly after another one.
        number = LAST if ORDER[kind] < order else -1
    words = {
        "sign": "<" if back else ">",
        "way": "DESC" if back else "ASC",
        "table": _TABLES[kind],
        "only": _ONLY.get(kind, ""),
    }
    if session is not None:
        sql = _BY_SESSION.format(**words)
        return _rows(conn, sql, (session, at, number, limit))
    rows: list[tuple[int, int]] = []
    for project in projects:
        if kind in _BY_PROJECT:
            sql = _BY_PROJECT[kind].format(**words)
            rows += _rows(conn, sql, (project, at, number, limit))
        else:
            rows += _by_span(
                conn, _BY_SPAN.format(**words), (project, at, number), limit=limit, back=back
            )
    return sorted(rows, reverse=back)[:limit]


def _by_span(
    conn: apsw.Connection, sql: str, where: tuple[int, int, int], *, limit: int, back: bool
) -> list[tuple[int, int]]:
    project, at, number = where
    rows: list[tuple[int, int]] = []
    # Without an anchor in time there is no first span to look at.
    for span in _SPANS if at < LAST else _SPANS[-1:]:
        first, last = (at - span, at) if back else (at, at + span)
        rows = _rows(conn, sql, (project, first, last, first, last, at, number, limit))
        if len(rows) >= limit:
            break
    return rows


def _rows(conn: apsw.Connection, sql: str, bindings: tuple[int, ...]) -> list[tuple[int, int]]:
    return [(int(row[0]), int(row[1])) for row in conn.execute(sql, bindings)]
