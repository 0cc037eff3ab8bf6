"""Every system call a hook makes on its home fails, once or from then on, with each error it
can have: exit 0, silence, and the event kept or counted.

``CMEM_FAULTS=all`` tries each call; otherwise a few are drawn, by ``CMEM_SEED``.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import pytest
from hookrun import everything, silent
from sweeping import (
    PRIVATE,
    SECRET,
    WAYS,
    Point,
    Way,
    assert_sound,
    dropped,
    fail,
    fire,
    kept,
    lay,
    need_strace,
    points,
)

ALL = os.environ.get("CMEM_FAULTS") == "all"
SEED = int(os.environ.get("CMEM_SEED", "20"))
FEW = 8
# Full disk, broken disk, read-only or foreign place, no lock server, no descriptors, no memory.
ERRORS = {
    "openat": ("EACCES", "EROFS", "EMFILE", "ENOSPC", "EIO"),
    "mkdir": ("EROFS", "ENOSPC", "EACCES"),
    "rename": ("EROFS", "ENOSPC", "EIO"),
    "unlink": ("EROFS", "EIO"),
    "chmod": ("EPERM",),
    "write": ("ENOSPC", "EIO", "EDQUOT"),
    "pwrite64": ("ENOSPC", "EIO", "EDQUOT"),
    "ftruncate": ("ENOSPC", "EIO"),
    "fallocate": ("ENOSPC",),
    "read": ("EIO",),
    "pread64": ("EIO",),
    "fsync": ("EIO", "ENOSPC"),
    "fdatasync": ("EIO", "ENOSPC"),
    "fcntl": ("EAGAIN", "ENOLCK", "EACCES"),
    "mmap": ("ENOMEM", "EIO"),
    "newfstatat": ("EACCES", "EIO"),
    "stat": ("EIO",),
    "fstat": ("EIO",),
    "lstat": ("EIO",),
    "close": ("EIO",),
}
Fault = tuple[Point, str, bool]


def faults(found: list[Point]) -> list[Fault]:
    """Each call with each of its errors, once and from then on; or a few of them."""
    every = [
        (point, error, ever_after)
        for point in found
        if not point.early
        for ever_after in (False, True)
        for error in ERRORS[point.call][: 1 if point.call == "fcntl" and ever_after else None]
    ]
    return every if ALL else random.Random(SEED).sample(every, FEW)


def cannot_be_kept(fault: Fault, found: list[Point]) -> bool:
    """No file can be opened any more, or not even the home be looked at: then the count of
    drops cannot be written either."""
    point, _error, ever_after = fault
    look = next(one for one in found if not one.early)
    return ever_after and (point.call == "openat" or point == look)


@pytest.mark.parametrize("way", WAYS, indirect=True)
def test_a_call_fails(way: Way, home: Path, tmp_path: Path) -> None:
    need_strace()
    found = points(way, home, tmp_path / "trace", calls=ERRORS)
    before = kept(way.template)
    (new,) = set(kept(home)) - set(before)
    became = Counter[str]()
    lost: list[Fault] = []
    tried = faults(found)
    for fault in tried:
        point, error, ever_after = fault
        lay(way, home)
        done = fire(way, home, *fail(point, error, ever_after=ever_after))
        assert (done.returncode, done.stderr) == (0, b""), (fault, done)
        assert silent(done) or way.event == "SessionStart", fault
        assert SECRET not in everything(home), fault
        assert PRIVATE not in everything(home), fault
        assert_sound(home)
        names = kept(home)
        assert sorted(set(names) - {new}) == sorted(before), (fault, names)
        outcome = "kept" if new in names else "counted" if dropped(home) else "lost"
        became[outcome] += 1
        if outcome == "lost" and not cannot_be_kept(fault, found):
            lost.append(fault)
    print(f"{way.name}: {len(tried)} faults: {dict(became)}")
    assert [" ".join(map(str, one)) for one in lost] == []
