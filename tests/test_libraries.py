"""What is said to type puts a library where cmem runs."""

from __future__ import annotations

import importlib.util
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

from cmem import libraries


def test_it_names_the_interpreter_of_the_environment() -> None:
    words = shlex.split(libraries.install("apsw>=3.51.3"))
    assert words[-1] == "apsw>=3.51.3"
    python = next(one for one in words if os.path.isabs(one))
    asked = "import sys, apsw, cmem; print(sys.prefix)"
    env = {"PYTHONPATH": str(ROOT)}
    said = subprocess.check_output([python, "-c", asked], env=env).decode().strip()
    assert said == sys.prefix


def test_a_background_run_names_it_too() -> None:
    """It is started without ``site``, by the interpreter beneath the environment."""
    spec = importlib.util.find_spec("apsw")
    assert spec is not None and spec.origin is not None
    folders = [str(ROOT), str(Path(spec.origin).parent.parent)]
    code = (
        f"import sys; sys.path += {folders}; from cmem import libraries; print(libraries._python())"
    )
    done = subprocess.check_output([os.path.realpath(sys.executable), "-I", "-S", "-c", code])
    assert done.decode().strip() == libraries._python()


def test_without_pip_uv_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "pip" else found(name)
    )
    words = shlex.split(libraries.install("zstandard"))
    assert words[:4] == ["uv", "pip", "install", "--python"] and words[5:] == ["zstandard"]
