"""The home of the person who runs the tests is out of reach: an audit hook raises."""

from __future__ import annotations

import os

REAL_HOME = os.path.expanduser("~")
FORBIDDEN = tuple(
    os.path.join(REAL_HOME, part)
    for part in (
        *(".claude", ".codex", ".gemini", ".config/opencode", ".cursor", ".copilot"),
        *(".local/share/cmem", ".config/cmem"),
    )
)
WATCHED = {"open", "os.mkdir", "os.rename", "os.remove", "os.chmod", "os.truncate"}


class RealHomeTouchedError(Exception):
    """A test reached for the home of the person who runs it."""


def look(event: str, args: tuple[object, ...]) -> None:
    """Raise when a file of a host or of cmem below the real home is about to be touched."""
    if event in WATCHED and args and isinstance(args[0], (str, bytes)):
        path = os.path.abspath(os.fsdecode(args[0]))
        if path.startswith(FORBIDDEN):
            raise RealHomeTouchedError(path)
