"""Programs that stand in for a model."""

from __future__ import annotations

import sys
from pathlib import Path


def make(folder: Path, body: str, name: str = "model") -> Path:
    """An executable with a Python body, in which ``SEEN`` is the folder it lies in."""
    path = folder / name
    head = f"#!{sys.executable} -IS\nimport json, os, sys, time\nSEEN = {str(folder)!r}\n"
    path.write_text(head + body, encoding="utf-8")
    path.chmod(0o755)
    return path
