"""What is known of each batch beside its row: with what it was sent, and why it was not collected.

One value of ``meta``, an entry a batch that has not ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cmem.store import cleaning, meta
from cmem.store.rows import rows

if TYPE_CHECKING:
    import apsw


class Note(NamedTuple):
    """``origin``: the endpoint and key it was sent with, "" where nobody knows; ``mark``: all
    settings of the provider then. ``reason``: why it could not be collected the last time, so
    many times (``step``) in a row, and ``until`` when it is left alone for that."""

    origin: str = ""
    mark: str = ""
    reason: str = ""
    step: int = 0
    until: int = 0


def all_of(conn: apsw.Connection) -> dict[int, Note]:
    """The note of each batch that has one."""
    try:
        return {int(key): _read(one) for key, one in meta.mapping(conn, "batch_notes").items()}
    except (ValueError, TypeError, AttributeError, KeyError):
        return {}  # written by another version: as good as none


def put(conn: apsw.Connection, batch_id: int, note: Note) -> None:
    """Keep the note; those of batches that have ended go. Part of a transaction, or one alone."""
    live = {int(one) for (one,) in rows(conn, "SELECT id FROM batches WHERE state <> 'ended'")}
    kept = all_of(conn) | {batch_id: note._replace(reason=cleaning.error(note.reason))}
    told = {str(key): one._asdict() for key, one in kept.items() if key in live}
    meta.put_json(conn, "batch_notes", told)


def _read(kept: dict[str, object]) -> Note:
    origin, mark, reason = (str(kept[name]) for name in ("origin", "mark", "reason"))
    return Note(origin, mark, reason, int(str(kept["step"])), int(str(kept["until"])))
