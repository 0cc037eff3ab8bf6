"""What rows are known by in every copy of the store, whatever their numbers are there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from cmem.store.forget import TABLES, Plan, as_plan
from cmem.store.rows import rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw


class Identities(NamedTuple):
    """What rows are known by in every copy of the store: (kind, uid) of the rows and whole
    sessions, (uid of the session, number) of turns, uids of sessions that lose their title."""

    rows: tuple[tuple[str, str], ...]
    turns: tuple[tuple[str, int], ...]
    titles: tuple[str, ...]


def of(conn: apsw.Connection, forgotten: Plan) -> Identities:
    """What the rows of the plan are known by elsewhere; asked before they are erased."""
    found: list[tuple[str, str]] = []
    for kind, refs in {**forgotten.rows, "N": forgotten.sessions}.items():
        table = TABLES.get(kind, "sessions")
        query = f"SELECT uid FROM {table} WHERE id IN (SELECT value FROM json_each(?))"
        found += [(kind, str(uid)) for (uid,) in rows(conn, query, (json.dumps(refs),))]
    query = """SELECT n.uid, t.number FROM turns t JOIN sessions n ON n.id = t.session_id
        WHERE t.id IN (SELECT value FROM json_each(?))"""
    turns = [(str(u), int(n)) for u, n in rows(conn, query, (json.dumps(forgotten.turns),))]
    query = "SELECT uid FROM sessions WHERE id IN (SELECT value FROM json_each(?))"
    titles = [str(uid) for (uid,) in rows(conn, query, (json.dumps(forgotten.titles),))]
    return Identities(tuple(found), tuple(turns), tuple(titles))


def known(conn: apsw.Connection, wanted: Identities) -> Plan:
    """The rows, turns and titles that have these identities in this copy, and nothing else."""
    found: dict[str, list[int]] = {kind: [] for kind in (*TABLES, "N")}
    for kind, uid in wanted.rows:
        table = TABLES.get(kind, "sessions")
        found[kind] += _ids(conn, f"SELECT id FROM {table} WHERE uid = ?", uid)
    for uid, number in wanted.turns:
        query = """SELECT t.id FROM turns t JOIN sessions n ON n.id = t.session_id
            WHERE n.uid = ? AND t.number = ?"""
        found["turn"] += _ids(conn, query, uid, number)
    query = "SELECT id FROM sessions WHERE uid IN (SELECT value FROM json_each(?))"
    titles = _ids(conn, query, json.dumps(wanted.titles))
    return as_plan(found)._replace(titles=tuple(titles))


def first_told(conn: apsw.Connection, plan: Plan) -> int | None:
    """When the first of the rows was told."""
    found: list[int] = []
    for kind, refs in {**plan.rows, "turn": plan.turns}.items():
        if refs:
            table, column = TABLES[kind], "opened_at" if kind == "turn" else "created_at"
            query = (
                f"SELECT min({column}) FROM {table} WHERE id IN (SELECT value FROM json_each(?))"
            )
            found += [int(at) for (at,) in rows(conn, query, (json.dumps(refs),)) if at is not None]
    return min(found, default=None)


def names(conn: apsw.Connection, sessions: Sequence[int]) -> list[str]:
    """What the hosts call these sessions."""
    query = "SELECT content_session_id FROM sessions WHERE id IN (SELECT value FROM json_each(?))"
    return [str(name) for (name,) in rows(conn, query, (json.dumps(sessions),))]


def _ids(conn: apsw.Connection, query: str, *values: int | str) -> list[int]:
    return [int(found) for (found,) in rows(conn, query, values)]
