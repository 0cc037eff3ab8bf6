"""What a session has been told already, in one small file for each in the data home. HOT.

Ids and hashes only, so that nothing of a memory's text lies there. A hook that cannot read or
write it tells a memory twice at worst.
"""

import os
import time

from cmem import eid as eids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = "recall"
KEPT_S = 7 * 86_400
_MOST = 65_536


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
        return set(os.read(fd, _MOST).decode("ascii", "replace").split())
    finally:
        os.close(fd)


def add(home: str, session: str, names: "Iterable[str]") -> None:
    """The session is told these too. Raises OSError where that cannot be kept."""
    _write(_path(home, session), names, os.O_APPEND)


def begin(home: str, session: str, names: "Iterable[str]") -> None:
    """The session knows these and nothing else; files of a week ago go."""
    _write(_path(home, session), names, os.O_TRUNC)
    folder = f"{home}/{FOLDER}"
    oldest = time.time() - KEPT_S
    for name in os.listdir(folder):
        try:
            if os.stat(f"{folder}/{name}").st_mtime < oldest:
                os.unlink(f"{folder}/{name}")
        except OSError:  # another session's start was faster
            pass


def _write(path: str, names: "Iterable[str]", how: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | how
    try:
        fd = os.open(path, flags, 0o600)
    except FileNotFoundError:
        os.mkdir(path.rpartition("/")[0], 0o700)
        fd = os.open(path, flags, 0o600)
    try:
        os.write(fd, "".join([name + "\n" for name in names]).encode())
    finally:
        os.close(fd)


def _path(home: str, session: str) -> str:
    return f"{home}/{FOLDER}/{eids.sha256_hex(session.encode('utf-8', 'replace'))[:24]}"
