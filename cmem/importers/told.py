"""What an importer tells of a transcript, and how its lines are read."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

from cmem.hosts import payload

ODD_LINE = "is not as this host writes lines"
UNKNOWN = "is of a form that is not known"
MAX_LINE = 32 * 1024 * 1024
_NOT_UTF8 = (b"\xff\xfe", b"\xfe\xff")
_MOST_WAITING = 1000
_SMALLEST_MS = 100_000_000_000  # 1973; as seconds the year 5138
_LATEST_MS = 253_402_300_800_000  # the year 10000


class Told(NamedTuple):
    """One event of the past: its name and payload as the host's hook would have given them, its
    time, and the branch that was checked out then."""

    event: str
    at: int
    fields: dict[str, object]
    branch: str = ""


class Problem(NamedTuple):
    """What could not be read: a file, and in it a line (0: all of it)."""

    path: str
    line: int
    detail: str


class Group(NamedTuple):
    """The files of one session: its own first, then those of its subagents."""

    files: tuple[str, ...]
    size: int
    changed_ns: int


class Reading(NamedTuple):
    """How a group is read: whom to tell of problems and of bytes read, whether nothing has been
    written to it for long enough that it is complete, and which times are of the future."""

    complain: Callable[[Problem], None]
    advance: Callable[[int], None]
    complete: bool
    latest: int = _LATEST_MS

    def millis(self, value: object, before: int) -> int:
        """The time of a line; that of the one ``before`` it where it has none, or one that is
        still to come."""
        at = millis(value, before)
        return at if at <= self.latest else before


class Teller(Protocol):
    """One file's lines as events: what must be known from one line to the next."""

    @property
    def is_known(self) -> bool:
        """Whether the form of the file is one that is known."""

    def line(self, line: dict[str, Any]) -> Iterator[Told]:
        """What a line tells."""

    def end(self, *, complete: bool) -> Iterator[Told]:
        """What is told by there being no more lines."""


def of_file(
    path: str, lines: Iterable[tuple[int, dict[str, Any]]], teller: Teller, *, reading: Reading
) -> Iterator[Told]:
    """What a file tells by its numbered lines. Of those that are not as the host writes them, and
    of a file without any that is, a problem is told."""
    number = 0
    for number, line in lines:
        try:
            yield from teller.line(line)
        except (TypeError, ValueError, AttributeError, KeyError):
            reading.complain(Problem(path, number, ODD_LINE))
    if number and not teller.is_known:
        reading.complain(Problem(path, 0, UNKNOWN))
    yield from teller.end(complete=reading.complete)


class Importer(Protocol):
    """A module that knows one host's transcripts."""

    HOST: str
    TITLE: str

    def folder(self, env: Mapping[str, str], user_home: str) -> str:
        """Where the host keeps its transcripts."""

    def groups(self, root: str, complain: Callable[[Problem], None]) -> list[Group]:
        """The sessions below ``root``, a folder or a single file."""

    def session(self, group: Group) -> str:
        """What the host calls the session, as the file's name or its beginning says it; else ""."""

    def tell(self, group: Group, reading: Reading) -> Iterator[Told]:
        """What the group's files tell, in the order of time."""


def walk(
    root: str, suffixes: tuple[str, ...], complain: Callable[[Problem], None]
) -> Iterator[tuple[str, int, int]]:
    """(path, size, changed) of every file below ``root`` with one of the suffixes."""

    def refuse(error: OSError) -> None:
        complain(Problem(error.filename or root, 0, error.strerror or "cannot be read"))

    found = (
        [root] if os.path.isfile(root) else _files(root, suffixes, complain=complain, refuse=refuse)
    )
    for path in found:
        if path.endswith(suffixes):
            try:
                seen = os.stat(path)
            except OSError as error:
                refuse(error)
                continue
            if stat.S_ISREG(seen.st_mode):
                yield path, seen.st_size, seen.st_mtime_ns


def _files(
    root: str,
    suffixes: tuple[str, ...],
    *,
    complain: Callable[[Problem], None],
    refuse: Callable[[OSError], None],
) -> Iterator[str]:
    for folder, folders, names in os.walk(root, onerror=refuse):
        folders.sort()
        for name in folders:
            if name.endswith(suffixes):
                complain(Problem(os.path.join(folder, name), 0, "is a folder"))
        yield from (os.path.join(folder, name) for name in sorted(names))


