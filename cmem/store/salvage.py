"""Rows of a damaged store into a new one, by what each row looks like.

No tree is followed, because its upper pages may be the damaged ones. All rows on a page belong to
one table; which one, the number and types of their values tell, held against the tables of
the same schema. A page that fits no table or two belongs to an index and is left.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import apsw

from cmem.errors import ConfigError
from cmem.store import codec, connection, functions, lost_pages, migrations, pages
from cmem.store.pages import INDEX_INNER, INDEX_LEAF, TABLE_LEAF
from cmem.store.rows import rows

if TYPE_CHECKING:
    from cmem.store.pages import Cell, Pages, Value

_TYPES: dict[str, tuple[type, ...]] = {
    "INTEGER": (int,),
    "TEXT": (str,),
    "REAL": (int, float),
    "BLOB": (bytes,),
    "": (int, float, str, bytes),
}
# A moment in milliseconds, told from the number of a row.
_MOMENT = 10**11
# Where an index of another table could look the same: what the rows of the table hold.
_HOLDS: dict[str, Callable[[tuple[Value, ...]], bool]] = {
    # An index of names would hold a number for each name; keys of ours have two words then.
    "meta": lambda row: (
        str(row[0]).replace("_", "").isalpha()
        and (not isinstance(row[1], int) or "_" in str(row[0]))
    ),
    "seen_events": lambda row: isinstance(row[1], int) and row[1] > _MOMENT,
    "observation_sources": lambda row: row[1] in ("P", "T"),
    "observation_files": lambda row: row[2] in ("read", "modified"),
    "schema_versions": lambda row: isinstance(row[2], int) and row[2] > _MOMENT,
    "documents": lambda row: row[1] in ("O", "S", "P", "T"),
}


class Column(NamedTuple):
    name: str
    types: tuple[type, ...]
    needed: bool
    late: bool  # older rows may end before it
    number: bool  # the number of the row stands for it


class Table(NamedTuple):
    """A table as its rows lie on a page. ``whole``: it is its own index."""

    name: str
    whole: bool
    columns: tuple[Column, ...]


class Salvaged(NamedTuple):
    """How many rows were saved by table, and how many places of the file could not be read;
    ``lost``: pages of each table that had rows which cannot be read, wholly or in part."""

    rows: dict[str, int]
    bad_pages: int
    bad_rows: int
    lost: dict[str, int]


def salvage(source: str, work: str, *, now: int) -> Salvaged:
    """Put every readable row of the file ``source`` into a new store in the folder ``work``.

    Raises ConfigError for a file of a newer cmem."""
    found = pages.open_pages(source)
    try:
        newest = migrations.MIGRATIONS[-1][0]
        if found.version > newest:
            raise ConfigError(f"{source} has schema {found.version}, this cmem knows {newest}")
        version = found.version or _version(found, newest)
        conn = _new_store(work, version=version, now=now)
        try:
            return _fill(conn, found)
        finally:
            conn.close()
    finally:
        found.close()


def _new_store(work: str, *, version: int, now: int) -> apsw.Connection:
    path = f"{work}/memory.db"
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    conn = apsw.Connection(path)
    for name, wanted in connection.FILE_PRAGMAS:
        conn.pragma(name, wanted)
    conn.pragma("secure_delete", 1)
    functions.register(conn)
    migrations.migrate(conn, now, migrations.MIGRATIONS[:version])
    return conn


def _fill(conn: apsw.Connection, source: Pages) -> Salvaged:
    known = tables(conn)
    saved: Counter[str] = Counter()
    bad_pages = bad_rows = 0
    damaged: list[int] = []
    roots: dict[int, str] = {}
    conn.execute("BEGIN").fetchall()
    for number in range(1, source.total + 1):
        kind, cells, bad = pages.cells(source, number)
        table = owner(known, kind, cells) if cells else None
        if table is not None:
            whole = [cell for cell in cells if is_whole(table, cell[1])]
            bad += len(cells) - len(whole)
            saved[table.name] += _insert(conn, table, whole)
        elif kind == TABLE_LEAF:
            roots |= lost_pages.roots_on(cells)
        if bad:
            damaged.append(number)
        if table is not None or not cells:
            bad_rows += bad
            bad_pages += bad > 0 or (kind == 0 and pages.is_blank(source, number))
    conn.execute("COMMIT").fetchall()
    lost = lost_pages.lost(
        source, damaged=damaged, roots=roots, whole={one.name for one in known if one.whole}
    )
    return Salvaged(dict(sorted(saved.items())), bad_pages, bad_rows, dict(sorted(lost.items())))


def tables(conn: apsw.Connection) -> list[Table]:
    """What the rows of each table of the store look like."""
    found = []
    for _schema, name, kind, _columns, whole, _strict in rows(conn, "PRAGMA main.table_list"):
        if kind == "table" and not name.startswith("sqlite_"):
            found.append(Table(name, bool(whole), _columns_of(conn, name, whole=bool(whole))))
    return found


def owner(known: list[Table], kind: int, cells: list[Cell]) -> Table | None:
    """The table that all rows of a page belong to; None where it is not clear."""
    if kind not in (TABLE_LEAF, INDEX_LEAF, INDEX_INNER):
        return None
    fitting = [
        table
        for table in known
        if table.whole == (kind != TABLE_LEAF) and all(_fits(table, row) for _, row in cells)
    ]
    return fitting[0] if len(fitting) == 1 else None


def is_whole(table: Table, row: tuple[Value, ...]) -> bool:
    """Whether what is packed in a row can be unpacked: the end of a long one may be lost."""
    return table.name != "tool_uses" or all(
        codec.is_whole(value) for value in row if isinstance(value, bytes)
    )


def _columns_of(conn: apsw.Connection, table: str, *, whole: bool) -> tuple[Column, ...]:
    asked = rows(
        conn, f"SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info('{table}')"
    )
    if whole:  # first the columns of the key, in its order
        asked = sorted(asked, key=lambda one: (one[4] == 0, one[4]))
    keys = sum(one[4] > 0 for one in asked)
    return tuple(
        Column(
            name,
            _TYPES.get(kind, _TYPES[""]),
            needed=bool(needed) or (whole and key > 0),
            late=not key and (not needed or default is not None),
            number=not whole and key == 1 and keys == 1 and kind == "INTEGER",
        )
        for name, kind, needed, default, key in asked
    )


def _fits(table: Table, row: tuple[Value, ...]) -> bool:
    if len(row) > len(table.columns) or not all(one.late for one in table.columns[len(row) :]):
        return False
    for column, value in zip(table.columns, row, strict=False):
        if column.number or value is None:
            if value is not None or (column.needed and not column.number):
                return False
        elif not isinstance(value, column.types):
            return False
    holds = _HOLDS.get(table.name)
    return holds is None or holds(row)


def _insert(conn: apsw.Connection, table: Table, cells: list[Cell]) -> int:
    before = conn.total_changes()
    # What the new store was born with gives way to what it had.
    word = "REPLACE" if table.name in ("meta", "schema_versions") else "IGNORE"
    for number, row in cells:
        names = ", ".join(column.name for column in table.columns[: len(row)])
        values = [
            number if column.number else value
            for column, value in zip(table.columns, row, strict=False)
        ]
        conn.execute(
            f"INSERT OR {word} INTO {table.name}({names}) VALUES({', '.join('?' * len(row))})",
            values,
        ).fetchall()
    return conn.total_changes() - before


def _version(source: Pages, newest: int) -> int:
    """The schema by the history of the store, where the header is gone; else the newest."""
    names = {step.NAME: version for version, step in migrations.MIGRATIONS}
    found = 0
    for number in range(1, source.total + 1):
        kind, cells, _bad = pages.cells(source, number)
        for at, row in cells if kind == TABLE_LEAF else ():
            if len(row) == 3 and at is not None and names.get(str(row[1])) == at:
                found = max(found, at)
    return found or newest
