"""What a person wants forgotten, and all that goes with it.

Asking for a row takes along what was derived from it, and what still holds its text:

- a prompt or tool use takes the observations made of it and the last message of its turn;
- an observation takes the evidence it cites, that message, and observations of the same turn
  that repeat 32 characters of it or that another observer made of the turn (`recompress`); its
  evidence takes nothing more along then;
- either takes the summaries of its session from that turn on;
- observations that a person has joined as duplicates go together, with all that goes with each;
- a session takes everything that was told in it. A summary takes what it was put in place of.

Forgetting hides at once (``hide``) and can be undone for a day; ``erase`` then removes.
Words that other turns share with it stay there: that is no trace of the forgotten row.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import apsw

from cmem.store import moments, released, tombstones
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

# A turn that is hidden for good has no words any more.
_TELLING = {"turn": "AND (assistant_message <> '' OR error <> '')"}

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
    """Take the rows out of sight; the same ``now`` marks all of them. What one of them stands
    for shows again."""
    for kind, refs in {**forgotten.rows, "turn": forgotten.turns}.items():
        for start in range(0, len(refs), _SLICE):
            with transaction(conn):
                if kind == "O" and not start:
                    released.release(conn, refs, now=now)
                _hide_slice(conn, TABLES[kind], refs[start : start + _SLICE], now=now)


def unhide(conn: apsw.Connection, refs: Sequence[Ref]) -> int:
    """Show again what was hidden together with ``refs``; return how many rows that are."""
    known = moments.pairs(conn)
    asked: set[moments.Moment] = set()
    for kind, ref in refs:
        if kind == "N":
            asked |= {pair for pair in known if pair[0] == ref}
        else:
            query = f"SELECT session_id, hidden_at FROM {TABLES[kind]} WHERE id = ?"
            asked |= {(s, at) for s, at in rows(conn, query, (ref,)) if at is not None}
    # One command hides at one moment, in however many sessions.
    at = {moment for _session, moment in asked}
    asked |= {pair for pair in known if pair[1] in at}
    with transaction(conn):
        found = _hidden(conn, asked)
        show(conn, found, at)
        moments.settle(conn, asked)
    return found.total


def show(conn: apsw.Connection, hidden: Plan, at: Collection[int]) -> None:
    """Show rows again that were hidden at these moments; no tombstone counts for them any more.
    Part of a transaction."""
    told = tombstones.are_any(conn)
    for kind, refs in {**hidden.rows, "turn": hidden.turns}.items():
        if told and kind in tombstones.ROWS:
            _take_back(conn, kind, refs)
        conn.execute(
            f"""UPDATE {TABLES[kind]} SET hidden_at = NULL
            WHERE id IN (SELECT value FROM json_each(?))""",
            (json.dumps(refs),),
        ).fetchall()
    released.bind(conn, at, hidden.observations)


def _take_back(conn: apsw.Connection, kind: str, refs: Sequence[int]) -> None:
    """Of the rows, and of their sessions as far as they were told in the time that was
    forgotten."""
    query = f"""SELECT r.uid, n.uid, r.created_at FROM {TABLES[kind]} r
        JOIN sessions n ON n.id = r.session_id WHERE r.id IN (SELECT value FROM json_each(?))"""
    for uid, session, at in rows(conn, query, (json.dumps(refs),)):
        tombstones.take_back(conn, kind, str(uid))
        until = tombstones.forgotten_until(conn, "N", str(session))
        if until is not None and at <= until:
            tombstones.take_back(conn, "N", str(session))


def undoable(conn: apsw.Connection) -> list[Hidden]:
    """What is hidden and can still be shown again, what was hidden last first."""
    by_moment: dict[int, list[moments.Moment]] = {}
    for session, moment in moments.pairs(conn):
        by_moment.setdefault(moment, []).append((session, moment))
    found = [Hidden(at, _hidden(conn, pairs)) for at, pairs in sorted(by_moment.items())]
    return [one for one in reversed(found) if one.rows.total or one.rows.turns]


def due(conn: apsw.Connection, *, now: int) -> Plan:
    """What was hidden a day ago or longer and is to be erased, and what a run that was killed
    had begun to erase."""
    hard = moments.marked(conn, moments.HARD)
    known = moments.pairs(conn)
    return _hidden(conn, [one for one in known if one[1] <= now - UNDO_MS or one[1] in hard])


def _hidden(conn: apsw.Connection, pairs: Iterable[moments.Moment]) -> Plan:
    found: dict[str, list[int]] = {kind: [] for kind in (*TABLES, "N")}
    for session, moment in pairs:
        for kind, table in TABLES.items():
            query = f"SELECT id FROM {table} WHERE session_id = ? AND hidden_at = ?"
            found[kind] += _ids(conn, query, session, moment)
    hidden = as_plan(found)
    return hidden._replace(
        titles=tuple(_titles(conn, hidden)), sessions=tuple(emptied(conn, hidden))
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


def moments_of(conn: apsw.Connection, forgotten: Plan) -> set[moments.Moment]:
    """(session, moment) of all rows of the plan that are hidden."""
    found: set[moments.Moment] = set()
    for kind, refs in {**forgotten.rows, "turn": forgotten.turns}.items():
        if not refs:  # a copy may be older than the table
            continue
        query = (
            f"SELECT DISTINCT session_id, hidden_at FROM {TABLES[kind]}"
            " WHERE hidden_at IS NOT NULL AND id IN (SELECT value FROM json_each(?))"
        )
        found |= {(s, at) for s, at in rows(conn, query, (json.dumps(refs),))}
    return found


def over(conn: apsw.Connection, pairs: Iterable[moments.Moment]) -> list[moments.Moment]:
    """Those of the moments of which nothing is hidden any more."""
    known = {str(name) for (name,) in rows(conn, "SELECT name FROM sqlite_schema")}
    queries = [
        f"SELECT 1 FROM {table} WHERE session_id = ? AND hidden_at = ? {_TELLING.get(kind, '')}"
        for kind, table in TABLES.items()
        if table in known  # a copy may be older than the table
    ]
    return [pair for pair in pairs if not any(row(conn, query, pair) for query in queries)]


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
    for found in (*_ids(conn, _OTHER_TELLINGS, ref), *released.joined(conn, ref)):
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


def _of_summary(conn: apsw.Connection, ref: int, _memo: Memo) -> Iterator[Ref]:
    """Other tellings of the same stretch, which it stands for."""
    query = """SELECT o.id FROM session_summaries n
        JOIN session_summaries o ON o.session_id = n.session_id
        WHERE n.id = ? AND json_valid(o.metadata)
        AND o.metadata ->> '$.superseded_by' = 'S' || n.id"""
    for found in _ids(conn, query, ref):
        yield "S", found


_FOLLOW = {
    "N": _of_session,
    "P": _of_prompt,
    "T": _of_tool_use,
    "O": _of_observation,
    "S": _of_summary,
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


def emptied(conn: apsw.Connection, hidden: Plan) -> list[int]:
    """Sessions of the hidden plan in which nothing is left to see."""
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
    moments.add(conn, sessions, now=now)
