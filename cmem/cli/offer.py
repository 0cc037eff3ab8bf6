"""What ``cmem install`` says of the past: what there is, of another program's too, how long an
import takes, whether now."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cmem.cli import import_
from cmem.importers import claude_mem
from cmem.importers import run as core
from cmem.plural import counted
from cmem.privacy.sanitise import clean
from cmem.store import connection, takeover

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cmem.importers.run import Found


def found(home: str, host: str, *, env: Mapping[str, str], user_home: str) -> Found | None:
    """The host's sessions that no import has read yet; None where there are none."""
    importer = core.IMPORTERS.get(host)
    if importer is None:
        return None
    there = core.waiting(home, importer, core.find(importer, importer.folder(env, user_home)))
    return there if there.groups else None


def told(host: str, past: Found) -> str:
    """The offer in one line."""
    count = len(past.groups)
    sessions = counted(count, "past session")
    return (
        f"{sessions} ({past.bytes / import_.MEGA:.1f} MB) in "
        f"{clean(past.folder, one_line=True)}: `cmem import {host}` brings them in, in about "
        f"{import_.span(core.seconds(past.bytes, count))} and without a model."
    )


def peer(home: str, env: Mapping[str, str]) -> str:
    """That claude-mem has memories here, in one line; "" where it has none or they came in."""
    path = claude_mem.default_path(env)
    try:
        size = os.path.getsize(path)
    except OSError:
        return ""
    store = connection.open_reader(home) if os.path.isdir(home) else None
    if store is not None:
        try:
            if takeover.is_known(store):
                return ""
        finally:
            store.close()
    return (
        f"claude-mem's memories are in {clean(path, one_line=True)} "
        f"({size / import_.MEGA:.1f} MB): `cmem import claude-mem` brings them in and changes "
        "nothing there."
    )


def accept(host: str) -> int:
    """Bring them in now."""
    values = {"path": "", "since": None, "project": None, "dry_run": False, "json": False}
    return import_.run(host, values)
