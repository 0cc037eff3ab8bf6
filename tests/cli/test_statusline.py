from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import samples
import support

from cmem import spill
from cmem.store import state
from cmem.store.connection import transaction


@pytest.fixture
def folder(home: Path, tmp_path: Path) -> Path:
    place = tmp_path / "calc it"
    git = place / ".git"
    (git / "refs").mkdir(parents=True)
    (git / "objects").mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    conn = samples.calc(home, str(place))
    key = str(git)
    samples.insert(
        conn, "project_aliases", kind="git", alias=key, project_id=1, created_at=samples.NOON
    )
    conn.close()
    return place


def shown(cwd: Path, stdin: bytes = b"", *args: str) -> str:
    done = support.run_cmem("statusline", *args, cwd=cwd, stdin=stdin)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def test_the_line_tells_what_there_is(folder: Path, home: Path) -> None:
    assert shown(folder) == "cmem: calc · 2 memories\n"
    conn = samples.open_store(home)
    with transaction(conn):
        state.add(conn, "docs", uid="w", project=1, session=1, branch="", now=samples.NOON)
    conn.close()
    spill.write(str(home), host="claude-code", event="Stop", captured_at=1, payload=b"{}")
    assert shown(folder) == "cmem: calc · 2 memories · 1 to do · 1 waiting\n"
    assert json.loads(shown(folder, b"", "--json")) == {
        "project": "calc",
        "memories": 2,
        "open": 1,
        "waiting": 1,
        "off": None,
    }
    conn = samples.open_store(home)
    with transaction(conn):
        for number in range(120):
            ref = state.add(
                conn, "x", uid=f"x{number}", project=1, session=1, branch="", now=samples.NOON
            )
            state.move(conn, ref, state=state.DONE, uid=f"d{number}", now=samples.NOON)
        for number in range(120):
            state.add(conn, "y", uid=f"y{number}", project=1, session=1, branch="", now=1)
    conn.close()
    assert shown(folder) == "cmem: calc · 2 memories · 121 to do · 1 waiting\n"


@pytest.mark.parametrize("text", ["[%.0s" * 9, "[" * 60_000, '{"cwd":' * 9_000, "9" * 9_000])
def test_what_is_no_document_of_a_host_is_none(folder: Path, text: str) -> None:
    assert shown(folder, text.encode()) == "cmem: calc · 2 memories\n"


def test_the_directory_is_the_hosts(folder: Path) -> None:
    told = json.dumps({"cwd": str(folder), "model": {}}).encode()
    assert shown(Path("/"), told) == "cmem: calc · 2 memories\n"
    for other in (b"", b"[", b"[1]", b'{"cwd": 1}', b'{"cwd": "/no/such"}', b"\xff"):
        assert shown(folder, other) == "cmem: calc · 2 memories\n"


def test_a_folder_where_memory_is_off_says_so(folder: Path) -> None:
    (folder / ".cmem-off").touch()
    assert shown(folder) == "cmem: calc · off\n"


def test_it_works_before_there_is_a_store(home: Path, tmp_path: Path) -> None:
    assert shown(tmp_path).startswith("cmem: unsorted · 0 memories")
    assert not (home / "memory.db").exists()


def test_a_silent_host_is_not_waited_for(folder: Path) -> None:
    reading, writing = os.pipe()
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "cmem", "statusline"],
        cwd=folder,
        env=support.clean_env(PYTHONPATH=str(support.ROOT)),
        stdin=reading,
        capture_output=True,
        check=True,
        timeout=30,
    )
    os.close(writing)
    os.close(reading)
    assert done.stdout.decode() == "cmem: calc · 2 memories\n"
    assert time.monotonic() - begun < 20
