"""Printing what ids name: what is known of them, and which are unknown. For get and raw."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from cmem.cli import boundary, full, output, place
from cmem.errors import CmemError

if TYPE_CHECKING:
    import apsw

    from cmem.store.read import Record

    Load = Callable[[apsw.Connection, list[str]], tuple[list[Record], list[str]]]


def show(values: Mapping[str, Any], load: Load, *, nothing: str = "") -> int:
    """Print what ``load`` finds for the ids; 1 when one is unknown, which is then named.
    ``nothing``: what to say of known ids with nothing to print."""
    ids = values["ids"]
    conn = place.store()
    if conn is None:
        raise CmemError(f"no memories yet, so no {', '.join(ids)}")
    try:
        found, unknown = load(conn, ids)
    finally:
        conn.close()
    if len(unknown) == len(ids):
        raise CmemError(place.no_such(unknown))
    if values["json"]:
        output.write_json({"items": found})
    else:
        output.write_lines(full.lines(found))
        if not found:
            boundary.complain(nothing)
    if unknown:
        boundary.complain(place.no_such(unknown))
        return 1
    return 0
