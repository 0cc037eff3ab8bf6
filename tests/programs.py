"""Programs that stand in for a model."""

from __future__ import annotations

import sys
from pathlib import Path


def head_of(*options: str) -> str:
    """The first line of a Python program. Where the interpreter's path has a space, which that line
    cannot have, a shell reads the next ones as a command, and Python as a text."""
    if " " not in sys.executable:
        return f"{' '.join(['#!' + sys.executable, *options])}\n"
    words = " ".join([f'"{sys.executable}"', *options])
    clean = "/usr/bin/env -u PWD -u OLDPWD -u SHLVL -u _"
    return f"#!/bin/sh\n'''exec' {clean} {words} \"$0\" \"$@\"\n' '''\n"


def make(folder: Path, body: str, name: str = "model") -> Path:
    """An executable with a Python body, in which ``SEEN`` is the folder it lies in."""
    path = folder / name
    head = f"{head_of('-IS')}import json, os, sys, time\nSEEN = {str(folder)!r}\n"
    path.write_text(head + body, encoding="utf-8")
    path.chmod(0o755)
    return path
