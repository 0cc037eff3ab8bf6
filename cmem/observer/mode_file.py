"""One mode file: what may stand in it, and the line of what may not.

``read`` takes the text of a file and gives its values, checked one by one, with every problem
found rather than the first. Whether a mode is complete is another question: a file that inherits
says only what differs (``modes``).
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator
from typing import Any, NamedTuple

MAX_BYTES = 65_536
KEY = re.compile(r"[a-z][a-z0-9_-]{0,39}")
AT_LINE = re.compile(r"at line (\d+)")

# The longest text of each key; a key in no table is unknown.
TEXTS = {"label": 60, "description": 200, "inherits": 40, "identity": 4_000, "default_type": 40}
LISTS = {
    "record": 400,
    "skip": 400,
    "more_record": 400,
    "more_skip": 400,
    "drop_types": 40,
    "drop_concepts": 40,
}
FIELDS = ("title", "subtitle", "fact", "narrative", "concept", "events")
SUMMARY = ("request", "investigated", "learned", "completed", "next_steps", "notes")
TABLES = {
    "fields": dict.fromkeys(FIELDS, 600),
    "summary": dict.fromkeys(("guidance", *SUMMARY), 600),
}
ARRAYS: dict[str, dict[str, int]] = {
    "types": {"key": 40, "label": 60, "mark": 8, "description": 300},
    "concepts": {"key": 40, "description": 300},
    "examples": {
        "situation": 600,
        "type": 40,
        "title": 200,
        "subtitle": 200,
        "narrative": 1_200,
    },
}
EXAMPLE_LISTS = {"facts": 300, "concepts": 40}
MAX_ENTRIES = 60
FLAGS = ("drop_examples",)
NUMBERS = ("revision",)
KNOWN = (*NUMBERS, *TEXTS, *LISTS, *FLAGS, *TABLES, *ARRAYS)


class Problem(NamedTuple):
    """What is wrong in a file, and where; ``line`` 0: there is no file."""

    path: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}" if self.line else self.what


class File(NamedTuple):
    """The values of a file that are fit to use. ``problems`` is empty for a file without fault."""

    path: str
    text: str
    values: dict[str, Any]
    problems: tuple[Problem, ...]


def read(path: str, text: str) -> File:
    """The file of that text; never raises."""
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        return File(path, text, {}, (Problem(path, 1, f"larger than {MAX_BYTES:,} bytes"),))
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        return File(path, text, {}, (_broken(path, str(error)),))
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for key, value in document.items():
        complaints = list(_complaints(key, value))
        problems += [Problem(path, line_of(text, where), what) for where, what in complaints]
        if not complaints:
            values[key] = value
    return File(path, text, values, tuple(problems))


def _broken(path: str, message: str) -> Problem:
    """The reader's own words, without the place, which stands in front already."""
    found = AT_LINE.search(message)
    what = message.partition(" (at ")[0]
    return Problem(path, int(found[1]) if found else 1, f"{what[:1].lower()}{what[1:]}")


# --- what may stand where ------------------------------------------------------------

Where = tuple[str, int, str]  # table or "", which one of an array, key
Complaints = Iterator[tuple[Where, str]]


def _complaints(key: str, value: Any) -> Complaints:
    here = ("", 0, key)
    if key in TEXTS:
        yield from _text(here, key, value=value, limit=TEXTS[key])
    elif key in LISTS:
        yield from _list(here, key, value=value, limit=LISTS[key])
    elif key in TABLES:
        yield from _table(key, value)
    elif key in ARRAYS:
        yield from _array(key, value)
    elif key in FLAGS:
        if type(value) is not bool:
            yield here, f"{key} must be true or false"
    elif key in NUMBERS:
        if type(value) is not int or not 0 < value < 10**6:
            yield here, f"{key} must be a whole number from 1 on"
    else:
        yield here, unknown(f"key: {key}", key, KNOWN)


def unknown(what: str, word: str, known: tuple[str, ...]) -> str:
    """``unknown WHAT``, with the nearest known word, else all of them."""
    near = difflib.get_close_matches(word, known, n=1)
    return f"unknown {what}; " + (
        f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
    )


