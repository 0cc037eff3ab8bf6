"""``cmem export``: where it does not write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import samples

from cmem import backup
from cmem.cli import export
from cmem.errors import CmemError

LINK, FOLDER = "link", "folder"


@pytest.fixture
def stored(home: Path) -> Path:
    samples.calc(home).close()
    (home / "spool.db").write_bytes(b"events")
    (home / "backups").mkdir()
    return home


def values(**given: str) -> dict[str, Any]:
    empty = {"file": None, "md": None, "project": None, "since": None}
    return {**empty, "redacted": False, "json": True, **given}


@pytest.mark.parametrize(
    ("option", "place", "reason"),
    [
        ("file", "{home}/memory.db", "lies in the data home"),
        ("file", "{home}/spool.db", "lies in the data home"),
        ("file", "{home}/new.jsonl", "lies in the data home"),
        ("file", "{home}", "lies in the data home"),
        ("file", "{home}/backups/../memory.db-wal", "lies in the data home"),
        ("file", "{outside}/link", "lies in the data home"),
        ("file", "{outside}/linked-home/memory.db", "lies in the data home"),
        ("file", "{outside}/folder", "is a folder; name a file in it, or use --md"),
        ("file", "/dev/null", "is no file; `cmem export -` writes to a pipe"),
        ("file", "{outside}/fifo", "is no file; `cmem export -` writes to a pipe"),
        ("md", "{home}", "lies in the data home"),
        ("md", "{home}/backups", "lies in the data home"),
        ("md", "{outside}/linked-home/md", "lies in the data home"),
        ("md", "{outside}/file", "is no folder"),
        ("md", "/dev/null", "is no folder"),
    ],
)
def test_a_place_that_an_export_would_spoil_is_refused(
    stored: Path, tmp_path: Path, option: str, place: str, reason: str
) -> None:
    outside = tmp_path / "out side"
    (outside / "folder").mkdir(parents=True)
    (outside / "file").write_text("mine", encoding="utf-8")
    (outside / "link").symlink_to(stored / "memory.db")
    (outside / "linked-home").symlink_to(stored)
    os.mkfifo(outside / "fifo")
    before = held(stored) | held(outside)
    path = place.format(home=stored, outside=outside)
    with pytest.raises(CmemError) as refused:
        export.run(values(**{option: path}))
    assert str(refused.value).startswith(f"{path} {reason}")
    assert held(stored) | held(outside) == before
    assert Path("/dev/null").is_char_device()


def held(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_file_is_replaced_whole_or_stays(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "x.jsonl"
    target.write_bytes(b"before")
    (tmp_path / "link").symlink_to(target)

    def full(*_args: object, **_more: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(export.jsonl, "write", full)
        with pytest.raises(CmemError, match=r"could not write .*: no space left"):
            export.run(values(file=str(target)))
    assert target.read_bytes() == b"before"
    assert export.run(values(file=str(tmp_path / "link"))) == 0
    assert target.read_bytes().startswith(b'{"record":"cmem-export"')
    assert (tmp_path / "link").is_symlink()
    assert sorted(path.name for path in tmp_path.glob("*.tmp")) == []
    assert stored


def test_a_backup_is_no_other_file_of_the_data_home(stored: Path) -> None:
    for name in ("other.db", "memory.db-wal"):
        with pytest.raises(CmemError, match="lies in the data home; name a file in"):
            backup.take(str(stored), str(stored / name), now=samples.NOON)
    made = backup.take(str(stored), str(stored / "backups" / "mine.db"), now=samples.NOON)
    assert made.observations == 2
