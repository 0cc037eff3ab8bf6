"""``cmem dedup`` and the setting: what is the same is joined, what is alike only shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest
import samples
from support import run_cmem, run_json

from cmem import dedup
from cmem.store import connection, titles
from cmem.store.rows import rows

RETRY = "Retry limit raised to 3"
COLUMNS = "occurrence_count, last_reinforced, reinforcement_dates, superseded_by"


@pytest.fixture
def store(home: Path) -> Any:
    conn = samples.open_store(home)
    samples.project(conn, "calc", "/src/calc")
    yield conn
    conn.close()


def add(conn: apsw.Connection, title: str, day: int, **values: Any) -> int:
    """An observation of a session of its own, so many days later."""
    at = samples.NOON + day * samples.DAY
    session = samples.session(conn, 1, f"s{day}-{title}-{values}")
    return samples.observation(
        conn,
        1,
        session,
        samples.turn(conn, session, 1),
        title=title,
        title_norm_key=titles.norm_key(title),
        created_at=at,
        last_reinforced=at,
        reinforcement_dates=f'["2026-05-{day + 10}"]',
        **values,
    )


def state(conn: apsw.Connection, ref: int) -> tuple[Any, ...]:
    return rows(conn, f"SELECT {COLUMNS} FROM observations WHERE id = ?", (ref,))[0]


def shown(*options: str) -> list[tuple[str, str, bool]]:
    pairs = run_json("dedup", "--all-projects", *options)["pairs"]
    return [(one["older"]["id"], one["newer"]["id"], one["same"]) for one in pairs]


def test_the_same_title_and_text_is_shown_joined_and_parted(store: apsw.Connection) -> None:
    older = add(store, RETRY, 0, narrative="It gave up too early.")
    newer = add(store, "retry  limit: raised to 3", 1, narrative="It gave up too early.")
    before = state(store, older)
    assert shown() == [(f"O{older}", f"O{newer}", True)]
    done = run_json("dedup", "--all-projects", "--apply", f"O{newer}")
    assert done == {"done": [f"O{newer}"], "unknown": []}
    assert state(store, older)[0] == 2
    assert state(store, older)[1] == samples.NOON + samples.DAY
    assert state(store, newer)[3] == older
    assert shown() == []
    run_json("dedup", "--undo", f"O{newer}")
    assert (state(store, older), state(store, newer)[3]) == (before, None)
    assert shown() == []


def test_texts_that_contradict_are_only_alike(store: apsw.Connection) -> None:
    older = add(store, RETRY, 0, narrative="The server comes back.")
    newer = add(store, RETRY, 1, narrative="The server never comes back.")
    assert shown() == [(f"O{older}", f"O{newer}", False)]
    done = run_cmem("dedup", "--all-projects", "--apply", "all")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode() == (
        "cmem: no two memories are surely the same; name those that you want joined\n"
    )


@pytest.mark.parametrize(
    "values", [{"host": "codex"}, {"agent_type": "Explore"}], ids=["host", "agent"]
)
def test_another_host_or_kind_of_agent_is_another_memory(
    store: apsw.Connection, values: dict[str, str]
) -> None:
    add(store, RETRY, 0)
    add(store, RETRY, 1, **values)
    assert shown() == []


def test_three_of_a_kind_become_one(store: apsw.Connection) -> None:
    refs = [add(store, RETRY, day) for day in range(3)]
    run_json("dedup", "--all-projects", "--apply", "all")
    assert [state(store, ref)[3] for ref in refs] == [None, refs[0], refs[0]]
    assert state(store, refs[0])[0] == 3


def test_what_is_kept_is_not_shown_again(store: apsw.Connection) -> None:
    add(store, RETRY, 0)
    newer = add(store, RETRY, 1)
    run_json("dedup", "--all-projects", "--keep", f"O{newer}")
    assert shown() == []


def test_what_was_decided_goes_with_an_export_and_with_a_sync(
    store: apsw.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = add(store, RETRY, 0)
    kept, joined = add(store, RETRY, 1), add(store, RETRY, 2)
    run_json("dedup", "--all-projects", "--keep", f"O{kept}")
    run_json("dedup", "--all-projects", "--apply", f"O{joined}")
    left = shown()
    told, folder = str(tmp_path / "all.jsonl"), str(tmp_path / "folder")
    run_json("export", told)
    (tmp_path / "folder").mkdir()
    run_json("sync", folder)
    for name, way in (("imported", ("import", told)), ("synced", ("sync", folder))):
        monkeypatch.setenv("CMEM_HOME", str(tmp_path / name))
        run_json(*way)
        assert shown() == left
        other = connection.open_reader(str(tmp_path / name))
        assert other is not None
        query = "SELECT older_uid, newer_uid, level, score, state, before FROM near_duplicates"
        assert rows(other, query) == rows(store, query) != []
        gone = run_json("forget", f"O{older}", "--dry-run")
        assert gone["counts"]["observations"] == 2, gone
        other.close()


def test_with_the_setting_compress_joins_what_is_new_and_the_same_only(
    home: Path, store: apsw.Connection
) -> None:
    older = add(store, RETRY, 0)
    newer = add(store, RETRY, 1)
    doubtful = add(store, RETRY, 2, narrative="It is not 3.")
    run_json("compress", "--provider", "extract")
    assert state(store, newer)[3] is None
    (home / "config.toml").write_text("dedup = true\n", encoding="utf-8")
    run_json("compress", "--provider", "extract")
    assert (state(store, newer)[3], state(store, doubtful)[3]) == (older, None)
    assert dedup.sweep(store, now=samples.NOON) == 0
    assert state(store, older)[0] == 2


def test_a_title_in_a_script_without_spaces_is_compared(store: apsw.Connection) -> None:
    older = add(store, "数据库连接池超时修复", 0)
    newer = add(store, "数据库连接池超时修复", 1)
    add(store, "数据库密码轮换", 2)
    assert shown() == [(f"O{older}", f"O{newer}", True)]


def test_side_by_side_in_a_pipe(store: apsw.Connection) -> None:
    older = add(store, RETRY, 0, narrative="One\nline.")
    newer = add(store, RETRY, 1, narrative="One\nline.")
    lines = run_cmem("dedup", "--all-projects").stdout.decode().splitlines()
    assert lines[0] == f"O{older} and O{newer}  the same  (calc)"
    assert [line.strip() for line in lines[2::2]] == ["One line.", "One line."]
    assert lines[-1] == f"  cmem dedup --apply O{newer}  or  --keep O{newer}"


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("--apply", "O9"), 1, "not the newer one of a pair: O9; `cmem dedup` shows them"),
        (("--undo", "O1"), 1, "nothing was joined there: O1"),
        (("--apply", "O1", "--undo", "O1"), 2, "choose one of --apply, --keep and --undo"),
    ],
    ids=["no-pair", "not-joined", "both"],
)
def test_what_cannot_be_decided_is_refused(
    store: apsw.Connection, args: tuple[str, ...], code: int, message: str
) -> None:
    add(store, RETRY, 0)
    done = run_cmem("dedup", "--all-projects", *args, "--json")
    assert (done.returncode, done.stdout) == (code, b"")
    assert done.stderr.decode() == f"cmem: {message}\n"
