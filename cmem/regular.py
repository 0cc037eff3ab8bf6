"""The content of a file that a person may have put there. A pipe or a device in its place is never
waited for."""

from __future__ import annotations

import errno
import os
import stat


def read(path: str, most: int = -1) -> bytes:
    """The file, or the first ``most`` bytes of it. OSError for anything but a regular file."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(fd).st_mode
    if not stat.S_ISREG(mode):
        os.close(fd)
        number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
        told = os.strerror(number) if stat.S_ISDIR(mode) else "is no regular file"
        raise OSError(number, told, path)
    with open(fd, "rb") as file:
        return file.read(most)
