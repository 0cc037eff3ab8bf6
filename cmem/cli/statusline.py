"""``cmem statusline``: one line for a host's status bar."""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cmem import here, off, repo, settings, spooled
from cmem.cli import off as switched
from cmem.cli import output, place
from cmem.plural import counted
from cmem.store import folder, further, projects, recent

if TYPE_CHECKING:
    from cmem.project import Identity

READ_BYTES = 65_536
WAIT_S = 0.3
_ALL = 2**62


def run(values: Mapping[str, Any]) -> int:
    """Print the project, its memories, what is to be done and what waits."""
    cwd = _told(_stdin()) or place.directory()
    home, env = place.home(), settings.environment()
    found = repo.read_repo(cwd)
    name, memories, items = _counted(here.parts_at(cwd, found, env), cwd)
    globs = env.get("CMEM_EXCLUDE", "")
    why = switched.why() or off.reason(home, cwd=cwd, repo=found, exclude=globs)
    waiting = sum(spooled.counts(home)[:2])
    if values["json"]:
        output.write_json(
            {
                "project": name,
                "memories": memories,
                "open": items,
                "waiting": waiting,
                "off": why or None,
            }
        )
        return 0
    told = [name, counted(memories, "memory", "memories")]
    if items:
        told.append(f"{items} to do")
    if waiting:
        told.append(f"{waiting} waiting")
    text = f"cmem: {name} · off" if why else "cmem: " + " · ".join(told)
    output.write_lines([output.plain(text)])
    return 0


def _counted(identity: Identity, cwd: str) -> tuple[str, int, int]:
    """The project's name, and how many memories and open items it has; of a folder that is none,
    what that folder has."""
    conn = place.store()
    if conn is None:
        return identity[2], 0, 0
    try:
        project = projects.find_by_identity(conn, identity)  # type: ignore[arg-type]  # same shape
        if project is None:
            return identity[2], 0, 0
        name = recent.name_of(conn, project)[0]
        if identity[1] == projects.UNSORTED:
            here = folder.sessions(conn, project, cwd)
            items = folder.open_items(conn, project, cwd, limit=recent.ITEMS)
            return name, sum(folder.counted(conn, project, cwd, here=here, limit=_ALL)), len(items)
        family = projects.family(conn, project)
        items = recent.open_items(conn, family, recent.ITEMS)
        return name, further.count(conn, family), len(items)
    finally:
        conn.close()


def _stdin() -> bytes:
    """What a host says on standard input; b"" from a terminal or one that says nothing."""
    try:
        if sys.stdin is None or os.isatty(0) or not select.select([0], [], [], WAIT_S)[0]:
            return b""
        return os.read(0, READ_BYTES)
    except (OSError, ValueError):
        return b""


def _told(raw: bytes) -> str:
    """The directory in the host's document; "" when it names none that is there."""
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return ""
    cwd = found.get("cwd") if isinstance(found, dict) else None
    return cwd if isinstance(cwd, str) and os.path.isabs(cwd) and os.path.isdir(cwd) else ""
