"""What a process that was killed has left: files that carry its number."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator


def is_alive(process: int) -> bool:
    """Whether a process of this number runs; True where nobody can say."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def orphans(folder: str, pattern: re.Pattern[str]) -> Iterator[str]:
    """The files and folders in ``folder`` whose name matches whole, and whose process, the
    pattern's first group, is gone."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        found = pattern.fullmatch(name)
        if found and int(found[1]) != os.getpid() and not is_alive(int(found[1])):
            yield os.path.join(folder, name)


def clear(folder: str, pattern: re.Pattern[str]) -> None:
    """Take them away, as far as they can be."""
    for path in orphans(folder, pattern):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                os.unlink(path)
