"""Opening memory.db: one function for writers, one for readers, every pragma read back. HOT.

A writer creates, configures and migrates the file; a reader never writes a byte, so that many
sessions starting at once never compete for the lock, and a read-only directory still answers.
"""

import os
import time

import apsw

from cmem import paths
from cmem.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

# What the place of the file is to blame for, and not what is written to it.
ENVIRONMENT_ERRORS = (
    apsw.BusyError,
    apsw.CantOpenError,
    apsw.CorruptError,
    apsw.FullError,
    apsw.InterruptError,
    apsw.IOError,
    apsw.LockedError,
    apsw.NoMemError,
    apsw.NotADBError,
    apsw.PermissionsError,
    apsw.ReadOnlyError,
    MemoryError,
    OSError,
)
WRITER_WAIT_MS = 5_000
READER_WAIT_MS = 250

# Properties of the file, so only before its first table. 8 KiB pages read 2-4 times fewer
# blocks from a cold disk; incremental vacuum lets retention give space back in slices.
FILE_PRAGMAS = (("page_size", 8192), ("auto_vacuum", 2))

LOG_DAMAGED = "memory.db-wal is damaged, and what it holds would be lost"
# Reading a log of 4 MiB takes about 0.2 s.
_MOST_LOG = 16 * 1024 * 1024

_left: "list[apsw.Connection]" = []

COMMON_PRAGMAS = (
    ("trusted_schema", 0),  # a planted view or trigger may call only innocuous functions
    ("cell_size_check", 1),  # a damaged page is an error here, not a wrong answer later
    ("temp_store", 2),  # sorted or spilled rows of ours never reach a temporary file
)
WRITER_PRAGMAS = (
    ("journal_mode", "wal"),  # readers never wait for a writer
    ("synchronous", 2),  # a commit here acknowledges events that are then deleted elsewhere
    ("foreign_keys", 1),
    ("secure_delete", 1),  # what is forgotten is overwritten with zeros
    ("wal_autocheckpoint", 500),  # 4 MiB of log, so that a cold open stays cheap
    ("journal_size_limit", 4 * 1024 * 1024),  # a long reader must not leave a huge log
    *COMMON_PRAGMAS,
)


def open_writer(home: str, *, now: int) -> apsw.Connection:
    """Open memory.db for writing, created (0600) and migrated to the newest schema.

    Raises ConfigError when the file is no store, or one of a newer cmem, or when it is gone and
    there are backups of it."""
    path = paths.memory_db(home)
    if _holds_nothing(path):
        _refuse_anew(home, path)
    _create(home, path)
    if log_is_damaged(path):  # SQLite would overwrite what it holds
        raise ConfigError(f"{LOG_DAMAGED}; run `cmem doctor --repair`")
    if paths.is_shared_memory_fatal(path):
        raise apsw.FullError("the disk is full")
    try:
        conn = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    except (apsw.Error, UnicodeEncodeError) as error:
        raise ConfigError(f"cannot open {path}: {error}") from error
    try:
        _set_up_writer(conn, now)
    except BaseException as error:
        conn.close()
        if isinstance(error, apsw.NotADBError):
            raise _no_database(path) from error
        raise
    return conn


def open_reader(home: str, *, index: bool = True) -> apsw.Connection | None:
    """Open memory.db read-only; None when there is no store yet. Without ``index`` the
    functions behind the full-text index are not loaded: a session start needs none.

    A file of a newer cmem is readable too. Raises ConfigError when it is no database, or gone or
    empty although there are backups of it."""
    path = paths.memory_db(home)
    if _holds_nothing(path):  # SQLite would delete a log beside it
        _refuse_anew(home, path)
        return None
    try:
        conn = open_where_possible(path, index)
    except apsw.NotADBError as error:
        raise _no_database(path) from error
    except UnicodeEncodeError as error:
        raise ConfigError(f"cannot open {path}: {error}") from error
    if not _has_tables(conn):
        conn.close()
        return None
    return conn


def log_is_damaged(path: str) -> bool:
    """Whether the log of the database has what SQLite does not see any more. It is read only where
    there is one, which is while others are at work or after a kill; a long one is not."""
    try:
        size = os.stat(path + "-wal").st_size
    except OSError:
        return False
    if not 0 < size <= _MOST_LOG:
        return False
    from cmem.store import log_pages

    return log_pages.is_damaged(path, FILE_PRAGMAS[0][1])


def _holds_nothing(path: str) -> bool:
    """Whether the file is not there or empty; SQLite takes one byte for none."""
    try:
        return os.stat(path).st_size <= 1
    except OSError:
        return True


def _refuse_anew(home: str, path: str) -> None:
    if os.path.exists(path + "-wal") or os.path.exists(os.path.join(home, "backups")):
        from cmem.store import vanished

        vanished.refuse(home, path)


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


def transaction(conn: apsw.Connection) -> "_Transaction":
    """Return a context manager: commit at its end, or all undone by an exception.

    ``BEGIN IMMEDIATE``, because a transaction that reads and then writes can fail at once with
    BUSY, whatever the timeout. Inside another one it is a savepoint of that."""
    return _Transaction(conn)


