"""Purging deletes what cmem made, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cmem import lock
from cmem.errors import BusyError, CmemError
from cmem.install import purge


def _fill(home: Path) -> None:
    for name in ("memory.db", "memory.db-wal", "spool.db", "hook.py", "hook.log.1", "config.toml"):
        (home / name).write_text("x")
    (home / "spill" / "bad").mkdir(parents=True)
    (home / "spill" / "bad" / "one").write_text("x")


def test_a_home_with_nothing_else_in_it_goes(home: Path) -> None:
    _fill(home)
    assert purge.purge(str(home)) == []
    assert not home.exists()
    assert purge.purge(str(home)) == []


def test_what_we_did_not_make_is_left_and_named(home: Path) -> None:
    _fill(home)
    (home / "notes.txt").write_text("mine")
    assert purge.purge(str(home)) == ["notes.txt"]
    assert os.listdir(home) == ["notes.txt"]


def test_a_link_inside_is_removed_without_its_target(home: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("x")
    (home / "backups").symlink_to(kept)
    purge.purge(str(home))
    assert (kept / "file").exists()
    assert not home.exists()


def test_a_running_compress_is_waited_for_then_respected(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(home)
    monkeypatch.setattr(purge, "WAIT_MS", 0)
    held = lock.acquire(str(home / "compress.lock"))
    assert held is not None
    with pytest.raises(BusyError):
        purge.purge(str(home))
    lock.release(held)
    assert (home / "memory.db").exists()


def test_a_place_that_is_no_data_home_is_never_purged(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "thesis.tex").write_text("x")
    monkeypatch.chdir(tmp_path / "user")
    for place in (home, tmp_path / "user", tmp_path, Path("/")):
        with pytest.raises(CmemError):
            purge.check(str(place), user_home=str(tmp_path / "user"))
    monkeypatch.chdir(home)
    with pytest.raises(CmemError):
        purge.check(str(home), user_home=str(tmp_path / "user"))
