from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import capturing
import hookrun
import pytest
import samples
from context.test_block import lines_of, start, text_of
from support import payload_bytes, run_cmem

from cmem import spooled, tokens
from cmem.context import block, inject, select
from cmem.store import current
from cmem.store.rows import rows

OWN = "5f7d2c1a-0000-4000-8000-000000000001"
LATER = samples.NOON + samples.DAY


def middle(document: dict[str, Any]) -> list[str]:
    """The lines between economics and footer."""
    return [line for line in lines_of(document)[3:-1] if not line.startswith("Look closer")]


def test_a_compaction_gives_back_what_was_asked_and_done(home: Path) -> None:
    conn = samples.calc(home)
    told = "All is green now.\n\nMore of it."
    turn = samples.turn(conn, 1, 2, assistant_message=told)
    samples.prompt(conn, 1, turn, "Add a test\nfor divide", created_at=samples.NOON + 9000)
    conn.close()
    assert middle(start(home, "/src/calc", source="compact", session=OWN))[:8] == [
        "This session so far (N1), newest first:",
        "- P2 asked: Add a test for divide",
        "  · answered: All is green now.",
        "- P1 asked first: Fix subtract so that the tests pass",
        "- O2 decision: unittest, not pytest (~60 tokens)",
        "  · The user wants the standard library's unittest.",
        "- O1 bugfix: Fixed subtract (~60 tokens)",
        "  · calc.py: `return b - a` became `return a - b`",
    ]


def test_a_compacted_sessions_own_summary_can_be_asked_for(home: Path) -> None:
    samples.calc(home).close()
    told: list[str] = []
    document = start(home, "/src/calc", source="compact", session=OWN, told=told)
    assert middle(document)[-2:] == [
        "- S1 completed: subtract returns a - b",
        "- S1 next steps: add a test for divide",
    ]
    assert lines_of(document)[2].startswith("Shown: 2 memories, 1 summary, 1 prompt for ")
    assert sorted(told) == ["O1", "O2", "P1", "S1"]


def test_where_nothing_can_be_seen_no_line_is_empty(home: Path) -> None:
    conn = samples.calc(home)
    unseen = "\u200d\ufe0f\u200b\x1b[0m"
    turn = samples.turn(conn, 1, 2, assistant_message=unseen)
    samples.prompt(conn, 1, turn, unseen, created_at=samples.NOON + 9000)
    given = {"command": unseen, "file_path": unseen}
    for tool in ("Bash", "Edit"):
        samples.tool(conn, 1, turn, tool, given, {})
    conn.execute("UPDATE session_summaries SET request = ?", (unseen,))
    conn.close()
    lines = middle(start(home, "/src/calc", source="compact", session=OWN))
    assert lines[:3] == [
        "This session so far (N1), newest first:",
        "- P2 asked: (no text)",
        "- P1 asked first: Fix subtract so that the tests pass",
    ]
    assert lines[-2:] == [
        "- S1 completed: subtract returns a - b",
        "- S1 next steps: add a test for divide",
    ]


def test_a_compaction_of_a_session_nobody_knows_gives_the_block(home: Path) -> None:
    samples.calc(home).close()
    assert start(home, "/src/calc", source="compact", session="new") == start(home, "/src/calc")


def test_what_came_from_outside_or_is_private_is_not_given_back(home: Path) -> None:
    conn = samples.calc(home)
    planted = samples.turn(conn, 1, 2, assistant_message="Planted answer")
    samples.prompt(conn, 1, planted, "read that page")
    samples.tool(conn, 1, planted, "WebFetch", {}, {}, taint="external")
    samples.observation(conn, 1, 1, planted, title="Planted row", taint="external")
    secret = samples.turn(conn, 1, 3, private=1, assistant_message="Secret answer")
    samples.prompt(conn, 1, secret, "Secret prompt")
    gone = samples.turn(conn, 1, 4, assistant_message="Secret answer")
    samples.prompt(conn, 1, gone, "Secret forgotten", hidden_at=1)
    conn.close()
    text = text_of(start(home, "/src/calc", source="compact", session=OWN))
    assert "asked: read that page" in text
    assert "Planted" not in text and "Secret" not in text


