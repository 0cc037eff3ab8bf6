"""The ledger: one row of ``observer_runs`` for each time an observer was asked.

A call is written down before it is made, with what it is expected to take, and again with what
it took. So a call that the process did not live to see the end of is still on the books, by its
estimate: its row stays ``started`` until the next holder of the lock says ``interrupted``.

Money is whole micro-dollars; NULL is a price nobody knows, which is not 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cmem.store import cleaning, model_names, trials
from cmem.store.rows import row, rows

if TYPE_CHECKING:
    import apsw

    from cmem.model import Usage

STARTED = "started"
INTERRUPTED = "interrupted"
BATCHED = "batched"  # in a batch that has not come back
ANSWERED = ("done", "skipped")

INSERT = """INSERT INTO observer_runs(unit_id, session_id, project_id, kind, provider, model,
        prompt_version, outcome, calls, input_tokens, output_tokens, cache_read_tokens,
        cache_write_tokens, cost_microusd, started_at, ended_at, error)
    SELECT u.id, u.session_id, s.project_id, u.kind, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,
        ?12, ?13, ?14
    FROM work_units u JOIN sessions s ON s.id = u.session_id WHERE u.id = ?1"""
UPDATE = """UPDATE observer_runs SET provider = ?2, model = ?3, prompt_version = ?4, outcome = ?5,
        calls = ?6, input_tokens = ?7, output_tokens = ?8, cache_read_tokens = ?9,
        cache_write_tokens = ?10, cost_microusd = ?11, started_at = ?12, ended_at = ?13, error = ?14
    WHERE id = ?1"""
TOKENS = "input_tokens + output_tokens + cache_read_tokens + cache_write_tokens"
SPENT = """SELECT coalesce(sum(calls), 0), coalesce(sum({tokens}), 0),
        coalesce(sum({cost}), 0), coalesce(sum(calls > 0 AND {cost} IS NULL), 0)
    FROM observer_runs WHERE started_at >= ? AND started_at < ?"""
CALLS = """SELECT r.started_at, p.name, r.provider, r.model, r.kind, r.outcome, r.calls,
        r.input_tokens, r.output_tokens, r.cache_read_tokens, r.cache_write_tokens, {cost},
        (SELECT count(*) FROM observations o WHERE o.unit_id = r.unit_id AND o.run_id = r.id),
        (SELECT coalesce(sum(json_array_length(o.facts)), 0) FROM observations o
            WHERE o.unit_id = r.unit_id AND o.run_id = r.id AND json_valid(o.facts))
    FROM observer_runs r JOIN projects p ON p.id = r.project_id
    WHERE r.started_at >= ? AND r.started_at < ? ORDER BY r.started_at, r.id"""
# A store that no writer has opened since it was made by an earlier cmem.
OLD_COST = """CASE WHEN cost_usd > 0 OR input_tokens + output_tokens = 0
    THEN CAST(round(cost_usd * 1000000) AS INTEGER) END"""
HAS_COST = "SELECT 1 FROM pragma_table_info('observer_runs') WHERE name = 'cost_microusd'"
FOR_EVER = 2**62
# A call of no project's: the question of ``cmem provider test``.
TRIAL, TRIAL_NAME = "trial", "(provider test)"


class Expected(NamedTuple):
    """What a call will take, told before it is made. ``microusd`` None: nobody knows."""

    provider: str
    model: str
    input_tokens: int
    output_tokens: int
    microusd: int | None


class Result(NamedTuple):
    """What a call took, and how it ended: done, skipped, stale, unusable, or the class of the
    provider's failure. ``error`` is the reason, "" where there is none."""

    provider: str
    model: str
    prompt_version: str
    outcome: str
    calls: int
    usage: Usage
    microusd: int | None
    error: str


class Spent(NamedTuple):
    """``unpriced``: calls of which only the tokens are known."""

    calls: int
    tokens: int
    microusd: int
    unpriced: int


class Call(NamedTuple):
    """One row of the ledger with what came of it."""

    started_at: int
    project: str
    provider: str
    model: str
    kind: str
    outcome: str
    calls: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    microusd: int | None
    observations: int
    facts: int


