"""Programs that stand in for a model, and the settings that name them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import programs
import pytest

from cmem import settings
from cmem.observer.prompt import Request
from cmem.settings import Settings


@pytest.fixture
def ours() -> Request:
    return Request("You observe.", "A turn with ünïcode and `$(touch X)` > y.", "code/1")


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., Path]:
    return partial(programs.make, tmp_path)


@pytest.fixture
def chosen() -> Callable[..., Settings]:
    """The defaults, but for what is named."""

    def make(**flags: Any) -> Settings:
        given = {name: str(value) for name, value in flags.items()}
        return settings.load("/nowhere", env={}, flags=given, trusted_env=False)

    return make
