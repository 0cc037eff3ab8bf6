from __future__ import annotations

import os
from pathlib import Path

import guard
import pytest


def test_guard_raises_on_the_real_home() -> None:
    with pytest.raises(guard.RealHomeTouchedError):
        Path(guard.REAL_HOME, ".claude", "settings.json").read_text(encoding="utf-8")
    with pytest.raises(guard.RealHomeTouchedError):
        os.mkdir(os.path.join(guard.REAL_HOME, ".local/share/cmem"))


def test_home_variables_point_below_the_test(tmp_path: Path) -> None:
    assert Path(os.environ["HOME"]).parent == tmp_path
    assert Path(os.environ["CMEM_HOME"]).parent == tmp_path
