"""The folder that is kept alike: one file for each machine, read as far as it is whole.

Whatever keeps the folder alike copies when it likes. So a last line may be cut, a file may be an
older one of itself, and there may be a second one beside it; each line is taken by its revision,
and how far a file was read is only what need not be read again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, NamedTuple, Self

import orjson

from cmem.errors import CmemError

if TYPE_CHECKING:
    from cmem.store.portable import Record
    from cmem.store.registers import FileRead

HEAD = "cmem-sync"
FORMAT = 1
MAX_LINE = 32 * 1024 * 1024
_TAIL = 4096
# A copy that a tool has set aside has the name of the file with something added to it.
_NAME = re.compile(r"cmem-[0-9a-f]{8}.*\.jsonl")
_NOT_THERE = ("its session is not there", "its turn", "the item it belongs to")


def own_name(machine: str) -> str:
    return f"cmem-{machine}.jsonl"


def names(folder: str) -> list[str]:
    """The files of machines in the folder, copies that tools have set aside among them."""
    return sorted(name for name in os.listdir(folder) if _NAME.fullmatch(name))


class Trouble(NamedTuple):
    path: str
    line: int
    reason: str


class Source:
    """One file at one moment: what it holds now is read, whatever becomes of its name."""

    def __init__(self, path: str) -> None:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        fd = os.open(path, flags)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise OSError(0, "not a file")
        self.path, self.name = path, os.path.basename(path)
        self._file: IO[bytes] = os.fdopen(fd, "rb", buffering=1 << 18)
        self.end = _whole(self._file, os.fstat(fd).st_size)
        self.machine = self.generation = ""
        self.start = 0
        self._left: set[int] = set()
        self._told: dict[int, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read_head(self) -> None:
        """Learn whose file it is; CmemError where it is nobody's."""
        self._file.seek(0)
        record = _decode(self._file.readline(_TAIL)) if self.end else None
        if not isinstance(record, dict) or record.get("record") != HEAD:
            raise CmemError("not a file of cmem")
        kind, machine = record.get("format"), record.get("machine")
        if not isinstance(kind, int) or kind > FORMAT:
            raise CmemError("of a newer cmem; upgrade this one")
        if not isinstance(machine, str) or not re.fullmatch("[0-9a-f]{8}", machine):
            raise CmemError("not a file of cmem")
        self.machine, self.generation = machine, str(record.get("generation"))

    def go_on_from(self, before: FileRead | None) -> None:
        """Leave out what was read, if this is still the file that it was read from."""
        if before is None or before.generation != self.generation or before.offset > self.end:
            return
        if self.tail(before.offset) == before.tail:
            self.start = before.offset

    def records(self, kinds: frozenset[str], *, first: bool) -> Iterator[tuple[int, Record]]:
        """(where, record) of these kinds; with ``first`` what is none of any kind is told too."""
        starts = tuple(f'{{"record":"{kind}"'.encode() for kind in kinds)
        for place, line in self._lines():
            if not line.startswith(starts):
                if first and not line.startswith(_ANY) and line.strip():
                    self.complain(place, "not a line of cmem")
                continue
            record = _decode(line)
            if isinstance(record, dict) and record.get("record") in kinds:
                yield place, record
            else:
                self.complain(place, "not JSON")

    def every(self) -> Iterator[Record]:
        """Every record that can be read."""
        for _, line in self._lines():
            record = _decode(line)
            if isinstance(record, dict):
                yield record

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        at = self.start
        while at < self.end:
            self._file.seek(at)
            line = self._file.readline(min(MAX_LINE, self.end - at) + 1)
            if len(line) > MAX_LINE:
                self.complain(at, f"longer than {MAX_LINE // 2**20} MiB")
                while line and not line.endswith(b"\n"):
                    at += len(line)
                    line = self._file.readline(MAX_LINE)
            else:
                yield at, line
            at += len(line)

    def complain(self, place: int, reason: str) -> None:
        """A line cannot be taken; it is tried again next time, because it may become whole."""
        self._told.setdefault(place, reason)
        self._left.add(place)

    def wait(self, place: int) -> None:
        """A record names what is not there yet."""
        self._left.add(place)

    @staticmethod
    def is_waiting(reason: str) -> bool:
        return reason.startswith(_NOT_THERE)

    @property
    def waiting(self) -> int:
        """How many records wait for another file."""
        return len(self._left - self._told.keys())

    @property
    def troubles(self) -> list[Trouble]:
        found = sorted(self._told.items())[:20]
        return [Trouble(self.path, self._line(place), reason) for place, reason in found]

    @property
    def bad(self) -> int:
        return len(self._told)

    def read_to(self) -> int:
        """Up to where nothing is left to be taken."""
        return min(self._left, default=self.end)

    def tail(self, offset: int) -> str:
        """A hash of what stands before an offset."""
        start = max(offset - _TAIL, 0)
        self._file.seek(start)
        return hashlib.sha256(self._file.read(offset - start)).hexdigest()[:16]

    def _line(self, place: int) -> int:
        self._file.seek(0)
        count, left = 1, place
        while left and (chunk := self._file.read(min(left, 1 << 20))):
            count += chunk.count(b"\n")
            left -= len(chunk)
        return count


_ANY = (b'{"record":"',)


def encode(record: Record) -> bytes:
    """A record as a line; ``record`` stands first in it."""
    made = {"record": record["record"], **record}
    try:
        return orjson.dumps(made, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # half a surrogate pair, which only escapes can say
        return json.dumps(made, separators=(",", ":")).encode() + b"\n"


def _decode(line: bytes) -> object:
    try:
        return orjson.loads(line)
    except ValueError:
        try:
            return json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError):
            return None


def _whole(file: IO[bytes], size: int) -> int:
    """Where the last whole line ends."""
    end = size
    while end > 0:
        start = max(end - (1 << 16), 0)
        file.seek(start)
        at = file.read(end - start).rfind(b"\n")
        if at >= 0:
            return start + at + 1
        end = start
    return 0
