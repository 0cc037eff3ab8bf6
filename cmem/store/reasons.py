"""Why the last run left work, and why none is done: texts in ``meta`` that may repeat an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmem.store import meta

if TYPE_CHECKING:
    from collections.abc import Callable

    import apsw

_TEXTS: tuple[meta.Name, ...] = ("last_run", "pause", "budget_pause")
BLANK = "the reason was forgotten"


def blank(conn: apsw.Connection, is_gone: Callable[[str], bool]) -> None:
    """Put another text in the place of the reasons that ``is_gone`` holds for."""
    for name in _TEXTS:
        kept = meta.mapping(conn, name)
        if kept and is_gone(str(kept.get("reason", ""))):
            meta.put_json(conn, name, kept | {"reason": BLANK})
