"""Which files an observation tells of, for whoever asks by the file: rows made of its own columns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import apsw


def add(
    conn: apsw.Connection, ref: int, *, read: Iterable[str] = (), modified: Iterable[str] = ()
) -> None:
    """The observation tells of these files. Part of a transaction."""
    found = [(path, ref, "read") for path in read] + [(path, ref, "modified") for path in modified]
    conn.executemany(
        "INSERT OR IGNORE INTO observation_files(path, observation_id, role) VALUES(?, ?, ?)", found
    )


def add_stored(conn: apsw.Connection, ref: int, columns: Mapping[str, Any]) -> None:
    """The same of the JSON in the observation's columns. Part of a transaction."""
    read, modified = (_paths(columns[name]) for name in ("files_read", "files_modified"))
    add(conn, ref, read=read, modified=modified)


def put_stored(conn: apsw.Connection, ref: int, columns: Mapping[str, Any]) -> None:
    """The same, and of no others. Part of a transaction."""
    conn.execute("DELETE FROM observation_files WHERE observation_id = ?", (ref,)).fetchall()
    add_stored(conn, ref, columns)


def _paths(stored: object) -> list[str]:
    found = json.loads(str(stored))
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
