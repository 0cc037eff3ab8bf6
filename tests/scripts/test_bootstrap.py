from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from support import ROOT, clean_env

# A Python that stands for all: it makes an environment, and asks for rustc's version where pip does.
PYTHON = """#!/bin/sh
case "$*" in
*"-m venv"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
*"-m pip --version"*) test -e .venv/pip ;;
*"-m pip"*) rustc --version ;;
-V) echo Python 3 ;;
esac
"""
# As rustup's, which keeps its settings in the home where nothing else is said.
RUSTC = """#!/bin/sh
folder="${RUSTUP_HOME:-$HOME/.rustup}"
mkdir -p "$folder" && : >"$folder/settings.toml"
"""


def test_a_rustc_on_the_path_leaves_nothing_in_the_home(tmp_path: Path) -> None:
    tree, home, programs = (tmp_path / name for name in ("tree", "home", "bin"))
    for folder in (tree, home, programs):
        folder.mkdir()
    for name, text in (("python", PYTHON), ("rustc", RUSTC)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    shutil.copyfile(ROOT / "scripts" / "bootstrap", tree / "bootstrap")
    path = os.pathsep.join((str(programs), os.path.dirname(sys.executable), os.defpath))
    subprocess.run(
        ["sh", "bootstrap", str(programs / "python")],
        cwd=tree,
        env=clean_env(HOME=str(home), PATH=path),
        check=True,
        capture_output=True,
    )
    assert (tree / ".venv" / "ready").exists()
    assert list(home.iterdir()) == []
    assert (tree / ".venv" / "rustup" / "settings.toml").exists()
