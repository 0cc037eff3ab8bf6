"""What ``cmem install`` says of the past: what there is, how long an import takes, whether now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmem.cli import import_
from cmem.importers import run as core
from cmem.plural import counted
from cmem.privacy.sanitise import clean

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


def accept(host: str) -> int:
    """Bring them in now."""
    values = {"path": "", "since": None, "project": None, "dry_run": False, "json": False}
    return import_.run(host, values)
