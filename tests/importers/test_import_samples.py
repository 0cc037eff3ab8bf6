"""Transcripts of real sessions against a table counted by hand, and against their own hooks."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import apsw
import pytest
from support import FIXTURES as ALL_FIXTURES
from transcribed import LATER, held, hooked, imported

from cmem.importers import run as core
from cmem.importers.wanted import Limits
from cmem.store import connection, erase, forget

TRANSCRIPTS = ALL_FIXTURES / "transcripts"
# sample, host → sessions, prompts, tool uses (a subagent's report is none), files of transcripts,
# files of the project that observations name (looking around alone makes none).
TABLE = [
    (
        "claude-code/2.1.332",
        "claude-code",
        (1, 3, 13, 2),
        {"calc.py", "test_calc.py", "CHANGELOG.md"},
    ),
    ("claude-code/2.1.332-interactive", "claude-code", (2, 5, 3, 2), {"calc.py"}),
    (
        "claude-code/2.1.197",
        "claude-code",
        (1, 2, 13, 2),
        {"calc.py", "test_calc.py", "CHANGELOG.md"},
    ),
    ("codex", "codex", (1, 1, 3, 1), {"calc.py", "new.txt"}),
    ("gemini-cli", "gemini-cli", (1, 1, 3, 1), set()),
]
HOOKS = [
    ("claude-code/2.1.332", "claude-code", "session-fix-subtract"),
    (
        "claude-code/2.1.332-interactive",
        "claude-code",
        "session-interactive-compact-clear-interrupt",
    ),
    ("claude-code/2.1.197", "claude-code", "session-fix-subtract-2.1.197"),
    ("codex", "codex", "session-basic"),
    ("gemini-cli", "gemini-cli", "session-basic"),
]
NAMES = [row[0] for row in TABLE]


@pytest.mark.parametrize(("name", "host", "counts", "files"), TABLE, ids=NAMES)
def test_sample_gives_what_was_counted_by_hand(
    home: Path, name: str, host: str, counts: tuple[int, ...], files: set[str]
) -> None:
    report = imported(home, TRANSCRIPTS / name, host=host)
    assert (report.sessions, report.prompts, report.tool_uses, report.files) == counts
    assert report.problems == ()
    conn = apsw.Connection(str(home / "memory.db"))
    tools = "tool_uses WHERE tool_name <> 'SubagentStop'"
    stored = [
        conn.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0]
        for table in ("sessions", "user_prompts WHERE kind = 'user'", tools)
    ]
    assert stored == list(counts[:3])
    found = conn.execute("SELECT DISTINCT path FROM observation_files").fetchall()
    assert {os.path.basename(str(path)) for (path,) in found} == files
    conn.close()


@pytest.mark.parametrize(("name", "host", "counts"), [row[:3] for row in TABLE], ids=NAMES)
def test_dry_run_counts_the_same_and_writes_nothing(
    home: Path, name: str, host: str, counts: tuple[int, ...]
) -> None:
    importer = core.IMPORTERS[host]
    found = core.find(importer, str(TRANSCRIPTS / name))
    report = core.look(str(home), importer, found, limits=Limits(), now=1_798_000_000_000)
    assert (report.sessions, report.prompts, report.tool_uses, report.files) == counts
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(("name", "host"), [row[:2] for row in TABLE], ids=NAMES)
def test_second_run_adds_nothing(home: Path, tmp_path: Path, name: str, host: str) -> None:
    imported(home, TRANSCRIPTS / name, host=host)
    before = held(home)
    again = imported(home, TRANSCRIPTS / name, host=host)
    assert (again.sessions, again.prompts, again.tool_uses, again.held) == (0, 0, 0, 0)
    assert again.unchanged > 0
    for path in sorted((TRANSCRIPTS / name).rglob("*.jsonl")):
        target = tmp_path / "copy" / path.relative_to(TRANSCRIPTS / name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
        os.utime(target, (1_780_000_000, 1_780_000_000))
    read = imported(home, tmp_path / "copy", host=host)
    assert (read.sessions, read.prompts, read.tool_uses, read.unchanged) == (0, 0, 0, 0)
    assert held(home) == before


@pytest.mark.parametrize(("name", "host", "hooks"), HOOKS, ids=[row[0] for row in HOOKS])
def test_import_adds_nothing_to_what_hooks_captured(
    home: Path, name: str, host: str, hooks: str
) -> None:
    hooked(home, ALL_FIXTURES / "hosts" / host / f"{hooks}.jsonl", host=host)
    before = held(home)
    importer = core.IMPORTERS[host]
    found = core.find(importer, str(TRANSCRIPTS / name))
    look = core.look(str(home), importer, found, limits=Limits(), now=1_798_000_000_000)
    assert (look.sessions, look.prompts, look.tool_uses, look.files) == (0, 0, 0, 0)
    assert core.waiting(str(home), importer, found).groups == ()
    report = imported(home, TRANSCRIPTS / name, host=host)
    assert (report.sessions, report.prompts, report.tool_uses) == (0, 0, 0)
    after = held(home)
    if host == "codex":  # its hooks are not told how a command ended
        (changed,) = [row for row in after if row not in before]
        assert (changed[:4], changed[-1][:15]) == (
            ("tool", "Bash", "call_0006", "failed"),
            '"Exit code: 1\\n',
        )
        after = [row for row in after if row != changed]
        before = [row for row in before if row[:3] != changed[:3]]
    assert after == before


@pytest.mark.parametrize(("name", "host", "hooks"), HOOKS, ids=[row[0] for row in HOOKS])
def test_hooks_add_nothing_to_what_was_imported(
    home: Path, tmp_path: Path, name: str, host: str, hooks: str
) -> None:
    path = ALL_FIXTURES / "hosts" / host / f"{hooks}.jsonl"
    imported(home, TRANSCRIPTS / name, host=host)
    hooked(home, path, host=host)
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    hooked(other, path, host=host)
    imported(other, TRANSCRIPTS / name, host=host)
    named = host != "gemini-cli"
    assert _plain(held(home), named=named) == _plain(held(other), named=named)


def _plain(rows: list[tuple[Any, ...]], *, named: bool) -> list[tuple[Any, ...]]:
    """Without the order of keys in JSON, and without who closed a turn that nothing has ended;
    without ids where the host's hooks know none (``named``)."""
    found = []
    for row in rows:
        plain = [_loaded(value) for value in row]
        if row[0] == "turn" and row[3] == "interrupted":
            plain[4] = "-"
        if not named and row[0] in ("turn", "tool"):
            plain[{"turn": 5, "tool": 2}[row[0]]] = "-"
        found.append(tuple(plain))
    return found if named else sorted(found, key=str)