@pytest.mark.parametrize("budget", [200, 500, 2000, 100_000])
@pytest.mark.parametrize("filler", ["word ", "修复减法", "🦀 "])
def test_a_long_session_leaves_room_for_the_rest(home: Path, budget: int, filler: str) -> None:
    conn = samples.calc(home)
    for number in range(2, 40):
        turn = samples.turn(conn, 1, number, assistant_message=filler * 300)
        samples.prompt(conn, 1, turn, f"{number} {filler * 200}")
        if number % 2:
            samples.observation(
                conn, 1, 1, turn, title=f"{number} {filler * 30}", facts=[filler * 99] * 9
            )
    conn.close()
    document = start(home, "/src/calc", source="compact", session=OWN, budget=budget)
    text = text_of(document) if document else ""
    assert tokens.count(text) <= budget
    assert select.utf16(text) <= block.MAX_UNITS
    if budget >= 2000:
        assert "asked: 39 " in text
        assert "asked first: Fix subtract " in text and "- O2 decision" in text
        assert "- S1 next steps: add a test for divide" in text and "Last session" not in text


def test_a_resumed_session_gets_only_what_others_added_since(home: Path) -> None:
    conn = samples.calc(home)
    other = samples.session(conn, 1, "other")
    turn = samples.turn(conn, other, 1)
    samples.observation(conn, 1, other, turn, title="Known before")
    resumed = {"source": "resume", "session": OWN}
    assert start(home, "/src/calc", **resumed) == {}
    samples.observation(conn, 1, 1, 1, title="Its own", created_at=LATER)
    samples.observation(conn, 1, other, turn, title="Added since", created_at=LATER)
    samples.summary(conn, 1, other, turn, completed="Released", created_at=LATER)
    conn.close()
    found = middle(start(home, "/src/calc", **resumed))
    assert found[0].startswith("Last session (S2 of N2, ")
    assert found[1] == "- completed: Released"
    assert found[2].startswith("New since this session, of ")
    assert found[3:] == ["- O5 bugfix: Added since (~60 tokens)"]
    assert start(home, "/src/calc", source="resume", session="nobody") == {}


def test_a_session_that_is_resumed_again_is_told_only_what_came_meanwhile(home: Path) -> None:
    hookrun.ready(home)
    conn = samples.calc(home)
    turn = samples.turn(conn, samples.session(conn, 1, "other"), 1)
    given = {"session_id": OWN, "cwd": "/src/calc", "source": "resume"}
    raw = payload_bytes({"hook_event_name": "SessionStart", **given})
    for title, number in (("First", 3), ("Second", 4)):
        samples.observation(conn, 1, 2, turn, title=title, created_at=LATER)
        done = hookrun.fire(home, "SessionStart", raw)
        assert middle(json.loads(done.stdout))[1:] == [f"- O{number} bugfix: {title} (~60 tokens)"]
        assert hookrun.silent(hookrun.fire(home, "SessionStart", raw))
    conn.close()


def test_a_note_that_a_session_has_written_itself_is_not_new_to_it(home: Path) -> None:
    samples.calc(home).close()
    told = "Releases are cut from the branch stable."
    for session, text in ((OWN, told), ("other", "Told by another.")):
        run_cmem("note", text, "--project", "calc", CLAUDE_CODE_SESSION_ID=session)
    hookrun.ready(home)
    given = {"session_id": OWN, "cwd": "/src/calc", "source": "resume"}
    done = hookrun.fire(home, "SessionStart", payload_bytes(given))
    assert [line for line in middle(json.loads(done.stdout)) if line.startswith("- ")] == [
        "- O4 note: Told by another. (~5 tokens)"
    ]


@pytest.mark.parametrize("source", ["resume", "compact", "fork"])
def test_each_source_gives_the_same_bytes_again(home: Path, source: str) -> None:
    conn = samples.calc(home)
    other = samples.session(conn, 1, "other")
    turn = samples.turn(conn, other, 1)
    samples.observation(conn, 1, other, turn, title="Added since", created_at=LATER)

    def printed() -> bytes:
        return inject.session_start(
            str(home),
            source=source,
            cwd="/src/calc",
            repo=("", "", "", ""),
            project_env="",
            budget=2000,
            session=OWN,
        )

    before = printed()
    elsewhere = samples.project(conn, "other", "/src/other")
    session = samples.session(conn, elsewhere, "elsewhere", cwd="/src/other")
    turn = samples.turn(conn, session, 1)
    samples.observation(conn, elsewhere, session, turn, title="Unrelated", created_at=LATER)
    conn.close()
    assert before and printed() == before


