"""Why the last run left work, and why none is done: texts in ``meta`` that may repeat an answer."""

from __future__ import annotations

import json
from collections.abc import Callable

import apsw

from cmem.store import last_run, pause
from cmem.store.connection import transaction
from cmem.store.rows import row

BLANK = "the reason was forgotten"


def blank(conn: apsw.Connection, is_gone: Callable[[str], bool]) -> None:
    """Put another text in the place of the reasons that ``is_gone`` holds for."""
    for key in (last_run.KEY, pause.KEY, pause.BUDGET):
        found = row(conn, "SELECT value FROM meta WHERE key = ?", (key,))
        try:
            kept = json.loads(str(found[0])) if found else {}
        except ValueError:
            kept = {}
        if isinstance(kept, dict) and is_gone(str(kept.get("reason", ""))):
            with transaction(conn):
                conn.execute(
                    "UPDATE meta SET value = ? WHERE key = ?",
                    (json.dumps(kept | {"reason": BLANK}), key),
                ).fetchall()
