from __future__ import annotations

import hashlib
import re
from pathlib import Path

import apsw
import pytest
import seeding

from cmem.model import ObservationDraft, Observed, SummaryUnit, TurnUnit, Usage
from cmem.store import ledger, memory, units
from cmem.store.rows import rows

NOW = seeding.T0 + seeding.DAY
PAID = Usage(700, 90, 200, 11, 0.0125)


@pytest.fixture
def conn(home: Path) -> apsw.Connection:
    return seeding.open_store(home)


def claimed(conn: apsw.Connection, unit_id: int) -> TurnUnit | SummaryUnit:
    units.count_attempt(conn, unit_id)
    return units.load(conn, unit_id, language="auto")


def one_turn(conn: apsw.Connection, *taints: str, number: int = 1) -> TurnUnit:
    """A claimed unit of a turn with a tool use of each taint, in the one session."""
    found = rows(conn, "SELECT id FROM sessions")
    session = found[0][0] if found else seeding.add_session(conn)
    turn = seeding.add_turn(conn, session, number)
    for taint in taints or ("local",):
        seeding.add_tool(conn, turn, taint=taint)
    unit = claimed(conn, seeding.add_unit(conn, turn))
    assert isinstance(unit, TurnUnit)
    return unit


def commit(
    conn: apsw.Connection, unit: TurnUnit | SummaryUnit, observed: Observed
) -> memory.Committed:
    return memory.commit(
        conn, unit=unit, observed=observed, started_at=NOW - 50, now=NOW, microusd=12_500
    )


def remember(conn: apsw.Connection, *drafts: ObservationDraft, number: int = 1) -> None:
    commit(conn, one_turn(conn, number=number), seeding.observed(*drafts))


def dump(conn: apsw.Connection, table: str, *without: str) -> list[dict[str, object]]:
    cursor = conn.execute(f"SELECT * FROM {table}")
    names = [column[0] for column in cursor.get_description()]
    return [
        {name: value for name, value in zip(names, row, strict=True) if name not in without}
        for row in cursor
    ]


def test_observation_is_stored_whole(conn: apsw.Connection) -> None:
    unit = one_turn(conn, "local", "agent")
    observed = seeding.observed(seeding.draft(), usage=PAID)
    assert commit(conn, unit, observed) == memory.Committed(1, 0, 0)
    narrative = "subtract returned b - a; it returns a - b now."
    key = f"claude-code:alpha\0Swapped operands in subtract\0{narrative}"
    assert dump(conn, "observations", "origin_device_id", "origin_local_id") == [
        {
            "id": 1,
            "uid": hashlib.sha256(
                b"claude-code:alpha|observation|"
                + hashlib.sha256(key.encode()).hexdigest()[:16].encode()
            ).hexdigest(),
            "session_id": 1,
            "project_id": 1,
            "turn_id": 1,
            "unit_id": 1,
            "run_id": 1,
            "host": "claude-code",
            "prompt_number": 1,
            "created_at": seeding.T0 + 2 * seeding.MINUTE,
            "hidden_at": None,
            "superseded_by": None,
            "pinned": 0,
            "taint": "local",
            "type": "bugfix",
            "evidence_tokens": 27,
            "discovery_tokens": 1001,
            "read_tokens": 29,
            "occurrence_count": 1,
            "last_reinforced": seeding.T0 + 2 * seeding.MINUTE,
            "reinforcement_dates": '["2025-11-29"]',
            "content_hash": hashlib.sha256(key.encode()).hexdigest()[:16],
            "title_norm_key": "swapped operands in subtract",
            "agent_id": "",
            "agent_type": "",
            "branch": "main",
            "commit_sha": "c0ffee",
            "generated_by_model": "some-model",
            "prompt_version": "code/1",
            "sync_rev": 0,
            "synced_at": None,
            "title": "Swapped operands in subtract",
            "subtitle": "calc.py",
            "concepts": '["problem-solution"]',
            "files_read": '["calc.py"]',
            "files_modified": '["calc.py", "test_calc.py"]',
            "facts": '["calc.py: `return b - a` → `return a - b`"]',
            "narrative": narrative,
            "metadata": "{}",
        }
    ]
    assert rows(conn, "SELECT path, role FROM observation_files") == [
        ("calc.py", "modified"),
        ("calc.py", "read"),
        ("test_calc.py", "modified"),
    ]
    assert rows(conn, "SELECT kind, ref FROM observation_sources") == [
        ("P", 1),
        ("T", 1),
        ("T", 2),
    ]
    assert rows(conn, "SELECT kind, ref, created_at FROM documents WHERE kind = 'O'") == [
        ("O", 1, seeding.T0 + 2 * seeding.MINUTE)
    ]
    assert rows(
        conn, "SELECT count(*) FROM documents_fts WHERE documents_fts MATCH 'operands'"
    ) == [(1,)]


