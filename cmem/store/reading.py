"""Opening memory.db for reading. HOT: a session start reads.

A reader never writes a byte, so that many sessions starting at once never compete for the lock,
and a read-only directory still answers.
"""

import os
import time

import apsw

from cmem import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cmem.errors import ConfigError

READER_WAIT_MS = 250

COMMON_PRAGMAS = (
    ("trusted_schema", 0),  # a planted view or trigger may call only innocuous functions
    ("cell_size_check", 1),  # a damaged page is an error here, not a wrong answer later
    ("temp_store", 2),  # sorted or spilled rows of ours never reach a temporary file
)
_PRAGMAS = "; ".join([f"PRAGMA {name} = {value}" for name, value in COMMON_PRAGMAS[1:]])
_left: "list[apsw.Connection]" = []


def open_reader(home: str, *, index: bool = True) -> apsw.Connection | None:
    """Open memory.db read-only; None when there is no store yet. Without ``index`` the
    functions behind the full-text index are not loaded: a session start needs none.

    A file of a newer cmem is readable too. Raises ConfigError when it is no database, or gone or
    empty although there are backups of it."""
    path = paths.memory_db(home)
    if holds_nothing(path):  # SQLite would delete a log beside it
        refuse_anew(home, path)
        return None
    try:
        conn = open_where_possible(path, index)
    except apsw.NotADBError as error:
        raise no_database(path) from error
    except UnicodeEncodeError as error:
        raise _unusable(f"cannot open {path}: {error}") from error
    if not _has_tables(conn):
        conn.close()
        return None
    return conn


def begin_reading(conn: apsw.Connection) -> None:
    """Let all that is read until the connection is closed be of one moment, and take the file's
    lock once for it and not with every statement."""
    conn.execute("BEGIN")


def let_go(conn: apsw.Connection, *, ending: bool) -> None:
    """Close a reader. Where the process is about to end its locks are given back at once, and the
    rest goes with the process: taking apart the schema and the pages is 1 % of a session's start."""
    if ending and conn.in_transaction:
        conn.execute("END")
        _left.append(conn)
    else:
        conn.close()


def open_where_possible(path: str, index: bool) -> apsw.Connection:
    """Open read-only, in a read-only directory too.

    SQLite needs -wal and -shm beside the file. Where it may not make them, the file alone is
    the whole truth if there is no log; with a log but no index only a copy can be read. Where
    there is no room for -shm, the file is read by this process alone, which needs none."""
    if paths.is_shared_memory_fatal(path):
        from cmem.store import hard_reading

        return hard_reading.alone(path, index)
    try:
        return connect(path, apsw.SQLITE_OPEN_READONLY, index)
    except (apsw.FullError, apsw.IOError, apsw.ReadOnlyError, apsw.CantOpenError) as error:
        from cmem.store import hard_reading

        return hard_reading.after(error, path, index)


def connect(name: str, flags: int, index: bool, *, alone: bool = False) -> apsw.Connection:
    conn = apsw.Connection(name, flags=flags)
    try:
        if alone:
            conn.pragma("query_only", 1)
            conn.pragma("locking_mode", "exclusive")
        conn.set_busy_handler(busy_handler(READER_WAIT_MS))
        # The last one out would otherwise try to write the log back.
        conn.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        # Each statement costs every session start something: what is below is one.
        conn.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        conn.execute(_PRAGMAS)
        if index:
            from cmem.store import functions

            functions.register(conn)
        _has_tables(conn)  # the first read is what fails in a read-only directory
    except BaseException:
        conn.close()
        raise
    return conn


def _has_tables(conn: apsw.Connection) -> bool:
    return conn.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is not None


def busy_handler(limit_ms: int) -> "Callable[[int], bool]":
    """Wait for a lock in short sleeps of random length, ``limit_ms`` in all.

    SQLite's own back-off lets one of eight writers wait eight times longer than this."""
    began = 0.0

    def wait(tries: int) -> bool:
        nonlocal began
        if tries == 0:
            began = time.monotonic()
        elif time.monotonic() - began >= limit_ms / 1000:
            return False
        time.sleep(0.0003 + os.urandom(1)[0] / 255 * 0.0012)
        return True

    return wait


def holds_nothing(path: str) -> bool:
    """Whether the file is not there or empty; SQLite takes one byte for none."""
    try:
        return os.stat(path).st_size <= 1
    except OSError:
        return True


def refuse_anew(home: str, path: str) -> None:
    """ConfigError where a memory that was there is gone."""
    if os.path.exists(path + "-wal") or os.path.exists(os.path.join(home, "backups")):
        from cmem.store import vanished

        vanished.refuse(home, path)


def no_database(path: str) -> "ConfigError":
    """What to say of a file that is none of ours."""
    return _unusable(f"{path} is not a cmem database; run `cmem doctor --repair`, or move it away")


def _unusable(text: str) -> "ConfigError":
    from cmem.errors import ConfigError  # what no session start needs

    return ConfigError(text)


def set_pragmas(conn: apsw.Connection, pragmas: "tuple[tuple[str, int | str], ...]") -> None:
    """Set each pragma and read it back: SQLite ignores in silence what it cannot do."""
    for name, wanted in pragmas:
        conn.pragma(name, wanted)
        found = conn.pragma(name)
        if found != wanted:
            raise _unusable(
                f"cannot use {conn.filename}: {name} is {found}, not {wanted}; "
                "is it on a network file system?"
            )