class _Transaction:
    __slots__ = ("_conn", "_nested")

    def __init__(self, conn: apsw.Connection) -> None:
        self._conn = conn
        self._nested = False

    def __enter__(self) -> apsw.Connection:
        self._nested = self._conn.in_transaction
        self._conn.execute("SAVEPOINT cmem" if self._nested else "BEGIN IMMEDIATE")
        return self._conn

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        error: BaseException | None,
        trace: "TracebackType | None",
    ) -> None:
        if error is not None:
            self._undo()
            return
        try:
            self._conn.execute("RELEASE cmem" if self._nested else "COMMIT")
        except BaseException:
            self._undo()
            raise

    def _undo(self) -> None:
        # A full disk or a failed write has already ended the transaction.
        if not self._conn.in_transaction:
            return
        if self._nested:
            self._conn.execute("ROLLBACK TO cmem")
            self._conn.execute("RELEASE cmem")
        else:
            self._conn.execute("ROLLBACK")


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


# --- writers -----------------------------------------------------------------------------


def _create(home: str, path: str) -> None:
    """Make an empty file that only its owner can read, if there is none.

    An existing one is not opened: closing it would drop the locks that a connection of this
    process may hold on it. SQLite gives -wal and -shm the mode of the file."""
    try:
        paths.ensure_home(home)
        if os.path.islink(path):
            raise ConfigError(f"{path} is a symbolic link; put the file itself there")
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise ConfigError(f"cannot use the data directory {home}: {error.strerror}") from error


def _set_up_writer(conn: apsw.Connection, now: int) -> None:
    from cmem.store import functions, migrations

    conn.set_busy_handler(busy_handler(WRITER_WAIT_MS))
    _until_free(lambda: _configure_writer(conn))
    functions.register(conn)
    migrations.migrate(conn, now)


def _configure_writer(conn: apsw.Connection) -> None:
    if conn.pragma("page_count") == 0:
        _set(conn, FILE_PRAGMAS)
    _set(conn, WRITER_PRAGMAS)


def _until_free(step: "Callable[[], None]") -> None:
    """Repeat a step while it finds the file locked: the change to WAL can fail with BUSY
    without the busy handler being asked, when several processes make the file at once."""
    wait = busy_handler(WRITER_WAIT_MS)
    tries = 0
    while True:
        try:
            return step()
        except apsw.BusyError:
            if not wait(tries):
                raise
        tries += 1


def _set(conn: apsw.Connection, pragmas: "tuple[tuple[str, int | str], ...]") -> None:
    """Set each pragma and read it back: SQLite ignores in silence what it cannot do."""
    for name, wanted in pragmas:
        conn.pragma(name, wanted)
        found = conn.pragma(name)
        if found != wanted:
            raise ConfigError(
                f"cannot use {conn.filename}: {name} is {found}, not {wanted}; "
                "is it on a network file system?"
            )


# --- readers -----------------------------------------------------------------------------


def open_where_possible(path: str, index: bool) -> apsw.Connection:
    """Open read-only, in a read-only directory too.

    SQLite needs -wal and -shm beside the file. Where it may not make them, the file alone is
    the whole truth if there is no log; with a log but no index only a copy can be read. Where
    there is no room for -shm, the file is read by this process alone, which needs none."""
    if paths.is_shared_memory_fatal(path):
        return _connect_alone(path, index)
    try:
        return _connect_reader(path, apsw.SQLITE_OPEN_READONLY, index)
    except (apsw.FullError, apsw.IOError):
        return _connect_alone(path, index)
    except (apsw.ReadOnlyError, apsw.CantOpenError):
        if os.access(os.path.dirname(path), os.W_OK):
            raise
    if _is_empty(path + "-wal"):
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        return _connect_reader(f"file:{_escape(path)}?immutable=1", flags, index)
    return _copy_and_connect(path, index)


def _connect_alone(path: str, index: bool) -> apsw.Connection:
    """Read with the index of the log in the memory of this process; nobody else can read or write
    until it is closed. Nothing is written, although the lock needs a file that could be."""
    return _connect_reader(path, apsw.SQLITE_OPEN_READWRITE, index, alone=True)


def _connect_reader(name: str, flags: int, index: bool, *, alone: bool = False) -> apsw.Connection:
    conn = apsw.Connection(name, flags=flags)
    try:
        if alone:
            conn.pragma("query_only", 1)
            conn.pragma("locking_mode", "exclusive")
        conn.set_busy_handler(busy_handler(READER_WAIT_MS))
        # The last one out would otherwise try to write the log back.
        conn.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        _set(conn, COMMON_PRAGMAS)
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


def _copy_and_connect(path: str, index: bool) -> apsw.Connection:
    """Read a private copy of file and log; its names are gone as soon as it is open."""
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="cmem-read-")
    try:
        copy = os.path.join(folder, "memory.db")
        for suffix in ("", "-wal"):
            shutil.copyfile(path + suffix, copy + suffix)
        return _connect_reader(copy, apsw.SQLITE_OPEN_READWRITE, index)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_empty(path: str) -> bool:
    return not os.path.exists(path) or os.path.getsize(path) == 0


def _escape(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _no_database(path: str) -> ConfigError:
    return ConfigError(
        f"{path} is not a cmem database; run `cmem doctor --repair`, or move it away"
    )
