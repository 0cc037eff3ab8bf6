"""Removing hidden rows so that no byte of their text is left in the file.

Deleting a row is not enough. The index keeps the beginnings of removed terms in its own
directory until its segments are merged; freed pages are given back; the log is cut. All of it
happens in short transactions, so that no hook ever waits for a large one. Interrupted at any
point, the next ``finish`` completes it.

Hashes of each row's identity remain, which tell no text, so that the same event arriving
again is known to be unwanted.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import apsw

from cmem.errors import BusyError
from cmem.store import connection, documents, forget, meta, moments, pairs, tombstones
from cmem.store.connection import transaction
from cmem.store.forget import TABLES, Plan
from cmem.store.moments import Moment
from cmem.store.portable import BY_HAND
from cmem.store.rows import row, rows, value

VACUUM_PAGES = 64
# How long to wait for readers before the log is left as it is.
READERS_WAIT_MS = 1000


class Pace(NamedTuple):
    """How much goes in one transaction: ``rows``, at most ``ms`` of them, ``pages`` of the index."""

    rows: int
    ms: int
    pages: int


SHARED = Pace(rows=25, ms=50, pages=64)
# The index is merged after so many transactions, before it has to do it in one.
_MERGED_AFTER = 500
# A copy that nobody waits for.
ALONE = Pace(rows=1000, ms=10_000, pages=4096)

# The kind of the tombstones of what turns said last.
SAID = "said"

# What else goes with a row of a kind.
_DEPENDENTS = {
    "O": (
        "DELETE FROM observation_files WHERE observation_id = ?",
        "DELETE FROM observation_sources WHERE observation_id = ?",
        # What is hidden itself and comes back: nothing stands for it any more.
        "UPDATE observations SET superseded_by = NULL WHERE superseded_by = ?",
    ),
    "S": (),
    "P": ("DELETE FROM observation_sources WHERE kind = 'P' AND ref = ?",),
    "T": ("DELETE FROM observation_sources WHERE kind = 'T' AND ref = ?",),
    "W": (),
}


def purge(
    conn: apsw.Connection,
    forgotten: Plan,
    *,
    now: int,
    progress: Callable[[int, int], None] | None = None,
    pace: Pace = SHARED,
) -> int:
    """Erase the rows of the plan for good; return how many there were.

    Raises BusyError when all is erased but a reader keeps the log from being cut: ``finish``
    does the rest later."""
    doom(conn, forgotten, now=now)
    # The index only notes what is gone, and is rid of it by the merge of ``finish``, which is owed
    # now: to take each row from every place at once costs ten times as much.
    documents.overwrite_at_once(conn, wanted=False)
    hidden = forget.moments_of(conn, forgotten)
    doomed = [(kind, ref) for kind, refs in forgotten.rows.items() for ref in refs]
    done = 0
    for number in itertools.count(1):
        if done >= len(doomed):
            break
        if number % _MERGED_AFTER == 0:
            _merge_index(conn, pace.pages)
        done += _erase_batch(conn, doomed[done : done + pace.rows], pace)
        if progress:
            progress(done, len(doomed))
    for turn in forgotten.turns:
        with transaction(conn):
            _blank_turn(conn, turn, now=now)
    with transaction(conn):
        _blank_sessions(conn, forgotten, hidden, now=now)
        moments.settle(conn, forget.over(conn, hidden))
        moments.unmark(conn, moments.HARD, now)
    finish(conn, pace=pace)
    return len(doomed)


def doom(conn: apsw.Connection, forgotten: Plan, *, now: int) -> None:
    """Take the rows of the plan out of sight at once, to be erased: by ``purge``, or, where that
    is killed, by the next upkeep."""
    with transaction(conn):
        begin(conn)
        moments.mark(conn, moments.HARD, now)
    forget.hide(conn, forgotten, now=now)


def begin(conn: apsw.Connection) -> None:
    """Note that text goes from the file, so that ``finish`` is owed. Part of a transaction."""
    meta.put(conn, "forget_unfinished", 1)


def finish(conn: apsw.Connection, *, pace: Pace = SHARED) -> bool:
    """Clean the file after erased rows, if that is still to be done; False when it is not.

    Raises BusyError when a reader keeps the log from being cut; run it again then."""
    if not meta.number(conn, "forget_unfinished"):
        return False
    _merge_index(conn, pace.pages)
    documents.overwrite_at_once(conn, wanted=True)
    _return_pages(conn)
    _cut_log(conn)
    meta.drop(conn, "forget_unfinished")
    return True


def is_forgotten(conn: apsw.Connection, kind: str, uid: str) -> bool:
    """True when the row of this identity was erased and is not to come back."""
    return tombstones.is_forgotten(conn, kind, uid)


def bury_text(conn: apsw.Connection, session: int, known: str, *, now: int) -> None:
    """Note that what an observation of the session said (its content hash) is not to come
    back by an observer's telling it again. Part of a transaction."""
    tombstones.bury(conn, "text", f"{session}|{known}", now=now)


def is_buried(conn: apsw.Connection, session: int, known: str) -> bool:
    """True when this content of the session was edited away."""
    return is_forgotten(conn, "text", f"{session}|{known}")


def bury_words(conn: apsw.Connection, turn: int, *, now: int) -> None:
    """Note that what was said last in a turn up to now is not to come back by being told again.
    Part of a transaction."""
    query = """SELECT n.uid, t.number, t.native_prompt_id, coalesce(t.hidden_at, ?2)
        FROM turns t JOIN sessions n ON n.id = t.session_id WHERE t.id = ?1"""
    for session, number, prompt_id, at in rows(conn, query, (turn, now)):
        for name in {str(number), str(prompt_id)} - {""}:
            tombstones.bury(conn, SAID, f"{session}|{name}", now=int(at))


