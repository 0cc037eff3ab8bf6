"""Looking into the mailbox without emptying it, and taking single entries out of it."""

from __future__ import annotations

import os
from typing import NamedTuple

import apsw

from cmem import paths, spool, spooled
from cmem.model import Entry, Repo

_ENTRIES = """SELECT id, eid, host, event, captured_at, cwd, repo_root, repo_common_dir, branch,
    commit_sha, project_env, payload FROM spool WHERE substr(session, 1, ?) = ? ORDER BY id"""

_FOUND = """SELECT id, eid, host, event, captured_at, cwd, repo_root, repo_common_dir, branch,
    commit_sha, project_env, payload FROM spool
    WHERE substr(eid, 1, length(?1)) = ?1 OR instr(eid, ':t:' || ?1)
    ORDER BY eid <> ?1, id LIMIT ?2"""


class State(NamedTuple):
    """``trouble`` says why the file cannot be used, "" when it can."""

    waiting: int = 0
    oldest_at: int | None = None
    trouble: str = ""


def look(home: str) -> State | None:
    """The mailbox as it is, None when there is none; nothing is written to it."""
    path = paths.spool_db(home)
    if not os.path.exists(path):
        return None
    try:
        conn = spool.connect(path, apsw.SQLITE_OPEN_READONLY)
    except apsw.Error as error:
        return State(trouble=str(error))
    try:
        return _look(conn)
    except (apsw.Error, OSError) as error:
        return State(trouble=str(error))
    finally:
        conn.close()


def newest(home: str) -> int | None:
    """When the last event that waits was captured; None where none does, or it cannot be read."""
    path = paths.spool_db(home)
    try:
        conn = spool.connect(path, apsw.SQLITE_OPEN_READONLY)
        try:
            conn.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            found = conn.execute("SELECT max(captured_at) FROM spool").get
            return None if found is None else int(found)
        finally:
            conn.close()
    except (apsw.Error, OSError):
        return None


def _look(conn: apsw.Connection) -> State:
    conn.set_busy_timeout(spool.HOOK_WAIT_MS)
    # The last one out would otherwise write the log back.
    conn.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    version = int(conn.pragma("user_version"))
    if version == 0 and not conn.execute("SELECT 1 FROM sqlite_schema").fetchall():
        return State()  # no hook has got further than making the file
    if version != spool.VERSION:
        return State(trouble=f"it is of version {version}, this cmem knows {spool.VERSION}")
    damage = str(conn.execute("PRAGMA quick_check(1)").fetchall()[0][0])
    if damage != "ok":
        return State(trouble=damage)
    ((waiting, oldest_at),) = conn.execute(
        "SELECT count(*), min(captured_at) FROM spool"
    ).fetchall()
    return State(int(str(waiting)), None if oldest_at is None else int(str(oldest_at)))


def find(home: str, text: str, *, limit: int) -> list[Entry]:
    """The waiting entries whose identity begins with the text, or whose tool call's id does;
    none where the mailbox cannot be read. Nothing is written to it."""
    return [_entry(row) for row in _rows(home, _FOUND, (text, limit))]


def identities(home: str, host: str) -> frozenset[str]:
    """What the waiting events of a host are called; none where the mailbox cannot be read. Nothing
    is written to it."""
    query = "SELECT eid FROM spool WHERE host = ?"
    return frozenset(str(eid) for (eid,) in _rows(home, query, (host,)))


def _rows(
    home: str, query: str, bindings: tuple[str | int, ...]
) -> list[tuple[apsw.SQLiteValue, ...]]:
    path = paths.spool_db(home)
    if not os.path.exists(path):
        return []
    try:
        conn = spool.connect(path, apsw.SQLITE_OPEN_READONLY)
    except apsw.Error:
        return []
    try:
        conn.set_busy_timeout(spool.HOOK_WAIT_MS)
        conn.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        return conn.execute(query, bindings).fetchall()
    except apsw.Error:
        return []
    finally:
        conn.close()


def take_out(home: str, *, prefix: str) -> list[Entry]:
    """The entries of sessions whose id begins with ``prefix``, of which no byte is in the
    mailbox any more; none where it cannot be used (``look`` says why)."""
    try:
        conn = spooled.open_drain(home)
        return [] if conn is None else _take_out(conn, prefix)
    except (apsw.Error, OSError):
        return []


def _take_out(conn: apsw.Connection, prefix: str) -> list[Entry]:
    try:
        found = [_entry(row) for row in conn.execute(_ENTRIES, (len(prefix), prefix)).fetchall()]
        if found:
            spooled.delete(conn, [entry.id for entry in found])
        return found
    finally:
        spooled.finish(conn)


def _entry(row: tuple[apsw.SQLiteValue, ...]) -> Entry:
    number, *texts, payload = row
    eid, host, event, captured_at, cwd, root, common_dir, branch, commit, project_env = texts
    return Entry(
        id=int(str(number)),
        eid=str(eid),
        host=str(host),
        event=str(event),
        captured_at=int(str(captured_at)),
        cwd=str(cwd),
        repo=Repo(str(root), str(common_dir), str(branch), str(commit)),
        project_env=str(project_env),
        payload=payload if isinstance(payload, bytes) else b"",
    )
