from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest
import store_rows
import support
from exported import export, store, told

from cmem import residue
from cmem.errors import CmemError
from cmem.export import whole
from cmem.importers import bring, claude_mem, claude_mem_db
from cmem.importers.bring import Brought
from cmem.model import ProjectIdentity
from cmem.store import (
    connection,
    counts,
    erase,
    evidence,
    forget,
    project_rows,
    projects,
    session_list,
    sessions,
)

FIXTURE = support.FIXTURES / "claude-mem" / "claude-mem-v13.db.gz"
NOW = 1_796_000_000_000
EDGE_AT = 1_795_903_600_000


@pytest.fixture
def peer(tmp_path: Path) -> Path:
    """A database that claude-mem 13 itself has made, with invented rows."""
    path = tmp_path / "claude mem" / "claude-mem.db"
    path.parent.mkdir()
    path.write_bytes(gzip.decompress(FIXTURE.read_bytes()))
    return path


def bring_in(conn: apsw.Connection, path: Path, *, dry: bool = False) -> Brought:
    with claude_mem_db.opened(str(path)) as found:
        items = claude_mem.items(found, conn, {"HOME": os.environ["HOME"]})
        return bring.bring(conn, items, now=NOW, dry_run=dry)


def new(brought: Brought) -> dict[str, int]:
    return {name: count for (name, result), count in brought.counts.items() if result == "new"}


def change(path: Path, *statements: str) -> None:
    conn = apsw.Connection(str(path))
    for statement in statements:
        conn.execute(statement)
    conn.close()


def observations(conn: apsw.Connection) -> dict[int, dict[str, Any]]:
    """The observations by the number they have there."""
    found = told(export(conn), "observation")
    return {one["metadata"]["claude-mem"]["id"]: one for one in found}


WHOLE = {"project": 6, "session": 28, "turn": 63, "prompt": 51, "tool_use": 200}
WHOLE |= {"observation": 211, "summary": 24}


def test_everything_comes_in_once(peer: Path, tmp_path: Path) -> None:
    conn = store(tmp_path / "b")
    assert new(bring_in(conn, peer, dry=True)) == WHOLE
    first = bring_in(conn, peer)
    assert (new(first), first.bad) == (WHOLE, 0)
    before = export(conn)
    again = bring_in(conn, peer)
    assert (again.total("new"), again.bad, export(conn)) == (0, 0, before)
    assert conn.pragma("foreign_key_check") is None


def test_second_import_brings_only_what_has_come_since(peer: Path, tmp_path: Path) -> None:
    conn = store(tmp_path / "b")
    bring_in(conn, peer)
    conn.execute("UPDATE observations SET title = 'mine'")
    change(
        peer,
        """INSERT INTO observations(memory_session_id, project, type, title, created_at,
            created_at_epoch) SELECT memory_session_id, project, 'bugfix', 'later', created_at,
            created_at_epoch + 5 FROM observations WHERE id = 200""",
    )
    assert new(bring_in(conn, peer)) == {"turn": 1, "observation": 1}
    titles = {title for (title,) in conn.execute("SELECT title FROM observations")}
    assert titles == {"mine", "later"}


def _edge(number: int, **values: Any) -> dict[str, Any]:
    """The row of the edge session as it has to come out, without uid and session."""
    title = values.get("title", "")
    kept = {"id": number, "memory_session_id": "edge-mem-0001", "sync_rev": "1"}
    kept |= {"project": "Shop", "created_at": "2026-11-28T22:06:40.000Z"} | values.pop("kept", {})
    return {
        "record": "observation",
        "project": "/home/dev/shop",
        "superseded_by": None,
        "agent_id": "",
        "agent_type": "",
        "branch": "",
        "commit_sha": "",
        "concepts": [],
        "created_at": EDGE_AT,
        "discovery_tokens": 0,
        "evidence_tokens": 0,
        "facts": [],
        "files_modified": [],
        "files_read": [],
        "generated_by_model": "claude-mem",
        "host": "claude-code",
        "last_reinforced": EDGE_AT,
        "narrative": "",
        "occurrence_count": 1,
        "origin_device_id": "",
        "origin_local_id": number,
        "pinned": 0,
        "prompt_number": 0,
        "prompt_version": "claude-mem",
        "reinforcement_dates": ["2026-11-28"],
        "subtitle": "",
        "sync_rev": 0,
        "taint": "agent",
        "type": "discovery",
        "sources": [],
        "title_norm_key": title.lower(),
        "metadata": {"claude-mem": kept},
        **values,
    }


