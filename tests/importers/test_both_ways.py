"""claude-mem's memory and the host's own transcripts of the same sessions, in either order."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
import support
from exported import bring_in, export, told
from transcribed import FIXTURES, LATER, held, imported

from cmem.importers import bring, claude_mem, claude_mem_db
from cmem.importers.bring import Brought
from cmem.store import connection, erase, forget

NATIVE = "f57d53fd-a814-42c0-ae4a-ff10dd56ff67"
SAID = (
    (1, 1795988494500, "The test for subtract fails. Please find out why and fix it."),
    (
        2,
        1795988497500,
        "Add a CHANGELOG entry, find out who else calls subtract, and commit.",
    ),
)
SAMPLE = FIXTURES / "claude-code" / "2.1.332"


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """claude-mem's database with the session of a transcript alone."""
    path = tmp_path_factory.mktemp("peer") / "claude-mem.db"
    packed = support.FIXTURES / "claude-mem" / "claude-mem-v13.db.gz"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    conn = apsw.Connection(str(path))
    for table in (*claude_mem_db.TABLES[1:], claude_mem_db.SESSIONS):
        conn.execute(f"DELETE FROM {table}").fetchall()
    _insert(
        conn,
        "sdk_sessions",
        id=9001,
        content_session_id=NATIVE,
        memory_session_id="m1",
        project="project",
        platform_source="claude",
        started_at="2026-11-29T21:41:34Z",
        started_at_epoch=SAID[0][1],
        status="active",
        prompt_counter=2,
    )
    for number, at, text in SAID:
        _insert(
            conn,
            "user_prompts",
            content_session_id=NATIVE,
            session_db_id=9001,
            prompt_number=number,
            prompt_text=text,
            created_at="2026-11-29T21:41:34Z",
            created_at_epoch=at,
        )
        _insert(
            conn,
            "observations",
            memory_session_id="m1",
            project="project",
            type="bugfix",
            title=f"Seen in turn {number}",
            narrative="subtract added",
            facts="[]",
            prompt_number=number,
            created_at="2026-11-29T21:41:34Z",
            created_at_epoch=at + 30_000,
        )
    _insert(
        conn,
        "session_summaries",
        memory_session_id="m1",
        project="project",
        request="Fix subtract",
        prompt_number=2,
        created_at="2026-11-29T21:41:34Z",
        created_at_epoch=SAID[1][1] + 60_000,
    )
    conn.close()
    return path


def _insert(conn: apsw.Connection, table: str, **values: Any) -> None:
    there = {str(row[1]) for row in conn.execute(f"PRAGMA table_info({table})")}
    values = {name: value for name, value in values.items() if name in there}
    marks = ", ".join("?" * len(values))
    conn.execute(
        f"INSERT INTO {table}({', '.join(values)}) VALUES({marks})", tuple(values.values())
    ).fetchall()


def theirs(home: Path, path: Path) -> Brought:
    conn = connection.open_writer(str(home), now=LATER)
    try:
        with claude_mem_db.opened(str(path)) as found:
            items = claude_mem.items(found, conn, {"HOME": "/nowhere"})
            return bring.bring(conn, items, now=LATER)
    finally:
        conn.close()


def whole(home: Path) -> list[dict[str, Any]]:
    """The store as records, without what depends on when it was filled."""
    conn = connection.open_writer(str(home), now=LATER)
    records = [json.loads(line) for line in export(conn).splitlines()]
    conn.close()
    names = {one["key"]: one["name"] for one in records if one.get("record") == "project"}
    for one in records:
        if "project" in one:
            one["project"] = names[one["project"]]
        one.pop("run_id", None)
    return [one for one in records if one.get("record") != "project"]


def ways(tmp_path: Path, peer: Path) -> list[Path]:
    """Two stores: claude-mem first, and the transcripts first."""
    homes = [tmp_path / "first", tmp_path / "second"]
    for home in homes:
        home.mkdir(mode=0o700)
    theirs(homes[0], peer)
    imported(homes[0], SAMPLE)
    imported(homes[1], SAMPLE)
    theirs(homes[1], peer)
    return homes


def test_either_order_gives_the_same_store(tmp_path: Path, peer: Path) -> None:
    first, second = ways(tmp_path, peer)
    assert held(first) == held(second)
    prompts = [row for row in held(first) if row[0] == "prompt" and row[2] == "user"]
    assert len(prompts) == 3
    assert len([row for row in held(first) if row[0] == "tool" and row[1] != "SubagentStop"]) == 13
    left, right = whole(first), whole(second)
    assert left == right


def test_a_second_run_of_each_adds_nothing(tmp_path: Path, peer: Path) -> None:
    for home in ways(tmp_path, peer):
        before = whole(home)
        assert theirs(home, peer).total("new") == 0
        imported(home, SAMPLE)
        assert whole(home) == before


def _search_prompt(home: Path, text: str) -> list[tuple[Any, ...]]:
    conn = connection.open_writer(str(home), now=LATER)
    found = conn.execute("SELECT prompt_text FROM user_prompts WHERE prompt_text = ?", (text,))
    rows = found.fetchall()
    conn.close()
    return rows


@pytest.mark.parametrize("purged", [True, False], ids=["purged", "hidden"])
@pytest.mark.parametrize("first", ["claude-mem", "transcripts"])
def test_a_forgotten_prompt_comes_back_neither_way(
    tmp_path: Path, peer: Path, first: str, *, purged: bool
) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    steps: list[Callable[[], object]] = [
        lambda: theirs(home, peer),
        lambda: imported(home, SAMPLE),
    ]
    steps = steps if first == "claude-mem" else steps[::-1]
    steps[0]()
    conn = connection.open_writer(str(home), now=LATER)
    ((ref,),) = conn.execute("SELECT id FROM user_prompts WHERE prompt_text = ?", (SAID[0][2],))
    plan = forget.plan(conn, [("P", ref)])
    if purged:
        erase.purge(conn, plan, now=LATER)
    else:
        forget.hide(conn, plan, now=LATER)
    conn.close()
    before = _search_prompt(home, SAID[0][2])
    steps[1]()
    assert _search_prompt(home, SAID[0][2]) == before
    assert "Bash" in {row[1] for row in held(home) if row[0] == "tool"}  # the other turn came in
    conn = connection.open_writer(str(home), now=LATER)
    shown = [one["prompt_text"] for one in told(export(conn), "prompt")]
    conn.close()
    assert SAID[0][2] not in shown
    assert SAID[1][2] in shown


def test_a_store_with_claude_mems_prompt_takes_an_export_of_the_hosts_own(
    tmp_path: Path, peer: Path
) -> None:
    homes = [tmp_path / "one", tmp_path / "two"]
    for home in homes:
        home.mkdir(mode=0o700)
    theirs(homes[0], peer)
    imported(homes[1], SAMPLE)
    lines = []
    for home in homes:
        conn = connection.open_writer(str(home), now=LATER)
        lines.append(export(conn))
        conn.close()
    for home, data in zip(homes, reversed(lines), strict=True):
        conn = connection.open_writer(str(home), now=LATER)
        bring_in(conn, data, now=LATER)
        conn.close()
    of_past = [[row for row in held(home) if row[0] != "unit"] for home in homes]
    assert of_past[0] == of_past[1]
    kinds = ("prompt", "tool_use", "observation", "summary")
    left, right = (
        [(one["record"], one["uid"]) for one in whole(home) if one.get("record") in kinds]
        for home in homes
    )
    assert left == right
