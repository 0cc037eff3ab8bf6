"""Secrets that were stored before there was a rule for them: found, and cut out.

Whatever is stored passed the rules of its day. This reads it again with those of today and
tells which rows they would change, by id and rule, never by the secret itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from cmem.privacy import second
from cmem.store import erase, stored_text

if TYPE_CHECKING:
    import apsw

    from cmem.store.stored_text import Stored


class Found(NamedTuple):
    """A row with something to cut: its id as users know it, the columns and the rules."""

    id: str
    part: str
    columns: tuple[str, ...]
    rules: tuple[str, ...]


class Scanned(NamedTuple):
    """What a scan has seen. ``fixed``: rows rewritten, 0 for a scan that only looks."""

    rows: int
    found: tuple[Found, ...]
    fixed: int


def scan(
    conn: apsw.Connection,
    *,
    fix: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Scanned:
    """Read every text of the store; with ``fix``, for a connection that writes, cut out what
    the rules find and clean the file of it.

    Raises BusyError when all is cut but a reader keeps the log from being emptied."""
    found: list[Found] = []
    seen = fixed = 0
    for stored in stored_text.every(conn):
        seen += 1
        if progress is not None:
            progress(seen)
        clean = cleaned(stored)
        if not clean:
            continue
        found.append(_found(stored, clean))
        if fix:
            fixed += stored_text.rewrite(conn, stored, clean)
    if fix:
        erase.finish(conn)
    return Scanned(seen, tuple(found), fixed)


def cleaned(stored: Stored) -> dict[str, str]:
    """The texts of the row that today's rules change, as they would be."""
    made = {
        name: _document(text) if name in stored.documents else second.scrub(text)
        for name, text in stored.texts.items()
    }
    return {name: text for name, text in made.items() if text != stored.texts[name]}


def _document(text: str) -> str:
    """A JSON text with what it holds scrubbed; itself, to the byte, when nothing is."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return second.scrub(text)
    clean = second.scrub_document(value)
    if clean == value:
        return text
    return json.dumps(clean, ensure_ascii=False, separators=(",", ":"))


def _found(stored: Stored, clean: Mapping[str, str]) -> Found:
    rules = {
        rule
        for name, text in clean.items()
        for rule in second.rule_names(stored.texts[name], text) or ["private"]
    }
    indexed = stored.kind in stored_text.INDEXED
    return Found(
        id=f"{stored.kind}{stored.ref}" if indexed else f"N{stored.session}",
        part="" if indexed or stored.kind == "N" else f"{stored.kind} {stored.ref}",
        columns=tuple(sorted(clean)),
        rules=tuple(sorted(rules)),
    )