EMOJI = "Emoji 🧪 and combining \u00e9, quotes \" ' and \\ backslash, <b>html</b>"
EDGES = (
    _edge(
        201,
        title="Legacy row: only text is set",
        title_norm_key="legacy row only text is set",
        narrative="Old free text body kept from an early version.",
        read_tokens=19,
    ),
    _edge(202, title="Row without a title", narrative="Row without a title", read_tokens=10),
    _edge(
        203,
        title="facts is not JSON",
        facts=["one", "two"],
        concepts=["gotcha", "pattern"],
        read_tokens=7,
    ),
    _edge(204, title="epoch in seconds", read_tokens=5),
    _edge(
        205,
        title=EMOJI,
        title_norm_key="emoji 🧪 and combining é quotes and backslash <b>html< b>",
        facts=['a "quoted" fact', "100% sure_thing"],
        narrative="line one\nline two\ttab",
        read_tokens=30,
    ),
    _edge(206, title="NULL hash one", read_tokens=4),
    _edge(207, title="NULL hash two", read_tokens=4),
    _edge(
        208,
        title="merged worktree",
        agent_id="ag_1",
        agent_type="Explore",
        read_tokens=4,
        kept={"merged_into_project": "shop", "metadata": {"branch": "feat/x", "pr": 12}},
    ),
    _edge(
        209,
        title="from another device",
        origin_device_id="dev-2",
        origin_local_id=41,
        read_tokens=5,
        kept={"sync_rev": "3", "synced_at": EDGE_AT},
    ),
    _edge(210, title="unknown type", type="custom_mode_type", read_tokens=4),
)


def test_edge_rows_come_in_whole(peer: Path, tmp_path: Path) -> None:
    conn = store(tmp_path / "b")
    bring_in(conn, peer)
    found = observations(conn)
    theirs = apsw.Connection(str(peer))
    for ref, known in theirs.execute("SELECT id, content_hash FROM observations"):
        assert found[ref]["metadata"]["claude-mem"].pop("content_hash", None) == known
    theirs.close()
    own = ("uid", "session", "content_hash")
    for wanted in EDGES:
        one = found[wanted["metadata"]["claude-mem"]["id"]]
        assert len(one["uid"]) == 64
        made = {name: value for name, value in one.items() if name not in own}
        assert {name: made[name] for name in wanted} == wanted
    assert len(found[211]["narrative"]) == 20_000


def test_ordinary_row_keeps_every_field_and_its_source(peer: Path, tmp_path: Path) -> None:
    conn = store(tmp_path / "b")
    bring_in(conn, peer)
    one = observations(conn)[199]
    session = "63ba9d86-2ff8-4985-a1de-c847dd56030e"
    uid = sessions.uid_of("claude-code", session)
    source = evidence.uid_in(uid, "tool", "toolu_4a9ff50e880061b673f621a8")
    (said,) = [
        row["uid"]
        for row in told(export(conn), "prompt")
        if (row["session"], row["prompt_number"]) == (uid, 2)
    ]
    wanted = {
        "session": uid,
        "turn": 2,
        "project": "/home/dev/mobile_app",
        "type": "decision",
        "title": "修改了配置加载配置：使用定点小数并只舍入一次",
        "discovery_tokens": 1501,
        "subtitle": "merge_user298 中的丢失最后一行",
        "created_at": 1795822252370,
        "concepts": ["what-changed", "problem-solution"],
        "files_modified": [],
        "files_read": [".github/workflows/ci.yml"],
        "prompt_number": 2,
        "generated_by_model": "claude-haiku-4-5-20251001",
        "sources": [["P", said], ["T", source]],
    }
    assert {name: one[name] for name in wanted} == wanted
    assert one["facts"][-1] == "回归测试编号 199"
    (used,) = [row for row in told(export(conn), "tool_use") if row["uid"] == source]
    assert (used["tool_name"], used["turn"], used["cwd"]) == ("Grep", 1, "/home/dev/mobile_app")
    assert json.loads(used["tool_input"]) == {
        "file_path": "/home/dev/mobile_app/.github/workflows/ci.yml"
    }
    assert one["evidence_tokens"] > used["evidence_tokens"] > 0