def test_run_unit_and_session_tell_of_it(conn: apsw.Connection) -> None:
    unit = one_turn(conn)
    commit(conn, unit, seeding.observed(seeding.draft(), usage=PAID))
    assert dump(conn, "observer_runs") == [
        {
            "id": 1,
            "unit_id": 1,
            "session_id": 1,
            "project_id": 1,
            "kind": "turn",
            "provider": "anthropic",
            "model": "some-model",
            "prompt_version": "code/1",
            "outcome": "done",
            "calls": 1,
            "input_tokens": 700,
            "output_tokens": 90,
            "cache_read_tokens": 200,
            "cache_write_tokens": 11,
            "started_at": NOW - 50,
            "ended_at": NOW,
            "error": "",
            "cost_microusd": 12_500,
        }
    ]
    assert rows(conn, "SELECT state, attempts, crashes, finished_at FROM work_units") == [
        ("done", 1, 0, NOW)
    ]
    assert rows(conn, "SELECT memory_session_id FROM sessions") == [("run-1",)]


def test_second_commit_of_the_same_unit_changes_nothing(conn: apsw.Connection) -> None:
    unit = one_turn(conn)
    observed = seeding.observed(seeding.draft(), usage=PAID)
    commit(conn, unit, observed)
    before = conn.total_changes()
    assert commit(conn, unit, observed) == memory.Committed(0, 0, 0)
    assert conn.total_changes() == before


