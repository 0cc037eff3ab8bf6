"""When this memory was synced last, for whoever asks how it is."""

from __future__ import annotations

from typing import NamedTuple

from cmem.store import connection, meta


class Last(NamedTuple):
    """``machines``: how many others there were."""

    at: int
    folder: str
    machines: int


def last(home: str) -> Last | None:
    """The last sync of this data home; None before the first."""
    conn = connection.open_reader(home, index=False)
    if conn is None:
        return None
    try:
        kept = meta.mapping(conn, "sync_last")
    finally:
        conn.close()
    at, folder, machines = (kept.get(name) for name in Last._fields)
    if isinstance(at, int) and isinstance(folder, str) and isinstance(machines, int):
        return Last(at, folder, machines)
    return None
