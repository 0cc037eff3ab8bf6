"""Whether a store is whole, and an index built anew where it is."""

from __future__ import annotations

import apsw

from cmem import paths
from cmem.errors import CmemError, ConfigError
from cmem.store import check, connection, mend, meta, segment
from cmem.store.rows import value

INDEX = "the index does not fit"
# How SQLite tells that an index and not a row is at fault.
_INDEX_SIGNS = ("missing from index", "in index", "inverted index", "of index", INDEX)


def faults(home: str) -> list[str]:
    """What is wrong with the store of ``home``; nothing for a sound one.

    Raises ConfigError for the file of a newer cmem."""
    try:
        conn = connection.open_reader(home)
    except (*connection.ENVIRONMENT_ERRORS, CmemError) as error:
        return [str(error)]
    if conn is None:
        return ["memory.db is empty"]
    if connection.log_is_damaged(paths.memory_db(home)):
        conn.close()
        return [connection.LOG_DAMAGED]
    try:
        schema = int(conn.pragma("user_version"))
        if schema > check.SCHEMA:
            raise ConfigError(f"memory.db has schema {schema}, this cmem knows {check.SCHEMA}")
        found = mend.faults(conn) + mend.spoiled(conn)
        if not found and schema == check.SCHEMA and not _is_indexed(conn):
            found.append(INDEX)
    except apsw.Error as error:
        return [str(error)]
    finally:
        conn.close()
    return found


def is_index(fault: str) -> bool:
    """Whether a fault is one of an index, so that no row is in danger."""
    return any(sign in fault for sign in _INDEX_SIGNS) and "Tree" not in fault


def rebuild(home: str, *, now: int) -> None:
    """Build every index anew, in the place of the old one."""
    conn = connection.open_writer(home, now=now)
    try:
        conn.execute("REINDEX").fetchall()
        mend.index(conn)
        left = mend.faults(conn)
    finally:
        conn.close()
    if left:
        raise CmemError(f"the index could not be repaired: {left[0]}")


def _is_indexed(conn: apsw.Connection) -> bool:
    count = int(value(conn, "SELECT count(*) FROM documents"))
    known = int(value(conn, "SELECT count(*) FROM documents_fts_docsize"))
    rules = meta.number(conn, "segmenter_version")
    return count == known and rules == segment.SEGMENTER_VERSION