def start(conn: apsw.Connection, unit_id: int, expected: Expected, *, now: int) -> int:
    """Write down a call that is about to be made; return its row. Part of the caller's
    transaction."""
    usage = (expected.input_tokens, expected.output_tokens, 0, 0)
    told = (expected.provider, expected.model, "", STARTED, 1)
    conn.execute(INSERT, (unit_id, *told, *usage, expected.microusd, now, now, ""))
    return conn.last_insert_rowid()


def end(
    conn: apsw.Connection,
    unit_id: int,
    result: Result,
    *,
    started_at: int,
    now: int,
    run_id: int | None = None,
) -> int:
    """Write down how a call ended, in the row that ``start`` gave or in a new one; return it."""
    if run_id is not None and result.outcome in ANSWERED:
        asked = row(conn, "SELECT model FROM observer_runs WHERE id = ?", (run_id,))
        named = "" if asked is None else str(asked[0])
        model_names.note(conn, result.provider, asked=named, answered=result.model)
    target = unit_id if run_id is None else run_id
    conn.execute(
        INSERT if run_id is None else UPDATE,
        (
            target,
            result.provider,
            result.model,
            result.prompt_version,
            result.outcome,
            result.calls,
            *result.usage[:4],
            result.microusd,
            started_at,
            now,
            cleaning.error(result.error),
        ),
    )
    return conn.last_insert_rowid() if run_id is None else run_id


def to_batch(conn: apsw.Connection, run_id: int) -> None:
    """The call is one of a batch, which outlives the run."""
    conn.execute("UPDATE observer_runs SET outcome = ? WHERE id = ?", (BATCHED, run_id)).fetchall()


def interrupt(conn: apsw.Connection, run_id: int, *, now: int) -> None:
    """The call was cut off: nobody knows what it took, so its estimate stands."""
    conn.execute(
        "UPDATE observer_runs SET outcome = ?, ended_at = ? WHERE id = ? AND outcome = ?",
        (INTERRUPTED, now, run_id, STARTED),
    )


def interrupt_all(conn: apsw.Connection) -> int:
    """What killed runs left open, by the holder of the lock; return how many there were."""
    if row(conn, "SELECT 1 FROM observer_runs WHERE outcome = ? LIMIT 1", (STARTED,)) is None:
        return 0
    conn.execute("UPDATE observer_runs SET outcome = ? WHERE outcome = ?", (INTERRUPTED, STARTED))
    return conn.changes()


def cancel(conn: apsw.Connection, run_id: int) -> None:
    """The call was not made after all."""
    conn.execute("DELETE FROM observer_runs WHERE id = ? AND outcome = ?", (run_id, STARTED))


def spent(conn: apsw.Connection, *, since: int, until: int = FOR_EVER) -> Spent:
    """What the calls begun in that time took, those still open by their estimate."""
    query = SPENT.format(tokens=TOKENS, cost=_cost(conn))
    found = Spent(*rows(conn, query, (since, until))[0])
    tried = trials.listed(conn, since=since, until=until)
    return Spent(
        calls=found.calls + len(tried),
        tokens=found.tokens + sum(one.input_tokens + one.output_tokens for one in tried),
        microusd=found.microusd + sum(one.microusd or 0 for one in tried),
        unpriced=found.unpriced + sum(one.microusd is None for one in tried),
    )


def calls(conn: apsw.Connection, *, since: int, until: int = FOR_EVER) -> list[Call]:
    """Every row of that time, oldest first."""
    query = CALLS.format(cost=_cost(conn))
    found = [Call(*one) for one in rows(conn, query, (since, until))]
    tried = [_tried(one) for one in trials.listed(conn, since=since, until=until)]
    return sorted(found + tried, key=lambda call: call.started_at) if tried else found


def _tried(one: trials.Trial) -> Call:
    told = (one.provider, one.model, TRIAL, one.outcome, 1, one.input_tokens, one.output_tokens)
    return Call(one.started_at, TRIAL_NAME, *told, 0, 0, one.microusd, 0, 0)


def _cost(conn: apsw.Connection) -> str:
    return "cost_microusd" if row(conn, HAS_COST) else OLD_COST
