from __future__ import annotations

import re
from pathlib import Path

from support import ROOT

from cmem.plural import counted, named

# What builds a plural by itself, or names a number of things whatever their number is. Numbers
# that are never one, and texts for models, are not looked for.
_THINGS = (
    "sessions|prompts|turns|events|rows|records|lines|files|machines|units|memories|observations"
    "|tool calls|tool uses|days"
)
BY_HAND = re.compile(
    r"""'s' if |"s" if |'s' \* |else 's'|\{[\w.]+(?::,)?\} (?:other )?(?:""" + _THINGS + r")\b"
)
ALLOWED = {
    # It has words of its own for the one.
    "context.py: {omitted:,} memories",
}


def test_one_is_one_and_many_are_many() -> None:
    assert [counted(n, "event") for n in (0, 1, 2000)] == ["0 events", "1 event", "2,000 events"]
    assert [counted(n, "memory", "memories") for n in (1, 2)] == ["1 memory", "2 memories"]
    names = ("summaries", "tool_uses", "sessions")
    assert [named(1, one) for one in names] == ["1 summary", "1 tool use", "1 session"]
    assert [named(3, one) for one in names] == ["3 summaries", "3 tool uses", "3 sessions"]


def test_no_command_makes_plurals_by_itself() -> None:
    found = {
        f"{path.name}: {match[0]}"
        for path in sorted(Path(ROOT, "cmem", "cli").rglob("*.py"))
        for match in BY_HAND.finditer(path.read_text(encoding="utf-8"))
    }
    assert found == ALLOWED
