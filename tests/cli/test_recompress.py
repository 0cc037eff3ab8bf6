"""``cmem recompress`` as a person and a script run it, against a model's server on loopback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import store_rows
import support
from fake_anthropic import FakeAnthropic
from support import payload_bytes, run_cmem, run_hook, run_json

RECORD = """<observation><type>bugfix</type><title>The retry limit is three</title>
<facts><fact>MAX_RETRIES went from 1 to 3</fact></facts>
<narrative>The deploy gave up before the server was up.</narrative></observation>"""
EDIT = {"file_path": "/home/dev/project/a.py", "old_string": "MAX = 1", "new_string": "MAX = 3"}


@pytest.fixture
def observed(home: Path) -> Path:
    """Two turns of a session, observed by rules."""
    for number in (1, 2):
        base = {"session_id": "s1", "cwd": "/home/dev/project", "prompt_id": f"p{number}"}
        tool = {"tool_name": "Edit", "tool_use_id": f"toolu_{number}", "tool_response": {}}
        events: list[tuple[str, dict[str, Any]]] = [
            ("UserPromptSubmit", {"prompt": f"Please raise the retry limit, step {number}."}),
            ("PostToolUse", {**tool, "tool_input": EDIT}),
            ("Stop", {"last_assistant_message": f"Raised the retry limit in step {number}."}),
        ]
        for event, payload in events:
            full = {"hook_event_name": event, **base, **payload}
            assert run_hook(home, event, payload_bytes(full)).returncode == 0
    assert run_json("compress")["observations"] == 2
    return home


def env(api: FakeAnthropic) -> dict[str, str]:
    return {"CMEM_PROVIDER": "anthropic", "CMEM_BASE_URL": api.url, "CMEM_API_KEY": "dummy"}


def titles() -> list[str]:
    found = run_json("search", "retry limit", "--kind", "observation", "--all-projects")
    return sorted(one["title"] for one in found["hits"])


def test_a_dry_run_tells_the_price_and_asks_nobody(observed: Path) -> None:
    with FakeAnthropic([]) as api:
        found = run_json("recompress", "s1", "--dry-run", **env(api))
        assert api.messages == []
    assert (found["dry_run"], found["session"]) == (True, "N1")
    assert (found["places"], found["calls"], found["done"]) == (2, 2, 0)
    assert found["cost_usd"] > 0


def test_a_script_says_yes_to_what_costs_something(observed: Path) -> None:
    with FakeAnthropic([]) as api:
        done = run_cmem("recompress", "N1", **env(api))
        assert api.messages == []
    assert done.returncode == 1
    said = done.stderr.decode()
    assert said.startswith("cmem: nothing was asked: that would be about 2 calls with ")
    assert "add --yes to do it" in said


def test_a_killed_run_pays_for_one_call_and_the_next_goes_on_and_back(observed: Path) -> None:
    before = titles()
    with FakeAnthropic({"replies": [], "default": RECORD}) as api:
        kill = {"CMEM_TEST": "1", "CMEM_FAILPOINT": "again_after_commit=kill"}
        assert run_cmem("recompress", "N1", "--yes", **env(api), **kill).returncode != 0
        report = run_json("recompress", "N1", "--yes", **env(api))
        assert len(api.messages) == 2
    assert (report["places"], report["calls"], report["left"]) == (1, 1, 0)
    assert titles() == ["The retry limit is three"]
    back = run_json("recompress", "N1", "--undo")
    assert back == {"session": "N1", "undone": 2, "shown": 2}
    assert titles() == before


def test_an_unknown_session_and_nothing_to_undo_are_told(observed: Path) -> None:
    for args, said in [
        (("N9", "--undo"), "no such session: N9"),
        (("N1", "--undo"), "nothing to undo: N1 was not observed again"),
    ]:
        done = run_cmem("recompress", *args)
        assert (done.returncode, said in done.stderr.decode()) == (1, True)


def test_a_session_that_came_with_its_memories_alone_says_why(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    conn = store_rows.open_store(home)
    project = store_rows.project(conn)
    turn = store_rows.turn(conn, store_rows.session(conn, project))
    store_rows.observation(conn, turn, "Title")
    conn.close()
    done = support.run_cmem("recompress", "N1", "--provider", "extract", CMEM_HOME=str(home))
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == (
        "N1: nothing to observe again: none of it was observed here. What was imported with its "
        "memories alone has no turns to make others of.\n"
    )
