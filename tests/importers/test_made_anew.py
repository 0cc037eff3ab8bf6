"""What `extract` made of a turn of which a later import tells more."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import scripted
from support import FIXTURES as ALL_FIXTURES
from transcribed import FIXTURES, LATER, held, hooked, imported
from transcript_script import Script

from cmem import compress, recompress, settings
from cmem.store import connection
from cmem.store.places import Wanted

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


def test_what_a_model_made_of_half_a_turn_gives_way_to_what_it_makes_of_the_whole(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = scripted.world(home, monkeypatch)
    script = Script().prompt("Raise the limit", "p1").calls("Bash", {"command": "make"}, "t1")
    path = script.result("t1", "ok", promptId="p1").write(tmp_path / "t")

    def again() -> tuple[int, list[tuple[Any, ...]]]:
        chosen = settings.load(str(home), env={}, flags={"provider": "scripted"}, trusted_env=True)
        report = recompress.recompress(
            str(home), chosen, Wanted(), options=recompress.Options(), clock=lambda: LATER
        )
        conn = world.store()
        shown = conn.execute(
            """SELECT title FROM observations WHERE superseded_by IS NULL
            UNION ALL SELECT id FROM session_summaries WHERE metadata NOT LIKE '%superseded%'"""
        ).fetchall()
        conn.close()
        return report.replaced, shown

    imported(home, tmp_path / "t")
    assert again() == (2, [("Raise the limit (3)",), (2,)])
    script.calls("Bash", {"command": "make test"}, "t2").result("t2", "2 failed", promptId="p1")
    script.says("The limit is 3 now.").write(tmp_path / "t")
    os.utime(path, (1_780_000_500, 1_780_000_500))
    imported(home, tmp_path / "t")
    assert again() == (2, [("Raise the limit (5)",), (2,)])
    assert again()[0] == 0


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
