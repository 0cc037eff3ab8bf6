"""A damaged mailbox: what can be read is saved, the file is kept, capture goes on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import apsw
import pytest
from capturing import put
from support import payload_bytes, run_cmem, run_hook, run_json

from cmem import spool_repair


def prompt(n: int) -> dict[str, Any]:
    return {
        "session_id": "s1",
        "cwd": "/home/dev/project",
        "hook_event_name": "UserPromptSubmit",
        "prompt_id": f"p{n}",
        "prompt": f"Please look at number {n}. " + "x" * 900,
    }


def capture(home: Path, n: int) -> None:
    done = run_hook(home, "UserPromptSubmit", payload_bytes(prompt(n)))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.fixture
def filled(home: Path) -> Path:
    """A home whose spool holds forty prompts on many pages, its log written back."""
    for n in range(40):
        put(home, "UserPromptSubmit", prompt(n), 1_795_988_494_000 + n)
    conn = apsw.Connection(str(home / "spool.db"))
    assert conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").get[0] == 0
    conn.close()
    return home


def overwrite(path: Path, start: int, length: int) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(b"\x00" * length)


def test_rows_on_intact_pages_are_saved_and_the_file_is_kept(filled: Path) -> None:
    size = (filled / "spool.db").stat().st_size
    overwrite(filled / "spool.db", size // 2 // 4096 * 4096, 4096)
    done = run_cmem("compress", "--all", "--json")
    assert done.returncode == 0
    prompts = run_json("status")["counts"]["prompts"]
    assert 30 <= prompts < 40
    kept = list((filled / "quarantine").glob("spool-*/spool.db"))
    assert [path.stat().st_size for path in kept] == [size]
    assert b"spool.db was damaged" in done.stderr
    assert b"quarantine" in done.stderr


@pytest.mark.parametrize("page", range(4, 19, 3))
def test_one_bad_page_costs_only_its_own_rows(page: int, filled: Path) -> None:
    """Pages of rows, that is: without the root of the table nothing leads to a row, and the
    file that is kept is all there is."""
    overwrite(filled / "spool.db", page * 4096, 4096)
    conn, told = spool_repair.open_drain(str(filled))
    assert conn is not None
    left = conn.execute("SELECT count(*) FROM spool").get
    conn.close()
    assert left >= 32
    assert told == "" or f"{left} events were saved" in told


@pytest.mark.parametrize("damage", ["header", "text", "truncated"])
def test_capture_and_compress_go_on_after_any_damage(damage: str, filled: Path) -> None:
    path = filled / "spool.db"
    if damage == "header":
        overwrite(path, 0, 4096)
    elif damage == "text":
        path.write_text("this is no database\n" * 500, encoding="ascii")
    else:
        os.truncate(path, path.stat().st_size // 2)
    capture(filled, 100)
    assert run_cmem("compress", "--json").returncode == 0
    capture(filled, 101)
    assert run_cmem("compress", "--json").returncode == 0
    found = run_json("search", "number", "--kind", "prompt", "--all", "--limit", "200")["hits"]
    titles = {hit["title"].split(".")[0] for hit in found}
    assert {"Please look at number 100", "Please look at number 101"} <= titles
    assert run_json("status")["spool"] == {"pending": 0, "spilled": 0, "dropped": 0}


def test_spool_of_a_newer_version_is_left_alone(filled: Path) -> None:
    conn = apsw.Connection(str(filled / "spool.db"))
    conn.execute("PRAGMA user_version = 99")
    conn.close()
    capture(filled, 100)
    done = run_cmem("compress")
    assert (done.returncode, done.stdout) == (78, b"")
    assert b"newer" in done.stderr
    assert not (filled / "quarantine").exists()
    assert len(list((filled / "spill").glob("*.event"))) == 1


@pytest.mark.parametrize("kind", ["link", "dangling link", "folder"])
@pytest.mark.parametrize("part", ["", "-wal", "-shm"])
def test_what_is_no_file_is_moved_out_of_the_way(
    part: str, kind: str, filled: Path, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    path = filled / f"spool.db{part}"
    path.unlink(missing_ok=True)
    if kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(victim)
    if kind == "link":
        victim.write_bytes(b"mine\n")
    capture(filled, 100)
    assert run_cmem("compress", "--json").returncode == 0
    assert run_json("status")["spool"] == {"pending": 0, "spilled": 0, "dropped": 0}
    assert run_json("status")["counts"]["prompts"] == (1 if part == "" else 41)
    assert (victim.read_bytes() == b"mine\n") if kind == "link" else not victim.exists()
    capture(filled, 101)
    assert list((filled / "spill").glob("*.event")) == []
