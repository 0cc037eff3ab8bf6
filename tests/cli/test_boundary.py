from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import apsw
import pytest
from support import run_cmem

from cmem import spooled
from cmem.cli import boundary, spec
from cmem.errors import BusyError, CmemError, ConfigError, UsageError

SECRET = "the text of somebody"
COMMAND = spec.BY_NAME["get"]._replace(target=f"{__name__}:raiser")
RAISED: list[BaseException] = []


def raiser(_values: Mapping[str, Any]) -> int:
    local = SECRET  # must not be in the report
    raise RAISED[-1] if local else AssertionError


def guard(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    monkeypatch.setattr(boundary, "_function", lambda _target: raiser)
    RAISED.append(error)
    return boundary.guard(COMMAND, {"ids": [SECRET]})


ENDS: dict[str, tuple[BaseException, int, str]] = {
    "expected": (CmemError("no such memory: O9"), 1, "cmem: no such memory: O9\n"),
    "usage": (UsageError("say what"), 2, "cmem: say what\n"),
    "busy": (BusyError("again"), 75, "cmem: again\n"),
    "config": (ConfigError("bad"), 78, "cmem: bad\n"),
    "lines": (CmemError("a\nb\x1b[2J"), 1, "cmem: a b\n"),
    "interrupted": (KeyboardInterrupt(), 130, ""),
    "locked": (
        apsw.BusyError("x"),
        75,
        "cmem: the memory is in use by another process; try again\n",
    ),
    "damaged": (
        apsw.CorruptError("x"),
        1,
        "cmem: memory.db is damaged; run `cmem doctor --repair`\n",
    ),
    "full": (
        apsw.FullError("disk is full"),
        1,
        "cmem: could not use memory.db: disk is full\n",
    ),
    "no file": (FileNotFoundError(2, "No such file", "/x"), 1, "cmem: /x: no such file\n"),
}


@pytest.mark.parametrize("name", ENDS)
def test_each_end_has_its_code_and_line(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error, code, line = ENDS[name]
    assert guard(error, monkeypatch) == code
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", line)


def test_a_bug_leaves_a_report_without_text(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert guard(ValueError(SECRET), monkeypatch) == 3
    shown = capsys.readouterr()
    (report,) = (home / "reports").iterdir()
    assert shown.err == (
        f"cmem: get failed by a bug (ValueError); a report without your data is in {report}\n"
    )
    text = report.read_text(encoding="utf-8")
    assert "command: get" in text and "builtins.ValueError" in text and "raiser" in text
    assert SECRET not in text and SECRET not in shown.err
    assert stat.S_IMODE(report.stat().st_mode) == 0o600


def test_a_bug_without_a_home_is_still_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CMEM_HOME", str(tmp_path / "file" / "below"))
    assert guard(ZeroDivisionError(), monkeypatch) == 3
    assert capsys.readouterr().err == "cmem: get failed by a bug (ZeroDivisionError)\n"


def test_closed_pipe_is_success(monkeypatch: pytest.MonkeyPatch) -> None:
    let_go: list[int] = []
    monkeypatch.setattr(boundary, "let_go_of", let_go.append)
    assert guard(BrokenPipeError(), monkeypatch) == 0
    assert let_go == [1]
    assert os.path.exists(os.devnull)


def damaged_spool(home: Path) -> None:
    (home / "spool.db").write_bytes(b"this is no database " * 500)


def test_the_file_at_fault_is_named(home: Path) -> None:
    damaged_spool(home)
    done = run_cmem("status")
    assert (done.returncode, done.stdout, done.stderr.decode()) == (
        1,
        b"",
        "cmem: spool.db is damaged; run `cmem compress`, which saves what can be read of it\n",
    )
    done = run_cmem("compress")
    assert done.returncode == 0 and done.stderr.startswith(b"cmem: spool.db was damaged: 0 events")
    assert run_cmem("status").stderr == b""


def test_what_compress_cannot_mend_is_moved_away_by_hand(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged_spool(home)
    monkeypatch.setattr(
        boundary, "_function", lambda _target: lambda _values: spooled.counts(str(home))
    )
    assert boundary.guard(spec.BY_NAME["compress"], {}) == 1
    assert capsys.readouterr().err == (
        "cmem: spool.db is damaged; move it away, hooks make a new one\n"
    )


@pytest.mark.parametrize("argv", [["compress"], ["off", "--session", "abc"]], ids=lambda a: a[0])
def test_a_home_that_others_can_write_to(home: Path, argv: list[str]) -> None:
    home.chmod(0o777)
    done = run_cmem(*argv)
    assert (done.returncode, done.stdout, done.stderr.decode()) == (
        78,
        b"",
        f"cmem: others can write to the data home; run `chmod 700 {home}`\n",
    )


@pytest.mark.parametrize("command", ["status", "compress", "context"])
def test_a_home_that_is_a_file(tmp_path: Path, command: str) -> None:
    place = tmp_path / "home"
    place.write_text("")
    done = run_cmem(command)
    assert (done.returncode, done.stdout, done.stderr.decode()) == (
        78,
        b"",
        f"cmem: the data home {place} is not a folder; move that file away or set CMEM_HOME to a "
        "place of your own\n",
    )


def test_a_file_elsewhere_is_not_the_homes_fault(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home.chmod(0o777)
    assert guard(PermissionError(13, "Permission denied", f"{home}-other"), monkeypatch) == 1
    assert capsys.readouterr().err == f"cmem: {home}-other: permission denied\n"


@pytest.mark.parametrize(
    "argv", [["search", "x"], ["timeline"], ["get", "O1"], ["status"], ["queue", "list"]]
)
def test_a_file_in_the_place_of_the_home_is_named(argv: list[str], tmp_path: Path) -> None:
    file = tmp_path / "a file"
    file.write_text("x", encoding="utf-8")
    done = run_cmem(*argv, CMEM_HOME=str(file))
    assert (done.returncode, done.stdout) == (78, b"")
    assert done.stderr.startswith(f"cmem: the data home {file} is not a folder; ".encode())
