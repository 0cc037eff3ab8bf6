"""The memory as one JSON object a line: complete, streamed, the same bytes for the same memory."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from typing import IO, TYPE_CHECKING

import orjson

from cmem import packed
from cmem.export import folders, whole
from cmem.privacy import second
from cmem.store import dump, stored_text
from cmem.store.portable import BY_TYPE, FORMAT, HEAD, PROJECT, TOMBSTONE, Record

if TYPE_CHECKING:
    import apsw

    from cmem.store.dump import Chosen

_REPORT = 1000
# What of a record for somebody else is left out: raw evidence, and the folders of this machine.
_EMPTIED = {
    "project": ("root",),
    "session": ("cwd",),
    "turn": ("assistant_message", "error"),
    "prompt": ("prompt_text", "cwd"),
    "tool_use": ("tool_input", "tool_response", "cwd"),
}
# Columns that name a project by its key.
_KEYS = ("project", "key", "merged_into")


def lines(records: Iterable[Record]) -> Iterator[bytes]:
    """The file line by line: what it is, then every record."""
    yield _line({"record": HEAD, "format": FORMAT})
    for record in records:
        yield _line(record)


def records(conn: apsw.Connection, chosen: Chosen, *, redacted: bool = False) -> Iterator[Record]:
    """What is to be exported; ``redacted``: fit for somebody else."""
    found = dump.records(conn, chosen)
    if not redacted:
        return found
    known = folders.Folders()
    return (made for one in found if (made := _redacted(one, known)))


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


def _redacted(record: Record, known: folders.Folders) -> Record | None:
    """The record as somebody else may see it; None for one that is nobody else's concern."""
    kind = str(record["record"])
    if kind == PROJECT:
        known.learn(str(record["root"]), str(record["name"]))
    if kind == TOMBSTONE:
        return None
    made = {name: "" if name in _EMPTIED.get(kind, ()) else one for name, one in record.items()}
    if kind == PROJECT:
        made["aliases"] = [one for one in made["aliases"] if one[0] in ("env", "remote")]
    else:
        letter = BY_TYPE[kind].letter or "turn" if kind in BY_TYPE else "N"
        for name in (one for part in stored_text.columns(letter) for one in part):
            made[name] = second.scrub_document(made[name])
    named = {name: folders.key(made[name]) for name in _KEYS if isinstance(made.get(name), str)}
    return {name: known.without(one) for name, one in (made | named).items()}
