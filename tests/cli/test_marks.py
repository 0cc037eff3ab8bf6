"""Types carry the chosen mode's marks on a terminal, and nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cmem.cli import marks


@pytest.fixture
def terminal(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    marks._KNOWN.clear()
    yield home
    marks._KNOWN.clear()


def test_known_types_are_marked_and_others_are_as_they_are(terminal: Path) -> None:
    assert marks.shown("bugfix") == "● bugfix"
    assert marks.shown("post-mortem") == "post-mortem"


def test_marks_are_those_of_the_chosen_mode(
    terminal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CMEM_MODE", "writing")
    assert (marks.shown("revision"), marks.shown("bugfix")) == ("↻ revision", "bugfix")


def test_a_mode_that_cannot_be_read_marks_nothing(
    terminal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CMEM_MODE", "gone")
    assert marks.shown("bugfix") == "bugfix"


def test_a_pipe_gets_the_bare_type(terminal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False, raising=False)
    assert marks.shown("bugfix") == "bugfix"