def test_sessions_summaries_and_strays_come_in(peer: Path, tmp_path: Path) -> None:
    conn = store(tmp_path / "b")
    bring_in(conn, peer)
    data = export(conn)
    by_id = {one["content_session_id"]: one for one in told(data, "session")}
    assert (by_id["edge-session-0001"]["title"], by_id["edge-session-0002"]["status"]) == (
        "Edge rows",
        "completed",
    )
    assert by_id["orphan-session"]["project"] == "unsorted"
    assert {one["host"] for one in by_id.values()} == {"claude-code", "codex", "cursor"}
    (summary,) = [one for one in told(data, "summary") if not one["request"]]
    prose = ("request", "investigated", "learned", "completed", "next_steps", "notes")
    assert [summary[name] for name in prose] == ["", "", "only learned is set", "", "", ""]
    (stray,) = [one for one in told(data, "prompt") if "without" in one["prompt_text"]]
    assert stray["session"] == by_id["orphan-session"]["uid"]
    names = {one["name"] for one in told(data, "project")}
    assert names == {"shop", "claude-memo", "dotfiles", "infra-tools", "mobile_app", "unsorted"}


def test_what_hooks_have_captured_too_is_known(peer: Path, tmp_path: Path) -> None:
    conn = store(tmp_path / "b")
    native = "63ba9d86-2ff8-4985-a1de-c847dd56030e"
    project = store_rows.project(conn, "mobile_app")
    uid = sessions.uid_of("claude-code", native)
    session = store_rows.session(conn, project, native, uid=uid, started_at=1795277920000)
    turn = store_rows.turn(conn, session, 1)
    text = "Can you batch the writes in one transaction in internal/cache/lru.go?"
    store_rows.prompt(conn, turn, text, native_prompt_id="host's own")
    use = "toolu_4a9ff50e880061b673f621a8"
    held = evidence.uid_in(uid, "tool", use)
    store_rows.tool(conn, turn, "Grep", given={}, answer={}, uid=held, tool_use_id=use)
    found = new(bring_in(conn, peer))
    wanted = {"session": 27, "turn": 62, "prompt": 50, "tool_use": 199, "project": 5}
    assert found == WHOLE | wanted
    name = "SELECT name FROM projects WHERE id = (SELECT project_id FROM sessions WHERE uid = ?)"
    assert conn.execute(name, (uid,)).fetchall() == [("mobile_app",)]


def test_folder_that_is_a_repository_here_is_its_project(peer: Path, tmp_path: Path) -> None:
    conn = store(tmp_path / "b")
    folder = Path(os.environ["HOME"]) / "work" / "shop"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    change(peer, f"UPDATE tool_uses SET cwd = '{folder}' WHERE project = 'shop'")
    bring_in(conn, peer)
    key = str(folder / ".git")
    (project,) = [one for one in told(export(conn), "project") if one["name"] == "shop"]
    assert (project["key"], project["root"]) == (key, str(folder))
    assert ["git", key, 0] in project["aliases"]


