"""The observations that a command is given by their ids, and what to say of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmem.cli import place
from cmem.errors import CmemError
from cmem.store.rows import row

if TYPE_CHECKING:
    from collections.abc import Iterable

    import apsw

_VISIBLE = "SELECT 1 FROM observations WHERE id = ? AND hidden_at IS NULL"


def resolve(conn: apsw.Connection, ids: Iterable[str]) -> tuple[list[int], list[str]]:
    """The observations, each once, and the ids that are none or are hidden."""
    found: list[int] = []
    unknown: list[str] = []
    for text in ids:
        ref = place.parse_id(text)
        if ref is None or ref[0] != "O" or row(conn, _VISIBLE, (ref[1],)) is None:
            unknown.append(text)
        else:
            found.append(ref[1])
    return list(dict.fromkeys(found)), unknown


def one(conn: apsw.Connection, text: str) -> int:
    """The observation with this id; CmemError when there is none to be seen."""
    found, unknown = resolve(conn, [text])
    if unknown:
        raise CmemError(refusal(unknown))
    return found[0]


def refusal(unknown: Iterable[str]) -> str:
    """Why nothing can be done with these ids."""
    return f"no such observation: {', '.join(unknown)}; an id such as O12 is needed"