def test_failure_inside_leaves_everything_as_it_was(
    conn: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = one_turn(conn)

    def fails(*_args: object, **_named: object) -> int:
        raise apsw.FullError

    monkeypatch.setattr("cmem.store.documents.add", fails)
    with pytest.raises(apsw.FullError):
        commit(conn, unit, seeding.observed(seeding.draft()))
    assert rows(conn, "SELECT count(*) FROM observer_runs") == [(0,)]
    assert rows(conn, "SELECT count(*) FROM observations") == [(0,)]
    assert rows(conn, "SELECT state, crashes FROM work_units") == [("pending", 1)]


def test_explicit_skip_is_done_with_its_reason(conn: apsw.Connection) -> None:
    unit = one_turn(conn)
    assert commit(conn, unit, seeding.observed(skipped="small talk")) == (0, 0, 1)
    assert rows(conn, "SELECT state FROM work_units") == [("skipped",)]
    assert rows(conn, "SELECT outcome, error, provider FROM observer_runs") == [
        ("skipped", "small talk", "extract")
    ]


def test_call_is_shared_out_to_the_last_token(conn: apsw.Connection) -> None:
    drafts = [seeding.draft(f"title {n}") for n in range(3)]
    commit(conn, one_turn(conn), seeding.observed(*drafts, usage=PAID))
    assert rows(conn, "SELECT discovery_tokens FROM observations ORDER BY id") == [
        (334,),
        (334,),
        (333,),
    ]


def test_named_sources_bound_taint_and_tokens(conn: apsw.Connection) -> None:
    unit = one_turn(conn, "local", "external", "agent")
    local, external, _agent = (event.id for event in unit.evidence)
    commit(
        conn,
        unit,
        seeding.observed(
            seeding.draft("clean", sources=(local,)),
            seeding.draft("from outside", sources=(local, external)),
            seeding.draft("of it all"),
            seeding.draft("of nothing known", sources=(999,)),
        ),
    )
    assert rows(conn, "SELECT title, taint, evidence_tokens FROM observations") == [
        ("clean", "local", 17),
        ("from outside", "external", 27),
        ("of it all", "external", 37),
        ("of nothing known", "external", 37),
    ]
    assert rows(
        conn, "SELECT ref FROM observation_sources WHERE observation_id = 2 AND kind = 'T'"
    ) == [(local,), (external,)]


@pytest.mark.parametrize(
    ("prompt", "message", "taint"),
    [("use tabs", "", "user"), ("use tabs", "Noted.", "agent"), ("", "Done.", "agent")],
)
def test_taint_of_a_turn_without_tools(
    conn: apsw.Connection, prompt: str, message: str, taint: str
) -> None:
    turn = seeding.add_turn(conn, seeding.add_session(conn), prompt=prompt, message=message)
    unit = claimed(conn, seeding.add_unit(conn, turn))
    commit(conn, unit, seeding.observed(seeding.draft()))
    assert rows(conn, "SELECT taint FROM observations") == [(taint,)]


def test_label_nobody_knows_is_the_worst(conn: apsw.Connection) -> None:
    commit(conn, one_turn(conn, "martian"), seeding.observed(seeding.draft()))
    assert rows(conn, "SELECT taint FROM observations") == [("external",)]


def test_repetition_in_a_session_reinforces(conn: apsw.Connection) -> None:
    first = seeding.draft()
    remember(conn, first)
    terms = rows(conn, "SELECT count(*) FROM documents_fts_docsize")
    unit = one_turn(conn, "external", number=2)
    later = first._replace(at=first.at + seeding.DAY, subtitle="another")
    assert commit(conn, unit, seeding.observed(later)) == memory.Committed(0, 0, 0)
    remember(conn, first._replace(at=first.at + seeding.DAY + 5), number=3)
    assert rows(
        conn,
        """SELECT subtitle, occurrence_count, last_reinforced, reinforcement_dates, taint,
            created_at FROM observations""",
    ) == [
        (
            "calc.py",
            3,
            first.at + seeding.DAY + 5,
            '["2025-11-29", "2025-11-30"]',
            "external",
            first.at,
        )
    ]
    assert rows(conn, "SELECT kind, count(*) FROM observation_sources GROUP BY kind") == [
        ("P", 3),
        ("T", 3),
    ]
    assert rows(conn, "SELECT state FROM work_units") == [("done",)] * 3
    prompts = 2
    assert rows(conn, "SELECT count(*) FROM documents_fts_docsize") == [(terms[0][0] + prompts,)]


def test_ten_days_of_reinforcement_are_kept(conn: apsw.Connection) -> None:
    for day in range(12):
        remember(conn, seeding.draft(at=seeding.T0 + day * seeding.DAY), number=day + 1)
    dates, count = rows(conn, "SELECT reinforcement_dates, occurrence_count FROM observations")[0]
    assert dates == str([f"2025-12-{day:02}" for day in range(1, 11)]).replace("'", '"')
    assert count == 12


def test_same_text_in_another_session_is_another_observation(conn: apsw.Connection) -> None:
    remember(conn, seeding.draft())
    turn = seeding.add_turn(conn, seeding.add_session(conn, "beta"))
    unit = claimed(conn, seeding.add_unit(conn, turn))
    assert commit(conn, unit, seeding.observed(seeding.draft())).observations == 1


def test_forgotten_observation_does_not_come_back(conn: apsw.Connection) -> None:
    remember(conn, seeding.draft())
    conn.execute("UPDATE observations SET hidden_at = 1")
    remember(conn, seeding.draft(), number=2)
    assert rows(conn, "SELECT hidden_at, occurrence_count FROM observations") == [(1, 1)]


@pytest.mark.parametrize(
    "forgets",
    [
        "UPDATE tool_uses SET hidden_at = 1 WHERE id = 2",
        "UPDATE user_prompts SET hidden_at = 1",
        "UPDATE turns SET hidden_at = 1",
        "DELETE FROM tool_uses WHERE id = 2",
    ],
)
def test_reply_on_evidence_forgotten_meanwhile_is_not_stored(
    conn: apsw.Connection, forgets: str
) -> None:
    unit = one_turn(conn, "local", "local")
    conn.execute(forgets)
    assert commit(conn, unit, seeding.observed(seeding.draft(), usage=PAID)) == (0, 0, 0)
    assert rows(conn, "SELECT count(*) FROM observations") == [(0,)]
    assert rows(conn, "SELECT outcome, input_tokens FROM observer_runs") == [("stale", 700)]
    assert rows(conn, "SELECT state, attempts, crashes FROM work_units") == [("pending", 0, 0)]


def test_summary_is_stored_whole(conn: apsw.Connection) -> None:
    """It is made of what did not come from outside, so that it can be injected by itself."""
    remember(conn, seeding.draft())
    commit(conn, one_turn(conn, "external", number=2), seeding.observed(seeding.draft("b")))
    turn = rows(conn, "SELECT max(id) FROM turns")[0][0]
    unit = claimed(conn, seeding.add_unit(conn, turn, kind="summary", reason="end"))
    observed = seeding.observed(summary=seeding.SUMMARY, usage=PAID)
    assert commit(conn, unit, observed) == memory.Committed(0, 1, 0)
    at = seeding.T0 + 2 * seeding.MINUTE + 30_000
    assert dump(conn, "session_summaries", "origin_device_id", "origin_local_id") == [
        {
            "id": 1,
            "uid": hashlib.sha256(
                b"claude-code:alpha|summary|2|fix the subtract function|calc.py|"
                b"the operands were swapped|subtract fixed||"
            ).hexdigest(),
            "session_id": 1,
            "project_id": 1,
            "turn_id": 2,
            "unit_id": 3,
            "run_id": 3,
            "created_at": at,
            "hidden_at": None,
            "prompt_number": 2,
            "taint": "local",
            "evidence_tokens": 42,
            "discovery_tokens": 1001,
            "read_tokens": 19,
            "branch": "main",
            "generated_by_model": "some-model",
            "prompt_version": "code/1",
            "sync_rev": 0,
            "synced_at": None,
            "request": "fix the subtract function",
            "investigated": "calc.py",
            "learned": "the operands were swapped",
            "completed": "subtract fixed",
            "next_steps": "",
            "notes": "",
            "files_read": '["calc.py"]',
            "files_edited": '["calc.py"]',
            "metadata": "{}",
        }
    ]
    assert rows(conn, "SELECT ref, created_at FROM documents WHERE kind = 'S'") == [(1, at)]
    assert rows(conn, "SELECT memory_session_id FROM sessions") == [("run-3",)]


@pytest.mark.parametrize("table", ["observations", "turns"])
def test_summary_of_what_was_forgotten_meanwhile_is_not_stored(
    conn: apsw.Connection, table: str
) -> None:
    remember(conn, seeding.draft())
    unit = claimed(conn, seeding.add_unit(conn, 1, kind="summary", reason="idle"))
    conn.execute(f"UPDATE {table} SET hidden_at = 1")
    assert commit(conn, unit, seeding.observed(summary=seeding.SUMMARY)) == (0, 0, 0)
    assert rows(conn, "SELECT count(*) FROM session_summaries") == [(0,)]


def test_what_is_stored_holds_no_secret_and_no_control(conn: apsw.Connection) -> None:
    secret = "ghp_" + "a1B2" * 9
    hidden = secret[:12] + "\u200b" + secret[12:]
    text = f"x\x1b[31m {hidden}\nnext"
    spoiled = seeding.draft(
        text,
        type="bug\nfix",
        subtitle=text,
        narrative=text,
        facts=(text, text, " "),
        concepts=(text,),
        files_read=(text,),
        files_modified=(text,),
    )
    unit = one_turn(conn)
    commit(conn, unit, seeding.observed(spoiled))
    summary = seeding.SUMMARY._replace(request=text, files_read=(text,))
    commit(
        conn,
        claimed(conn, seeding.add_unit(conn, 1, kind="summary", reason="end")),
        seeding.observed(summary=summary),
    )
    stored = str([*dump(conn, "observations"), *dump(conn, "session_summaries")])
    assert "a1B2a1B2" not in stored
    assert "\\x1b" not in stored
    title, narrative, kind, facts = rows(
        conn, "SELECT title, narrative, type, json_array_length(facts) FROM observations"
    )[0]
    assert re.fullmatch(r"x \[REDACTED:[a-z-]+\] next", title)
    assert re.fullmatch(r"x \[REDACTED:[a-z-]+\]\nnext", narrative)
    assert (kind, facts) == ("bug fix", 1)


def test_a_call_that_came_too_late_is_still_paid_for(conn: apsw.Connection) -> None:
    """Two runs at one unit, as where somebody took the lock's file away: one commits, the other
    only tells what it spent."""
    unit = one_turn(conn)
    expected = ledger.Expected("anthropic", "some-model", 500, 600, None)
    runs = [ledger.start(conn, unit.unit_id, expected, now=NOW) for _ in range(2)]
    for run_id in runs:
        memory.commit(
            conn,
            unit=unit,
            observed=seeding.observed(seeding.draft(), usage=PAID),
            started_at=NOW,
            now=NOW,
            microusd=12_500,
            run_id=run_id,
        )
    assert rows(conn, "SELECT outcome, input_tokens, cost_microusd FROM observer_runs") == [
        ("done", 700, 12_500),
        ("stale", 700, 12_500),
    ]
    assert rows(conn, "SELECT run_id FROM observations") == [(runs[0],)]
