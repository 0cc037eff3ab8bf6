"""The moments at which something was hidden, and what is known of each.

All that one command hides has one moment, in however many sessions, so a hidden row is known by
its session and its moment. What is to be done about them is kept here, in rows of ``meta``: no
table has an index on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmem.store import meta, released

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal, TypeAlias

    import apsw

    Kind: TypeAlias = Literal["forget_told", "forget_hard"]

# Hidden because another store said so: it may say that the row is wanted again.
TOLD: Kind = "forget_told"
# Hidden to be erased at once: a run that was killed has left it.
HARD: Kind = "forget_hard"

Moment = tuple[int, int]  # session, when


def pairs(conn: apsw.Connection) -> list[Moment]:
    """All that is hidden and not erased."""
    return [(int(session), int(at)) for session, at in meta.listed(conn, "forget_due")]


def add(conn: apsw.Connection, sessions: Iterable[int], *, now: int) -> None:
    """Something of these sessions is hidden since ``now``. Part of a transaction."""
    found = [*pairs(conn), *((session, now) for session in sessions)]
    meta.put_json(conn, "forget_due", list(dict.fromkeys(found)))


def settle(conn: apsw.Connection, gone: Iterable[Moment]) -> None:
    """Nothing is left to do for what was hidden in these sessions at these moments. Part of a
    transaction."""
    ended = set(gone)
    before = pairs(conn)
    left = [pair for pair in before if pair not in ended]
    if left == before:
        return
    meta.put_json(conn, "forget_due", left)
    over = {at for _session, at in ended} - {at for _session, at in left}
    for key in (TOLD, HARD):
        if over & marked(conn, key):
            meta.put_json(conn, key, sorted(marked(conn, key) - over))
    released.settle(conn, over)


def mark(conn: apsw.Connection, key: Kind, moment: int) -> None:
    """Note of a moment that it is of a kind: ``TOLD``, ``HARD``. Part of a transaction."""
    meta.put_json(conn, key, sorted(marked(conn, key) | {moment}))


def unmark(conn: apsw.Connection, key: Kind, moment: int) -> None:
    """Take the note back. Part of a transaction."""
    if moment in marked(conn, key):
        meta.put_json(conn, key, sorted(marked(conn, key) - {moment}))


def marked(conn: apsw.Connection, key: Kind) -> set[int]:
    """The moments of a kind."""
    return {int(at) for at in meta.listed(conn, key)}
