"""What to type to have a library where cmem runs. A bare ``pip`` is that of another environment,
or of a system that refuses; and the name cmem is another project's on the package index."""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys


def install(requirement: str) -> str:
    """The command, to the letter."""
    python = _python()
    if importlib.util.find_spec("pip") is None:
        return f"uv pip install --python {shlex.quote(python)} {shlex.quote(requirement)}"
    return f"{shlex.quote(python)} -m pip install {shlex.quote(requirement)}"


def _python() -> str:
    """The interpreter of the environment whose libraries these are: a background run is started
    by the one beneath."""
    spec = importlib.util.find_spec("apsw")
    place = os.path.dirname((spec.origin if spec else "") or "")
    while place != os.path.dirname(place):
        python = os.path.join(place, "bin", "python")
        if os.path.exists(os.path.join(place, "pyvenv.cfg")) and os.access(python, os.X_OK):
            return python
        place = os.path.dirname(place)
    return sys.executable or "python3"
