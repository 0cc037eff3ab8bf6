"""Units that were given away in a batch: which, since when, and their way back.

A unit in a batch has the state ``batched``, which no run picks up. The batch is written down, with
its units and their calls, before it is sent: so a killed run cannot send one twice, and what is
unknown then is only whether the provider got it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cmem.store import batch_notes, ledger
from cmem.store.connection import transaction
from cmem.store.rows import row, rows

if TYPE_CHECKING:
    import apsw

SENDING = "sending"
_HAS = "SELECT 1 FROM sqlite_schema WHERE name = 'batches'"
_UNITS = """SELECT b.unit_id, b.run_id FROM batch_units b JOIN work_units u ON u.id = b.unit_id
    WHERE b.batch_id = ? AND u.state = 'batched' ORDER BY b.unit_id"""
_WAITING = """SELECT a.id, count(*), a.sent_at FROM batches a
    JOIN batch_units b ON b.batch_id = a.id JOIN work_units u ON u.id = b.unit_id
    WHERE a.state <> 'ended' AND u.state = 'batched' GROUP BY a.id ORDER BY a.id"""


class Batch(NamedTuple):
    """``token`` begins the name of each of its requests. ``size``: how many it was sent with."""

    id: int
    token: str
    remote: str
    state: str
    sent_at: int
    size: int


class Sent(NamedTuple):
    """What a unit was when it was sent: a ``digest`` of what can be forgotten, so that a reply to
    what has been forgotten since is known, and the ``version`` of the prompt."""

    digest: str
    version: str


class Waiting(NamedTuple):
    """Units in batches, and since when the first: those sent with these settings (``here``), and
    the ``others``. ``reason`` and ``until``: why one of the first could not be collected."""

    here: int = 0
    since: int | None = None
    others: int = 0
    others_since: int | None = None
    reason: str = ""
    until: int = 0


def begin(conn: apsw.Connection, token: str, *, now: int) -> int:
    """A batch that is about to be sent. Part of the caller's transaction."""
    conn.execute(
        "INSERT INTO batches(token, state, sent_at) VALUES(?, 'sending', ?)", (token, now)
    ).fetchall()
    return conn.last_insert_rowid()


def add(conn: apsw.Connection, batch_id: int, unit_id: int, *, run_id: int, sent: Sent) -> None:
    """Put a pending unit into it, and its call on the books as one of a batch. Part of the same
    transaction."""
    conn.execute(
        "INSERT INTO batch_units(batch_id, unit_id, run_id, digest) VALUES(?, ?, ?, ?)",
        (batch_id, unit_id, run_id, " ".join(sent)),
    ).fetchall()
    ledger.to_batch(conn, run_id)
    set_state(conn, unit_id, "batched")


def sent(conn: apsw.Connection, batch_id: int, remote: str) -> None:
    """The provider has it, under this id."""
    conn.execute(
        "UPDATE batches SET remote = ?, state = 'waiting' WHERE id = ?", (remote, batch_id)
    ).fetchall()


def open_ones(conn: apsw.Connection) -> list[Batch]:
    """The batches that have not ended, the oldest first."""
    query = """SELECT id, token, remote, state, sent_at,
            (SELECT count(*) FROM batch_units u WHERE u.batch_id = b.id)
        FROM batches b WHERE state <> 'ended' ORDER BY id"""
    return [Batch(*found) for found in rows(conn, query)]


def known(conn: apsw.Connection) -> set[str]:
    """The provider's ids of all batches there ever were."""
    return {str(one) for (one,) in rows(conn, "SELECT remote FROM batches WHERE remote <> ''")}


def units_of(conn: apsw.Connection, batch_id: int) -> dict[int, int]:
    """The units still in the batch, with the ledger's row of each."""
    return {int(unit): int(run) for unit, run in rows(conn, _UNITS, (batch_id,))}