def _text(where: Where, name: str, *, value: Any, limit: int) -> Complaints:
    if not isinstance(value, str):
        yield where, f"{name} must be a text"
    elif not value.strip():
        yield where, f"{name} must not be empty"
    elif len(value) > limit:
        yield where, f"{name} has {len(value):,} characters, {limit:,} are allowed"
    elif where[2] in ("key", "inherits", "default_type") and not KEY.fullmatch(value):
        yield where, f"{name} must be a lower-case word of letters, digits, - and _: {value[:40]}"
    elif where[2] == "mark" and not _is_mark(value):
        yield where, f"{name} must be one sign without spaces"


def _is_mark(value: str) -> bool:
    """One sign: emoji may be several characters joined, which are not printable alone."""
    return not any(char.isspace() or ord(char) < 32 for char in value)


def _list(where: Where, name: str, *, value: Any, limit: int) -> Complaints:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        yield where, f"{name} must be a list of texts"
        return
    if len(value) > MAX_ENTRIES:
        yield where, f"{name} has {len(value)} entries, {MAX_ENTRIES} are allowed"
    for one in value:
        if not one.strip() or len(one) > limit:
            yield where, f"{name}: each entry must have 1 to {limit} characters"
            return


def _table(name: str, value: Any) -> Complaints:
    if not isinstance(value, dict):
        yield ("", 0, name), f"{name} must be a table: [{name}]"
        return
    for key, one in value.items():
        where = (name, 0, key)
        if key in TABLES[name]:
            yield from _text(where, f"{name}.{key}", value=one, limit=TABLES[name][key])
        else:
            yield where, unknown(f"key: {name}.{key}", key, tuple(TABLES[name]))


def _array(name: str, value: Any) -> Complaints:
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        yield ("", 0, name), f"{name} must be a list of tables: [[{name}]]"
        return
    if len(value) > MAX_ENTRIES:
        yield (name, 0, ""), f"{name} has {len(value)} entries, {MAX_ENTRIES} are allowed"
    seen: set[str] = set()
    for index, entry in enumerate(value):
        yield from _entry(name, index, entry)
        needed = "title" if name == "examples" else "key"
        key = entry.get(needed)
        if key is None:
            yield (name, index, ""), f"{name} needs a {needed}"
        elif isinstance(key, str) and key in seen:
            yield (name, index, needed), f"{name}: {key} stands here twice"
        seen.add(str(key))


def _entry(name: str, index: int, entry: dict[str, Any]) -> Complaints:
    for key, value in entry.items():
        where = (name, index, key)
        if key in ARRAYS[name]:
            yield from _text(where, f"{name}.{key}", value=value, limit=ARRAYS[name][key])
        elif name == "examples" and key in EXAMPLE_LISTS:
            yield from _list(where, f"{name}.{key}", value=value, limit=EXAMPLE_LISTS[key])
        else:
            known = (*ARRAYS[name], *(EXAMPLE_LISTS if name == "examples" else ()))
            yield where, unknown(f"key: {name}.{key}", key, known)


# --- where it stands -----------------------------------------------------------------


def line_of(text: str, where: Where) -> int:
    """The line of a key in the table of that number and name; the table's own line where the
    key is not found, 1 where nothing is."""
    table, index, key = where
    current, count, inside = "", -1, False
    best = 1
    for number, line in enumerate(text.splitlines(), 1):
        if not inside:
            header = re.match(r"\s*\[\[?\s*([\w-]+)\s*\]\]?\s*(?:#.*)?$", line)
            if header:
                count = count + 1 if header[1] == table else count
                current = header[1]
                best = number if current == table and count == index else best
            elif (current, count if table else index) == (table, index) and re.match(
                rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line
            ):
                return number
            elif not current and table and re.match(rf"\s*{re.escape(table)}\s*=", line):
                best = number
        inside ^= (line.count('"""') + line.count("'''")) % 2 == 1
    return best
