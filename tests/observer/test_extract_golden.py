"""What the rules make of the recorded sessions, whole, as text for people.

``CMEM_GOLDEN=write pytest tests/observer/test_extract_golden.py`` rewrites the files; read the
difference as a colleague who has to work from it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from support import SESSIONS

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "extract"
WRITE = os.environ.get("CMEM_GOLDEN") == "write"


@pytest.mark.parametrize("name", SESSIONS)
def test_recorded_session(name: str, recorded: Callable[[str], str]) -> None:
    path = GOLDEN / name.replace(".jsonl", ".txt")
    text = recorded(name)
    if WRITE:
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