def sent_as(conn: apsw.Connection, batch_id: int, unit_id: int) -> Sent:
    """What the unit was when it was sent."""
    query = "SELECT digest FROM batch_units WHERE batch_id = ? AND unit_id = ?"
    digest, _, version = str(rows(conn, query, (batch_id, unit_id))[0][0]).partition(" ")
    return Sent(digest, version)


def is_private(conn: apsw.Connection, unit_id: int) -> bool:
    """Has the unit's turn turned out to be private?"""
    query = """SELECT t.private FROM work_units u JOIN turns t ON t.id = u.turn_id
        WHERE u.id = ? AND u.kind = 'turn'"""
    found = row(conn, query, (unit_id,))
    return found is not None and bool(found[0])


def take_back(conn: apsw.Connection, unit_id: int, run_id: int, *, now: int) -> None:
    """The unit waits again as if nothing had been, and its call was not made."""
    with transaction(conn):
        if is_batched(conn, unit_id):
            set_state(conn, unit_id, "pending")
            conn.execute(
                """UPDATE observer_runs SET outcome = 'returned', calls = 0, input_tokens = 0,
                    output_tokens = 0, cost_microusd = 0, ended_at = ? WHERE id = ?""",
                (now, run_id),
            ).fetchall()


def release(conn: apsw.Connection, unit_id: int, *, state: str, now: int) -> None:
    """Take a unit out of its batch by a person's will: nothing that comes back is for it. Its call
    was made and counts by its estimate. Part of a transaction."""
    conn.execute(
        """UPDATE observer_runs SET outcome = 'interrupted', ended_at = ?2
        WHERE outcome IN ('started', 'batched') AND id IN
            (SELECT run_id FROM batch_units WHERE unit_id = ?1)""",
        (unit_id, now),
    ).fetchall()
    conn.execute("DELETE FROM batch_units WHERE unit_id = ?", (unit_id,)).fetchall()
    conn.execute(
        """UPDATE work_units SET state = ?2, finished_at = CASE ?2 WHEN 'pending' THEN NULL ELSE ?3 END
        WHERE id = ?1 AND state = 'batched'""",
        (unit_id, state, now),
    ).fetchall()


def end(conn: apsw.Connection, batch_id: int, *, now: int, charged: bool = False) -> int:
    """Nothing more comes of it; units that are left wait again. Returns how many. ``charged``: they
    may have been answered, so that their calls count by their estimate."""
    with transaction(conn):
        left = units_of(conn, batch_id)
        for unit_id, run_id in left.items():
            if charged:
                release(conn, unit_id, state="pending", now=now)
            else:
                take_back(conn, unit_id, run_id, now=now)
        conn.execute(
            "UPDATE batches SET state = 'ended', ended_at = ? WHERE id = ?", (now, batch_id)
        ).fetchall()
    return len(left)


def waiting(conn: apsw.Connection, origin: str) -> Waiting:
    """What is in batches, as whoever asks with these settings sees it; a store of an earlier cmem
    has none."""
    found = Waiting()
    if row(conn, _HAS) is None:
        return found
    notes = batch_notes.all_of(conn)
    for batch_id, count, since in rows(conn, _WAITING):
        note = notes.get(batch_id, batch_notes.Note(origin))
        if note.origin != origin:
            first = since if found.others_since is None else found.others_since
            found = found._replace(others=found.others + count, others_since=first)
            continue
        first = since if found.since is None else found.since
        found = found._replace(here=found.here + count, since=first)
        if note.reason:
            found = found._replace(reason=note.reason, until=note.until)
    return found


def is_batched(conn: apsw.Connection, unit_id: int) -> bool:
    return (
        row(conn, "SELECT 1 FROM work_units WHERE id = ? AND state = 'batched'", (unit_id,))
        is not None
    )


def set_state(conn: apsw.Connection, unit_id: int, state: str) -> None:
    conn.execute("UPDATE work_units SET state = ? WHERE id = ?", (state, unit_id)).fetchall()