@pytest.mark.parametrize(
    ("query", "values"),
    [
        (current.SESSION.format("?, ?"), ("claude-code", "codex", "x")),
        (current.NEWEST, (1, 12)),
        (current.FIRST, (1, 1)),
        (current.COUNT, (1,)),
        (current.CALLS, (1, 80)),
        (current.SUMMARY, (1,)),
        (current.OBSERVATIONS, (1, 30)),
        (current.ENDED.format("?, ?"), (1, 2, 3, 500, 50, "claude-code", "codex")),
        (current.IN_A_TURN.format("?, ?"), (1, 2, 3, 500, 50, "claude-code", "codex")),
    ],
)
def test_no_statement_scans_or_sorts(home: Path, query: str, values: tuple[str | int, ...]) -> None:
    conn = samples.calc(home)
    plan = [str(step[3]) for step in rows(conn, "EXPLAIN QUERY PLAN " + query, values)]
    conn.close()
    assert not any(step.startswith("SCAN") for step in plan), plan
    assert query.startswith("SELECT id, started") or not any("TEMP" in step for step in plan), plan


def test_a_compaction_in_the_middle_of_a_turn_tells_what_was_done(home: Path) -> None:
    conn = samples.calc(home)
    for number in range(2, 60):
        turn = samples.turn(conn, 1, number)
        samples.prompt(conn, 1, turn, f"prompt {number}", prompt_number=number)
    for number in range(14):
        given = {"file_path": f"/src/calc/b{number}.py", "old_string": "x" * 600}
        samples.tool(conn, 1, turn, "Edit", given, {})
    samples.tool(conn, 1, turn, "Read", {"file_path": "/src/calc/only_read.py"}, {})
    samples.tool(conn, 1, turn, "Bash", {"command": "pytest -q"}, {})
    conn.close()
    payload = {"session_id": OWN, "cwd": "/src/calc", "prompt": "and the docs", "prompt_id": "w"}
    spooled.create(str(home)).close()
    capturing.put(home, "UserPromptSubmit", payload, LATER)
    lines = middle(start(home, "/src/calc", source="compact", session=OWN))
    assert lines[:5] == [
        "This session so far (N1), newest first:",
        "- asked, not stored yet: and the docs",
        "- P59 asked: prompt 59",
        "  · changed: " + ", ".join(f"b{n}.py" for n in range(13, 1, -1)) + " and 2 more files",
        "  · ran: pytest -q",
    ]
    earlier = next(line for line in lines if " earlier prompts: " in line)
    shown = sum(" asked" in line for line in lines) - 1
    assert earlier == f"- {59 - shown} earlier prompts: `cmem session show N1`"
    assert "- P1 asked first: Fix subtract so that the tests pass" in lines
    assert not any("only_read" in line for line in lines)


def test_what_a_turn_ran_is_not_told_where_it_read_from_outside(home: Path) -> None:
    conn = samples.calc(home)
    turn = samples.turn(conn, 1, 2)
    samples.prompt(conn, 1, turn, "look it up")
    samples.tool(conn, 1, turn, "WebFetch", {"url": "x"}, {}, taint="external")
    samples.tool(conn, 1, turn, "Bash", {"command": "echo planted"}, {})
    samples.tool(conn, 1, turn, "Edit", {"file_path": "/src/calc/a.py"}, {})
    conn.close()
    lines = middle(start(home, "/src/calc", source="compact", session=OWN))
    assert lines[1:3] == ["- P2 asked: look it up", "  · changed: a.py"]
    assert not any("planted" in line for line in lines)


def test_a_resumed_session_is_told_what_others_did_beside_it(home: Path) -> None:
    conn = samples.calc(home)
    other = samples.session(conn, 1, "other")
    turn = samples.turn(conn, other, 1)
    at = samples.NOON + samples.HOUR // 2  # its last event was later
    samples.observation(conn, 1, other, turn, title="Beside it", created_at=at)
    conn.close()
    found = middle(start(home, "/src/calc", source="resume", session=OWN))
    assert found[1:] == ["- O3 bugfix: Beside it (~60 tokens)"]
