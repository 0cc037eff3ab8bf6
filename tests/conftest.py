"""Every test lives in its own home; the real one is out of reach."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import guard

sys.addaudithook(guard.look)


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a ``cmem`` that runs this one, for the PATH."""
    folder = tmp_path_factory.mktemp("programs")
    root = Path(__file__).resolve().parent.parent
    words = f"PYTHONPATH={shlex.quote(str(root))} exec {shlex.quote(sys.executable)} -m cmem"
    (folder / "cmem").write_text(f'#!/bin/sh\n{words} "$@"\n', encoding="utf-8")
    (folder / "cmem").chmod(0o755)
    return folder


@pytest.fixture(autouse=True)
def isolated_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, programs: Path
) -> Iterator[Path]:
    """cmem is on the PATH. HOME, CMEM_HOME and every variable that could lead elsewhere point below tmp_path."""
    user = tmp_path / "user"
    user.mkdir()
    for name in list(os.environ):
        if name.startswith(
            (
                "CMEM_",
                "VIRTUAL_ENV",
                "CONDA_",
                "CLAUDE",
                "ANTHROPIC_",
                "XDG_",
                "CODEX_",
                "GEMINI_",
                "OPENCODE_",
                "COPILOT_",
            )
        ):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}")
    monkeypatch.setenv("CMEM_HOME", str(tmp_path / "home"))
    return user


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A fresh data home, 0700, empty."""
    path = tmp_path / "home"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture
def plugged(isolated_home: Path) -> None:
    """A host calls cmem, by its plugin; without one ``status`` says that nothing is captured."""
    folder = isolated_home / ".claude"
    folder.mkdir()
    (folder / "settings.json").write_text('{"enabledPlugins": {"cmem@cmem": true}}')
