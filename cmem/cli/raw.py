"""``cmem raw``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cmem.cli import known, place
from cmem.store import read

if TYPE_CHECKING:
    import apsw

    from cmem.store.read import Record


def run(values: Mapping[str, Any]) -> int:
    """Print the tool calls behind the known ids; 1 when one is unknown, which is then named."""
    return known.show(values, _load, nothing="no tool calls behind that")


def _load(conn: apsw.Connection, ids: list[str]) -> tuple[list[Record], list[str]]:
    """Each tool call once, in the order of the ids."""
    refs: dict[int, None] = {}
    unknown: list[str] = []
    for text in ids:
        ref = place.find(conn, text)
        if ref is None or read.place(conn, ref) is None:
            unknown.append(text)
        else:
            refs |= dict.fromkeys(read.tool_refs(conn, ref))
    records = [read.record(conn, ("T", number)) for number in refs]
    return [record for record in records if record is not None], unknown
