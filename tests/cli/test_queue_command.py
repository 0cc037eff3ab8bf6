"""``cmem queue``: what waits, what was put aside, and what a person decides about it."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest
import seeding
from fake_anthropic import FakeAnthropic
from support import payload_bytes, run_cmem, run_hook, run_json

from cmem import lock, paths
from cmem.cli import asking
from cmem.cli import queue as command
from cmem.doctor import memory as doctor
from cmem.errors import CmemError
from cmem.store import batches, connection, counts, ledger, queue, unit_rows, units
from cmem.store.rows import rows

NOW = seeding.T0 + seeding.DAY
PROMPT = "Please raise the retry limit to 3, because the deploy gives up before the server is up."
OBSERVATION = """<observation><type>bugfix</type><title>Retry limit raised</title>
<facts><fact>MAX_RETRIES is now 3</fact></facts><narrative>It gave up too early.</narrative>
</observation>"""


def run(*args: str) -> tuple[int, str, str]:
    done = run_cmem("queue", *args)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def compress(api: FakeAnthropic, *args: str) -> dict[str, Any]:
    env = {"CMEM_PROVIDER": "anthropic", "CMEM_BASE_URL": api.url, "CMEM_API_KEY": "dummy"}
    report: dict[str, Any] = run_json("compress", *args, **env)
    return report


def capture(home: Path, session: str = "s1") -> None:
    """One turn of one tool call, which cannot be halved."""
    base = {"session_id": session, "cwd": "/home/dev/project", "prompt_id": f"p-{session}"}
    tool = {"tool_name": "Bash", "tool_use_id": f"toolu_{session}"}
    events: list[tuple[str, dict[str, Any]]] = [
        ("UserPromptSubmit", {"prompt": PROMPT}),
        ("PostToolUse", {**tool, "tool_input": {"command": "sh d"}, "tool_response": {}}),
        ("Stop", {"last_assistant_message": "The limit is 3 now."}),
    ]
    for event, payload in events:
        full = {"hook_event_name": event, **base, **payload}
        assert run_hook(home, event, payload_bytes(full)).returncode == 0


@pytest.fixture
def parked(home: Path) -> Path:
    """A captured turn whose observer gave nothing usable five times."""
    capture(home)
    with FakeAnthropic({"replies": [], "default": "I cannot help with that."}) as api:
        for _ in range(5):
            report = compress(api)
    assert (report["pending"], report["parked"]) == (0, 1)
    return home


@pytest.fixture
def seeded(home: Path) -> Path:
    """Units 1 (parked), 2 (pending), 3 (done), 4 (parked, of a forgotten turn), 5 (parked)."""
    conn = seeding.open_store(home)
    session = seeding.add_session(conn)
    turns = [seeding.add_turn(conn, session, number) for number in range(1, 6)]
    for turn in turns:
        seeding.add_unit(conn, turn)
    for unit in (1, 4, 5):
        seeding.park(conn, unit, "unusable: no block", NOW)
    conn.execute("UPDATE work_units SET state = 'done' WHERE id = 3").fetchall()
    conn.execute("UPDATE turns SET hidden_at = 1 WHERE id = ?", (turns[3],)).fetchall()
    conn.close()
    return home


def stored(home: Path) -> list[tuple[Any, ...]]:
    conn = connection.open_writer(str(home), now=NOW)
    found = rows(conn, "SELECT state, attempts, crashes, error FROM work_units ORDER BY id")
    conn.close()
    return found


def states(home: Path) -> list[str]:
    return [row[0] for row in stored(home)]


# --- from hook to decision -----------------------------------------------------------


def test_a_parked_unit_is_listed_and_tried_again_with_a_clean_count(parked: Path) -> None:
    found = run_json("queue", "list")
    since = found["units"][0]["since"]
    assert found == {
        "units": [
            {
                "id": 1,
                "kind": "turn",
                "session": "N1",
                "host_session": "s1",
                "project": "project",
                "title": PROMPT[:79] + "…",
                "state": "parked",
                "attempts": 5,
                "since": since,
                "reason": stored(parked)[0][3],
            }
        ],
        "pending": 0,
        "parked": 1,
    }
    assert found["units"][0]["reason"].startswith("unusable") and since > NOW
    assert run("retry", "--all") == (
        0,
        "To be tried again: 1 unit (1). `cmem compress` does it now.\n",
        "",
    )
    assert stored(parked) == [("pending", 0, 0, "")]
    with FakeAnthropic([OBSERVATION]) as api:
        report = compress(api)
    assert (report["observations"], report["pending"], report["parked"]) == (1, 0, 0)


def test_a_dropped_unit_is_not_asked_for_stays_searchable_and_comes_back(parked: Path) -> None:
    assert run("drop", "1") == (
        0,
        "Given up: 1 unit (1). `cmem queue retry` with the id takes it back.\n",
        "",
    )
    assert run("list") == (0, "0 pending, 0 parked\n", "")
    status = run_json("status")
    assert (status["work"]["pending"], status["work"]["parked"]) == (0, 0)
    with FakeAnthropic([]) as api:
        assert compress(api)["calls"] == 0
    hits = {hit["id"] for hit in run_json("search", "retry limit", "--all")["hits"]}
    assert "P1" in hits
    dropped = run_json("queue", "list", "--state", "dropped")["units"]
    assert [(one["id"], one["state"], one["attempts"]) for one in dropped] == [(1, "dropped", 5)]
    assert run_json("queue", "retry", "1") == {"retried": [1]}
    with FakeAnthropic([OBSERVATION]) as api:
        assert compress(api)["observations"] == 1


def test_a_summary_can_wait_and_be_dropped(home: Path) -> None:
    capture(home)
    end = {"hook_event_name": "SessionEnd", "session_id": "s1", "cwd": "/home/dev/project"}
    run_hook(home, "SessionEnd", payload_bytes(end | {"reason": "other"}))
    with FakeAnthropic([OBSERVATION]) as api:
        compress(api, "--max-calls", "1")
    units = run_json("queue", "list")["units"]
    assert [(one["id"], one["kind"], one["state"]) for one in units] == [(2, "summary", "pending")]
    assert run_json("queue", "drop", "2") == {"dropped": [2], "dry_run": False}
    with FakeAnthropic([]) as api:
        report = compress(api)
    assert (report["calls"], report["summaries"], report["pending"]) == (0, 0, 0)


# --- list ----------------------------------------------------------------------------


def test_list_as_text_has_parked_ones_first(seeded: Path) -> None:
    code, out, err = run("list")
    lines = out.splitlines()
    assert (code, err, len(lines)) == (0, "", 4)
    assert [line.split("  ")[0].split() for line in lines[:3]] == [["1"], ["5"], ["2"]]
    assert lines[0].startswith("1    turn     parked   N1  calc  0 attempts  ")
    assert lines[0].endswith("  fix the subtract function  (unusable: no block)")
    assert lines[2].endswith("  fix the subtract function")
    assert lines[3] == "1 pending, 2 parked"


@pytest.mark.parametrize(
    ("args", "ids"),
    [
        ([], [1, 5, 2]),
        (["--state", "parked"], [1, 5]),
        (["--state", "pending"], [2]),
        (["--state", "dropped"], []),
        (["--limit", "1"], [1]),
    ],
    ids=lambda value: " ".join(map(str, value)) or "none",
)
def test_list_chooses_and_counts_all(seeded: Path, args: list[str], ids: list[int]) -> None:
    found = run_json("queue", "list", *args)
    assert [one["id"] for one in found["units"]] == ids
    assert (found["pending"], found["parked"]) == (1, 2)


def test_what_is_stored_acts_on_no_terminal(home: Path) -> None:
    conn = seeding.open_store(home)
    turn = seeding.add_turn(conn, seeding.add_session(conn), prompt="a\x1b[31m red\nsecond line")
    seeding.add_unit(conn, turn)
    conn.execute("UPDATE work_units SET error = 'why\n\x1b]0;x\x07not'").fetchall()
    conn.close()
    assert run("list")[1].splitlines()[0].endswith("  a red second line  (why not)")
    assert run_json("queue", "list")["units"][0]["title"] == "a red second line"


def test_a_turn_without_a_prompt_goes_by_its_answer(home: Path) -> None:
    conn = seeding.open_store(home)
    session = seeding.add_session(conn)
    for number, message in ((1, "Swept the yard."), (2, "")):
        turn = seeding.add_turn(conn, session, number, prompt="", message=message)
        seeding.add_unit(conn, turn)
    conn.close()
    assert [one["title"] for one in run_json("queue", "list")["units"]] == ["Swept the yard.", ""]
    assert run("list")[1].splitlines()[1].endswith("  without a prompt")


def test_without_a_store_nothing_waits_and_none_is_made(home: Path) -> None:
    assert run_json("queue", "list") == {"units": [], "pending": 0, "parked": 0}
    for verb in ("retry", "drop"):
        assert run(verb, "--all") == (
            1,
            "",
            "cmem: no memories yet, so nothing waits\n",
        )
    assert list(home.iterdir()) == []


# --- retry and drop ------------------------------------------------------------------

AS_SEEDED = ["parked", "pending", "done", "parked", "parked"]


def test_all_is_every_parked_unit_that_is_to_be_seen(seeded: Path) -> None:
    assert run_json("queue", "drop", "--all", "--yes") == {"dropped": [1, 5], "dry_run": False}
    assert states(seeded) == ["dropped", "pending", "done", "parked", "dropped"]
    assert run("retry", "--all") == (0, "To be tried again: nothing.\n", "")
    assert run_json("queue", "retry", "5", "#1") == {"retried": [5, 1]}
    assert states(seeded) == ["pending", "pending", "done", "parked", "pending"]


def test_dropping_keeps_the_reason_and_retrying_does_not(seeded: Path) -> None:
    run("drop", "1")
    assert stored(seeded)[0] == ("dropped", 0, 0, "unusable: no block")
    run("retry", "1")
    assert stored(seeded)[0] == ("pending", 0, 0, "")


@pytest.mark.parametrize(
    ("verb", "key", "after"), [("retry", "retried", "pending"), ("drop", "dropped", "dropped")]
)
def test_known_ones_are_done_and_unknown_ones_named(
    seeded: Path, verb: str, key: str, after: str
) -> None:
    code, out, err = run(verb, "3", "1", "99", "O1", "4", "--json")
    assert (code, out.startswith(f'{{"{key}": [1]')) == (1, True)
    assert err == ("cmem: no such unit in the queue: 3, 99, O1, 4; `cmem queue list` shows them\n")
    assert states(seeded) == [after, *AS_SEEDED[1:]]
    assert run(verb, "99") == (
        1,
        "",
        "cmem: no such unit in the queue: 99; `cmem queue list` shows them\n",
    )


def test_what_is_so_already_is_no_failure(seeded: Path) -> None:
    assert run("retry", "2") == (0, "To be tried again: nothing.\n", "")
    assert run_json("queue", "drop", "2", "2") == {"dropped": [2], "dry_run": False}
    assert run("drop", "2") == (0, "Given up: nothing.\n", "")


def test_dry_run_changes_nothing(seeded: Path) -> None:
    assert run_json("queue", "drop", "--all", "--dry-run") == {"dropped": [1, 5], "dry_run": True}
    assert run("drop", "1", "2", "--dry-run") == (0, "Would give up: 2 units (1 2).\n", "")
    assert states(seeded) == AS_SEEDED


def test_in_a_pipe_all_needs_yes(seeded: Path) -> None:
    assert run("drop", "--all") == (
        1,
        "",
        "cmem: nothing was dropped: that would be 2 units (1 5); add --yes to do it\n",
    )
    assert states(seeded) == AS_SEEDED


@pytest.mark.parametrize("answer", ["n", "", "y"])
def test_a_person_is_asked(
    seeded: Path, answer: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(asking, "person", lambda: True)
    monkeypatch.setattr(sys, "stdin", io.StringIO(answer + "\n"))
    values = {"ids": ["1"], "all": False, "yes": False, "dry_run": False, "json": False}
    if answer == "y":
        assert command.run_drop(values) == 0
    else:
        with pytest.raises(CmemError, match="nothing was dropped"):
            command.run_drop(values)
    assert capfd.readouterr().err == "Give up: 1 unit (1). Go on? [y/N] "
    assert states(seeded)[0] == ("dropped" if answer == "y" else "parked")


WRONG = {
    "nothing named": (["retry"], "name units by their ids"),
    "ids and all": (["drop", "1", "--all"], "name units by their ids"),
    "no such state": (["list", "--state", "done"], "no such state: done; known: pending"),
    "no limit": (["list", "--limit", "0"], "--limit must be at least 1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_line_is_refused(seeded: Path, name: str) -> None:
    args, told = WRONG[name]
    code, out, err = run(*args)
    assert (code, out, err.startswith(f"cmem: {told}")) == (2, "", True)
    assert states(seeded) == AS_SEEDED


def test_a_compress_at_work_is_waited_for(
    seeded: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("cmem.cli.writing.LOCK_WAIT_MS", 0)
    fd = lock.acquire(paths.lock_file(str(seeded)))
    assert fd is not None
    values = {"ids": ["1"], "all": False, "yes": True, "dry_run": False, "json": False}
    try:
        for run_it in (command.run_retry, command.run_drop):
            with pytest.raises(CmemError, match="a compress is running") as caught:
                run_it(values)
            assert caught.value.exit_code == 75
    finally:
        lock.release(fd)
    assert states(seeded) == AS_SEEDED
    assert command.run_retry(values) == 0
    assert capfd.readouterr().out.startswith("To be tried again: 1 unit (1).")


# --- what others make of a dropped unit ----------------------------------------------


def test_a_dropped_unit_is_nobodys_work(seeded: Path) -> None:
    conn = connection.open_writer(str(seeded), now=NOW)
    queue.drop(conn, [1, 2, 5], now=NOW)
    assert counts.work(conn) == (0, 0, None)
    assert (counts.pending_units(conn, session=None), units.next_pending(conn)) == ([], None)
    assert units.count_attempt(conn, 2) == 0
    conn.close()
    assert [one.name for one in doctor.check_work(str(seeded), None, now=NOW)] == ["work"]


def test_a_summary_waits_for_no_dropped_turn(home: Path) -> None:
    conn = seeding.open_store(home)
    turn = seeding.add_turn(conn, seeding.add_session(conn))
    first = seeding.add_unit(conn, turn)
    summary = seeding.add_unit(conn, turn, kind="summary", reason="end")
    assert units.next_pending(conn, exclude={first}) is None
    queue.drop(conn, [first], now=NOW)
    assert units.next_pending(conn) == summary


def test_turns_of_a_dropped_summary_are_not_told_by_the_next_one(home: Path) -> None:
    conn = seeding.open_store(home)
    session = seeding.add_session(conn)
    summaries = [
        seeding.add_unit(conn, seeding.add_turn(conn, session, number), kind="summary")
        for number in (1, 2)
    ]
    span = (session, 2)
    assert rows(conn, unit_rows.SUMMARISED, span) == [(0,)]
    queue.drop(conn, summaries[:1], now=NOW)
    assert rows(conn, unit_rows.SUMMARISED, span) == [(1,)]
    queue.retry(conn, summaries[:1], now=NOW)
    assert rows(conn, unit_rows.SUMMARISED, span) == [(0,)]


def test_doctor_names_the_command() -> None:
    assert doctor.judge_parked([("unusable", 2)]).fix == (
        "`cmem queue retry --all` tries them again, `cmem queue drop --all` gives them up"
    )


@pytest.fixture
def batched(home: Path) -> Path:
    """Two units in a batch, each with its call on the books."""
    conn = seeding.open_store(home)
    session = seeding.add_session(conn)
    made = [seeding.add_unit(conn, seeding.add_turn(conn, session, number)) for number in (1, 2)]
    batch = batches.begin(conn, "token", now=NOW)
    for unit in made:
        expected = ledger.Expected("anthropic", "m", 900, 600, 10)
        run_id = ledger.start(conn, unit, expected, now=NOW)
        batches.add(conn, batch, unit, run_id=run_id, sent=batches.Sent("d", "code/1"))
    batches.sent(conn, batch, "remote")
    conn.close()
    return home


def test_units_in_a_batch_are_listed_taken_back_and_given_up(batched: Path) -> None:
    listed = run_json("queue", "list")["units"]
    assert [(one["id"], one["state"]) for one in listed] == [(1, "batched"), (2, "batched")]
    assert run_json("queue", "retry", "1") == {"retried": [1]}
    assert run_json("queue", "drop", "2", "--yes") == {"dropped": [2], "dry_run": False}
    conn = seeding.open_store(batched)
    assert rows(conn, "SELECT id, state, attempts FROM work_units") == [
        (1, "pending", 0),
        (2, "dropped", 0),
    ]
    assert (
        rows(conn, "SELECT outcome, input_tokens FROM observer_runs") == [("interrupted", 900)] * 2
    )
    assert batches.waiting(conn, "") == batches.Waiting()
    conn.close()


@pytest.mark.parametrize(
    ("provider", "said"),
    [
        ("anthropic", "; a later run collects the results"),
        ("extract", ", which extract does not collect; `cmem queue retry` with their ids"),
    ],
)
def test_status_says_who_does_not_collect_a_batch(provider: str, said: str, batched: Path) -> None:
    (batched / "config.toml").write_text(f'provider = "{provider}"\napi_key = "dummy"\n')
    assert said in run_json("status")["health"]
