"""What a session that is compacted was asked, where its prompts wait to be stored."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import capturing
import hookrun
import pytest
import samples
from context.test_block import start, text_of
from context.test_sources import LATER, middle
from support import payload_bytes, run_cmem

from cmem import spill, spooled


def asked(home: Path, session: str, *texts: str) -> None:
    """Prompts that wait in the spool, one a second."""
    if not (home / "spool.db").exists():
        spooled.create(str(home)).close()
    for number, text in enumerate(texts):
        name = f"{session}-{number}-{text[:9]}"
        payload = {"session_id": session, "cwd": "/src/p", "prompt": text, "prompt_id": name}
        capturing.put(home, "UserPromptSubmit", payload, LATER + number * 1000)


def in_a_file(home: Path, session: str, at: int, text: str) -> None:
    """A prompt that the spool could not take."""
    payload = {"session_id": session, "cwd": "/src/p", "prompt": text, "prompt_id": text[:9]}
    spill.write(
        str(home),
        host="claude-code",
        event="UserPromptSubmit",
        captured_at=at,
        payload=payload_bytes(payload),
    )


def stored(home: Path, count: int) -> None:
    """A project with a session of so many prompts."""
    conn = samples.open_store(home)
    samples.project(conn, "p", "/src/p")
    ref = samples.session(conn, 1, "s", cwd="/src/p")
    for number in range(1, count + 1):
        turn = samples.turn(conn, ref, number)
        samples.prompt(conn, ref, turn, f"stored {number}", prompt_number=number)
    conn.close()


def waiting(first: int, last: int) -> list[str]:
    return [f"- asked, not stored yet: waits {number}" for number in range(first, last - 1, -1)]


def told(home: Path, **options: int) -> list[str]:
    return middle(start(home, "/src/p", source="compact", session="s", **options))


NEW = [f"waits {number}" for number in range(20)]
SESSION = "This session so far (N1), newest first:"
NOTHING_STORED = "This session so far, newest first:"


@pytest.mark.parametrize("store", ["none", "of others"])
def test_the_very_first_prompt_that_waits_is_told_and_the_rest_counted(
    home: Path, store: str
) -> None:
    if store == "of others":
        samples.calc(home).close()
    asked(home, "s", "The goal " + "and why " * 60, *NEW)
    asked(home, "another", "not mine")
    lines = told(home)
    goal = lines.pop(14)
    assert lines == [NOTHING_STORED, *waiting(19, 8), "- 8 more prompts, not stored yet"]
    assert goal.startswith("- asked first, not stored yet: The goal and why ") and len(goal) > 400


def test_the_first_stored_prompt_is_told_beside_those_that_wait(home: Path) -> None:
    stored(home, 3)
    asked(home, "s", *NEW)
    assert told(home) == [
        SESSION,
        *waiting(19, 8),
        "- 8 more prompts, not stored yet",
        "- P3 asked: stored 3",
        "- P2 asked: stored 2",
        "- P1 asked first: stored 1",
    ]


def test_however_small_the_budget_the_task_comes_before_what_waits(home: Path) -> None:
    stored(home, 1)
    asked(home, "s", *[f"{text} " + "word " * 60 for text in NEW])
    for budget in (200, 300, 500):
        lines = told(home, budget=budget)
        count = sum("not stored yet: waits" in line for line in lines)
        assert lines[0] == SESSION and lines[-1] == "- P1 asked first: stored 1"
        assert f"- {20 - count} more prompts, not stored yet" in lines


def test_private_prompts_and_news_of_the_host_are_no_prompts(home: Path) -> None:
    notice = "<task-notification>done</task-notification>"
    asked(home, "s", "<private>mine</private>", "The goal", notice, "and the docs, half")
    conn = apsw.Connection(str(home / "spool.db"))
    conn.execute(r"UPDATE spool SET payload = replace(payload, ', half', ' \ud83d half')")
    conn.close()
    payload = {"session_id": "s", "cwd": "/src/p", "prompt": 5, "prompt_id": "odd"}
    capturing.put(home, "UserPromptSubmit", payload, LATER + 60_000)
    lines = told(home)
    assert lines[1].startswith("- asked, not stored yet: and the docs ")
    assert lines[2:] == ["- asked first, not stored yet: The goal"]


def test_the_hook_tells_them_where_there_is_no_store_yet(home: Path) -> None:
    hookrun.ready(home)
    given = {"session_id": "s", "cwd": "/src/p"}
    asked(home, "s", "The goal")
    raw = payload_bytes({"hook_event_name": "SessionStart", **given, "source": "compact"})
    document = json.loads(hookrun.fire(home, "SessionStart", raw).stdout)
    assert middle(document) == [NOTHING_STORED, "- asked, not stored yet: The goal"]


def test_a_prompt_that_lies_in_a_file_is_told_in_its_place(home: Path) -> None:
    stored(home, 1)
    asked(home, "s", "first", "third")
    in_a_file(home, "s", LATER + 500, "second " + "and more " * 40_000)
    in_a_file(home, "s", LATER + 2_000, "<private>secret</private>")
    in_a_file(home, "another", LATER + 3_000, "not mine")
    (home / "spill" / "1-2-3.event").write_bytes(b"no event")
    lines = told(home)
    assert lines[2].startswith("- asked, not stored yet: second and more and more ")
    assert len(lines.pop(2)) < 700
    assert lines == [
        SESSION,
        "- asked, not stored yet: third",
        "- asked, not stored yet: first",
        "- P1 asked first: stored 1",
    ]


def test_a_prompt_of_which_nothing_can_be_seen_is_none(home: Path) -> None:
    asked(
        home,
        "s",
        "\u200b\u200d\ufe0f",
        "The goal",
        "\u2800 \U0001d173",
        "\u200b" * 3000,
        "and docs",
    )
    assert told(home) == [
        NOTHING_STORED,
        "- asked, not stored yet: and docs",
        "- asked first, not stored yet: The goal",
    ]


@pytest.mark.parametrize("store", ["none", "of others"])
def test_the_command_tells_what_the_hook_does_of_a_session_that_only_waits(
    home: Path, tmp_path: Path, store: str
) -> None:
    if store == "of others":
        samples.calc(home).close()
    asked(home, "waits-alone", "The goal", "and docs")
    given = ("context", "--source", "compact", "--session")
    done = run_cmem(*given, "waits-alone", cwd=tmp_path)
    assert done.returncode == 0
    document = start(home, str(tmp_path), source="compact", session="waits-alone")
    assert done.stdout.decode() == text_of(document) + "\n"
    unknown = run_cmem(*given, "nobody", cwd=tmp_path)
    if store == "of others":
        hint = b"`cmem session list` shows which there are"
        assert unknown.stderr == b"cmem: no such session: nobody; " + hint + b"\n"
    assert b"The goal" not in unknown.stdout
