"""What `extract` made of a turn of which a later import tells more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import FIXTURES as ALL_FIXTURES
from transcribed import FIXTURES, LATER, held, hooked, imported
from transcript_script import Script

from cmem import compress, settings
from cmem.store import connection

HOOKS = ALL_FIXTURES / "hosts" / "codex" / "session-basic.jsonl"


def told(home: Path) -> list[tuple[Any, ...]]:
    conn = connection.open_writer(str(home), now=LATER)
    found = conn.execute(
        """SELECT title, subtitle, narrative, facts, uid FROM observations
        UNION ALL SELECT request, completed, learned, notes, uid FROM session_summaries
        ORDER BY 1, 5"""
    ).fetchall()
    conn.close()
    return found


def observed(home: Path) -> None:
    chosen = settings.load(str(home), env={}, flags={"provider": "extract"}, trusted_env=False)
    compress.compress(str(home), chosen, compress.Options(), clock=lambda: LATER)


def test_a_failure_that_is_learned_later_is_told_of(home: Path, tmp_path: Path) -> None:
    hooked(home, HOOKS, host="codex")
    observed(home)
    before = told(home)
    imported(home, FIXTURES / "codex", host="codex")
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    imported(other, FIXTURES / "codex", host="codex")
    assert told(home) != before
    assert [row[:4] for row in told(home)] == [row[:4] for row in told(other)]


def test_what_a_person_has_edited_stays(home: Path) -> None:
    hooked(home, HOOKS, host="codex")
    observed(home)
    conn = connection.open_writer(str(home), now=LATER)
    conn.execute("""UPDATE observations SET metadata = '{"edited_at": 5}'""").fetchall()
    conn.close()
    before = _observations(home)
    imported(home, FIXTURES / "codex", host="codex")
    assert before[0] in _observations(home)


def _observations(home: Path) -> list[tuple[Any, ...]]:
    conn = connection.open_writer(str(home), now=LATER)
    found = conn.execute("SELECT id, uid, narrative FROM observations ORDER BY id").fetchall()
    conn.close()
    return found


@pytest.mark.parametrize("cut", [2, 3, 4])
def test_a_turn_that_goes_on_in_a_later_import_is_one(home: Path, tmp_path: Path, cut: int) -> None:
    script = (
        Script()
        .prompt("Please change the limit", "p0")
        .calls("Edit", {"file_path": "/home/dev/project/a.py"}, "toolu_1")
        .result("toolu_1", "ok")
        .calls("Bash", {"command": "make test"}, "toolu_2")
        .result("toolu_2", "1 passed")
        .says("The limit is 5 now, and `make test` passes.")
    )
    whole = list(script.lines)
    script.lines = whole[: cut + 1]
    script.write(tmp_path / "a")
    imported(home, tmp_path / "a")
    script.lines = whole
    script.write(tmp_path / "b")
    imported(home, tmp_path / "b")
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    imported(other, tmp_path / "b")
    assert held(home) == held(other)
    assert told(home) == told(other)
