"""``cmem state``: open work of a project, opened and closed by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import samples
from support import run_cmem, run_json

from cmem import forget as residue
from cmem.store import connection, copies, migrations, state, stored_text
from cmem.store.rows import rows

RETRY = "Move the retry limit into the settings"


def add(text: str, *options: str, cwd: Path | None = None) -> str:
    found: str = run_json("state", "add", text, *options, cwd=cwd)["id"]
    return found


def listed(*options: str, cwd: Path | None = None) -> list[tuple[str, str, str]]:
    items = run_json("state", "list", *options, cwd=cwd)["items"]
    return [(one["id"], one["state"], one["text"]) for one in items]


@pytest.fixture
def folders(home: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Two projects; the first one's path has a space in it."""
    assert home
    made = []
    for name in ("one project", "two"):
        for part in ("objects", "refs"):
            (tmp_path / name / ".git" / part).mkdir(parents=True)
        head = tmp_path / name / ".git" / "HEAD"
        head.write_text("ref: refs/heads/main\n", encoding="utf-8")
        made.append(tmp_path / name)
    return made[0], made[1]


def test_items_are_opened_listed_done_and_opened_again(folders: Any) -> None:
    here, _ = folders
    assert add(RETRY, cwd=here) == "W1"
    assert add("再試行の上限", cwd=here) == "W2"
    assert listed(cwd=here) == [("W2", "open", "再試行の上限"), ("W1", "open", RETRY)]
    assert run_json("state", "done", "w1", cwd=here) == {
        "ids": ["W1"],
        "state": "done",
        "changed": ["W1"],
    }
    assert listed(cwd=here) == [("W2", "open", "再試行の上限")]
    assert listed("--done", cwd=here)[1] == ("W1", "done", RETRY)
    assert run_json("state", "done", "1")["changed"] == []
    assert run_json("state", "done", "W1", "--undo")["changed"] == ["W1"]
    assert len(listed(cwd=here)) == 2


def test_an_item_is_named_by_its_id_like_everything_else(folders: Any) -> None:
    here, _ = folders
    add(RETRY, cwd=here)
    add("Two", cwd=here)
    run_json("state", "done", "W1")
    told = run_json("get", "w1", "#W2", cwd=here)["items"]
    assert [(one["id"], one["kind"], one["state"], one["text"]) for one in told] == [
        ("W1", "open_work", "done", RETRY),
        ("W2", "open_work", "open", "Two"),
    ]
    assert told[0]["changed_at"] > told[0]["created_at"]
    lines = run_cmem("get", "W2", cwd=here).stdout.decode().splitlines()
    assert lines[1].startswith("Two  open since ")
    # W3 is no item: it is the entry that closed W1.
    assert run_cmem("get", "W3", cwd=here).returncode == 1
    raw = run_cmem("raw", "W2", cwd=here)
    assert (raw.stdout, raw.stderr) == (b"", b"cmem: no tool calls behind that\n")
    assert run_json("timeline", "W2", cwd=here) == {"anchor": "W2", "items": []}
    assert run_json("forget", "W2", "--yes", cwd=here)["ids"] == ["W2"]
    assert run_cmem("get", "W2", cwd=here).returncode == 1


def test_the_same_item_twice_is_one_as_long_as_it_is_open(folders: Any) -> None:
    here, there = folders
    assert add(RETRY, cwd=here) == "W1"
    again = run_json("state", "add", f"  {RETRY} ", cwd=here)
    assert again == {"id": "W1", "state": "open", "text": RETRY, "new": False}
    assert run_cmem("state", "add", RETRY, cwd=here).stdout.decode() == (
        f"W1 is open already: {RETRY}\n"
    )
    assert add(RETRY, cwd=there) == "W2"
    run_json("state", "done", "W1", cwd=here)
    assert add(RETRY, cwd=here) == "W4"
    assert listed(cwd=here) == [("W4", "open", RETRY)]


def test_an_id_stays_and_nothing_is_rewritten(folders: Any, home: Path) -> None:
    here, _ = folders
    add(RETRY, cwd=here)
    run_json("state", "done", "W1")
    run_json("state", "done", "W1", "--undo")
    assert add("Another", cwd=here) == "W4"
    conn = connection.open_reader(str(home))
    assert conn is not None
    found = rows(conn, "SELECT id, item, state, text FROM work_state_entries")
    conn.close()
    assert found == [
        (1, 1, "open", RETRY),
        (2, 1, "done", ""),
        (3, 1, "open", ""),
        (4, 4, "open", "Another"),
    ]


