"""Opening memory.db for reading where it cannot be opened as usual: a read-only folder, a full disk."""

import os

import apsw

from cmem.store.reading import connect


def after(error: apsw.Error, path: str, index: bool) -> apsw.Connection:
    """Open it in spite of the error, or raise that."""
    if isinstance(error, (apsw.FullError, apsw.IOError)):
        return alone(path, index)
    if os.access(os.path.dirname(path), os.W_OK):
        raise error
    if _is_empty(path + "-wal"):
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        return connect(f"file:{escape(path)}?immutable=1", flags, index)
    return _copy_and_connect(path, index)


def alone(path: str, index: bool) -> apsw.Connection:
    """Read with the index of the log in the memory of this process; nobody else can read or write
    until it is closed. Nothing is written, although the lock needs a file that could be."""
    return connect(path, apsw.SQLITE_OPEN_READWRITE, index, alone=True)


def _copy_and_connect(path: str, index: bool) -> apsw.Connection:
    """Read a private copy of file and log; its names are gone as soon as it is open."""
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="cmem-read-")
    try:
        copy = os.path.join(folder, "memory.db")
        for suffix in ("", "-wal"):
            shutil.copyfile(path + suffix, copy + suffix)
        return connect(copy, apsw.SQLITE_OPEN_READWRITE, index)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_empty(path: str) -> bool:
    return not os.path.exists(path) or os.path.getsize(path) == 0


def escape(path: str) -> str:
    """The path as a part of a URI."""
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
