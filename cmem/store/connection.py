"""Opening memory.db for writing, every pragma read back; readers are opened by ``reading``, whose
names are this module's too.

A writer creates, configures and migrates the file.
"""

import os

import apsw

from cmem import paths
from cmem.errors import ConfigError
from cmem.store.reading import (
    COMMON_PRAGMAS,
    begin_reading,
    busy_handler,
    holds_nothing,
    let_go,
    no_database,
    open_reader,
    open_where_possible,
    refuse_anew,
    set_pragmas,
)

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
__all__ = (
    "ENVIRONMENT_ERRORS",
    "begin_reading",
    "busy_handler",
    "let_go",
    "log_is_damaged",
    "open_reader",
    "open_where_possible",
    "open_writer",
    "transaction",
)
WRITER_WAIT_MS = 5_000

# Properties of the file, so only before its first table. 8 KiB pages read 2-4 times fewer
# blocks from a cold disk; incremental vacuum lets retention give space back in slices.
FILE_PRAGMAS = (("page_size", 8192), ("auto_vacuum", 2))

LOG_DAMAGED = "memory.db-wal is damaged, and what it holds would be lost"
# Reading a log of 4 MiB takes about 0.2 s.
_MOST_LOG = 16 * 1024 * 1024


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
    if holds_nothing(path):
        refuse_anew(home, path)
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
            raise no_database(path) from error
        raise
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
        set_pragmas(conn, FILE_PRAGMAS)
    set_pragmas(conn, WRITER_PRAGMAS)


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