@pytest.mark.parametrize("first", ["hooks", "import"])
def test_a_turn_without_ids_that_was_forgotten_is_not_told_again(home: Path, first: str) -> None:
    """Gemini CLI's hooks name nothing; the transcript does."""
    hooks = ALL_FIXTURES / "hosts" / "gemini-cli" / "session-basic.jsonl"
    ways = [
        lambda: hooked(home, hooks, host="gemini-cli"),
        lambda: imported(home, TRANSCRIPTS / "gemini-cli", host="gemini-cli"),
    ]
    ways = ways if first == "hooks" else ways[::-1]
    ways[0]()
    conn = connection.open_writer(str(home), now=LATER)
    erase.purge(conn, forget.plan(conn, [("P", 1)]), now=LATER)
    conn.close()
    before = [row for row in held(home) if row[0] in ("prompt", "tool")]
    ways[1]()
    after = [row for row in held(home) if row[0] in ("prompt", "tool")]
    assert after == before
    assert "prompt" not in [row[0] for row in after]


def _loaded(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in ("{", "["):
        return json.loads(value)
    return value


def test_times_and_branches_are_those_of_the_past(home: Path) -> None:
    imported(home, TRANSCRIPTS / "claude-code/2.1.332")
    conn = apsw.Connection(str(home / "memory.db"))
    first = conn.execute("SELECT min(created_at), min(prompt_text) FROM user_prompts").fetchall()
    assert first[0][0] == 1_795_988_494_358
    span = conn.execute("SELECT min(created_at), max(created_at) FROM observations").fetchall()[0]
    assert 1_795_988_494_358 <= span[0] <= span[1] <= 1_795_988_501_168
    branches = {row[0] for row in conn.execute("SELECT branch FROM tool_uses")}
    assert branches == {"main"}
    conn.close()
