"""``cmem scan``: secrets in stored memories by id and rule; ``--fix`` cuts them out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cmem import scan
from cmem.cli import output, place
from cmem.cli.writing import writer
from cmem.plural import counted
from cmem.store import stored_text

if TYPE_CHECKING:
    import apsw

    from cmem.scan import Found, Scanned


def run(values: Mapping[str, Any]) -> int:
    """Scan the store of this home; with ``--fix`` what waits in the mailbox is taken in first."""
    with writer(take_in=True) if values["fix"] else _reader() as conn:
        if conn is None:
            scanned = scan.Scanned(0, (), 0)
        else:
            with _progress(stored_text.count(conn)) as progress:
                scanned = scan.scan(conn, fix=values["fix"], progress=progress)
    _print(scanned, values)
    return 0


@contextmanager
def _reader() -> Iterator[apsw.Connection | None]:
    conn = place.store()
    try:
        yield conn
    finally:
        if conn is not None:
            conn.close()


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None] | None]:
    if total < 200 or not sys.stderr.isatty():
        yield None
        return
    from cmem.cli import terminal

    with terminal.progress("reading", total) as advance:
        yield advance


def _print(scanned: Scanned, values: Mapping[str, Any]) -> None:
    if values["json"]:
        found = [one._asdict() for one in scanned.found]
        output.write_json({"rows": scanned.rows, "found": found, "fixed": scanned.fixed})
        return
    lines = [output.plain(_told(one)) for one in scanned.found]
    output.write_lines([*lines, output.plain(_sum(scanned, fix=values["fix"]))])


def _told(one: Found) -> str:
    part = f" ({one.part})" if one.part else ""
    return f"{one.id}{part} {', '.join(one.columns)}: {', '.join(one.rules)}"


def _sum(scanned: Scanned, *, fix: bool) -> str:
    count, rows = len(scanned.found), counted(scanned.rows, "row")
    if not count:
        return f"No secret known to any rule in {rows}."
    if fix:
        return f"Rewritten: {scanned.fixed} of {rows}."
    return f"Secrets in {count} of {rows}; `cmem scan --fix` cuts them out."
