"""Times that no clock can have told: of the far future, or none at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from capturing import put
from exported import bring_in, export, told
from transcribed import LATER, imported
from transcript_script import Script

from cmem import ingest
from cmem.store import connection

AT = 1_777_629_600_000  # of the script's first line
NEVER = "9999-12-31T23:59:59.000Z"
DAY = 86_400_000


def times(home: Path) -> list[int]:
    conn = connection.open_writer(str(home), now=LATER)
    found = conn.execute("SELECT created_at FROM user_prompts ORDER BY id").fetchall()
    conn.close()
    return [int(at) for (at,) in found]


CASES: list[tuple[str, dict[int, Any], list[int]]] = [
    ("far ahead", {2: NEVER}, [0, 1000, 4000]),
    ("the first far ahead", {0: NEVER}, [1000, 2000, 4000]),
    ("no time", {2: "yesterday"}, [0, 1000, 4000]),
    ("the first no time", {0: "", 1: None}, [2000, 2000, 4000]),
    ("seconds", {2: AT // 1000 + 2}, [0, 2000, 4000]),
    ("seconds and a fraction", {2: AT / 1000 + 2.5}, [0, 2500, 4000]),
    ("seconds as text", {2: str(AT // 1000 + 2)}, [0, 2000, 4000]),
    ("milliseconds", {0: AT + 7, 2: str(AT + 2500)}, [7, 2500, 4000]),
    ("not a number", {2: float("nan")}, [0, 1000, 4000]),
    ("without end", {2: float("inf")}, [0, 1000, 4000]),
    ("a number too large", {2: 10**17}, [0, 1000, 4000]),
]


@pytest.mark.parametrize(
    ("changed", "wanted"), [one[1:] for one in CASES], ids=[one[0] for one in CASES]
)
def test_a_line_without_a_sound_time_has_its_neighbours(
    home: Path, tmp_path: Path, changed: dict[int, Any], wanted: list[int]
) -> None:
    script = Script()
    for number in range(3):
        script.prompt(f"Question {number} of three", f"p{number}").says(f"Answer {number}")
    for number, value in changed.items():
        script.lines[number]["timestamp"] = value
    script.write(tmp_path)
    imported(home, tmp_path)
    assert times(home) == [AT + one for one in wanted]


def test_a_file_without_any_time_is_of_when_it_was_changed(home: Path, tmp_path: Path) -> None:
    script = Script().prompt("Only words", "p0").says("Answer")
    for line in script.lines:
        del line["timestamp"]
    script.write(tmp_path)
    imported(home, tmp_path)
    assert times(home) == [1_780_000_000_000]


def test_a_hook_of_a_wrong_clock_is_of_when_it_was_taken_in(home: Path) -> None:
    now = LATER
    for number, at in enumerate((now - 5, now + DAY * 900, now + DAY * 901)):
        said = {"session_id": "s1", "cwd": "/p", "prompt": f"words {number}", "prompt_id": f"{at}"}
        put(home, "UserPromptSubmit", said, at)
    conn = connection.open_writer(str(home), now=now)
    ingest.ingest(str(home), conn, now=now)
    rows = conn.execute("SELECT created_at, prompt_text FROM user_prompts ORDER BY id").fetchall()
    conn.close()
    assert rows == [(now - 5, "words 0"), (now, "words 1"), (now, "words 2")]
    # A machine whose own clock was never set knows no better.
    put(home, "UserPromptSubmit", said | {"session_id": "s2"}, now)
    conn = connection.open_writer(str(home), now=now)
    ingest.ingest(str(home), conn, now=5)
    rows = conn.execute("SELECT created_at FROM user_prompts WHERE id = 4").fetchall()
    conn.close()
    assert rows == [(now,)]


def test_a_session_of_the_future_keeps_its_order_and_its_bytes(tmp_path: Path) -> None:
    ahead = LATER + DAY * 4000
    session = {"record": "session", "uid": "u1", "host": "claude-code", "content_session_id": "c"}
    session |= {"project": "k", "project_key_source": "path", "cwd": "/p"}
    project = {"record": "project", "key": "k", "key_source": "path", "name": "k", "root": "/p"}
    turn = {"record": "turn", "session": "u1", "number": 1, "kind": "user", "opened_at": ahead}
    turn |= {"last_event_at": ahead + 50, "closed_at": ahead + 50, "closed_by": "stop"}
    lines: list[dict[str, Any]] = [
        project | {"created_at": 5, "aliases": []},
        session | {"started_at": ahead, "last_event_at": ahead + 50},
        turn | {"outcome": "stop"},
    ]
    for number in range(5):
        said = {"record": "prompt", "uid": f"p{9 - number}", "session": "u1", "turn": 1}
        said |= {"kind": "user", "native_prompt_hash": f"{number}", "prompt_text": f"{number}"}
        lines.append(said | {"prompt_number": 1, "created_at": ahead + number})
    data = b"".join(json.dumps(one).encode() + b"\n" for one in lines)
    outcomes = []
    for name in ("a", "b"):
        home = tmp_path / name
        home.mkdir(mode=0o700)
        conn = connection.open_writer(str(home), now=LATER)
        bring_in(conn, data, now=LATER)
        data = export(conn)
        outcomes.append(data)
        conn.close()
    assert outcomes[0] == outcomes[1]
    found = told(data, "prompt")
    assert [one["prompt_text"] for one in found] == ["0", "1", "2", "3", "4"]
    assert found[-1]["created_at"] <= LATER + DAY
