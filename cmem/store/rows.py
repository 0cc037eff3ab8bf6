"""Reading rows: a statement runs to its end, so that no snapshot outlives the call. HOT.

A statement that is left half read keeps its read transaction, and the log cannot be cut.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    import apsw


def rows(
    conn: "apsw.Connection", query: str, values: "Sequence[int | float | str | bytes | None]" = ()
) -> "list[tuple[Any, ...]]":
    """Return every row the statement gives."""
    return conn.execute(query, values).fetchall()


def row(
    conn: "apsw.Connection", query: str, values: "Sequence[int | float | str | bytes | None]" = ()
) -> "tuple[Any, ...] | None":
    """Return the first row the statement gives, None when it gives none."""
    found = rows(conn, query, values)
    return found[0] if found else None


def value(
    conn: "apsw.Connection", query: str, values: "Sequence[int | float | str | bytes | None]" = ()
) -> "Any":
    """Return the one value of a statement that always gives a row, such as a count."""
    return rows(conn, query, values)[0][0]


def insert(
    conn: "apsw.Connection", table: str, columns: "Mapping[str, int | float | str | bytes | None]"
) -> int | None:
    """Insert one row and return its id; None when a row of the same identity is there."""
    marks = ", ".join("?" * len(columns))
    found = row(
        conn,
        f"INSERT INTO {table}({', '.join(columns)}) VALUES({marks})"
        " ON CONFLICT DO NOTHING RETURNING id",
        tuple(columns.values()),
    )
    return None if found is None else int(found[0])
