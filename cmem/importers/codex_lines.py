"""The lines of Codex CLI's transcripts in today's form, ``{timestamp, type, payload}``.

At first a session was one JSON document, ``{session, items}``; then, until the autumn of 2025, a
line that said which session it is and a bare item a line. Both tell one time, that of the start:
an item is a millisecond later than the one before it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

from cmem import lenient
from cmem.importers import told
from cmem.importers.told import MAX_LINE, Reading, word

SUFFIXES = (".jsonl", ".json")
_PREFIX = "rollout-"
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=\.jsonl?\Z)")
_CWD = re.compile(r"<cwd>(/[^<\n]{1,4096})</cwd>|Current working directory: (/[^\n]{1,4096})")


def is_transcript(path: str, *, asked_for: bool) -> bool:
    """Whether a file with one of the suffixes is one; whoever names a file means it."""
    return path.endswith(".jsonl") or asked_for or os.path.basename(path).startswith(_PREFIX)


def named(path: str) -> str:
    """The id of the session as the file's name says it."""
    found = _ID.search(path)
    return found[0] if found else ""


def folder_in(text: str) -> str:
    """The folder in what the host tells the model of where it is."""
    found = _CWD.search(text) if text.startswith("<environment_context>") else None
    return (found[1] or found[2]).strip() if found else ""


def lines(path: str, reading: Reading) -> Iterator[tuple[int, dict[str, Any]]]:
    """(number, line) of each line, or item of a document, in today's form."""
    found = told.lines(path, reading) if path.endswith(".jsonl") else _items(path, reading)
    at = 0
    for number, line in found:
        bare = "payload" not in line
        if bare and "type" not in line and "id" in line:
            at = reading.millis(line.get("timestamp"), 0)
            yield number, {**line, "type": "session_meta", "payload": line}
        elif bare and "type" in line and "timestamp" not in line:
            at += 1 if at else 0
            yield number, {"timestamp": at, "type": "response_item", "payload": line}
        else:
            yield number, line


def _items(path: str, reading: Reading) -> Iterator[tuple[int, dict[str, Any]]]:
    """What a document says of its session, then its items."""
    found = told.document(path, reading, most=MAX_LINE)
    if found is None:
        return
    session, items = found.get("session"), found.get("items")
    items = [one for one in items if isinstance(one, dict)] if isinstance(items, list) else []
    yield 1, {"cwd": _worked_in(items), **(session if isinstance(session, dict) else {})}
    yield from ((1, one) for one in items)


def _worked_in(items: Iterable[dict[str, Any]]) -> str:
    """The folder of the first command that says where it was run."""
    for one in items:
        arguments = one.get("arguments")
        try:
            given = lenient.loads(arguments.encode()) if isinstance(arguments, str) else None
        except ValueError:
            continue
        place = word(given.get("workdir")) if isinstance(given, dict) else ""
        if place.startswith("/"):
            return place
    return ""
