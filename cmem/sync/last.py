"""When this memory was synced last, for whoever asks how it is."""

from __future__ import annotations

import os
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


def own_file(home: str) -> str:
    """The file in which this machine told what it knows, where it was synced last; "" where there
    is none, or nobody can tell."""
    try:
        conn = connection.open_reader(home, index=False)
        if conn is None:
            return ""
        try:
            path = str(meta.mapping(conn, "sync_last").get("folder", ""))
            names = meta.mapping(conn, "sync_machine").get("names")
        finally:
            conn.close()
    except Exception:  # noqa: BLE001 - a memory that cannot be read is to be deleted all the same
        return ""
    if not path or not isinstance(names, list) or not names:
        return ""
    from cmem.sync import folder  # here, because status asks when it was and not where

    found = os.path.join(path, folder.own_name(str(names[0])))
    return found if os.path.isfile(found) else ""