def test_what_was_forgotten_does_not_come_back(peer: Path, tmp_path: Path) -> None:
    conn = store(tmp_path / "b")
    bring_in(conn, peer)
    found = conn.execute("SELECT id FROM observations WHERE title = 'unknown type'").fetchall()
    erase.purge(conn, forget.plan(conn, [("O", found[0][0])]), now=NOW)
    before = export(conn)
    again = bring_in(conn, peer)
    assert again.total("new") == 0
    assert again.counts["observation", "forgotten"] == 1
    assert export(conn) == before


def test_forgetting_one_takes_no_other_along(peer: Path, tmp_path: Path) -> None:
    conn = store(tmp_path / "b")
    bring_in(conn, peer)
    found = conn.execute("SELECT id FROM observations WHERE title = 'NULL hash one'").fetchall()
    plan = forget.plan(conn, [("O", found[0][0])])
    assert (plan.observations, plan.prompts, plan.tool_uses) == ((found[0][0],), (), ())


def test_secrets_there_do_not_come_in(peer: Path, tmp_path: Path) -> None:
    conn = store(tmp_path / "b")
    secret = "ghp_" + "a8Zk3" * 8
    change(
        peer,
        f"UPDATE observations SET narrative = 'key {secret}', facts = '[\"{secret}\"]'",
        f'UPDATE observations SET metadata = \'{{"token": "{secret}"}}\'',
        f"UPDATE user_prompts SET prompt_text = '{secret} <private>quiet</private>'",
        f"UPDATE tool_uses SET tool_response = '{secret}'",
        f"UPDATE sdk_sessions SET custom_title = '{secret}'",
    )
    assert bring_in(conn, peer).bad == 0
    text = export(conn).decode()
    assert (secret in text, "quiet" in text) == (False, False)


def test_database_in_use_is_read_and_left_alone(peer: Path, tmp_path: Path) -> None:
    worker = apsw.Connection(str(peer))
    worker.pragma("journal_mode", "wal")
    worker.pragma("wal_autocheckpoint", 0)
    worker.execute("UPDATE observations SET title = 'only in the log' WHERE id = 1")
    worker.execute("BEGIN IMMEDIATE")
    worker.execute("UPDATE observations SET title = 'not committed' WHERE id = 2")
    files = sorted(peer.parent.iterdir())
    before = {path: path.read_bytes() for path in files if not path.name.endswith("-shm")}
    conn = store(tmp_path / "b")
    assert new(bring_in(conn, peer)) == WHOLE
    found = observations(conn)
    assert found[1]["title"] == "only in the log"
    assert found[2]["title"] != "not committed"
    assert sorted(peer.parent.iterdir()) == files
    assert {path: path.read_bytes() for path in before} == before
    worker.execute("ROLLBACK")
    worker.close()


