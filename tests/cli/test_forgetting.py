from __future__ import annotations

import json
from pathlib import Path

import pytest
import samples
import support

from cmem import forget as residue
from cmem import lock, paths

WHOLE = {"observations": 2, "summaries": 1, "prompts": 1, "tool_uses": 2, "states": 0}


@pytest.fixture
def stored(home: Path) -> Path:
    samples.calc(home).close()
    return home


def failing(*args: str) -> tuple[int, str, str]:
    done = support.run_cmem(*args)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def counts() -> dict[str, int]:
    found: dict[str, int] = support.run_json("status")["counts"]
    return found


def test_dry_run_counts_and_changes_nothing(stored: Path) -> None:
    before = counts()
    assert support.run_json("forget", "P1", "--dry-run") == {
        "ids": ["P1"],
        "projects": [{"id": 1, "name": "calc", "root": "/src/calc"}],
        "counts": WHOLE,
        "total": 6,
        "hard": False,
        "dry_run": True,
        "done": False,
        "removed_files": [],
    }
    assert counts() == before


def test_in_a_pipe_a_row_named_by_its_id_goes_without_yes(stored: Path) -> None:
    assert support.run_json("forget", "O1")["done"] is True
    assert counts()["observations"] == 1


def test_an_observation_is_no_session(stored: Path) -> None:
    """As a number it named session 2, and the wrong memories were gone for good."""
    assert failing("forget", "--session", "O1", "--hard", "--yes") == (
        1,
        "",
        "cmem: no such memory: O1\n",
    )
    assert counts()["observations"] == 2


def test_in_a_pipe_a_whole_session_needs_yes(stored: Path) -> None:
    assert failing("forget", "--session", "N1") == (
        1,
        "",
        "cmem: nothing was forgotten: that would be 2 observations, 1 summary, 1 prompt, "
        "2 tool uses in calc (1, /src/calc); add --yes to do it\n",
    )
    assert counts()["observations"] == 2


def test_hide_and_undo(stored: Path) -> None:
    assert support.run_json("forget", "P1", "--yes")["done"] is True
    assert counts() == {
        "sessions": 0,
        "prompts": 0,
        "tool_uses": 0,
        "observations": 0,
        "summaries": 0,
    }
    code, out, err = failing("get", "O1")
    assert (code, out) == (1, "") and err.startswith("cmem: no such memory: O1; ")
    assert support.run_json("search", "subtract", "--all")["hits"] == []
    assert support.run_json("forget", "P1", "--undo") == {"ids": ["P1"], "undone": 6}
    assert counts()["observations"] == 2
    assert failing("forget", "P1", "--undo")[0] == 1


@pytest.mark.parametrize("ids", [["P1"], ["--session", "1"], ["--session", "5f7d2c1a"], ["N1"]])
def test_hard_leaves_no_byte(stored: Path, ids: list[str]) -> None:
    assert support.run_json("forget", *ids, "--hard", "--yes")["counts"] == WHOLE
    assert residue.scan(str(stored), ["subtract", "operands", "return a - b"]) == []
    assert failing("forget", "O1", "--yes")[0] == 1


def test_unknown_among_known(stored: Path) -> None:
    code, out, err = failing("forget", "O1", "O99", "--yes", "--json")
    assert (code, err) == (1, "cmem: no such memory: O99\n")
    assert json.loads(out)["done"] is True
    assert failing("forget", "O99", "--yes") == (1, "", "cmem: no such memory: O99\n")
    assert failing("forget") == (
        2,
        "",
        "cmem: say what to forget: ids such as O12, or --session, --project, --match, --since\n",
    )


def test_what_waits_in_the_spool_goes_along(stored: Path) -> None:
    payload = {
        "session_id": "5f7d2c1a-0000-4000-8000-000000000001",
        "hook_event_name": "UserPromptSubmit",
        "cwd": "/src/calc",
        "prompt": "a zanzibar prompt of the same session",
        "prompt_id": "p-2",
    }
    done = support.run_hook(stored, "UserPromptSubmit", support.payload_bytes(payload))
    assert done.returncode == 0
    assert residue.scan(str(stored), ["zanzibar"]) != []
    assert support.run_json("forget", "--session", "N1", "--hard", "--yes")["total"] == 7
    assert residue.scan(str(stored), ["zanzibar", "subtract"]) == []


def test_a_running_compress_is_waited_for(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cmem.cli import forget
    from cmem.errors import BusyError

    fd = lock.acquire(paths.lock_file(str(stored)))
    assert fd is not None
    monkeypatch.setattr("cmem.cli.writing.LOCK_WAIT_MS", 0)
    values = {
        "ids": ["O1"],
        "session": [],
        "project": None,
        "match": None,
        "since": None,
        "until": None,
        "hard": False,
        "undo": False,
        "yes": True,
        "dry_run": False,
        "json": True,
    }
    with pytest.raises(BusyError):
        forget.run(values)
    lock.release(fd)
    assert forget.run(values) == 0
