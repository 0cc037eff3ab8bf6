"""``cmem import claude-mem``: the memories of another program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cmem import settings
from cmem.cli import bringing, place
from cmem.importers import claude_mem, claude_mem_db


def run(values: Mapping[str, Any]) -> int:
    """Import its database; 1 when nothing in it could be read."""
    env = settings.environment()
    path = str(values["db"]) or claude_mem.default_path(env)
    with claude_mem_db.opened(path) as peer:
        store = place.store()
        try:
            items = claude_mem.items(peer, store, env)
            total = sum(peer.count(table) for table in claude_mem_db.TABLES)
            brought = bringing.run(items, dry_run=values["dry_run"], total=total)
        finally:
            if store is not None:
                store.close()
    return bringing.told(brought, source=path, what=": ", values=dict(values))
