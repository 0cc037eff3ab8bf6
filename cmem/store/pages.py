"""The pages of a database file and the rows on them, read without SQLite.

A file whose first page is gone cannot be opened, but every other page still says by itself what
lies on it: a leaf of a table holds whole rows, and so does an index page where the table is its
own index. Pages of a log that was not written back count as newer. A row is only taken if it
is consistent to the last byte, so that garbage makes no rows.
"""

from __future__ import annotations

import os
import struct
from typing import NamedTuple

from cmem.store import log_pages
from cmem.store.connection import FILE_PRAGMAS
from cmem.store.log_pages import SIZES, Log

Value = int | float | str | bytes | None
Cell = tuple[int | None, tuple[Value, ...]]

MAGIC = b"SQLite format 3\0"
TABLE_LEAF, INDEX_LEAF, TABLE_INNER, INDEX_INNER = 13, 10, 5, 2
_FIXED = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 7: 8, 8: 0, 9: 0}
_MOST_PAYLOAD = 1 << 30
# A first page that tells of more pages than this behind the end is not believed.
_MOST_CUT = 1 << 20


class DamagedError(ValueError):
    """What is read is no row."""


class Pages(NamedTuple):
    """A file and its log. ``version`` is the schema that the header names, 0 where there is no
    header; ``total``: how many pages there are or should be; ``newer``: page number
    to place in the log."""

    file: int
    log: int | None
    size: int
    total: int
    version: int
    newer: dict[int, int]

    def read(self, number: int) -> bytes:
        """A page; shorter than a page where the file ends."""
        at = self.newer.get(number)
        if at is not None and self.log is not None:
            return os.pread(self.log, self.size, at)
        return os.pread(self.file, self.size, (number - 1) * self.size)

    def close(self) -> None:
        os.close(self.file)
        if self.log is not None:
            os.close(self.log)


def open_pages(path: str) -> Pages:
    """The pages of the database ``path`` and of the log beside it."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    log = (
        os.open(path + "-wal", os.O_RDONLY | os.O_CLOEXEC)
        if os.path.exists(path + "-wal")
        else None
    )
    head = os.pread(file, 100, 0)
    sound = head[:16] == MAGIC and len(head) == 100
    size = struct.unpack(">H", head[16:18])[0] if sound else 0
    size = 65536 if size == 1 else size
    known = size if size in SIZES else dict(FILE_PRAGMAS)["page_size"]
    logged, newer, last, _damaged = log_pages.read(log, known) if log is not None else Log()
    size = size if size in SIZES else logged or known
    count = -(-os.fstat(file).st_size // size)
    count = _declared(head, count) if sound else count
    newer = newer if logged == size else {}
    return Pages(
        file,
        log,
        size,
        max(count, last if newer else 0),
        struct.unpack(">I", head[60:64])[0] if sound else 0,
        newer,
    )


def _declared(head: bytes, count: int) -> int:
    """How many pages a file of ``count`` has by its first page: more where its end is cut off."""
    told = struct.unpack(">I", head[28:32])[0] if head[24:28] == head[92:96] else 0
    return told if count < told < count + _MOST_CUT else count


def cells(pages: Pages, number: int) -> tuple[int, list[Cell], int]:
    """(kind of the page, its rows with their numbers, how many of its rows cannot be read); a
    page without rows of a table has kind 0."""
    page = pages.read(number)
    start = 100 if number == 1 else 0
    if len(page) < pages.size or is_map(pages, number):
        return 0, [], 0
    kind = page[start]
    if kind not in (TABLE_LEAF, INDEX_LEAF, INDEX_INNER):
        return 0, [], 0
    count = struct.unpack_from(">H", page, start + 3)[0]
    first = start + (12 if kind == INDEX_INNER else 8)
    if first + 2 * count > pages.size:
        return 0, [], 0
    found, bad = [], 0
    for at in struct.unpack_from(f">{count}H", page, first):
        try:
            found.append(_cell(pages, page, kind, at=max(at, first + 2 * count)))
        except (DamagedError, IndexError, struct.error, UnicodeDecodeError):
            bad += 1
    return kind, found, bad


def is_blank(pages: Pages, number: int) -> bool:
    """Whether a page is missing or holds nothing: lost, or free."""
    return not pages.read(number).strip(b"\0")


def is_map(pages: Pages, number: int) -> bool:
    """Whether the page says where others belong, in a file that can shrink."""
    return number >= 2 and (number - 2) % (pages.size // 5 + 1) == 0


# --- rows ----------------------------------------------------------------------------------


def _cell(pages: Pages, page: bytes, kind: int, *, at: int) -> Cell:
    if kind == INDEX_INNER:
        at += 4
    length, at = _varint(page, at)
    number = None
    if kind == TABLE_LEAF:
        number, at = _varint(page, at)
        number = number - 2**64 if number >= 2**63 else number
    if not 0 < length < _MOST_PAYLOAD:
        raise DamagedError
    return number, _record(_payload(pages, page, kind, at=at, length=length))


def _payload(pages: Pages, page: bytes, kind: int, *, at: int, length: int) -> bytes:
    """The bytes of a row: on its page, and on a chain of others for what does not fit."""
    usable = pages.size
    most = usable - 35 if kind == TABLE_LEAF else (usable - 12) * 64 // 255 - 23
    if length <= most:
        found = page[at : at + length]
        if len(found) < length:
            raise DamagedError
        return found
    least = (usable - 12) * 32 // 255 - 23
    here = least + (length - least) % (usable - 4)
    here = here if here <= most else least
    parts, left = [page[at : at + here]], length - here
    following = struct.unpack_from(">I", page, at + here)[0]
    while left > 0:
        if not 1 < following <= pages.total:
            raise DamagedError
        more = pages.read(following)
        following = struct.unpack_from(">I", more)[0]
        parts.append(more[4 : 4 + min(left, usable - 4)])
        left -= usable - 4
    found = b"".join(parts)
    if following or len(found) != length:
        raise DamagedError
    return found


def _record(payload: bytes) -> tuple[Value, ...]:
    size, at = _varint(payload, 0)
    kinds = []
    while at < size:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    if at != size or not kinds:
        raise DamagedError
    values: list[Value] = []
    for kind in kinds:
        length = _FIXED[kind] if kind in _FIXED else (kind - 12) // 2
        if length < 0 or at + length > len(payload):
            raise DamagedError
        values.append(_value(kind, payload[at : at + length]))
        at += length
    if at != len(payload):
        raise DamagedError
    return tuple(values)


def _value(kind: int, raw: bytes) -> Value:
    if kind == 0:
        return None
    if kind in (8, 9):
        return kind - 8
    if kind < 7:
        return int.from_bytes(raw, "big", signed=True)
    if kind == 7:
        return float(struct.unpack(">d", raw)[0])
    if kind in (10, 11):
        raise DamagedError
    if kind % 2 == 0:
        return raw
    text = raw.decode("utf-8")
    if "\0" in text:  # never stored: this was a page of the chain
        raise DamagedError
    return text


def _varint(data: bytes, at: int) -> tuple[int, int]:
    found = 0
    for step in range(9):
        byte = data[at + step]
        if step == 8:
            return found << 8 | byte, at + 9
        found = found << 7 | byte & 127
        if byte < 128:
            return found, at + step + 1
    raise DamagedError
