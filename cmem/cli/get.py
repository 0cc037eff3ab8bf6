"""``cmem get``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cmem.cli import known, place
from cmem.store import read

if TYPE_CHECKING:
    import apsw

    from cmem.store.read import Record


def run(values: Mapping[str, Any]) -> int:
    """Print everything of the known ids; 1 when one is unknown, which is then named."""
    return known.show(values, _load)


def _load(conn: apsw.Connection, ids: list[str]) -> tuple[list[Record], list[str]]:
    found: list[Record] = []
    unknown: list[str] = []
    for text in ids:
        ref = place.find(conn, text)
        record = read.record(conn, ref) if ref else None
        if record is None:
            unknown.append(text)
        elif record["id"] not in {one["id"] for one in found}:
            found.append(record)
    return found, unknown