def lines(
    path: str, reading: Reading, *, skip: tuple[bytes, ...] = ()
) -> Iterator[tuple[int, dict[str, Any]]]:
    """(number, object) of each line, one at a time; what is none is complained of, and a file
    that has no other. Lines end with a newline and with nothing else; those that begin with one of
    ``skip`` are passed over."""
    readable, first = False, ""
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(_raw(file.readline, reading), 1):
                if number == 1 and line.startswith(_NOT_UTF8):
                    reading.complain(Problem(path, 0, "is not UTF-8"))
                    return
                found = None if line.startswith(skip) else _object(line)
                readable = readable or line.startswith(skip)
                if isinstance(found, str):
                    first = first or f"line {number} {found}"
                    reading.complain(Problem(path, number, found))
                    found = payload.parse(line) if found == _REPLACED else None
                if found is not None:
                    readable = True
                    yield number, found
        if first and not readable:
            reading.complain(Problem(path, 0, f"no line of it can be read: {first}"))
    except OSError as error:
        reading.complain(Problem(path, 0, error.strerror or "cannot be read"))


def _raw(read: Callable[[int], bytes], reading: Reading) -> Iterator[bytes]:
    """Each line; for one that is too long a mark."""
    while line := read(MAX_LINE):
        size = len(line)
        rest = line
        while not rest.endswith(b"\n") and len(rest) == MAX_LINE:
            rest = read(MAX_LINE)
            size += len(rest)
        reading.advance(size)
        yield _TOO_LONG if size > MAX_LINE else line


_TOO_LONG = b"\0"
_REPLACED = "is not UTF-8; what cannot be read is replaced"


def _object(line: bytes) -> dict[str, Any] | str | None:
    """The line's object, what is wrong with it, or None for an empty one."""
    if line is _TOO_LONG:
        return "is longer than can be read"
    text = line.strip()
    if not text:
        return None
    found = payload.parse(text)
    if found is None:
        return "is cut off" if not line.endswith(b"\n") else "is no JSON object"
    try:
        text.decode()
    except UnicodeDecodeError:
        return _REPLACED
    return found


def millis(value: object, before: int) -> int:
    """A time of day as a host writes one, in milliseconds; ``before`` where it is none. A number
    that would be of the first years after 1970 counts seconds."""
    if isinstance(value, str) and value.isdecimal() and len(value) in (10, 13):
        value = int(value)
    if isinstance(value, str):
        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            return before
        aware = at if at.tzinfo else at.replace(tzinfo=UTC)
        try:
            return max(0, round(aware.timestamp() * 1000))
        except (OverflowError, OSError):
            return before
    if not isinstance(value, (int, float)) or not 0 < value < _LATEST_MS or value is True:
        return before
    return int(value if value >= _SMALLEST_MS else value * 1000)


def in_time(tale: Iterable[Told], *, otherwise: int) -> Iterator[Told]:
    """The events, those at the beginning of which no time is known (0) at that of the first that
    has one; where none has, at ``otherwise``."""
    waiting: list[Told] = []
    known = 0
    for one in tale:
        known = known or one.at or (otherwise if len(waiting) == _MOST_WAITING else 0)
        if not known:
            waiting.append(one)
            continue
        yield from (early._replace(at=known) for early in waiting)
        waiting.clear()
        yield one if one.at else one._replace(at=known)
    yield from (early._replace(at=otherwise) for early in waiting)


def texts(content: object) -> str:
    """The words in a message: a text, or the text blocks of a list."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    found = (one.get("text") if isinstance(one, dict) else None for one in content)
    return "\n".join(one for one in found if isinstance(one, str))


def word(value: object) -> str:
    """The value where it is a text, else ""."""
    return value if isinstance(value, str) else ""


def document(path: str, reading: Reading, *, most: int) -> dict[str, Any] | None:
    """A file that is one JSON object of at most ``most`` bytes; None, and a complaint, else."""
    try:
        with open(path, "rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        reading.complain(Problem(path, 0, error.strerror or "cannot be read"))
        return None
    reading.advance(len(data))
    found = payload.parse(data) if len(data) <= most else None
    if found is None:
        reading.complain(Problem(path, 0, "is no JSON document that can be read"))
    return found
