"""What all imports have in common: the store, a bar, and what is told at the end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cmem.cli import boundary, output, place
from cmem.cli.writing import trying
from cmem.importers import bring
from cmem.plural import counted

if TYPE_CHECKING:
    from cmem.importers.bring import Brought, Item

NAMES = {
    "project": ("project", "projects"),
    "session": ("session", "sessions"),
    "turn": ("turn", "turns"),
    "prompt": ("prompt", "prompts"),
    "tool_use": ("tool use", "tool uses"),
    "observation": ("observation", "observations"),
    "summary": ("summary", "summaries"),
    "work_state": ("entry of open work", "entries of open work"),
    "tombstone": ("mark of what was forgotten", "marks of what was forgotten"),
}
RESULTS = ("new", "known", "forgotten")
COMPLAINTS = 20


def run(items: Iterable[Item], *, dry_run: bool, total: int = 0) -> Brought:
    """Bring the items in, or (``dry_run``) see what would come. ``total``: how many there are
    about, 0 where nobody knows."""
    with _bar(total) as progress, trying(dry_run=dry_run) as conn:
        return bring.bring(conn, items, now=place.now_ms(), dry_run=dry_run, progress=progress)


def told(
    brought: Brought,
    *,
    source: str,
    what: str,
    values: dict[str, Any],
    more: Sequence[str] = (),
) -> int:
    """Say what came of it; the exit code: 1 where nothing at all could be read. ``what`` is
    what a place in the source is called, ``more`` the lines that a person gets besides."""
    if values["json"]:
        output.write_json(_document(brought, source=source, values=values))
    else:
        output.write_lines([output.plain(line) for line in (*_lines(brought, values), *more)])
    for one in brought.troubles[:COMPLAINTS]:
        boundary.complain(f"{source}{what}{one.place}: {one.reason}")
    if brought.bad > COMPLAINTS:
        boundary.complain(f"{source}: {brought.bad - COMPLAINTS} more could not be read")
    return 1 if brought.bad and not sum(brought.counts.values()) else 0


def _document(brought: Brought, *, source: str, values: dict[str, Any]) -> dict[str, Any]:
    counts = {name: {result: brought.counts[name, result] for result in RESULTS} for name in NAMES}
    return {
        "source": source,
        "dry_run": bool(values["dry_run"]),
        "records": counts,
        "unreadable": brought.bad,
        "errors": [one._asdict() for one in brought.troubles],
    }


def _lines(brought: Brought, values: dict[str, Any]) -> list[str]:
    new = brought.total("new")
    verb = "Would import" if values["dry_run"] else "Imported"
    parts = [
        counted(count, *names)
        for name, names in NAMES.items()
        if (count := brought.counts[name, "new"])
    ]
    lines = [f"{verb} {', '.join(parts)}." if new else "Nothing new."]
    known, forgotten = brought.total("known"), brought.total("forgotten")
    if known:
        lines.append(f"Known already: {known}.")
    if forgotten:
        lines.append(f"Left out because it was forgotten: {forgotten}.")
    if brought.bad:
        lines.append(f"Could not be read: {brought.bad}.")
    return lines


@contextmanager
def _bar(total: int) -> Iterator[Callable[[int], None] | None]:
    if not sys.stderr.isatty():
        yield None
        return
    from cmem.cli import terminal

    with terminal.work("importing") as tell:
        yield lambda done: tell(done, max(total, done), "")
