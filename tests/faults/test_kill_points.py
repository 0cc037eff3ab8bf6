"""kill -9 at every system call a hook makes on its home, on every way an event can take.

``CMEM_KILL_POINTS=all`` tries each call; otherwise a few are drawn, by ``CMEM_SEED``.
"""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import pytest
from hookrun import everything
from sweeping import (
    PRIVATE,
    SECRET,
    WAYS,
    Point,
    Way,
    assert_sound,
    drain,
    dropped,
    fire,
    kept,
    kill,
    lay,
    need_strace,
    points,
    rows,
)

ALL = os.environ.get("CMEM_KILL_POINTS") == "all"
SEED = int(os.environ.get("CMEM_SEED", "20"))
FEW = 5
KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)


def chosen(found: list[Point]) -> list[Point]:
    """All of them, or a few; a kill before the hook has begun says nothing twice."""
    late = [point for point in found if not point.early]
    if ALL:
        return [*[point for point in found if point.early][:3], *late]
    return random.Random(SEED).sample(late, FEW)


@pytest.mark.parametrize("way", WAYS, indirect=True)
def test_killed_at_a_call(way: Way, home: Path, tmp_path: Path) -> None:
    need_strace()
    found = points(way, home, tmp_path / "trace")
    before = kept(way.template)
    (new,) = set(kept(home)) - set(before)
    tried = acknowledged = 0
    for point in chosen(found):
        lay(way, home)
        done = fire(way, home, *kill(point))
        assert done.returncode in (0, *KILLED), (point, done)
        tried += 1
        acknowledged += done.returncode == 0
        check(home, before, new=new, needed=done.returncode == 0, point=point)
        again = fire(way, home)
        assert (again.returncode, again.stderr) == (0, b""), point
        check(home, before, new=new, needed=True, point=point)
        if way.name == "too large for a row":
            # Two files know nothing of each other; the store takes one of them.
            found_once = drain(home)
            assert (found_once.events, found_once.lost) == (len(before) + 1, 0), point
    print(f"{way.name}: killed at {tried - acknowledged} of {len(found)} calls")


def check(home: Path, before: list[str], *, new: str, needed: bool, point: Point) -> None:
    """What was there is there, the new one at most once and if acknowledged, all of it sound
    and without a secret."""
    everywhere = everything(home)
    assert SECRET not in everywhere, point
    assert PRIVATE not in everywhere, point
    assert_sound(home)
    names = kept(home)
    assert sorted(set(names) - {new}) == sorted(before), point
    assert new in names or not needed, point
    assert rows(home).count(new) <= 1, point
    assert dropped(home) == 0, point
