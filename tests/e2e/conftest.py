"""Programs that stand in for a model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import programs
import pytest


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., Path]:
    return partial(programs.make, tmp_path)
