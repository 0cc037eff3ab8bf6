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
    from collections.abc import Callable, Iterable, Sequence

    from cmem.model import Entry

HOOK_WAIT_MS = 250
DRAIN_WAIT_MS = 5_000
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
_OLDEST = "SELECT captured_at FROM spool ORDER BY id LIMIT 1"
_BATCH = """SELECT id, eid, host, event, captured_at, cwd, repo_root, repo_common_dir, branch,
    commit_sha, project_env, payload FROM spool WHERE id > ? ORDER BY id LIMIT ?"""

# As bytes: half of a character, which JSON can spell, is no text.
_TEXTS = """WITH places(host, event, path) AS (VALUES {})
    SELECT CAST(substr(CASE WHEN NOT json_valid(told) THEN ''
        WHEN json_type(told, path) = 'text' THEN told ->> path END, 1, ?) AS BLOB)
    FROM (SELECT s.id, p.path, CAST(s.payload AS TEXT) AS told
        FROM spool s CROSS JOIN places p ON p.host = s.host AND p.event = s.event
        WHERE s.session = ? ORDER BY s.id DESC LIMIT ?) ORDER BY id DESC"""


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
    conn = _open(home, HOOK_WAIT_MS)
    try:
        _rewind(conn, home)
        conn.execute("BEGIN IMMEDIATE")
        if window and _within(conn, digest, captured_at):
            conn.execute("COMMIT")
            return False
        values = (eid, host, event, session, captured_at, cwd, *repo, project_env, digest)
        conn.execute(_INSERT, (*values, payload))
        new = conn.changes() > 0
        if oldest is not None:
            oldest.append(conn.execute(_OLDEST).get)
        conn.execute("COMMIT")
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


def _open(home: str, wait_ms: int) -> apsw.Connection:
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
    conn.execute(f"PRAGMA {name} = {value}")
    found = conn.execute(f"PRAGMA {name}").get
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


def prepare(home: str) -> None:
    """Make the spool before the first hook needs it; a hook makes what this one could not."""
    try:
        finish(_open(home, DRAIN_WAIT_MS))
    except (apsw.Error, OSError):
        pass


def open_drain(home: str) -> apsw.Connection | None:
    """A connection to empty the spool with; None when there is none yet."""
    if not os.path.lexists(paths.spool_db(home)):
        return None
    return _open(home, DRAIN_WAIT_MS)


def create(home: str) -> apsw.Connection:
    """A new and empty spool, open."""
    return _open(home, DRAIN_WAIT_MS)


def read_batch(
    conn: apsw.Connection, *, after_id: int, limit: int, max_bytes: int
) -> "list[Entry]":
    """The next entries after a row, oldest first: at most ``limit`` and, beyond the first,
    ``max_bytes`` of payload."""
    from cmem.model import Entry, Repo

    batch: list[Entry] = []
    size = 0
    for row in conn.execute(_BATCH, (after_id, limit)):
        size += len(row[11])
        if batch and size > max_bytes:
            break
        row_id, eid, host, event, captured_at, cwd = row[:6]
        repo = Repo(*row[6:10])
        entry = Entry(row_id, eid, host, event, captured_at, cwd, repo, row[10], bytes(row[11]))
        batch.append(entry)
    return batch


def delete(conn: apsw.Connection, ids: "Iterable[int]") -> None:
    """Take entries out, in one short transaction."""
    conn.execute("BEGIN IMMEDIATE")
    try:
        conn.executemany("DELETE FROM spool WHERE id = ?", [(row,) for row in ids])
    except BaseException:
        conn.execute("ROLLBACK")
        raise
    conn.execute("COMMIT")


def finish(conn: apsw.Connection) -> None:
    """Leave a log without events behind where no reader is in the way, and close. The log is
    begun anew at once, because whoever begins one has to sync, and that is not a hook's work."""
    try:
        conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        conn.execute(f"PRAGMA user_version = {VERSION}")
    except apsw.BusyError:
        pass
    conn.close()


def waiting_texts(
    home: str, session: str, places: "Sequence[tuple[str, str, str]]", *, size: int, limit: int
) -> list[str]:
    """The beginnings of what the newest waiting events of a session say at one of the places
    (host, event, path), newest first; [] where the spool cannot be read at once."""
    path = paths.spool_db(home)
    query = _TEXTS.format(", ".join(["(?, ?, ?)"] * len(places)))
    bindings = [*[part for place in places for part in place], size, session, limit]
    try:
        if not os.path.exists(path) or not os.path.getsize(path):
            return []
        conn = connect(path, apsw.SQLITE_OPEN_READONLY)
        try:
            found = conn.execute(query, bindings).fetchall()
        finally:
            conn.close()
    except (apsw.Error, OSError):
        return []
    said = [one for (one,) in found if isinstance(one, bytes)]
    return [one.decode("utf-8", "replace") for one in said if one]


def counts(home: str) -> tuple[int, int, int]:
    """(rows waiting, spilled files, events dropped). Raises apsw.Error when the spool cannot
    be read. Files that were set aside as unreadable count as dropped."""
    waiting = _look(paths.spool_db(home), "SELECT count(*) FROM spool") or 0
    spilled = sum(1 for name in _names(paths.spill_dir(home)) if name.endswith(".event"))
    bad = len(_names(paths.spill_dir(home) + "/bad"))
    try:
        dropped = os.stat(paths.dropped_file(home)).st_size
    except OSError:
        dropped = 0
    return waiting, spilled, dropped + bad


def oldest(home: str) -> int | None:
    """When the first waiting row was captured; None where none waits. Raises apsw.Error when the
    spool cannot be read."""
    return _look(paths.spool_db(home), _OLDEST)


def _look(path: str, query: str) -> int | None:
    """The number that a query gives, without writing anything; None where there is none."""
    if not os.path.exists(path) or not os.path.getsize(path):
        return None
    try:
        if paths.is_shared_memory_fatal(path):
            return _number(path, query, "mode=rw")
        return _number(path, query, "mode=ro")
    except (apsw.FullError, apsw.IOError):
        return _number(path, query, "mode=rw")
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        # A directory nobody can write to cannot hold the shared memory a WAL needs.
        return _number(path, query, "immutable=1")


def _number(path: str, query: str, how: str) -> int | None:
    from urllib.parse import quote

    alone = how == "mode=rw"  # nothing is shared then, so a full disk needs no room for it
    flags = apsw.SQLITE_OPEN_READWRITE if alone else apsw.SQLITE_OPEN_READONLY
    conn = apsw.Connection(f"file:{quote(path)}?{how}", flags=flags | apsw.SQLITE_OPEN_URI)
    try:
        if alone:
            conn.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            conn.execute("PRAGMA locking_mode = EXCLUSIVE")
        conn.set_busy_timeout(HOOK_WAIT_MS)
        if not conn.execute("SELECT 1 FROM sqlite_schema WHERE name = 'spool'").get:
            return None
        found = conn.execute(query).get
        return None if found is None else int(found)
    finally:
        conn.close()


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
