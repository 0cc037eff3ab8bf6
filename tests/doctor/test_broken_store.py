"""Each fault behind the mailbox, made and found."""

from __future__ import annotations

import errno
import time
from pathlib import Path
from typing import Any

import hookrun
import pytest
import seeding
import support

from cmem import breaker, budget, hooklog, paths, runlog, spill, spool, spooled
from cmem.breaker import fingerprint
from cmem.doctor import memory, provider
from cmem.doctor.finding import Finding
from cmem.store import check, connection, migrations, pause

DAY = 86_400_000


def _now() -> int:
    return time.time_ns() // 1_000_000


def _store(home: Path) -> Any:
    return connection.open_writer(str(home), now=_now())


# --- the store -----------------------------------------------------------------------


def test_no_database_at_all(installed: Any) -> None:
    (installed.home / "memory.db").write_bytes(b"this is a text of some length\n" * 100)
    (installed.home / "memory.db").chmod(0o600)
    assert installed.faults() == [("error", "store")]
    assert "not a cmem database" in installed.fault("store").detail
    assert (installed.home / "memory.db").read_bytes().startswith(b"this is a text")


def test_pages_overwritten_in_the_middle(installed: Any) -> None:
    conn = _store(installed.home)
    session = seeding.add_session(conn)
    for number in range(200):
        seeding.add_turn(conn, session, number, prompt=f"prompt {number} " + "x" * 300)
    conn.close()
    path = installed.home / "memory.db"
    raw = bytearray(path.read_bytes())
    for start in range(8192, len(raw), 8192):
        raw[start : start + 200] = b"\xa5" * 200
    path.write_bytes(raw)
    # What is damaged is not searched, but what hooks capture still can be.
    assert installed.faults() == [("error", "store")]
    assert installed.fault("store").detail.startswith("memory.db is damaged: ")
    assert path.read_bytes() == bytes(raw)


def test_a_check_that_takes_too_long_is_given_up(installed: Any) -> None:
    conn = _store(installed.home)
    session = seeding.add_session(conn)
    for number in range(300):
        seeding.add_turn(conn, session, number, prompt=f"prompt {number} " + "x" * 300)
    conn.close()
    state = check.look(str(installed.home), within_ms=-1)
    assert state is not None
    assert (state.damage, state.complete, state.documents) == ("", False, 300)
    first, _index = memory.judge(state)
    assert first == Finding(
        "ok", "store", f"schema {migrations.MIGRATIONS[-1][0]}, no damage in the first 5 s"
    )


def test_a_newer_schema(installed: Any) -> None:
    conn = _store(installed.home)
    conn.pragma("user_version", 99)
    conn.close()
    assert installed.faults() == [("error", "store")]
    assert installed.fault("store").fix == "upgrade cmem"


