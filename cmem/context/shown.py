"""What a session has been told already, in one small file for each in the data home. HOT.

Ids and hashes only, so that nothing of a memory's text lies there. Hooks run beside each other:
each writes down what it is about to tell, in one piece at the end of the file, and leaves out what
stands before. What cannot be written down is not told; what cannot be read may be told twice.
"""

import os
import time

from cmem import eid as eids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = "recall"
KEPT_S = 30 * 86_400
_HERE = 1  # os.SEEK_CUR, which the hook's stand-in for os has not
# 200,000 names: more than a session can be told.
_MOST = 4 << 20


def mark(kind: str, text: str) -> str:
    """What stands for a text that has been spoken of, such as a file."""
    return f"{kind}:{eids.sha256_hex(text.encode('utf-8', 'replace'))[:16]}"


def read(home: str, session: str) -> set[str]:
    """Everything the session was told."""
    try:
        fd = os.open(_path(home, session), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return set()
    try:
        return _names(fd, os.fstat(fd).st_size)
    finally:
        os.close(fd)


def claim(home: str, session: str, names: "Iterable[str]") -> set[str]:
    """The session is told these too; those of them that it was told before, by whomever. Raises
    OSError where that cannot be kept."""
    wanted = set(names)
    fd = _open(_path(home, session), os.O_RDWR | os.O_APPEND)
    try:
        size = _write(fd, wanted)
        # Appending moves this to the end of what was written, whoever else writes.
        return wanted & _names(fd, os.lseek(fd, 0, _HERE) - size)
    finally:
        os.close(fd)


def begin(home: str, session: str, names: "Iterable[str]") -> None:
    """The session knows these and nothing else."""
    fd = _open(_path(home, session), os.O_WRONLY | os.O_TRUNC)
    try:
        _write(fd, names)
    finally:
        os.close(fd)


def sweep(home: str) -> None:
    """Sessions that were told nothing for thirty days are forgotten."""
    folder = f"{home}/{FOLDER}"
    oldest = time.time() - KEPT_S
    try:
        names = os.listdir(folder)
    except OSError:  # nobody was ever told anything
        return
    for name in names:
        try:
            if os.stat(f"{folder}/{name}").st_mtime < oldest:
                os.unlink(f"{folder}/{name}")
        except OSError:  # it is gone already
            pass


def _names(fd: int, end: int) -> set[str]:
    """What stands in the file before a place."""
    size = min(end, _MOST)
    return set(os.pread(fd, size, end - size).decode("ascii", "replace").split())


def _open(path: str, how: int) -> int:
    flags = os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | how
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        try:
            os.mkdir(path.rpartition("/")[0], 0o700)
        except FileExistsError:  # a hook beside this one was faster
            pass
        return os.open(path, flags, 0o600)


def _write(fd: int, names: "Iterable[str]") -> int:
    """Write the names in one piece; its size."""
    # What a full disk has cut before ends here.
    raw = ("\n" + "".join([name + "\n" for name in names])).encode()
    if os.write(fd, raw) < len(raw):
        raise OSError("the disk is full")
    return len(raw)


def _path(home: str, session: str) -> str:
    return f"{home}/{FOLDER}/{eids.sha256_hex(session.encode('utf-8', 'replace'))[:24]}"
