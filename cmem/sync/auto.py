"""Sync at the end of a ``compress``, where a setting says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmem.errors import CmemError
from cmem.store import meta

if TYPE_CHECKING:
    import apsw

    from cmem.settings import Settings

# Looking for what has changed reads the whole memory.
EVERY_MS = 10 * 60_000


def after_run(home: str, conn: apsw.Connection, settings: Settings, *, now: int) -> tuple[str, ...]:
    """Sync with the configured folder, if the last time is a while ago; what the user should
    know. A folder that is not there is no reason to fail."""
    if not settings.sync_auto or not settings.sync_dir:
        return ()
    before = meta.mapping(conn, "sync_last").get("at")
    if isinstance(before, int) and before <= now < before + EVERY_MS:
        return ()
    from cmem.sync import run  # here, because few have it on

    try:
        done = run.sync(home, conn, run.named(settings.sync_dir), now=now)
    except CmemError as error:
        return (f"not synced: {error}",)
    return done.warnings