def test_an_older_schema_is_not_migrated_by_looking(
    installed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _store(installed.home).close()
    newer = migrations.MIGRATIONS[-1][0] + 1
    monkeypatch.setattr(check, "SCHEMA", newer)
    assert installed.faults() == [("warn", "store")]
    found = installed.fault("store")
    assert (found.detail, found.fix) == (
        f"memory.db has schema {newer - 1} and is brought to {newer} by the next run",
        "cmem compress",
    )


def test_an_index_that_lacks_a_document(installed: Any) -> None:
    conn = _store(installed.home)
    seeding.add_turn(conn, seeding.add_session(conn))
    conn.execute("INSERT INTO documents(kind, ref, created_at) VALUES('P', 999, 1)").fetchall()
    conn.close()
    assert installed.faults() == [("error", "index")]
    assert installed.fault("index").detail == "2 documents, but 1 in the index"


def test_an_index_of_other_rules(installed: Any) -> None:
    conn = _store(installed.home)
    conn.execute("UPDATE meta SET value = 7 WHERE key = 'segmenter_version'").fetchall()
    conn.close()
    assert installed.faults() == [("error", "index")]
    assert installed.fault("index").detail.startswith("made by rules 7, ")


@pytest.mark.parametrize(
    ("version", "level"),
    [("3.45.1", "error"), ("3.51.2", "error"), ("3.51.3", "ok"), ("3.54.0", "ok"), ("4.0", "ok")],
)
def test_sqlite_that_can_damage_a_log(version: str, level: str) -> None:
    assert memory.judge_sqlite(version).level == level


def test_a_store_that_another_process_keeps_locked(
    installed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    conn = _store(installed.home)
    monkeypatch.setattr(connection, "WRITER_WAIT_MS", 50)
    conn.execute("BEGIN IMMEDIATE")
    try:
        assert installed.faults() == [("error", "delivery")]
    finally:
        conn.execute("ROLLBACK")
        conn.close()


def test_a_search_that_does_not_find_is_told(
    installed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cmem.doctor import trial
    from cmem.search.run import SearchResult

    _store(installed.home).close()
    monkeypatch.setattr(trial.searching, "search", lambda *_args, **_more: SearchResult("", [], []))
    assert installed.faults() == [("error", "delivery")]
    assert installed.fault("delivery").detail == (
        "in memory.db: search gives 0 hits for the one test event"
    )


# --- work ----------------------------------------------------------------------------


def test_parked_and_stalled_work(installed: Any) -> None:
    conn = _store(installed.home)
    session = seeding.add_session(conn)
    for number in (1, 2):
        unit = seeding.add_unit(conn, seeding.add_turn(conn, session, number))
        seeding.park(conn, unit, "unusable: no block", _now())
    seeding.add_unit(conn, seeding.add_turn(conn, session, 3))  # waits since 2025
    conn.close()
    assert installed.faults() == [("error", "work"), ("warn", "parked work")]
    assert installed.fault("parked work").detail == (
        "2 turns could not be observed and put aside: 2 × unusable: no block"
    )
    assert installed.fault("work").fix == "cmem compress"


def test_a_paused_provider(installed: Any) -> None:
    chosen, trouble = provider.load(str(installed.home))
    assert chosen is not None and not trouble
    conn = _store(installed.home)
    more = {"step": 1, "fingerprint": fingerprint(chosen)}
    pause.arm(conn, reason="quota: come back later", until=_now() + 60_000, **more)
    assert installed.faults() == [("warn", "paused")]
    assert installed.fault("paused").detail.endswith(" seconds: quota: come back later")
    pause.arm(conn, reason="quota: come back later", until=_now() - 1, **more)
    assert installed.faults() == []
    pause.arm(conn, reason="x", until=_now() + 60_000, step=1, fingerprint="of other settings")
    assert installed.faults() == []
    conn.close()


def test_a_daily_budget_that_is_reached(installed: Any) -> None:
    conn = _store(installed.home)
    key = breaker.budget_key(budget.limits(1.0, 2_000_000))
    told = {"reason": "daily budget of $1.00 reached; more", "until": _now() + 60_000, "step": 0}
    pause.arm(conn, **told, fingerprint=key, key=pause.BUDGET)
    assert installed.faults() == [("warn", "budget")]
    assert installed.fault("budget").detail == (
        "turns wait for the next day: daily budget of $1.00 reached"
    )
    pause.arm(conn, **told, fingerprint="of another budget", key=pause.BUDGET)
    assert installed.faults() == []
    conn.close()


# --- the mailbox ---------------------------------------------------------------------


def test_a_damaged_spool_is_told_and_left_alone(installed: Any) -> None:
    path = installed.home / "spool.db"
    path.write_bytes(b"no database" * 1000)
    path.chmod(0o600)
    assert installed.faults() == [("error", "spool"), ("warn", "capture"), ("warn", "hook log")]
    assert path.read_bytes() == b"no database" * 1000
    assert hookrun.spilled(installed.home) == []


def test_a_spool_with_bad_pages_is_told_and_left_alone(installed: Any) -> None:
    for number in range(200):
        _put(installed.home, at=_now() + number, payload=b"{}" + b" " * 400)
    path = installed.home / "spool.db"
    conn = spooled.open_drain(str(installed.home))
    assert conn is not None
    spooled.finish(conn)
    raw = bytearray(path.read_bytes())
    raw[4096 : len(raw) : 2] = b"\xa5" * len(raw[4096 : len(raw) : 2])
    path.write_bytes(raw)
    assert ("error", "spool") in installed.faults()
    assert path.exists() and not (installed.home / "quarantine").exists()


def test_an_event_that_nobody_fetches(installed: Any) -> None:
    _put(installed.home, at=_now() - 3 * DAY)
    assert installed.faults() == [("error", "spool")]
    assert installed.fault("spool").detail == "1 captured event has not been stored for 3 days"


def test_the_age_of_the_oldest_event(installed: Any) -> None:
    _put(installed.home, at=_now() - 2 * 3_600_000)
    (found,) = [one for one in installed.examine() if one.name == "spool"]
    assert found == Finding("ok", "spool", "1 event waiting, the oldest for 2 hours")


def _put(home: Path, *, at: int, payload: bytes = b"{}") -> None:
    spool.append(
        str(home),
        eid=f"e{at}",
        host="claude-code",
        event="Stop",
        session="s",
        captured_at=at,
        cwd="/",
        repo=("", "", "", ""),
        project_env="",
        digest="",
        window=False,
        payload=payload,
    )


def test_events_that_were_spilled_set_aside_or_dropped(installed: Any) -> None:
    home = str(installed.home)
    spill.write(home, host="claude-code", event="Stop", captured_at=1, payload=b"{}")
    hooklog.drop(home)
    hooklog.drop(home)
    bad = Path(paths.spill_dir(home)) / "bad"
    bad.mkdir(mode=0o700)
    (bad / "one").write_text("x")
    assert installed.faults() == [
        ("warn", "spilled events"),
        ("warn", "unreadable events"),
        ("warn", "dropped events"),
    ]
    assert installed.fault("dropped events").detail == (
        "2 events could not be kept at all: see hook.log"
    )
    assert len(hookrun.spilled(installed.home)) == 1


# --- settings and provider -----------------------------------------------------------


def _config(home: Path, text: str, mode: int = 0o600) -> None:
    path = home / "config.toml"
    path.write_text(text)
    path.chmod(mode)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("provider = ", "could not read settings: config.toml: "),
        ('provider = "nobody"', "unknown provider: nobody; known: "),
        ("colour = 1", "could not read settings: config.toml: colour: no such setting"),
        ('base_url = "http://example.com"', "must be https://"),
    ],
    ids=["toml", "provider", "name", "http to the open net"],
)
def test_settings_that_no_run_can_use(installed: Any, text: str, told: str) -> None:
    _config(installed.home, text)
    assert installed.faults() == [("error", "settings file")]
    assert told in installed.fault("settings file").detail


def test_a_key_that_only_this_shell_has(installed: Any) -> None:
    installed.env["CMEM_API_KEY"] = "k" * 8
    _config(installed.home, 'provider = "anthropic"\n')
    assert installed.faults() == [("error", "provider"), ("warn", "environment")]
    assert installed.fault("provider").fix == (
        f'write api_key = "…" into {installed.home}/config.toml'
    )


def test_a_key_that_others_can_read(installed: Any) -> None:
    text = 'provider = "anthropic"\napi_key = "kkkk"\n'
    _config(installed.home, text)
    assert installed.faults() == []
    _config(installed.home, text, 0o640)
    assert installed.faults() == [("warn", "settings file")]
    found = installed.fault("settings file")
    assert found.fix == f"chmod 600 '{installed.home}/config.toml'"
    assert "kkkk" not in str(installed.examine())


def test_plain_http_over_a_network(installed: Any) -> None:
    text = 'provider = "anthropic"\napi_key = "kkkk"\nbase_url = "http://{}"\n'
    _config(installed.home, text.format("192.168.1.7:8080"))
    assert installed.faults() == [("warn", "endpoint")]
    _config(installed.home, text.format("127.0.0.1:8080"))
    assert installed.faults() == []


# --- logs ----------------------------------------------------------------------------


def test_troubles_of_hooks_in_the_last_day(installed: Any) -> None:
    home = str(installed.home)
    for _ in range(3):
        hooklog.note(home, "Stop", "BusyError", size=10, outcome="spilled")
    hooklog.note(home, "Stop", "FullError", size=10, outcome="dropped")
    log = Path(paths.hook_log(home))
    log.write_text(
        f"{_now() - 2 * DAY} Stop OldError 1 dropped\nno line of ours\n" + log.read_text()
    )
    assert installed.faults() == [("warn", "hook log")]
    assert installed.fault("hook log").detail == (
        "in the last day: 3 × spool.db was locked for too long (BusyError) (spilled), "
        "1 × the disk is full (FullError) (dropped)"
    )


def test_the_reason_of_dropped_events_is_told(installed: Any) -> None:
    home = str(installed.home)
    for error in (OSError(errno.ENOSPC, "x"), PermissionError(), OSError(errno.ENOSPC, "x")):
        hooklog.lose(home, "Stop", error, size=10)
    hooklog.note(home, "Stop", "BusyError", size=10, outcome="spilled")
    why = (
        "2 × the disk is full (OSError:ENOSPC), 1 × the data home may not be written to, or is "
        "not yours alone (PermissionError)"
    )
    assert installed.fault("dropped events").detail == f"3 events could not be kept at all: {why}"
    status = support.run_json("status", CMEM_HOME=home)
    assert (status["spool"]["dropped"], status["dropped_why"]) == (3, why)


def test_the_last_failure_of_a_background_run(installed: Any) -> None:
    log = installed.home / "compress.log"
    log.write_text(f"{_now() - 2 * DAY} compress: unknown provider: x\n")
    assert installed.faults() == []
    log.write_text(log.read_text() + f"{_now()} run: extract: 3 events in, 1 units done\n")
    assert installed.faults() == []
    log.write_text(log.read_text() + f"{_now()} compress: \x1b[31mKeyError\n")
    assert installed.faults() == [("warn", "background runs")]
    assert installed.fault("background runs").detail == "the last failure: KeyError"
    runlog.did(str(installed.home), "extract: 0 events in", always=False)
    runlog.did(str(installed.home), "extract: 0 events in", always=False)
    assert len(log.read_text().splitlines()) == 4
    assert installed.faults() == []


def test_the_log_of_a_real_background_run_is_read(installed: Any) -> None:
    _config(installed.home, 'provider = "nobody"\n')
    hookrun.fire(installed.home, "Stop", b'{"session_id": "s"}')
    code = "import os, sys; from cmem import compress, lock; h = sys.argv[1]; "
    code += "compress.main_background(h, lock.acquire(h + '/compress.lock'))"
    done = support.subprocess.run(
        [support.sys.executable, "-c", code, str(installed.home)],
        env=support.clean_env(PYTHONPATH=str(support.ROOT)),
        check=False,
    )
    assert done.returncode == 0
    assert installed.fault("background runs").detail.startswith(
        "the last failure: unknown provider: nobody"
    )