def test_each_project_has_its_own(folders: Any) -> None:
    here, there = folders
    add(RETRY, cwd=here)
    add("Two", cwd=there)
    assert listed(cwd=there) == [("W2", "open", "Two")]
    assert len(listed("--all-projects", cwd=there)) == 2
    assert listed("--project", "one project", cwd=there) == [("W1", "open", RETRY)]
    assert add("Three", "--project", "two", cwd=here) == "W3"
    assert [one[0] for one in listed(cwd=there)] == ["W3", "W2"]


def test_the_session_start_query_needs_no_scan_and_no_sort(folders: Any, home: Path) -> None:
    add(RETRY, cwd=folders[0])
    conn = connection.open_reader(str(home))
    assert conn is not None
    plan = list(rows(conn, f"EXPLAIN QUERY PLAN {state._ITEMS}", (1, 0)))
    conn.close()
    assert not [step for *_, step in plan if step.startswith("SCAN")]
    # The few entries of one item are sorted, the items are not.
    assert not [step for _, parent, _, step in plan if not parent and "TEMP B-TREE" in step]


def test_secrets_are_cut_and_forgetting_leaves_no_byte_not_even_in_backups(
    folders: Any, home: Path
) -> None:
    here, _ = folders
    token = "gh" + "p_" + "a1B2c3D4e5" * 4  # put together here: no file holds one
    add(f"Quokka {token}", cwd=here)
    add("Stay", cwd=here)
    assert residue.scan(str(home), [token]) == []
    conn = connection.open_writer(str(home), now=samples.NOON)
    migrations.backup(conn)
    conn.close()
    assert len(copies.paths(str(home))) == 1
    assert run_json("forget", "W1", "--hard")["counts"]["states"] == 1
    assert residue.scan(str(home), ["quokka"]) == []
    assert listed(cwd=here) == [("W2", "open", "Stay")]


def test_forgetting_by_text_hides_all_entries_until_undone(folders: Any) -> None:
    here, _ = folders
    add(RETRY, cwd=here)
    run_json("state", "done", "W1")
    assert run_json("forget", "--match", "RETRY limit", "--yes")["counts"]["states"] == 2
    assert listed("--done", cwd=here) == []
    run_json("forget", "W1", "--undo")
    assert listed("--done", cwd=here) == [("W1", "done", RETRY)]


def test_a_store_of_an_older_schema_has_none_and_is_read(home: Path) -> None:
    samples.calc(home).close()
    conn = connection.open_writer(str(home), now=samples.NOON)
    conn.execute("DROP TABLE work_state_entries").fetchall()
    assert state.items(conn, [1]) == []
    assert stored_text.count(conn) > 0
    assert {one.kind for one in stored_text.every(conn)} >= {"O", "P", "T"}
    conn.close()


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("add",), 2, "say what is to be done, or - to read it from standard input"),
        (("add", " "), 1, "the item is empty; say what is to be done"),
        (("add", "x" * 3000), 1, "an item takes at most 2000 characters; `cmem note` takes more"),
        (("add", "x", "--project", "nope"), 1, "no such project: nope"),
        (("done", "W9", "x"), 1, "no such item: W9, x; `cmem state list` shows them"),
    ],
    ids=["nothing", "blank", "long", "project", "unknown"],
)
def test_what_cannot_be_done_is_refused(
    folders: Any, args: tuple[str, ...], code: int, message: str
) -> None:
    done = run_cmem("state", *args, "--json", cwd=folders[0])
    assert (done.returncode, done.stdout) == (code, b"")
    assert done.stderr.decode().startswith(f"cmem: {message}")


def test_a_list_in_a_pipe_has_a_line_for_each_item(folders: Any) -> None:
    add(RETRY, cwd=folders[0])
    done = run_cmem("state", "list", cwd=folders[0])
    (line,) = done.stdout.decode().splitlines()
    assert line.startswith("W1  ")
    assert line.endswith(f"open  {RETRY} [main]")
