"""``cmem prune`` and ``vacuum``: raw payloads have their time, and space comes back."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import apsw
import pytest
import samples
from support import run_cmem, run_json

from cmem import compress, paths, settings
from cmem.cli import prune as command
from cmem.store import connection, retention
from cmem.store.rows import rows, value

DAY = retention.DAY_MS
NOW = time.time_ns() // 1_000_000


def add(
    conn: apsw.Connection,
    number: int,
    *,
    age: int,
    state: str = "done",
    answer: str = "out",
    **unit: Any,
) -> int:
    """One tool call, so many days old, in a turn of its own with one unit of work."""
    session = value(conn, "SELECT id FROM sessions", ())
    turn = samples.turn(conn, session, number)
    ref = samples.tool(
        conn,
        session,
        turn,
        "Bash",
        {"command": f"run quokka{number}"},
        {"stdout": answer},
        created_at=NOW - age * DAY,
        uid=f"t{number}",
        tool_use_id=f"toolu_{number}",
    )
    if state:
        samples.insert(
            conn,
            "work_units",
            kind="turn",
            session_id=session,
            turn_id=turn,
            state=state,
            **{"created_at": NOW, **unit},
        )
    return ref


def cite(conn: apsw.Connection, ref: int, **values: Any) -> None:
    ((session, turn, project),) = rows(
        conn,
        "SELECT t.session_id, t.turn_id, n.project_id FROM tool_uses t"
        " JOIN sessions n ON n.id = t.session_id WHERE t.id = ?",
        (ref,),
    )
    samples.observation(
        conn, project, session, turn, title=f"of T{ref}", sources=[("T", ref)], **values
    )


@pytest.fixture
def store(home: Path) -> Any:
    conn = samples.open_store(home)
    samples.session(conn, samples.project(conn, "calc", "/src/calc"), "s1")
    yield conn
    conn.close()


def left(conn: apsw.Connection) -> list[int]:
    query = "SELECT id FROM tool_uses WHERE tool_input IS NOT NULL ORDER BY id"
    return [int(ref) for (ref,) in rows(conn, query)]


def test_only_old_observed_payloads_go_and_what_memories_rest_on_stays_longer(
    store: apsw.Connection,
) -> None:
    old, young = add(store, 1, age=31), add(store, 2, age=29)
    waiting, parked = (
        add(store, 3, age=400, state="pending"),
        add(store, 4, age=400, state="parked"),
    )
    unseen = add(store, 5, age=400, state="")
    cited, long_cited = add(store, 6, age=89), add(store, 7, age=91)
    pinned, hidden, replaced = (add(store, number, age=400) for number in (8, 9, 10))
    halved = add(store, 11, age=40, state="split")
    cite(store, cited)
    cite(store, long_cited)
    cite(store, pinned, pinned=1)
    cite(store, hidden, hidden_at=NOW)
    cite(store, replaced, superseded_by=1)
    gone = {old, long_cited, hidden, replaced, halved}
    assert retention.expired(store, keep_days=30, now=NOW).rows == len(gone)
    due = retention.expired(store, keep_days=30, now=NOW)
    assert retention.prune(store, keep_days=30, now=NOW) == due
    assert retention.expired(store, keep_days=30, now=NOW).rows == 0
    assert left(store) == [young, waiting, parked, unseen, cited, pinned]


def test_what_was_imported_has_its_time_from_the_import_on(store: apsw.Connection) -> None:
    fresh = add(store, 1, age=400, reason="import", created_at=NOW - 29 * DAY)
    due = add(store, 2, age=400, reason="import", created_at=NOW - 31 * DAY)
    captured = add(store, 3, age=31, created_at=NOW - 29 * DAY)
    assert run_json("prune", "--dry-run")["tool_uses"] == 2
    assert retention.prune(store, keep_days=30, now=NOW).rows == 2
    assert (left(store), due, captured) == ([fresh], 2, 3)
    assert run_json("prune", "--older", "30d", "--yes")["tool_uses"] == 1
    assert left(store) == []


def test_a_pruned_call_still_says_what_it_was_and_its_text_is_not_found(
    store: apsw.Connection,
) -> None:
    ref = add(store, 1, age=31)
    assert run_json("search", "quokka1", "--all")["hits"] != []
    done = run_json("prune", "--yes")
    assert (done["tool_uses"], done["older_days"], done["dry_run"]) == (1, 30, False)
    assert run_json("search", "quokka1", "--all")["hits"] == []
    (item,) = run_json("get", f"T{ref}")["items"]
    assert (item["tool_name"], item["outcome"]) == ("Bash", "ok")
    assert value(store, "SELECT evidence_tokens FROM tool_uses WHERE id = ?", (ref,)) == 40


def test_what_was_removed_is_said(store: apsw.Connection) -> None:
    pruned, kept = add(store, 2, age=100), add(store, 3, age=0)
    store.execute("UPDATE tool_uses SET tool_response = '' WHERE id = ?", (kept,))
    retention.prune(store, keep_days=90, now=NOW)
    told = run_json("raw", f"T{pruned}", f"T{kept}")["items"]
    assert [(one["pruned"], one["tool_input"], one["tool_response"]) for one in told] == [
        (True, "", ""),
        (False, {"command": "run quokka3"}, ""),
    ]
    lines = run_cmem("get", f"T{pruned}").stdout.decode().splitlines()
    assert lines[1:3] == ["Bash  ok", "input and response: removed by prune"]


def test_a_dry_run_counts_and_changes_nothing(store: apsw.Connection) -> None:
    refs = [add(store, number, age=100) for number in range(1, 4)]
    done = run_json("prune", "--older", "60d", "--dry-run")
    assert (done["tool_uses"], done["older_days"], done["dry_run"]) == (3, 60, True)
    assert done["bytes"] > 0
    assert left(store) == refs


def test_compress_prunes_a_slice_a_run_and_looks_again_after_a_day(
    home: Path, store: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, 13):
        add(store, number, age=100)
    monkeypatch.setattr(compress, "PRUNE_BUDGET_MS", 0)

    def maintain(now: int, days: int = 30) -> int:
        env = {"CMEM_KEEP_RAW_DAYS": str(days)}
        chosen = settings.load(str(home), env=env, flags={}, trusted_env=True)
        compress._maintain(str(home), store, now=now, settings=chosen)
        return len(left(store))

    assert maintain(NOW, days=0) == 12
    assert [maintain(NOW) for _ in range(4)] == [7, 2, 0, 0]
    add(store, 20, age=100)
    assert maintain(NOW + DAY - 1) == 1
    assert maintain(NOW + DAY) == 0


def test_every_transaction_is_short(store: apsw.Connection) -> None:
    for number in range(1, 41):
        add(store, number, age=100, answer="word " * 8000)
    longest = 0.0
    began = time.monotonic()

    def committed() -> bool:
        nonlocal longest, began
        longest, began = max(longest, time.monotonic() - began), time.monotonic()
        return False

    store.set_commit_hook(committed)
    assert retention.prune(store, keep_days=30, now=NOW).rows == 40
    store.set_commit_hook(None)
    assert longest < 2.0  # a loaded machine; alone it is a tenth of that


def test_the_look_for_old_payloads_walks_an_index(store: apsw.Connection) -> None:
    plan = rows(store, f"EXPLAIN QUERY PLAN {retention._EXPIRED}", (1, 1, 0, 0, 5, 1))
    steps = [str(step[3]) for step in plan]
    assert steps[0].startswith("SEARCH t USING INDEX tool_uses_raw")
    assert not [step for step in steps if step.startswith("SCAN") or "TEMP B-TREE" in step]


def test_vacuum_gives_the_space_back(home: Path, store: apsw.Connection) -> None:
    for number in range(1, 31):
        add(store, number, age=100, answer=json.dumps([hash((number, one)) for one in range(4000)]))
    store.close()
    before = command.size_of(str(home))
    run_json("prune", "--yes")
    planned = run_json("vacuum", "--dry-run")
    assert planned["before"] == planned["after"]
    done = run_json("vacuum")
    assert done["after"] < before / 2
    assert done["free"] == 0
    conn = connection.open_reader(str(home))
    assert conn is not None
    assert value(conn, "PRAGMA freelist_count", ()) == 0
    assert value(conn, "PRAGMA integrity_check", ()) == "ok"
    conn.close()
    assert paths.memory_db(str(home))


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ((), 1, "nothing was pruned: that would be input and output of 1 tool call older than 30"),
        (("--older", "x"), 2, "--older x: a number of days such as 30d"),
        (("--older", "0"), 2, "--older 0: a number of days such as 30d"),
    ],
    ids=["pipe", "word", "zero"],
)
def test_what_cannot_be_pruned_is_refused(
    store: apsw.Connection, args: tuple[str, ...], code: int, message: str
) -> None:
    add(store, 1, age=31)
    done = run_cmem("prune", *args, "--json")
    assert (done.returncode, done.stdout) == (code, b"")
    assert done.stderr.decode().startswith(f"cmem: {message}")


def test_a_setting_of_zero_keeps_everything(home: Path, store: apsw.Connection) -> None:
    add(store, 1, age=31)
    (home / "config.toml").write_text("keep_raw_days = 0\n", encoding="utf-8")
    done = run_cmem("prune")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode() == (
        "cmem: keep_raw_days is 0, so everything is kept; say --older 30d to prune\n"
    )
    assert left(store) == [1]


def test_without_a_store_there_is_nothing_to_do(home: Path) -> None:
    assert home
    assert run_json("prune")["tool_uses"] == 0
    assert run_json("vacuum")["freed"] == 0


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0 KiB"), (5 << 30, "5.0 GiB")],
)
def test_amounts_are_told_as_people_do(count: int, text: str) -> None:
    assert command.amount(count) == text
