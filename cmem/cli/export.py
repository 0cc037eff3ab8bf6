"""``cmem export``: the memory as a file, or as a folder of Markdown."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from cmem.cli import output, place
from cmem.errors import CmemError, UsageError
from cmem.export import jsonl, markdown
from cmem.plural import counted
from cmem.search import when
from cmem.store import connection, dump

if TYPE_CHECKING:
    import apsw

    from cmem.store.dump import Chosen

T = TypeVar("T")


def run(values: Mapping[str, Any]) -> int:
    """Export to a file, to standard output, or (``--md``) to a folder."""
    if bool(values["file"]) == bool(values["md"]):
        raise UsageError("say where to: a file, - for standard output, or --md DIR")
    _refuse(str(values["md"] or values["file"]), folder=bool(values["md"]))
    since = when.parse_since(values["since"], place.now_ms()) if values["since"] else 0
    with _store() as conn:
        chosen = dump.Chosen(_projects(conn, values), since)
        if values["md"]:
            return _markdown(conn, chosen, values)
        return _jsonl(conn, chosen, values)


def _jsonl(conn: apsw.Connection, chosen: Chosen, values: Mapping[str, Any]) -> int:
    path = str(values["file"])
    found = jsonl.records(conn, chosen, redacted=values["redacted"])
    if path == "-":
        jsonl.write(sys.stdout.buffer, path, found)
        sys.stdout.buffer.flush()
        return 0
    with _bar(dump.size(conn)) as progress:
        count = _saved(path, lambda: jsonl.save(path, found, progress=progress))
    if values["json"]:
        output.write_json({"file": path, "records": count})
    else:
        output.write_lines([output.plain(f"Exported {counted(count, 'record')} to {path}.")])
    return 0


def _markdown(conn: apsw.Connection, chosen: Chosen, values: Mapping[str, Any]) -> int:
    folder = str(values["md"])
    written = _saved(
        folder, lambda: markdown.write(conn, chosen, folder, redacted=values["redacted"])
    )
    if values["json"]:
        output.write_json({"folder": folder, **written._asdict()})
    else:
        files = counted(written.files, "file")
        text = f"{files} in {folder}: {written.changed} written, "
        text += f"{written.files - written.changed} unchanged, {written.removed} removed."
        output.write_lines([output.plain(text)])
    return 0


def _refuse(path: str, *, folder: bool) -> None:
    """CmemError for a place that an export would spoil: the memory itself, a device, a folder in
    the place of a file."""
    if path == "-" and not folder:
        return
    real, home = os.path.realpath(path), os.path.realpath(place.home())
    if os.path.commonpath((real, home)) == home:
        raise CmemError(f"{path} lies in the data home {place.home()}; name a place outside it")
    if os.path.isdir(real):
        if not folder:
            raise CmemError(f"{path} is a folder; name a file in it, or use --md {path}")
    elif os.path.lexists(real) and (folder or not os.path.isfile(real)):
        what = "is no folder" if folder else "is no file; `cmem export -` writes to a pipe"
        raise CmemError(f"{path} {what}")


def _saved(path: str, work: Callable[[], T]) -> T:
    """The result of the work; a failure of the file system names what was to be written."""
    try:
        return work()
    except OSError as error:
        raise CmemError(f"could not write {path}: {(error.strerror or '').lower()}") from error


def _projects(conn: apsw.Connection, values: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Everything, unless a project is named: an export is of the memory, not of a folder."""
    if not place.is_project_given(values):
        return None
    return place.scope(conn, values, whole=True).projects


@contextmanager
def _store() -> Iterator[apsw.Connection]:
    """The store as it is at this moment."""
    conn = place.store()
    if conn is None:
        raise CmemError("no memories yet, so there is nothing to export")
    try:
        connection.begin_reading(conn)
        yield conn
    finally:
        conn.close()


@contextmanager
def _bar(total: int) -> Iterator[Callable[[int], None] | None]:
    if total < 5000 or not sys.stderr.isatty():
        yield None
        return
    from cmem.cli import terminal

    with terminal.progress("exporting", total) as advance:
        yield advance
