from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import apsw
import pytest

from cmem.cli import boundary, spec
from cmem.errors import BusyError, CmemError, ConfigError, UsageError

SECRET = "the text of somebody"
COMMAND = spec.GET._replace(target=f"{__name__}:raiser")
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
        "cmem: memory.db is damaged; move it away or restore a backup\n",
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
    let_go: list[bool] = []
    monkeypatch.setattr(boundary, "_let_go_of_stdout", lambda: let_go.append(True))
    assert guard(BrokenPipeError(), monkeypatch) == 0
    assert let_go == [True]
    assert os.path.exists(os.devnull)
