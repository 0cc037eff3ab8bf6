"""The mailbox: one table in one small file, written by hooks, emptied by the drain.

A hook opens it, inserts one row and goes. The log is written back only when it has grown past
512 KiB: always would cost every hook four syncs, never would let the log grow without end and
every opening pay for its length. Nothing here ever deletes or replaces the file.
"""

import os
import time

import apsw

from cmem import eid as eids
from cmem import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HOOK_WAIT_MS = 250
MAX_WAL = 512 * 1024
VERSION = 1

_SCHEMA = (
    # Row numbers are never used twice, so that "after this row" stays true over a delete.
    """CREATE TABLE IF NOT EXISTS spool(
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        eid TEXT NOT NULL UNIQUE,
        host TEXT NOT NULL,
        event TEXT NOT NULL,
        session TEXT NOT NULL,
        captured_at INTEGER NOT NULL,
        cwd TEXT NOT NULL,
        repo_root TEXT NOT NULL,
        repo_common_dir TEXT NOT NULL,
        branch TEXT NOT NULL,
        commit_sha TEXT NOT NULL,
        project_env TEXT NOT NULL,
        digest TEXT NOT NULL,
        payload BLOB NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS spool_digest ON spool(digest) WHERE digest <> ''",
    f"PRAGMA user_version = {VERSION}",
)
_INSERT = """INSERT INTO spool(eid, host, event, session, captured_at, cwd, repo_root,
    repo_common_dir, branch, commit_sha, project_env, digest, payload)
    VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(eid) DO NOTHING"""
OLDEST = "SELECT captured_at FROM spool ORDER BY id LIMIT 1"


class NewerSpoolError(apsw.Error):
    """The file was made by a later cmem; a hook spills, the drain says so."""


def fields(text: str, json_paths: "Sequence[str]") -> "tuple[str, ...] | None":
    """The values at the paths as text, "" where there is none; None when SQLite does not take
    the text for a JSON object or a value of it cannot be read."""
    columns = ", ".join(f"?1->>'{path}'" for path in json_paths)
    conn = apsw.Connection(":memory:")
    try:
        row = conn.execute(
            f"SELECT {columns} WHERE json_valid(?1) AND json_type(?1) = 'object'",
            (text,),
        ).fetchone()
    except (apsw.Error, UnicodeError):
        return None
    finally:
        conn.close()
    if row is None:
        return None
    return tuple(value if isinstance(value, str) else "" for value in row)


def number(document: str, json_path: str) -> int | None:
    """The whole number at a path of a document; None where there is none, or one that no column
    can hold."""
    conn = apsw.Connection(":memory:")
    query = "SELECT ?1->>?2 WHERE json_valid(?1) AND json_type(?1, ?2) = 'integer'"
    try:
        found = conn.execute(query, (document, json_path)).get
    except (apsw.Error, UnicodeError):
        return None
    finally:
        conn.close()
    return found if isinstance(found, int) else None


def texts(document: str, json_path: str) -> "tuple[str, ...] | None":
    """The texts in the array at a path of a document, () where none is there; None where SQLite
    cannot read it."""
    conn = apsw.Connection(":memory:")
    query = (
        "SELECT value FROM json_each(?1, ?2) WHERE type = 'text' AND json_type(?1, ?2) = 'array'"
    )
    try:
        return tuple([value for (value,) in conn.execute(query, (document, json_path))])
    except (apsw.Error, UnicodeError):
        return None
    finally:
        conn.close()


def append(
    home: str,
    *,
    eid: str,
    host: str,
    event: str,
    session: str,
    captured_at: int,
    cwd: str,
    repo: tuple[str, str, str, str],
    project_env: str,
    digest: str,
    window: bool,
    payload: bytes,
    oldest: "list[int] | None" = None,
) -> bool:
    """Store one event; True when it is new, False when it was there already. Raises apsw.Error
    when the file cannot take it within 250 ms; then nothing was stored. ``oldest`` gets the time
    at which the event that waits longest was captured."""
    conn = open_file(home, HOOK_WAIT_MS)
    try:
        _rewind(conn, home)
        conn.execute("BEGIN IMMEDIATE")
        if window and _within(conn, digest, captured_at):
            conn.execute("COMMIT")
            return False
        values = (eid, host, event, session, captured_at, cwd, *repo, project_env, digest)
        conn.execute(_INSERT, (*values, payload))
        new = conn.changes() > 0
        first = 0 if oldest is None else conn.execute(OLDEST).get
        conn.execute("COMMIT")
        if oldest is not None:
            oldest.append(first)
        return new
    finally:
        conn.close()


def _within(conn: apsw.Connection, digest: str, captured_at: int) -> bool:
    row = conn.execute(
        "SELECT 1 FROM spool WHERE digest = ? AND digest <> '' AND abs(captured_at - ?) <= ?",
        (digest, captured_at, eids.WINDOW_MS),
    ).fetchone()
    return row is not None


def connect(path: str, flags: int) -> apsw.Connection:
    """Open the file. Raises apsw.FullError where to use it would end the process."""
    if paths.is_shared_memory_fatal(path):
        raise apsw.FullError("the disk is full")
    return apsw.Connection(path, flags=flags)


def open_file(home: str, wait_ms: int) -> apsw.Connection:
    path = paths.spool_db(home)
    if os.path.islink(path):  # planted, or not ours to follow
        raise apsw.CantOpenError("spool.db is a symbolic link")
    if not os.path.exists(path):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    conn = connect(path, apsw.SQLITE_OPEN_READWRITE)
    try:
        conn.set_busy_handler(_patience(wait_ms))
        conn.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        version = conn.execute("PRAGMA user_version").get
        if version == 0:
            _create(conn)
        elif version != VERSION:
            raise NewerSpoolError(  # noqa: TRY301
                f"spool.db is of a newer version: {version}, this cmem knows {VERSION}"
            )
        # A killed process loses nothing at this level; only a power cut can, and never tears.
        _set(conn, "synchronous", "NORMAL", 1)
        # Deleted events are overwritten, or forgetting would leave them in free pages.
        _set(conn, "secure_delete", "ON", 1)
    except BaseException:
        conn.close()
        raise
    return conn


def _set(conn: apsw.Connection, name: str, value: str, read_back: int) -> None:
    told = conn.execute(f"PRAGMA {name} = {value}").get  # some say at once what they are now
    found = conn.execute(f"PRAGMA {name}").get if told is None else told
    if found != read_back:
        raise apsw.SQLError(f"PRAGMA {name} is {found}, not {read_back}")


def _create(conn: apsw.Connection) -> None:
    mode = _retried(lambda: conn.execute("PRAGMA journal_mode = WAL").get)
    if mode != "wal":
        raise apsw.CantOpenError(f"spool.db cannot use WAL but {mode}")
    conn.execute("BEGIN IMMEDIATE")
    for statement in _SCHEMA:
        conn.execute(statement)
    conn.execute("COMMIT")


def _retried(step: "Callable[[], object]") -> object:
    """The step, again while the file is busy: changing the journal mode asks no busy handler."""
    deadline = time.monotonic() + HOOK_WAIT_MS / 1000
    while True:
        try:
            return step()
        except apsw.BusyError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.002)


def _patience(wait_ms: int) -> "Callable[[int], bool]":
    """A busy handler that sleeps a jittered moment and gives up after ``wait_ms``: hooks that
    sleep in step would collide again."""
    deadline = time.monotonic() + wait_ms / 1000
    jitter = (time.time_ns() ^ os.getpid()) % 997

    def wait(tries: int) -> bool:
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.0003 + ((tries * 389 + jitter) % 997) / 997 * 0.0012)
        return True

    return wait


def _rewind(conn: apsw.Connection, home: str) -> None:
    """Write a log that has grown too long back, before this process adds to it: the first
    write to an empty log is synced as well, so one hook pays for all of it and the next ones
    for nothing. A reader in the way only puts it off."""
    try:
        if os.stat(paths.spool_db(home) + "-wal").st_size > MAX_WAL:
            conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except (OSError, apsw.BusyError):
        pass
