"""``cmem get``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cmem.cli import boundary, full, output, place
from cmem.errors import CmemError
from cmem.store import read

if TYPE_CHECKING:
    import apsw

    from cmem.store.read import Record


def run(values: Mapping[str, Any]) -> int:
    """Print everything of the known ids; 1 when one is unknown, which is then named."""
    conn = place.store()
    if conn is None:
        raise CmemError(f"no memories yet, so no {', '.join(values['ids'])}")
    try:
        found, unknown = _load(conn, values["ids"])
    finally:
        conn.close()
    if not found:
        raise CmemError(f"no such memory: {', '.join(unknown)}")
    if values["json"]:
        output.write_json({"items": found})
    else:
        output.write_lines(full.lines(found))
    if unknown:
        boundary.complain(f"no such memory: {', '.join(unknown)}")
        return 1
    return 0


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