def is_unsaid(conn: apsw.Connection, session: str, names: Iterable[str], *, at: int) -> bool:
    """True when what a turn of these names said at this time was forgotten."""
    if not tombstones.are_any(conn):
        return False
    found = (tombstones.forgotten_until(conn, SAID, f"{session}|{name}") for name in names)
    return any(until is not None and at <= until for until in found)


def _erase_batch(conn: apsw.Connection, doomed: Sequence[tuple[str, int]], pace: Pace) -> int:
    """Erase as many of these as fit into one short transaction; at least one."""
    end = time.monotonic() + pace.ms / 1000
    done = 0
    with transaction(conn):
        for kind, ref in doomed:
            _erase(conn, kind, ref)
            done += 1
            if time.monotonic() >= end:
                break
    return done


def _erase(conn: apsw.Connection, kind: str, ref: int) -> None:
    """A hidden row goes for good; it was forgotten when it was hidden."""
    table = TABLES[kind]
    found = row(conn, f"SELECT uid, hidden_at FROM {table} WHERE id = ?", (ref,))
    if found is None:
        return
    tombstones.bury(conn, kind, str(found[0]), now=int(found[1]))
    documents.remove(conn, kind, ref)
    if kind == "O":
        pairs.drop(conn, str(found[0]))
    for statement in _DEPENDENTS[kind]:
        conn.execute(statement, (ref,)).fetchall()
    conn.execute(f"DELETE FROM {table} WHERE id = ?", (ref,)).fetchall()


def _blank_turn(conn: apsw.Connection, turn: int, *, now: int) -> None:
    """Take the texts of a turn; it shows again only if rows of it are left to see."""
    bury_words(conn, turn, now=now)
    left = value(
        conn,
        """SELECT EXISTS(SELECT 1 FROM user_prompts WHERE turn_id = ?1 AND hidden_at IS NULL)
            OR EXISTS(SELECT 1 FROM tool_uses WHERE turn_id = ?1 AND hidden_at IS NULL)
            OR EXISTS(SELECT 1 FROM observations WHERE turn_id = ?1 AND hidden_at IS NULL)""",
        (turn,),
    )
    conn.execute(
        "UPDATE turns SET assistant_message = '', error = '', hidden_at = ? WHERE id = ?",
        (None if left else now, turn),
    ).fetchall()
    conn.execute(
        """UPDATE work_units SET error = '', state = CASE
            WHEN ?2 OR state NOT IN ('pending', 'parked') THEN state ELSE 'skipped' END
        WHERE turn_id = ?1""",
        (turn, left),
    ).fetchall()
    conn.execute(
        """UPDATE observer_runs SET error = ''
        WHERE unit_id IN (SELECT id FROM work_units WHERE turn_id = ?)""",
        (turn,),
    ).fetchall()


def _blank_sessions(
    conn: apsw.Connection, forgotten: Plan, hidden: Iterable[Moment], *, now: int
) -> None:
    """Take the titles; of a session that goes as a whole, all that tells of it but its id,
    by which its events are known when they come again. The one that notes hang on has no end,
    so it is never forgotten as a whole."""
    at = {session: max(when for one, when in hidden if one == session) for session, _ in hidden}
    for session in forgotten.titles:
        conn.execute("UPDATE sessions SET title = '' WHERE id = ?", (session,)).fetchall()
    for session in {*forgotten.sessions, *forget.emptied(conn, forgotten)}:
        conn.execute(
            "UPDATE sessions SET title = '', cwd = '', model = '' WHERE id = ?", (session,)
        ).fetchall()
    for session in forgotten.sessions:
        query = "SELECT uid, last_event_at FROM sessions WHERE id = ? AND host <> ?"
        for uid, newest in rows(conn, query, (session, BY_HAND)):
            until = tombstones.forgotten_until(conn, "N", str(uid))
            if until is None or until < newest:
                tombstones.bury(conn, "N", str(uid), now=max(at.get(session, now), newest))


def _merge_index(conn: apsw.Connection, slice_pages: int) -> None:
    """Rewrite the index in slices until nothing of removed terms is left in it.

    A negative number puts all segments on one level to be merged into one; positive ones go
    on with it. Fewer than two changes mean that there was nothing to do."""
    pages = -slice_pages
    while True:
        before = conn.total_changes()
        conn.execute(
            "INSERT INTO documents_fts(documents_fts, rank) VALUES('merge', ?)", (pages,)
        ).fetchall()
        if conn.total_changes() - before < 2 and pages > 0:
            return
        pages = slice_pages


def _return_pages(conn: apsw.Connection) -> None:
    left = int(value(conn, "PRAGMA freelist_count", ()))
    while left:
        conn.execute(f"PRAGMA incremental_vacuum({VACUUM_PAGES})").fetchall()
        before, left = left, int(value(conn, "PRAGMA freelist_count", ()))
        if left >= before:
            return


def _cut_log(conn: apsw.Connection) -> None:
    conn.set_busy_handler(connection.busy_handler(READERS_WAIT_MS))
    try:
        blocked = bool(value(conn, "PRAGMA wal_checkpoint(TRUNCATE)", ()))
    except apsw.BusyError:
        blocked = True
    finally:
        conn.set_busy_handler(connection.busy_handler(connection.WRITER_WAIT_MS))
    if blocked:
        raise BusyError(
            "residue pending: another process still reads the store; run this again when it is done"
        )
