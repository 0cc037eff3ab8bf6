"""Where everything works the doctor says so, and leaves everything as it was."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import hookrun
import support

from cmem.doctor import place

NAMES = [
    "data home",
    "file system",
    "disk space",
    "sqlite",
    "hooks",
    "double registration",
    "interpreter",
    "launcher",
    "command",
    "spool",
    "lost events",
    "store",
    "index",
    "capture",
    "delivery",
    "work",
    "provider",
    "settings file",
    "filters",
    "hook log",
    "background runs",
]


def _remember(home: Path) -> None:
    """A recorded session, captured and observed."""
    for event, _at, payload in support.session("session-fix-subtract.jsonl"):
        hookrun.fire(home, event, support.payload_bytes(payload))
    done = support.run_cmem("compress", CMEM_HOME=str(home))
    assert done.returncode == 0, done.stderr


def _rows(home: Path) -> dict[str, list[Any]]:
    conn = apsw.Connection(str(home / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        tables = conn.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'documents_fts'"
        ).fetchall()
        return {str(name): conn.execute(f"SELECT * FROM {name}").fetchall() for (name,) in tables}
    finally:
        conn.close()


def test_with_a_memory_every_link_is_well_and_no_row_differs(installed: Any) -> None:
    _remember(installed.home)
    before = _rows(installed.home)
    assert before["user_prompts"] and before["seen_events"]
    found = installed.examine()
    assert [(one.level, one.name) for one in found] == [("ok", name) for name in NAMES]
    assert [one.fix for one in found if one.fix] == []
    (delivery,) = [one for one in found if one.name == "delivery"]
    assert delivery.detail == (
        "the test event went into memory.db, search found it, nothing of it is left"
    )
    assert _rows(installed.home) == before
    assert hookrun.kinds(installed.home) == (0, 0, 0)
    left = hookrun.everything(installed.home)
    assert b"test event of cmem doctor" not in left


def test_without_a_store_a_new_one_is_tried_and_thrown_away(installed: Any) -> None:
    found = installed.examine()
    assert {one.level for one in found} == {"ok"}
    assert [one.name for one in found] == [n for n in NAMES if n not in ("index", "work")]
    assert not (installed.home / "memory.db").exists()
    assert b"test event of cmem doctor" not in hookrun.everything(installed.home)


def test_waiting_events_of_the_user_stay_where_they_are(installed: Any) -> None:
    (event, _at, payload), *_ = support.session("session-fix-subtract.jsonl")
    hookrun.fire(installed.home, event, support.payload_bytes(payload))
    before = hookrun.entries(installed.home)
    assert len(before) == 1
    assert installed.faults() == []
    assert hookrun.entries(installed.home) == before
    assert not (installed.home / "memory.db").exists()


def test_a_kill_while_the_event_is_in_the_store_leaves_nothing_of_it(installed: Any) -> None:
    _remember(installed.home)
    before = _rows(installed.home)
    fail = {"CMEM_TEST": "1", "CMEM_FAILPOINT": "ingest_after_commit=kill"}
    done = support.run_cmem("doctor", cwd=installed.work, **fail)
    assert done.returncode == -9
    assert _rows(installed.home) == before
    assert hookrun.kinds(installed.home) == (0, 0, 0)


def test_what_a_killed_doctor_left_in_the_mailbox_goes_with_the_next_run(installed: Any) -> None:
    left = b'{"session_id": "cmem-doctor-0123", "prompt": "A test event"}'
    users = b'{"session_id": "my-cmem-doctor-0", "prompt": "A test event"}'
    for payload in (left, users):
        hookrun.fire(installed.home, "UserPromptSubmit", payload)
    assert installed.faults() == []
    assert [entry.payload for entry in hookrun.entries(installed.home)] == [users]


def test_the_document_and_the_lines(installed: Any) -> None:
    done = support.run_cmem("install", "--yes", cwd=installed.work)
    assert done.returncode == 0, done.stderr
    support.run_cmem("doctor", cwd=installed.work)  # leaves an empty spool.db behind
    document = support.run_json("doctor", cwd=installed.work)
    assert list(document) == ["ok", "findings"] and document["ok"] is True
    assert {tuple(one) for one in document["findings"]} == {("level", "name", "detail", "fix")}
    assert {one["level"] for one in document["findings"]} == {"ok"}
    shown = support.run_cmem("doctor", cwd=installed.work)
    assert (shown.returncode, shown.stderr) == (0, b"")
    lines = shown.stdout.decode().splitlines()
    known = [f"{one['level']:<6}{one['name']}: {one['detail']}" for one in document["findings"]]
    assert [line for line in lines if "MiB" not in line] == [
        line for line in known if "MiB" not in line
    ]


def test_a_broken_link_is_exit_one_with_its_fix_on_the_next_line(tmp_path: Path) -> None:
    done = support.run_cmem("doctor")
    assert (done.returncode, done.stderr) == (1, b"")
    lines = done.stdout.decode().splitlines()
    at = lines.index("error hooks: no hook of cmem is registered with Claude Code")
    assert lines[at + 1] == "       fix: cmem install"
    assert f"warn  data home: {tmp_path}/home does not exist yet{place.MADE}" in lines
    assert not (tmp_path / "home").exists()
    as_json = support.run_cmem("doctor", "--json")
    assert (as_json.returncode, json.loads(as_json.stdout)["ok"]) == (1, False)


def test_levels_are_coloured_on_a_terminal_only(installed: Any) -> None:
    installed.write(installed.settings, disableAllHooks=True)
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "cmem", "doctor"],
        cwd=installed.work,
        env=support.clean_env(PYTHONPATH=str(support.ROOT), TERM="xterm-256color"),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        check=False,
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 65_536)
        except OSError:  # the other end is closed
            break
        shown += piece
        if not piece:
            break
    os.close(ours)
    assert done.returncode == 1
    assert b"\x1b[32mok    \x1b[0m" in shown
    assert b"\x1b[1;31merror \x1b[0m" in shown
    plain = support.run_cmem("doctor", cwd=installed.work)
    assert b"\x1b" not in plain.stdout
