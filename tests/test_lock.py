"""The lock: one holder, freed by death, handed on to a child."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

from cmem import lock

HOLD = "import sys; sys.path.insert(0, sys.argv[1]); from cmem import lock; "


def test_second_taker_gets_none_until_release(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    fd = lock.acquire(path)
    assert fd is not None
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert not os.get_inheritable(fd)
    assert lock.acquire(path, wait_ms=50) is None
    lock.release(fd)
    again = lock.acquire(path)
    assert again is not None
    lock.release(again)


def test_death_of_the_holder_frees_it(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    code = HOLD + "lock.acquire(sys.argv[2]); print('held', flush=True); sys.stdin.read()"
    argv = [sys.executable, "-c", code, str(ROOT), path]
    child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"held\n"
    assert lock.acquire(path) is None
    child.kill()
    child.wait()
    fd = lock.acquire(path, wait_ms=1000)
    assert fd is not None
    lock.release(fd)


def test_child_that_inherited_it_goes_on_holding(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    fd = lock.acquire(path)
    assert fd is not None
    argv = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    child = subprocess.Popen(argv, stdin=subprocess.PIPE, pass_fds=[fd])
    lock.release(fd)
    assert lock.acquire(path) is None
    child.communicate()
    again = lock.acquire(path, wait_ms=1000)
    assert again is not None
    lock.release(again)


def test_deleted_lock_file_is_no_lock(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    fd = lock.acquire(path)
    assert fd is not None
    os.unlink(path)
    other = lock.acquire(path)
    assert other is not None
    assert lock.acquire(path) is None
    lock.release(other)
    lock.release(fd)


def test_planted_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="lock"):
        lock.acquire(str(tmp_path / "lock"))
    assert not (tmp_path / "target").exists()
