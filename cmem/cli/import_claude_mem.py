"""``cmem import claude-mem``: the memories of another program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cmem import settings
from cmem.cli import bringing, place
from cmem.importers import claude_mem, claude_mem_db
from cmem.plural import counted
from cmem.store import project_rows

SHOWN = 8


def run(values: Mapping[str, Any]) -> int:
    """Import its database; 1 when nothing in it could be read."""
    env = settings.environment()
    path = str(values["db"]) or claude_mem.default_path(env)
    with claude_mem_db.opened(path, place.home()) as peer:
        store = place.store()
        try:
            items = claude_mem.items(peer, store, env)
            total = sum(peer.count(table) for table in claude_mem_db.TABLES)
            brought = bringing.run(items, dry_run=values["dry_run"], total=total)
        finally:
            if store is not None:
                store.close()
        mended = peer.mended
    more = [f"Text that is not UTF-8 was mended in {counted(mended, 'row')}."] if mended else []
    more += [] if values["dry_run"] else _folderless()
    return bringing.told(brought, source=path, what=": ", values=dict(values), more=more)


def _folderless() -> Iterator[str]:
    """Which projects are known by a name alone, and what to do about it."""
    store = place.store()
    if store is None:
        return
    try:
        found = project_rows.folderless(store)
    finally:
        store.close()
    if found:
        names = ", ".join(found[:SHOWN]) + (
            f" and {len(found) - SHOWN} more" * (len(found) > SHOWN)
        )
        yield (
            f"Known by name alone: {names}. Each becomes the project of the first folder of its "
            "name; `cmem project merge NAME INTO` makes it another one's."
        )
