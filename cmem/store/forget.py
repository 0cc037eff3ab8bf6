"""What a person wants forgotten, and all that goes with it.

Asking for a row takes along what was derived from it, and what still holds its text:

- a prompt or tool use takes the observations made of it and the last message of its turn;
- an observation takes the evidence it cites, that message, and observations of the same turn
  that repeat 32 characters of it or that another observer made of the turn (`recompress`); its
  evidence takes nothing more along then;
- either takes the summaries of its session from that turn on;
- a session takes everything that was told in it. A summary takes nothing.

Forgetting hides at once (``hide``) and can be undone for a day; ``erase`` then removes.
Words that other turns share with it stay there: that is no trace of the forgotten row.
Nothing here crosses a session, so a hidden row is known by its session and its moment.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import apsw

from cmem.store.connection import transaction
from cmem.store.rows import row, rows

TABLES = {
    "S": "session_summaries",
    "O": "observations",
    "T": "tool_uses",
    "P": "user_prompts",
    "W": "work_state_entries",
    "turn": "turns",
}
EVIDENCE = ("P", "T")
UNDO_MS = 86_400_000
# A text shared by accident is shorter than this.
REPEATED = 32
# Rows in one transaction; hiding one costs microseconds.
_SLICE = 200
_DUE = "forget_due"

Ref = tuple[str, int]


class Plan(NamedTuple):
    """The rows that go. ``turns`` lose their message, ``titles`` are sessions that lose
    theirs, ``sessions`` are those that were asked for as a whole."""

    observations: tuple[int, ...] = ()
    summaries: tuple[int, ...] = ()
    prompts: tuple[int, ...] = ()
    tool_uses: tuple[int, ...] = ()
    turns: tuple[int, ...] = ()
    titles: tuple[int, ...] = ()
    sessions: tuple[int, ...] = ()
    states: tuple[int, ...] = ()

    @property
    def rows(self) -> dict[str, tuple[int, ...]]:
        """The rows by letter, in the order in which they can go."""
        return {
            "S": self.summaries,
            "O": self.observations,
            "T": self.tool_uses,
            "P": self.prompts,
            "W": self.states,
        }

    @property
    def total(self) -> int:
        return sum(len(refs) for refs in self.rows.values())


class Hidden(NamedTuple):
    """What was hidden at one moment and can be shown again."""

    at: int
    rows: Plan


def plan(conn: apsw.Connection, refs: Sequence[Ref]) -> Plan:
    """Everything that goes with ``refs``, (kind, row) of O S P T N; unknown rows are left out.

    Rows that are hidden already belong to it as well."""
    taken: dict[str, set[int]] = {kind: set() for kind in (*TABLES, "N")}
    memo: Memo = {}
    pending = list(refs)
    while pending:
        kind, ref = pending.pop()
        if ref not in taken[kind] and _exists(conn, kind, ref):
            taken[kind].add(ref)
            follows = list(_FOLLOW[kind](conn, ref, memo))
            if kind == "O":
                _take_evidence(taken, follows)
                follows = [found for found in follows if found[0] not in EVIDENCE]
            pending += follows
    found = as_plan(taken)
    return found._replace(titles=tuple(_titles(conn, found)))


def _take_evidence(taken: dict[str, set[int]], refs: Iterable[Ref]) -> None:
    for kind, ref in refs:
        if kind in EVIDENCE:
            taken[kind].add(ref)


def hide(conn: apsw.Connection, forgotten: Plan, *, now: int) -> None:
    """Take the rows out of sight; the same ``now`` marks all of them."""
    for kind, refs in {**forgotten.rows, "turn": forgotten.turns}.items():
        for start in range(0, len(refs), _SLICE):
            with transaction(conn):
                _hide_slice(conn, TABLES[kind], refs[start : start + _SLICE], now=now)


def unhide(conn: apsw.Connection, refs: Sequence[Ref]) -> int:
    """Show again what was hidden together with ``refs``; return how many rows that are."""
    at: set[int] = set()
    moments: set[tuple[int, int]] = set()
    for kind, ref in refs:
        if kind == "N":
            at |= {moment for session, moment in _due(conn) if session == ref}
        else:
            query = f"SELECT session_id, hidden_at FROM {TABLES[kind]} WHERE id = ?"
            moments |= {(s, when) for s, when in rows(conn, query, (ref,)) if when is not None}
    at |= {moment for _session, moment in moments}
    # One command hides at one moment, in however many sessions.
    moments |= {pair for pair in _due(conn) if pair[1] in at}
    shown = 0
    with transaction(conn):
        for session, moment in moments:
            for kind, table in TABLES.items():
                conn.execute(
                    f"UPDATE {table} SET hidden_at = NULL WHERE session_id = ? AND hidden_at = ?",
                    (session, moment),
                ).fetchall()
                shown += conn.changes() if kind != "turn" else 0
        settle(conn, moments)
    return shown


def undoable(conn: apsw.Connection) -> list[Hidden]:
    """What is hidden and can still be shown again, what was hidden last first."""
    moments: dict[int, list[tuple[int, int]]] = {}
    for session, moment in _due(conn):
        moments.setdefault(moment, []).append((session, moment))
    found = [Hidden(at, _hidden(conn, pairs)) for at, pairs in sorted(moments.items())]
    return [one for one in reversed(found) if one.rows.total or one.rows.turns]


def due(conn: apsw.Connection, *, now: int) -> Plan:
    """What was hidden a day ago or longer and is to be erased."""
    return _hidden(conn, [pair for pair in _due(conn) if pair[1] <= now - UNDO_MS])


def _hidden(conn: apsw.Connection, moments: Iterable[tuple[int, int]]) -> Plan:
    found: dict[str, list[int]] = {kind: [] for kind in (*TABLES, "N")}
    for session, moment in moments:
        for kind, table in TABLES.items():
            query = f"SELECT id FROM {table} WHERE session_id = ? AND hidden_at = ?"
            found[kind] += _ids(conn, query, session, moment)
    hidden = as_plan(found)
    return hidden._replace(
        titles=tuple(_titles(conn, hidden)), sessions=tuple(_emptied(conn, hidden))
    )


def as_plan(found: Mapping[str, Iterable[int]]) -> Plan:
    """The rows by kind (O S P T W N turn) as a plan."""
    return Plan(
        observations=tuple(sorted(found["O"])),
        summaries=tuple(sorted(found["S"])),
        prompts=tuple(sorted(found["P"])),
        tool_uses=tuple(sorted(found["T"])),
        turns=tuple(sorted(found["turn"])),
        sessions=tuple(sorted(found["N"])),
        states=tuple(sorted(found["W"])),
    )


def settle(conn: apsw.Connection, moments: Iterable[tuple[int, int]]) -> None:
    """Nothing is left to do for what was hidden in these sessions at these moments."""
    gone = set(moments)
    left = [pair for pair in _due(conn) if pair not in gone]
    _store_due(conn, left)


def moments_of(conn: apsw.Connection, forgotten: Plan) -> set[tuple[int, int]]:
    """(session, moment) of all rows of the plan that are hidden."""
    found: set[tuple[int, int]] = set()
    for kind, refs in {**forgotten.rows, "turn": forgotten.turns}.items():
        if not refs:  # a copy may be older than the table
            continue
        query = (
            f"SELECT DISTINCT session_id, hidden_at FROM {TABLES[kind]}"
            " WHERE hidden_at IS NOT NULL AND id IN (SELECT value FROM json_each(?))"
        )
        found |= {(s, at) for s, at in rows(conn, query, (json.dumps(refs),))}
    return found


# --- what follows from what ----------------------------------------------------------------

# The stretches of each observation of a turn, worked out once for a plan.
Memo = dict[int, dict[int, set[int]]]


def _of_session(conn: apsw.Connection, ref: int, _memo: Memo) -> Iterator[Ref]:
    for kind, table in TABLES.items():
        for found in _ids(conn, f"SELECT id FROM {table} WHERE session_id = ?", ref):
            yield kind, found


def _of_prompt(conn: apsw.Connection, ref: int, _memo: Memo) -> Iterator[Ref]:
    return _of_evidence(conn, "P", ref)


def _of_tool_use(conn: apsw.Connection, ref: int, _memo: Memo) -> Iterator[Ref]:
    return _of_evidence(conn, "T", ref)


def _of_evidence(conn: apsw.Connection, kind: str, ref: int) -> Iterator[Ref]:
    query = "SELECT observation_id FROM observation_sources WHERE kind = ? AND ref = ?"
    for found in _ids(conn, query, kind, ref):
        yield "O", found
    for turn in _ids(conn, f"SELECT turn_id FROM {TABLES[kind]} WHERE id = ?", ref):
        yield "turn", turn


def _of_turn(conn: apsw.Connection, ref: int, _memo: Memo) -> Iterator[Ref]:
    """What was made of the turn as a whole: observations that name no source, summaries."""
    query = """SELECT id FROM observations o WHERE turn_id = ? AND NOT EXISTS(
        SELECT 1 FROM observation_sources c WHERE c.observation_id = o.id)"""
    for found in _ids(conn, query, ref):
        yield "O", found
    query = """SELECT s.id FROM turns t JOIN session_summaries s ON s.session_id = t.session_id
        JOIN turns u ON u.id = s.turn_id AND u.number >= t.number WHERE t.id = ?"""
    for found in _ids(conn, query, ref):
        yield "S", found


# What else was made of the same turn by another try and is kept out of sight: a session observed
# again could bring it back.
_OTHER_TELLINGS = """SELECT c.id FROM observations o JOIN observations c ON c.turn_id = o.turn_id
    WHERE o.id = ? AND c.superseded_by IS NOT NULL AND c.unit_id <> o.unit_id"""


def _of_observation(conn: apsw.Connection, ref: int, memo: Memo) -> Iterator[Ref]:
    ((turn,),) = rows(conn, "SELECT turn_id FROM observations WHERE id = ?", (ref,))
    query = "SELECT kind, ref FROM observation_sources WHERE observation_id = ?"
    sources = [(str(kind), int(source)) for kind, source in rows(conn, query, (ref,))]
    if not sources:
        for kind in ("P", "T"):
            query = f"SELECT id FROM {TABLES[kind]} WHERE turn_id = ?"
            sources += [(kind, found) for found in _ids(conn, query, turn)]
    yield from sources
    yield "turn", turn
    if turn not in memo:
        memo[turn] = _stretches(conn, turn)
    own = memo[turn][ref]
    for found, pieces in memo[turn].items():
        if not own.isdisjoint(pieces):
            yield "O", found
    for found in _ids(conn, _OTHER_TELLINGS, ref):
        yield "O", found


def _stretches(conn: apsw.Connection, turn: int) -> dict[int, set[int]]:
    """For each observation of the turn the hashes of all stretches of its text."""
    query = "SELECT id, title || char(10) || narrative, facts FROM observations WHERE turn_id = ?"
    return {
        int(ref): _pieces("\n".join([text, *_strings(facts)]).lower())
        for ref, text, facts in rows(conn, query, (turn,))
    }


def _of_state(conn: apsw.Connection, ref: int, _memo: Memo) -> Iterator[Ref]:
    """All entries of the item."""
    query = """SELECT id FROM work_state_entries
        WHERE item = (SELECT item FROM work_state_entries WHERE id = ?)"""
    for found in _ids(conn, query, ref):
        yield "W", found


def _nothing(_conn: apsw.Connection, _ref: int, _memo: Memo) -> Iterator[Ref]:
    return iter(())


_FOLLOW = {
    "N": _of_session,
    "P": _of_prompt,
    "T": _of_tool_use,
    "O": _of_observation,
    "S": _nothing,
    "W": _of_state,
    "turn": _of_turn,
}


# --- small parts ---------------------------------------------------------------------------


def _exists(conn: apsw.Connection, kind: str, ref: int) -> bool:
    table = TABLES.get(kind, "sessions")
    return row(conn, f"SELECT 1 FROM {table} WHERE id = ?", (ref,)) is not None


def _ids(conn: apsw.Connection, query: str, *values: int | str) -> list[int]:
    return [int(found) for (found,) in rows(conn, query, values)]


def _pieces(text: str) -> set[int]:
    return {hash(text[at : at + REPEATED]) for at in range(len(text) - REPEATED + 1)}


def _strings(stored: str) -> list[str]:
    return [item for item in json.loads(stored) if isinstance(item, str)]


def _titles(conn: apsw.Connection, forgotten: Plan) -> list[int]:
    """Sessions whose title, which hosts make of a prompt, tells of what is forgotten."""
    query = """SELECT DISTINCT n.id, n.title FROM sessions n JOIN user_prompts p
        ON p.session_id = n.id WHERE n.title <> ''
        AND p.id IN (SELECT value FROM json_each(?1))"""
    named = rows(conn, query, (json.dumps(forgotten.prompts),))
    found = {int(session) for session, _ in named} | set(forgotten.sessions)
    return sorted(found)


def _emptied(conn: apsw.Connection, hidden: Plan) -> list[int]:
    """Sessions of the plan in which nothing is left to see."""
    query = """SELECT DISTINCT t.session_id FROM turns t
        WHERE t.id IN (SELECT value FROM json_each(?1)) AND NOT EXISTS(
            SELECT 1 FROM turns u WHERE u.session_id = t.session_id AND u.hidden_at IS NULL)"""
    return _ids(conn, query, json.dumps(hidden.turns))


def _hide_slice(conn: apsw.Connection, table: str, refs: Sequence[int], *, now: int) -> None:
    told = json.dumps(refs)
    query = f"""SELECT DISTINCT session_id FROM {table}
        WHERE hidden_at IS NULL AND id IN (SELECT value FROM json_each(?))"""
    sessions = _ids(conn, query, told)
    if not sessions:
        return
    conn.execute(
        f"""UPDATE {table} SET hidden_at = ?
        WHERE hidden_at IS NULL AND id IN (SELECT value FROM json_each(?))""",
        (now, told),
    ).fetchall()
    known = _due(conn)
    _store_due(conn, list(dict.fromkeys([*known, *[(session, now) for session in sessions]])))


def _due(conn: apsw.Connection) -> list[tuple[int, int]]:
    """(session, moment) of all that is hidden and not erased: no table has an index on it."""
    found = row(conn, "SELECT value FROM meta WHERE key = ?", (_DUE,))
    return [] if found is None else [(int(s), int(at)) for s, at in json.loads(found[0])]


def _store_due(conn: apsw.Connection, pairs: Sequence[tuple[int, int]]) -> None:
    conn.execute(
        "INSERT OR REPLACE INTO meta(key, value) VALUES(?, ?)", (_DUE, json.dumps(pairs))
    ).fetchall()