def test_database_that_changes_while_it_is_copied_is_copied_again(
    peer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    real = claude_mem_db.shutil.copyfile

    def copy(source: str, target: str) -> None:
        real(source, target)
        calls.append(source)
        if len(calls) == 1:
            change(peer, "UPDATE observations SET title = 'newer' WHERE id = 1")

    monkeypatch.setattr(claude_mem_db.shutil, "copyfile", copy)
    monkeypatch.setattr(claude_mem_db, "_WAIT_S", 0)
    conn = store(tmp_path / "b")
    bring_in(conn, peer)
    assert observations(conn)[1]["title"] == "newer"
    assert len(calls) >= 2
    monkeypatch.setattr(claude_mem_db, "_state", lambda path: [(len(calls), 0), calls.append("x")])
    with pytest.raises(CmemError, match="is being written to all the time; try again"):
        bring_in(conn, peer)


OLD = (
    "CREATE TABLE sdk_sessions(id INTEGER PRIMARY KEY, content_session_id TEXT, memory_session_id"
    " TEXT, project TEXT, user_prompt TEXT, started_at TEXT, started_at_epoch INTEGER)",
    "CREATE TABLE observations(id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT,"
    " text TEXT, type TEXT, created_at TEXT, created_at_epoch INTEGER)",
    "INSERT INTO sdk_sessions VALUES(1, 'c1', 'm1', 'shop', 'fix it', '2025-09-01T10:00:00Z', NULL)",
    "INSERT INTO observations VALUES(1, 'm1', 'shop', 'a b', 'bugfix', '2025-09-01T10:05:00Z', NULL)",
    "INSERT INTO observations VALUES(2, 'nobody', 'shop', 'stray', 'change', NULL, 1756720000)",
)


def test_old_shapes_are_read_by_the_columns_they_have(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    change(path, *OLD)
    conn = store(tmp_path / "b")
    assert new(bring_in(conn, path)) == {
        "project": 1,
        "session": 2,
        "turn": 3,
        "prompt": 1,
        "observation": 2,
    }
    data = export(conn)
    rows = [
        (one["title"], one["created_at"], one["turn"] > 10**9) for one in told(data, "observation")
    ]
    assert rows == [("stray", 1756720000000, True), ("a b", 1756721100000, True)]
    assert [one["prompt_text"] for one in told(data, "prompt")] == ["fix it"]
    ids = [one["content_session_id"] for one in told(data, "session")]
    assert ids == ["claude-mem:nobody", "c1"]
    assert told(data, "project")[0]["key"] == "claude-mem:shop"
    assert bring_in(conn, path).total("new") == 0


def test_newer_columns_are_used(peer: Path, tmp_path: Path) -> None:
    change(
        peer,
        "ALTER TABLE observations ADD COLUMN occurrence_count INTEGER",
        "ALTER TABLE observations ADD COLUMN reinforcement_dates TEXT",
        "ALTER TABLE observations ADD COLUMN last_reinforced INTEGER",
        "ALTER TABLE sdk_sessions ADD COLUMN cwd TEXT",
        """UPDATE observations SET occurrence_count = 3, last_reinforced = 1795918938,
            reinforcement_dates = '["2026-11-01", "2026-11-02"]' WHERE id = 1""",
        "UPDATE sdk_sessions SET cwd = '/srv/infra' WHERE project = 'infra-tools'",
        "DELETE FROM tool_uses",
    )
    conn = store(tmp_path / "b")
    bring_in(conn, peer)
    one = observations(conn)[1]
    assert (one["occurrence_count"], one["last_reinforced"]) == (3, 1795918938000)
    assert one["reinforcement_dates"] == ["2026-11-01", "2026-11-02"]
    assert one["project"] == "/srv/infra"
    assert [kind for kind, _ in one["sources"]] == ["P"]


def run(home: Path, *words: str) -> tuple[int, str, str]:
    done = support.run_cmem(*words, CMEM_HOME=str(home))
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_command_brings_in_and_search_and_context_show_it(peer: Path, tmp_path: Path) -> None:
    home = tmp_path / "b"
    words = "6 projects, 28 sessions, 63 turns, 51 prompts, 200 tool uses, 211 observations, "
    words += "24 summaries.\n"
    line = ("import", "claude-mem", str(peer))
    assert run(home, *line, "--dry-run") == (0, "Would import " + words, "")
    assert not (home / "memory.db").exists()
    assert run(home, *line) == (0, "Imported " + words, "")
    assert run(home, *line) == (0, "Nothing new.\nKnown already: 583.\n", "")
    document = json.loads(run(home, *line, "--json")[1])
    assert document["records"]["observation"] == {"new": 0, "known": 211, "forgotten": 0}
    assert document["records"]["work_state"] == {"new": 0, "known": 0, "forgotten": 0}
    for query in ("merge_user298", "丢失最后一行", "another device", "Old free text body"):
        assert " hits" not in run(home, "search", query, "--all")[1]
        assert json.loads(run(home, "search", query, "--all", "--json")[1])["hits"]
    shown = run(home, "context", "--project", "shop")[1]
    assert "very long narrative" in shown


def test_command_finds_the_database_where_it_usually_is(peer: Path, tmp_path: Path) -> None:
    usual = Path(os.environ["HOME"]) / ".claude-mem"
    peer.parent.rename(usual)
    assert run(tmp_path / "b", "import", "claude-mem")[0] == 0
    usual.rename(tmp_path / "away")
    missing = f"cmem: could not read {usual}/claude-mem.db: no such file or directory\n"
    assert run(tmp_path / "b", "import", "claude-mem") == (1, "", missing)


@pytest.mark.parametrize("kind", ["text", "other", "damaged"])
def test_what_is_no_database_of_claude_mem_is_refused(
    peer: Path, tmp_path: Path, kind: str
) -> None:
    wrong = tmp_path / "wrong.db"
    if kind == "text":
        wrong.write_text("no database " * 500)
    elif kind == "other":
        change(wrong, "CREATE TABLE observations_of_birds(id)")
    else:
        data = bytearray(peer.read_bytes())
        data[4096 * 3 : 4096 * 40] = b"\xa5" * (4096 * 37)
        wrong.write_bytes(bytes(data))
    code, out, err = run(tmp_path / "b", "import", "claude-mem", str(wrong))
    assert (code, out, err.count("\n")) == (1, "", 1)
    reasons = {"other": f"cmem: {wrong} is no database of claude-mem: it has no observations\n"}
    assert err == reasons.get(kind, err)
    assert str(wrong) in err
    assert "bug" not in err


def test_tables_of_the_first_versions_are_read_by_their_own_names(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    change(
        path,
        "CREATE TABLE sdk_sessions(id INTEGER PRIMARY KEY, claude_session_id TEXT, "
        "sdk_session_id TEXT, project TEXT, started_at_epoch INTEGER)",
        "CREATE TABLE observations(id INTEGER PRIMARY KEY, sdk_session_id TEXT, project TEXT, "
        "type TEXT, title TEXT, created_at_epoch INTEGER)",
        "CREATE TABLE user_prompts(id INTEGER PRIMARY KEY, claude_session_id TEXT, "
        "prompt_number INTEGER, prompt_text TEXT, created_at_epoch INTEGER)",
        f"INSERT INTO sdk_sessions VALUES(1, 'c1', 's1', 'shop', {EDGE_AT})",
        f"INSERT INTO observations VALUES(1, 's1', 'shop', 'bugfix', 'Title', {EDGE_AT})",
        f"INSERT INTO user_prompts VALUES(1, 'c1', 1, 'Words', {EDGE_AT})",
    )
    conn = store(tmp_path / "b")
    assert new(bring_in(conn, path)) == {
        "project": 1,
        "session": 1,
        "turn": 2,
        "prompt": 1,
        "observation": 1,
    }
    data = export(conn)
    (session,) = told(data, "session")
    assert session["content_session_id"] == "c1"
    assert [one["session"] for one in told(data, "observation")] == [session["uid"]]


@pytest.mark.parametrize(
    "shape",
    [
        "CREATE TABLE observations(a)",
        "CREATE TABLE user_prompts(content_session_id); CREATE TABLE sdk_sessions(x, cwd, project)",
        "CREATE TABLE observations(id); CREATE TABLE tool_uses(session_db_id, id)",
        "CREATE TABLE observations(id, sdk_session_id); CREATE VIEW v AS SELECT nosuch FROM gone",
    ],
)
def test_no_shape_of_tables_is_a_fault_of_ours(tmp_path: Path, shape: str) -> None:
    path = tmp_path / "odd.db"
    change(path, shape, *("INSERT INTO observations DEFAULT VALUES",) * ("observations" in shape))
    conn = store(tmp_path / "b")
    try:
        bring_in(conn, path)
    except CmemError as error:
        assert "\n" not in str(error)


def test_copies_that_killed_runs_have_left_go(peer: Path, tmp_path: Path) -> None:
    home = tmp_path / "b"
    conn = store(home)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = home / f"claude-mem-{dead.pid}-abc"
    left.mkdir()
    (left / "copy.db").write_bytes(b"words")
    held = home / f"claude-mem-{os.getppid()}-abc"
    held.mkdir()
    plan = forget.plan(conn, [])
    assert [Path(one).name for one in residue.find(str(home), conn, plan).left] == [left.name]
    with claude_mem_db.opened(str(peer), str(home)):
        found = sorted(one.name for one in home.iterdir() if one.name.startswith("claude-mem-"))
        assert len(found) == 2
        assert left.name not in found
    assert [one for one in home.iterdir() if one.name.startswith("claude-mem-")] == [held]
    beside = tmp_path / f"m.jsonl.{dead.pid}.tmp"
    other = tmp_path / f"m.jsonl.{os.getppid()}.tmp"
    for one in (beside, other):
        one.write_bytes(b"words")
    with whole.file(str(tmp_path / "m.jsonl")) as out:
        out.write(b"all")
    assert not beside.exists()
    assert other.exists()


def test_a_project_known_by_name_is_the_first_folder_of_that_name(
    peer: Path, tmp_path: Path
) -> None:
    change(peer, "DELETE FROM tool_uses", "UPDATE observations SET merged_into_project = NULL")
    conn = store(tmp_path / "b")
    bring_in(conn, peer)
    assert "Shop" in project_rows.folderless(conn)

    def of_folder(path: str) -> int:
        identity = ProjectIdentity(path, "path", Path(path).name, path, (("path", path),))
        looked_up = projects.find_by_identity(conn, identity)
        with connection.transaction(conn):
            found = projects.resolve(conn, identity, now=NOW)
        assert looked_up in (None, found)
        return found

    (theirs,) = conn.execute("SELECT id FROM projects WHERE name = 'Shop'").fetchall()
    assert of_folder("/home/dev/shop") == theirs[0]
    assert of_folder("/home/dev/old/shop") != theirs[0]
    assert of_folder("/home/dev/shop") == theirs[0]
    assert "Shop" not in project_rows.folderless(conn)
    before = conn.execute("SELECT count(*) FROM projects").fetchall()
    assert bring_in(conn, peer).total("new") == 0
    assert conn.execute("SELECT count(*) FROM projects").fetchall() == before


def test_prompts_that_differ_in_their_words_alone_and_bytes_come_in(
    peer: Path, tmp_path: Path
) -> None:
    change(
        peer,
        """INSERT INTO user_prompts(content_session_id, session_db_id, prompt_number, prompt_text,
            created_at, created_at_epoch) SELECT content_session_id, session_db_id, prompt_number,
            'other words', created_at, created_at_epoch FROM user_prompts WHERE id = 1""",
        "UPDATE observations SET title = x'4bc3a4736520ff' WHERE id = 1",
        "UPDATE observations SET narrative = '  kept as it is \n' WHERE id = 2",
    )
    conn = store(tmp_path / "b")
    assert new(bring_in(conn, peer))["prompt"] == WHOLE["prompt"] + 1
    assert bring_in(conn, peer).total("new") == 0
    found = observations(conn)
    assert found[1]["title"] == "Käse \ufffd"
    assert found[2]["narrative"] == "  kept as it is \n"


def test_sessions_that_have_observations_alone_are_listed(peer: Path, tmp_path: Path) -> None:
    conn = store(tmp_path / "b")
    bring_in(conn, peer)
    listed = session_list.sessions(conn, None, session_list.Span(), limit=100)
    (empty,) = {row[0] for row in conn.execute("SELECT id FROM sessions")} - {
        one.id for one in listed
    }
    for table in ("user_prompts", "tool_uses", "observations"):
        query = f"SELECT count(*) FROM {table} WHERE session_id = ?"
        assert conn.execute(query, (empty,)).fetchall() == [(0,)]
    counts_ = counts.status_counts(conn, midnight=0)
    assert counts_.sessions == len(listed)
    assert counts_.tool_uses == sum(one.tool_uses for one in listed)
