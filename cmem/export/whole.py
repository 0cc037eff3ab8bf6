"""Files that appear whole or not at all, readable for their owner only."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from cmem import fsutil


@contextmanager
def file(path: str) -> Iterator[IO[bytes]]:
    """A file beside ``path`` that takes its place at the end, and leaves nothing on failure. What
    a run that was killed has left beside it goes."""
    folder, name = os.path.split(path)
    fsutil.clear(folder or ".", re.compile(re.escape(name) + r"\.(\d+)\.tmp"))
    unfinished = f"{path}.{os.getpid()}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    out = os.fdopen(os.open(unfinished, flags, 0o600), "wb", buffering=1 << 20)
    try:
        with out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        os.replace(unfinished, path)
    except BaseException:
        if os.path.lexists(unfinished):
            os.unlink(unfinished)
        raise


def replace_text(path: str, text: str) -> bool:
    """Let the file hold the text; False when it did already and was not touched."""
    data = text.encode("utf-8", "replace")
    try:
        with open(path, "rb") as found:
            if found.read(len(data) + 1) == data:
                return False
    except FileNotFoundError:
        pass
    with file(path) as out:
        out.write(data)
    return True
