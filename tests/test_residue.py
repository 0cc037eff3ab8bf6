"""Forgetting reaches what lies beside the store: events and files that were put aside."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import samples
import support

from cmem import compress, forget, repair, residue, restore
from cmem.store import connection, last_run, migrations, pause
from cmem.store import forget as rows

SESSION = "5f7d2c1a-0000-4000-8000-000000000001"
TOLD = ["subtract", "operands", "return a - b"]
NOBODY = 2**22 + 1  # more than any process has


def event(payload: object, at: int = samples.NOON) -> bytes:
    return f"cmem-spill 1 claude-code Stop {at}\n".encode() + json.dumps(payload).encode()


@pytest.fixture
def littered(home: Path) -> Path:
    """A store, a backup, and every kind of file beside them; those named ``kept`` may stay."""
    conn = samples.calc(home)
    migrations.backup(conn)
    last_run.put(conn, last_run.LastRun(1, "reply: Fix subtract so that the tests pass, and"))
    pause.arm(conn, reason="a quota", until=9, step=1, fingerprint="")
    conn.close()
    now, before = samples.NOON + samples.DAY, samples.NOON - samples.DAY
    said = "He said: fix  SUBTRACT so that\nthe tests pass!"
    files = {
        f"quarantine/memory-{now}/memory.db": b"\xff" + b"Fixed subtract",
        f"quarantine/spool-{now}/spool.db": b"operands",
        f"quarantine/memory-{before}/kept": b"of another time",
        "spill/bad/1.event": event({"session_id": "other", "x": {"y": said}}),
        "spill/bad/2.event": b"no event at all: the operands were swapped; both",
        "spill/bad/kept.event": event({"session_id": "other", "text": "quite another matter"}),
        f"spill/000-000-{NOBODY}.tmp": event({"text": "subtract"}),
        f"spill/000-000-{os.getpid()}.tmp": b"kept: somebody writes it",
        "restoring/memory.db": b"subtract",
        "repairing/memory.db-wal": b"subtract",
        "backups/daily-20260101.db.tmp": b"subtract",
        "backups/daily-20260101.db.tmp-wal": b"subtract",
        f"edit-{NOBODY}-x1/memory.txt": b"title: Fixed subtract",
        f"edit-{os.getpid()}-x2/kept": b"somebody edits it",
    }
    for name, content in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return home


def left(home: Path) -> list[str]:
    """The names of all files that are neither the store nor a copy of it."""
    found = [str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()]
    return sorted(name for name in found if ".db" not in name and "lock" not in name)


KEPT = [
    f"edit-{os.getpid()}-x2/kept",
    f"quarantine/memory-{samples.NOON - samples.DAY}/kept",
    f"spill/000-000-{os.getpid()}.tmp",
    "spill/bad/kept.event",
]


def test_hard_forgetting_takes_along_what_lies_beside_the_store(littered: Path) -> None:
    assert len(forget.scan(str(littered), TOLD)) >= 10
    look = support.run_json("forget", "P1", "--hard", "--dry-run")
    assert len(look["removed_files"]) == 4
    assert len(forget.scan(str(littered), TOLD)) >= 10
    done = support.run_cmem("forget", "P1", "--hard", "--yes", "--json")
    assert json.loads(done.stdout)["removed_files"] == look["removed_files"]
    assert done.stderr.decode() == (
        "cmem: 4 files that were put aside unread went along, for nobody can take a row out of "
        f"them: {', '.join(look['removed_files'])}\n"
    )
    assert forget.scan(str(littered), TOLD) == []
    assert left(littered) == KEPT
    conn = connection.open_reader(str(littered))
    assert conn is not None
    run, paused = last_run.get(conn), pause.get(conn)
    conn.close()
    assert run is not None
    assert paused is not None
    assert (run.reason, paused.reason) == ("the reason was forgotten", "a quota")


def test_what_was_hidden_a_day_ago_goes_with_all_of_it(littered: Path) -> None:
    conn = connection.open_writer(str(littered), now=samples.NOON)
    rows.hide(conn, rows.plan(conn, [("P", 1)]), now=samples.NOON)
    told = compress._maintain(str(littered), conn, now=samples.NOON + rows.UNDO_MS)
    conn.close()
    assert len(told) == 4
    assert all(one.endswith(" went with what was forgotten") for one in told)
    assert forget.scan(str(littered), TOLD) == []
    assert left(littered) == KEPT


def test_events_of_a_session_go_with_it_and_those_that_are_named_by_a_text(home: Path) -> None:
    conn = samples.calc(home)
    folder = home / "spill" / "bad"
    folder.mkdir(parents=True)
    (folder / "1.event").write_bytes(event({"session_id": SESSION, "text": "unlike"}))
    (folder / "2.event").write_bytes(event({"session_id": "x", "a": "the Quokka\nsleeps"}))
    whole = rows.plan(conn, [("N", 1)])
    found = residue.find(str(home), conn, whole)
    assert [os.path.basename(one) for one in found.events] == ["1.event"]
    found = residue.find(str(home), conn, rows.Plan(), word="quokka sleeps")
    assert [os.path.basename(one) for one in found.events] == ["2.event"]
    assert residue.find(str(home), conn, rows.Plan()) == residue.Doomed((), (), ())
    conn.close()


def test_the_folders_that_a_killed_run_leaves_are_known() -> None:
    assert residue.WORKSHOPS == (restore.WORK, repair.WORK)
