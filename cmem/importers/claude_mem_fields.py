"""Values of claude-mem's columns, which have had several forms, in the one that we keep."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cmem.privacy.sanitise import clean

if TYPE_CHECKING:
    from cmem.importers.claude_mem_db import Found

TITLE_CHARS = 100
# Times were kept in seconds once.
_MILLISECONDS = 1_000_000_000_000


def time(row: Found, name: str, otherwise: int) -> int:
    return stamp(row.get(f"{name}_epoch")) or stamp(row.get(name)) or otherwise


def stamp(value: object) -> int:
    """Milliseconds from a number of milliseconds or seconds, or from a date; 0 for none."""
    if isinstance(value, (int, float)) or (isinstance(value, str) and value.isdecimal()):
        number = float(value)
        if not 0 < number < 2**53:
            return 0
        return int(number if number >= _MILLISECONDS else number * 1000)
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        return 0
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)


def text(value: object) -> str:
    return clean(str(value)).strip() if value is not None else ""


def prose(value: object) -> str:
    """A text as it stands, its first and last spaces too; "" for one of nothing else."""
    found = clean(str(value)) if value is not None else ""
    return found if found.strip() else ""


def title(narrative: str, facts: list[str]) -> str:
    line = clean((narrative.strip() or "\n".join(facts)).partition("\n")[0], one_line=True)
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1].rstrip() + "…"


def lines(value: object) -> list[str]:
    """A JSON list's texts; of what is no JSON, the lines or the words between commas."""
    text = str(value or "").strip()
    if not text:
        return []
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        parts = text.split("\n") if "\n" in text or text.startswith("- ") else text.split(",")
        found = [part.strip().removeprefix("- ") for part in parts]
    if not isinstance(found, list):
        found = [found]
    shown = [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in found]
    return list(dict.fromkeys(line for one in shown if (line := clean(one, one_line=True))))


def document(value: object) -> str:
    """A tool's input or response as JSON text."""
    if value is None or value == "":
        return "{}"
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return json.dumps(text, ensure_ascii=False)
    return text


def whole(value: object) -> int:
    try:
        return int(str(value)) if value is not None else 0
    except ValueError:
        return 0
