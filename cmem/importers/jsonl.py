"""An export's lines as records. A line that cannot be read is told by its number, and the next
one is read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO

import orjson

from cmem import packed
from cmem.importers.bring import Item
from cmem.store.portable import FORMAT, HEAD

# No line of an export is near this long; one that is would not fit into memory at last.
MAX_LINE = 32 * 1024 * 1024
# So many lines in a row without a record are no export, and endless ones are none that end.
MOST_IN_VAIN = 100_000
_BOM = b"\xef\xbb\xbf"


def items(stream: IO[bytes]) -> Iterator[Item]:
    """Every line but the head and empty ones, numbered from 1. A file of a newer cmem ends where
    it says so."""
    number = read = 0
    while True:
        if number - read >= MOST_IN_VAIN:
            yield Item(number, trouble=f"no record in {number - read} lines; the rest is not read")
            return
        try:
            line = stream.readline(MAX_LINE + 1)
        except (OSError, EOFError, ValueError, RuntimeError, ArithmeticError) as error:
            yield Item(number + 1, trouble=_unreadable(error))
            return
        except Exception as error:
            if not packed.damage(error):
                raise
            yield Item(number + 1, trouble=packed.damage(error))
            return
        if not line:
            return
        number += 1
        if len(line) > MAX_LINE:
            _skip(stream, line)
            yield Item(number, trouble=f"longer than {MAX_LINE // 2**20} MiB")
            continue
        found = _item(line.removeprefix(_BOM) if number == 1 else line, number)
        if found is not None:
            yield found
            if found.newer:
                return
            read = number if found.record is not None else read


def _item(line: bytes, number: int) -> Item | None:
    if not line.strip():
        return None
    try:
        record = _decode(line)
    except UnicodeDecodeError:
        return Item(number, trouble="not UTF-8")
    except (ValueError, RecursionError):
        cut = "" if line.endswith(b"\n") else "; the file is cut off here"
        return Item(number, trouble=f"not JSON{cut}")
    if isinstance(record, dict) and record.get("record") == HEAD:
        return _head(record, number)
    return Item(number, record)


def _head(record: dict[str, object], number: int) -> Item | None:
    found = record.get("format")
    if isinstance(found, int) and found > FORMAT:
        said = (
            f"format {found} is of a newer cmem; this one knows {FORMAT}, so nothing of it is read"
        )
        return Item(number, trouble=said, newer=True)
    return None


def _decode(line: bytes) -> object:
    try:
        return orjson.loads(line)
    except ValueError:
        # Half a surrogate pair in an escape is JSON too; bytes that are no UTF-8 are not.
        return json.loads(line.decode("utf-8"))


def _unreadable(error: Exception) -> str:
    return packed.damage(error) or str(getattr(error, "strerror", None) or error).lower()


def _skip(stream: IO[bytes], line: bytes) -> None:
    """Read on to the end of a line that is too long."""
    while line and not line.endswith(b"\n"):
        line = stream.readline(MAX_LINE)
