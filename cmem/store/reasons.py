"""Why the last run left work, why none is done or collected, what replies have in common: texts in
``meta`` that may repeat an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmem.store import meta

if TYPE_CHECKING:
    from collections.abc import Callable

    import apsw

_NAMES: tuple[meta.Name, ...] = ("last_run", "pause", "budget_pause", "alike", "batch_notes")
_TEXTS = ("reason", "said")
BLANK = "the reason was forgotten"


def blank(conn: apsw.Connection, is_gone: Callable[[str], bool]) -> None:
    """Put another text in the place of the reasons that ``is_gone`` holds for."""
    for name in _NAMES:
        kept = meta.mapping(conn, name)
        if _blanked(kept, is_gone):
            meta.put_json(conn, name, kept)


def _blanked(kept: dict[str, object], is_gone: Callable[[str], bool]) -> bool:
    """Whether a text of it, or of an entry of it, has gone."""
    gone = [name for name in _TEXTS if name in kept and is_gone(str(kept[name]))]
    kept |= dict.fromkeys(gone, BLANK)
    inside = [_blanked(one, is_gone) for one in kept.values() if isinstance(one, dict)]
    return bool(gone) or any(inside)
