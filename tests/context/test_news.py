"""Notes for every project and open work that came while a session goes on, or was forked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import capturing
import hookrun
import pytest
import samples
from context.test_block import lines_of, start
from context.test_parts import wide
from context.test_sources import LATER, OWN, middle
from support import payload_bytes, run_cmem

from cmem import spooled
from cmem.model import ProjectIdentity
from cmem.store import notes, projects, state
from cmem.store.connection import transaction

GOES_ON: dict[str, dict[str, Any]] = {
    "resume": {"source": "resume", "session": OWN},
    "fork": {"source": "fork", "answered": samples.NOON},
}


def filled(home: Path, *, items: int, widely: int) -> None:
    """So many open items and notes for every project, one of each before the session began."""
    conn = samples.calc(home)
    everywhere = wide(conn)
    other = samples.project(conn, "other", "/src/other")
    for number in range(-1, max(items, widely)):
        at = LATER + number if number >= 0 else samples.NOON - 1
        note = notes.clean(notes.Note(f"Rule {number}"))
        if number < widely:
            notes.add_to(conn, note, project=everywhere, now=at)
        with transaction(conn):
            for project in (1, other) if number < items else ():
                uid, text = f"{number} {project}", f"item {number} of {project}"
                state.add(conn, text, uid=uid, project=project, session=1, branch="", now=at)
    conn.close()


@pytest.mark.parametrize("source", GOES_ON)
def test_notes_and_open_work_that_came_meanwhile_are_told(home: Path, source: str) -> None:
    filled(home, items=2, widely=2)
    document = start(home, "/src/calc", **GOES_ON[source])
    assert middle(document) == [
        "In every project:",
        "- O5 note: Rule 1 (~2 tokens)",
        "- O4 note: Rule 0 (~2 tokens)",
        "Still to be done:",
        "- W5 item 1 of 1",
        "- W3 item 0 of 1",
    ]
    known = {"O5", "W3"}
    document = start(home, "/src/calc", **GOES_ON[source], known=known)
    assert [line for line in middle(document) if line.startswith("- ")] == [
        "- O4 note: Rule 0 (~2 tokens)",
        "- W5 item 1 of 1",
    ]
    known = {"O4", "O5", "W3", "W5"}
    assert start(home, "/src/calc", **GOES_ON[source], known=known) == {}


@pytest.mark.parametrize("source", GOES_ON)
def test_of_many_that_came_meanwhile_the_rest_is_counted(home: Path, source: str) -> None:
    filled(home, items=11, widely=12)
    lines = lines_of(start(home, "/src/calc", **GOES_ON[source]))
    assert [line for line in lines if line.startswith(("- W", "- 3"))] == [
        *(f"- W{2 * number + 3} item {number} of 1" for number in range(10, 2, -1)),
        "- 3 more: `cmem state list`",
    ]
    assert [line for line in lines if line.startswith("Not shown")] == [
        "Not shown: 4 more memories are stored; see cmem search."
    ]


def test_they_are_told_once_and_not_to_the_session_that_wrote_them(home: Path) -> None:
    samples.calc(home).close()
    hookrun.ready(home)
    for session in (OWN, "other"):
        own = {"CLAUDE_CODE_SESSION_ID": session}
        run_cmem("note", "--global", f"Rule of {session}", **own)
        run_cmem("state", "add", f"Item of {session}", "--project", "calc", **own)
    payload = payload_bytes({"session_id": OWN, "cwd": "/src/calc", "source": "resume"})
    done = hookrun.fire(home, "SessionStart", payload)
    assert [line for line in middle(json.loads(done.stdout)) if line.startswith("- ")] == [
        "- O4 note: Rule of other (~4 tokens)",
        "- W2 Item of other",
    ]
    assert hookrun.silent(hookrun.fire(home, "SessionStart", payload))
    run_cmem("state", "add", "Item of OWN again", "--project", "calc")
    run_cmem("state", "add", "Done meanwhile", "--project", "calc")
    run_cmem("state", "done", "W4")
    done = hookrun.fire(home, "SessionStart", payload)
    assert middle(json.loads(done.stdout)) == ["Still to be done:", "- W3 Item of OWN again"]


def test_a_project_of_which_nothing_is_stored_gets_the_notes_for_all(home: Path) -> None:
    conn = samples.calc(home)
    everywhere: ProjectIdentity = notes.GLOBAL
    with transaction(conn):
        scope = projects.resolve(conn, everywhere, now=samples.NOON)
    for text, at in (("Before", samples.NOON - 1), ("Meanwhile", LATER)):
        notes.add_to(conn, notes.clean(notes.Note(text)), project=scope, now=at)
    conn.close()
    spooled.create(str(home)).close()
    prompt = {"session_id": "new", "cwd": "/src/new", "prompt": "Go on"}
    assert capturing.put(home, "UserPromptSubmit", prompt, samples.NOON)
    document = start(home, "/src/new", source="resume", session="new")
    assert lines_of(document)[1].startswith("cmem notes from earlier sessions of project new.")
    assert middle(document) == ["In every project:", "- O4 note: Meanwhile (~3 tokens)"]
    assert start(home, "/src/new", source="resume", session="nobody") == {}


def test_open_work_of_a_folder_that_is_no_project_is_told_there(home: Path) -> None:
    conn = samples.open_store(home)
    samples.project(conn, "unsorted", "", "unsorted")
    samples.session(conn, 1, "own", cwd="/tmp/one")
    for number, cwd in enumerate(("/tmp/one", "/tmp/two")):
        with transaction(conn):
            by_hand = notes.session_of(conn, 1, source="unsorted", cwd=cwd, now=LATER)
            text, uid = f"in {cwd}", str(number)
            state.add(conn, text, uid=uid, project=1, session=by_hand.id, branch="", now=LATER)
    conn.close()
    document = start(home, "/tmp/one", source="resume", session="own")
    assert middle(document) == ["Still to be done:", "- W1 in /tmp/one"]
