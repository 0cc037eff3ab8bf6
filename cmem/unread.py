"""What lies captured in the mailbox, weighed by turn without being taken in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmem import ingest, spill, spooled, tokens
from cmem.model import PromptSubmitted, SessionEnded, ToolUsed, TurnEnded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cmem.model import Entry, Event

LOOKED_AT = 5_000  # events; the more of a mailbox nobody waits for
MAX_FIELD = 16_000  # characters of one field that a request has at most
BATCH, BATCH_BYTES = 200, 4 * 1024 * 1024


def turns(home: str, *, now: int) -> list[int]:
    """The tokens of each turn that has ended, and of the summary of each session that has or is
    idle, 0."""
    found: list[int] = []
    last: dict[str, int] = {}
    running: dict[str, int] = {}
    for event in _events(home):
        session = event.origin.session
        begins, ends = isinstance(event, PromptSubmitted), isinstance(event, SessionEnded)
        if (begins or ends) and session in running:
            found.append(running.pop(session))
        if ends:
            found.append(0)
            last.pop(session, None)
            continue
        last[session] = event.origin.at
        size = _size(event)
        if size is None:
            continue
        running[session] = running.get(session, 0) + size
        if isinstance(event, TurnEnded):
            found.append(running.pop(session))
    idle = [one for one, at in last.items() if at < now - ingest.IDLE_MS and one not in running]
    return found + [0] * len(idle)


def _size(event: Event) -> int | None:
    """The tokens of what a request would have of the event; None where it would have none."""
    if isinstance(event, PromptSubmitted):
        return None if event.private else _count(event.text)
    if isinstance(event, ToolUsed):
        return _count(event.tool_input) + _count(event.tool_response)
    return _count(event.message) if isinstance(event, TurnEnded) else None


def _count(text: str) -> int:
    return tokens.count(text[:MAX_FIELD])


def _events(home: str) -> Iterator[Event]:
    from cmem import ingest  # here, because only a dry run needs it

    for entry in sorted(_entries(home), key=lambda one: (one.captured_at, one.id)):
        try:
            yield ingest.decode(entry)
        except Exception:  # noqa: BLE001, S112 - an estimate; taking it in tells what is wrong
            continue


def _entries(home: str) -> Iterable[Entry]:
    found: list[Entry] = [entry for _path, entry in spill.look(home, limit=LOOKED_AT)]
    conn = spooled.open_drain(home)
    if conn is None:
        return found
    try:
        after = 0
        while len(found) < LOOKED_AT:
            some = spooled.read_batch(conn, after_id=after, limit=BATCH, max_bytes=BATCH_BYTES)
            if not some:
                break
            found += some
            after = some[-1].id
        return found
    finally:
        conn.close()
