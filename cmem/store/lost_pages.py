"""Which tables had rows on the pages of a damaged file that cannot be read.

A file that can shrink says of every page what hangs on it: pages of its own hold, for each of the
others, its kind and its parent. Up to the root that leads to the table, however little of the
table is left. Where these pages are gone too, nobody knows.
"""

from __future__ import annotations

import struct
from collections import Counter
from typing import TYPE_CHECKING

from cmem.store import pages
from cmem.store.pages import INDEX_INNER, INDEX_LEAF, TABLE_INNER, TABLE_LEAF

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cmem.store.pages import Cell, Pages

UNKNOWN = "unknown"
_ROOT, _FREE, _TREE = 1, 2, 5
_KINDS = (INDEX_INNER, TABLE_INNER, INDEX_LEAF, TABLE_LEAF)
_ENTRY = 5


def lost(
    source: Pages, *, damaged: Iterable[int], roots: dict[int, str], whole: set[str]
) -> Counter[str]:
    """How many of the pages with rows cannot be read, wholly or in part, by table.

    ``damaged``: pages of which it is known; ``roots``: the name of each table by its first page,
    "" for an index; ``whole``: the tables that are their own index."""
    places = {number: _place(source, number) for number in range(1, source.total + 1)}
    above = {parent for kind, parent in places.values() if kind == _TREE}
    known = set(damaged)
    found: Counter[str] = Counter()
    for number, (kind, _parent) in places.items():
        if number == 1 or pages.is_map(source, number) or kind == _FREE:
            continue
        gone = pages.is_blank(source, number) or (
            kind in (_ROOT, _TREE) and source.read(number)[0] not in _KINDS
        )
        if not (gone or number in known):
            continue
        name = _table(number, places, roots)
        if name and not (number in above and name not in whole):  # no row lies on an upper page
            found[name] += 1
    return found


def roots_on(cells: Iterable[Cell]) -> dict[int, str]:
    """The roots that the rows of a page tell, where it is one of the schema's."""
    return {
        row[3]: str(row[2]) if row[0] == "table" else ""
        for _, row in cells
        if len(row) == 5 and row[0] in ("table", "index") and isinstance(row[3], int)
    }


def _place(source: Pages, number: int) -> tuple[int, int]:
    """(kind of the page, its parent); (0, 0) where that is not known."""
    if number < 2:
        return 0, 0
    group = source.size // _ENTRY + 1
    first = (number - 2) // group * group + 2
    at = _ENTRY * (number - first - 1)
    page = source.read(first)
    return struct.unpack_from(">BI", page, at) if 0 <= at <= len(page) - _ENTRY else (0, 0)


def _table(number: int, places: dict[int, tuple[int, int]], roots: dict[int, str]) -> str:
    met: set[int] = set()
    while number not in met:
        met.add(number)
        kind, parent = places.get(number, (0, 0))
        if kind == _ROOT:
            return roots.get(number, UNKNOWN)
        number = parent
    return UNKNOWN
