"""Databases of claude-mem with rows that are not as they should be: each of the others comes in,
and of these what can be read."""

from __future__ import annotations

import gzip
import os
from collections import Counter
from pathlib import Path

import apsw
import support
from exported import export, store, told

from cmem.importers import bring, claude_mem, claude_mem_db
from cmem.importers.bring import Brought

NOW = 1_796_000_000_000
AT = 1_795_903_600_000


def change(path: Path, *statements: str) -> None:
    conn = apsw.Connection(str(path))
    for statement in statements:
        conn.execute(statement)
    conn.close()


def bring_in(conn: apsw.Connection, path: Path) -> Brought:
    with claude_mem_db.opened(str(path)) as found:
        items = claude_mem.items(found, conn, {"HOME": os.environ["HOME"]})
        return bring.bring(conn, items, now=NOW)


def test_text_that_is_no_utf8_is_replaced_and_takes_no_other_along(tmp_path: Path) -> None:
    path = tmp_path / "claude-mem.db"
    fixture = support.FIXTURES / "claude-mem" / "claude-mem-v13.db.gz"
    path.write_bytes(gzip.decompress(fixture.read_bytes()))
    broken = "CAST(x'ff41' AS TEXT)"
    change(
        path,
        f"UPDATE observations SET title = {broken} WHERE id = 4",
        f"UPDATE sdk_sessions SET memory_session_id = {broken} WHERE id = 3",
        f"UPDATE observations SET memory_session_id = {broken} WHERE memory_session_id NOT IN "
        "(SELECT memory_session_id FROM sdk_sessions WHERE memory_session_id IS NOT NULL)",
        f"UPDATE tool_uses SET tool_response = {broken}, project = {broken} WHERE id = 2",
    )
    conn = store(tmp_path / "b")
    found = bring_in(conn, path)
    assert (found.bad, found.counts["observation", "new"], found.counts["summary", "new"]) == (
        0,
        211,
        24,
    )
    titles = [one["title"] for one in told(export(conn), "observation")]
    assert [one for one in titles if "A" in one and "\ufffd" in one] == ["\ufffdA"]
    assert bring_in(conn, path).total("new") == 0
    home = str(tmp_path / "c")
    done = support.run_cmem("import", "claude-mem", str(path), "--dry-run", CMEM_HOME=home)
    assert b"Text that is not UTF-8 was mended in " in done.stdout


def test_rows_that_name_no_session_come_in(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    change(
        path,
        "CREATE TABLE sdk_sessions(id INTEGER PRIMARY KEY, content_session_id TEXT, "
        "memory_session_id TEXT, project TEXT, started_at_epoch INTEGER)",
        "CREATE TABLE observations(project TEXT, type TEXT, title TEXT, created_at_epoch INTEGER)",
        "CREATE TABLE session_summaries(memory_session_id TEXT, request TEXT, "
        "created_at_epoch INTEGER)",
        "CREATE TABLE user_prompts(session_db_id INTEGER, content_session_id TEXT, "
        "prompt_number INTEGER, prompt_text TEXT, created_at_epoch INTEGER)",
        f"INSERT INTO sdk_sessions VALUES(1, 'c1', 's1', 'shop', {AT})",
        f"INSERT INTO observations VALUES('shop', 'bugfix', 'One', {AT})",
        f"INSERT INTO observations VALUES('barn', 'bugfix', 'Two', {AT})",
        f"INSERT INTO session_summaries VALUES('s1', 'known', {AT}), (NULL, 'nobody', {AT})",
        f"INSERT INTO user_prompts VALUES(1, NULL, 1, 'known', {AT})",
        f"INSERT INTO user_prompts VALUES(NULL, NULL, 1, 'nobody', {AT})",
    )
    conn = store(tmp_path / "b")
    found = bring_in(conn, path)
    counts = Counter({name: count for (name, _), count in found.counts.items() if name != "turn"})
    wanted = {"project": 2, "session": 2, "prompt": 2, "observation": 2, "summary": 2}
    assert (found.bad, counts) == (0, Counter(wanted))
    data = export(conn)
    where = {one["uid"]: one["content_session_id"] for one in told(data, "session")}
    rows = [
        (one.get("title") or one.get("request") or one.get("prompt_text"), where[one["session"]])
        for kind in ("observation", "summary", "prompt")
        for one in told(data, kind)
    ]
    assert sorted(rows) == [
        ("One", "claude-mem:"),
        ("Two", "claude-mem:"),
        ("known", "c1"),
        ("known", "c1"),
        ("nobody", "claude-mem:"),
        ("nobody", "claude-mem:"),
    ]
    keys = {one["title"]: one["project"] for one in told(data, "observation")}
    assert keys == {"One": "claude-mem:shop", "Two": "claude-mem:barn"}
    assert bring_in(conn, path).total("new") == 0


def test_install_says_that_claude_mem_has_memories_until_they_came_in(
    home: Path, tmp_path: Path
) -> None:
    path = tmp_path / "claude-mem" / "claude-mem.db"
    path.parent.mkdir()
    fixture = support.FIXTURES / "claude-mem" / "claude-mem-v13.db.gz"
    path.write_bytes(gzip.decompress(fixture.read_bytes()))
    env = {"CMEM_HOME": str(home), "CLAUDE_MEM_DATA_DIR": str(path.parent)}
    line = (
        f"claude-mem's memories are in {path} ({path.stat().st_size / 1e6:.1f} MB): "
        "`cmem import claude-mem` brings them in and changes nothing there."
    )
    assert line in support.run_cmem("install", **env).stdout.decode().splitlines()
    assert support.run_cmem("import", "claude-mem", **env).returncode == 0
    assert "claude-mem" not in support.run_cmem("install", **env).stdout.decode()
