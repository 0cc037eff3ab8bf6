"""The memory as one JSON object a line: complete, streamed, the same bytes for the same memory."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from typing import IO, TYPE_CHECKING

import orjson

from cmem import packed
from cmem.export import redacted as redaction
from cmem.export import whole
from cmem.store import dump
from cmem.store.portable import FORMAT, HEAD, Record

if TYPE_CHECKING:
    import apsw

    from cmem.store.dump import Chosen

_REPORT = 1000


def lines(records: Iterable[Record]) -> Iterator[bytes]:
    """The file line by line: what it is, then every record."""
    yield _line({"record": HEAD, "format": FORMAT})
    for record in records:
        yield _line(record)


def records(conn: apsw.Connection, chosen: Chosen, *, redacted: bool = False) -> Iterator[Record]:
    """What is to be exported; ``redacted``: fit for somebody else."""
    found = dump.records(conn, chosen)
    return redaction.records(found) if redacted else found


def write(
    out: IO[bytes],
    name: str,
    found: Iterable[Record],
    *,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Write the records, packed as the name says; how many there were."""
    count = -1
    with packed.writing(out, name) as stream:
        for line in lines(found):
            stream.write(line)
            count += 1
            if progress is not None and count % _REPORT == 0:
                progress(count)
    return count


def save(
    path: str, found: Iterable[Record], *, progress: Callable[[int], None] | None = None
) -> int:
    """Write a file that only its owner can read, whole or not at all."""
    with whole.file(os.path.realpath(path)) as out:
        return write(out, path, found, progress=progress)


def _line(record: Record) -> bytes:
    try:
        return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # half a surrogate pair, which only escapes can say
        return json.dumps(record, separators=(",", ":")).encode() + b"\n"
