"""A fork: what is new to it, and whose fork it is where no host says so."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import apsw
import capturing
import hookrun
import pytest
import samples
from context.test_block import start
from context.test_sources import LATER, OWN, middle
from support import ROOT, payload_bytes

from cmem import intake, spooled
from cmem.context import shown, tell
from cmem.hosts.wire import HOSTS
from cmem.store import current

NOON = samples.NOON
NEW = "0b6f0c56-7d3a-4ad1-8d7f-000000000001"
RECORDED = ROOT / "tests/fixtures/hosts/claude-code/SessionStart-fork.json"


def added(conn: apsw.Connection, name: str, title: str, at: int, **values: Any) -> int:
    """A session of calc in whose only turn, at that time, one thing was learned; the session."""
    ref = samples.session(conn, 1, name, **{"started_at": at, "last_event_at": at} | values)
    turn = samples.turn(conn, ref, 1, opened_at=at, last_event_at=at, closed_at=at)
    samples.observation(conn, 1, ref, turn, title=title, created_at=at)
    return ref


def told(document: dict[str, Any]) -> list[str]:
    return [line.split(": ")[1].split(" (~")[0] for line in middle(document)[1:]]


def fork(home: Path, answered: int | None, **values: Any) -> list[str]:
    """What a fork of a session that was answered then is told."""
    document = start(home, "/src/calc", source="fork", answered=answered, **values)
    return told(document) if document else []


def test_a_fork_gets_what_others_added_since_its_parent_began(home: Path) -> None:
    conn = samples.calc(home)
    other = added(conn, "other", "Known before", NOON)
    added(conn, "beside", "Beside it", NOON + samples.HOUR)
    samples.observation(conn, 1, 1, 1, title="Its own", created_at=LATER)
    samples.observation(conn, 1, other, 2, title="Added since", created_at=LATER)
    samples.summary(conn, 1, other, 2, completed="Released", created_at=LATER)
    conn.execute("UPDATE turns SET closed_at = 1, last_event_at = 1 WHERE session_id = ?", (other,))
    conn.close()
    document = start(home, "/src/calc", source="fork", answered=NOON + 400)
    found = middle(document)
    assert found[0].startswith("Last session (S2 of N2, ")
    assert found[1] == "- completed: Released"
    assert found[2].startswith("New since the forked session, of ")
    assert [line for line in found[3:] if line.startswith("- ")] == [
        "- O6 bugfix: Added since (~60 tokens)",
        "- O4 bugfix: Beside it (~60 tokens)",
    ]
    assert document == start(home, "/src/calc", source="fork", answered=NOON + 400)


@pytest.mark.parametrize(
    ("answered", "found"),
    [
        (NOON - 3_001, ["unittest, not pytest", "Beside it", "Fixed subtract"]),
        (NOON - 3_000, ["Beside it"]),
        (NOON, ["Beside it"]),
        (NOON + 5_000, ["Beside it"]),
        (NOON + 5_001, []),
    ],
)
def test_the_parent_is_who_was_at_work_when_it_was_answered(
    home: Path, answered: int, found: list[str]
) -> None:
    conn = samples.calc(home)
    conn.execute("UPDATE observations SET facts = '[]', narrative = ''")
    turn = samples.turn(conn, samples.session(conn, 1, "other", started_at=1), 1, closed_at=1)
    conn.execute("UPDATE turns SET last_event_at = 1 WHERE id = ?", (turn,))
    samples.observation(conn, 1, 2, turn, title="Beside it", created_at=NOON + 2_200)
    conn.execute("UPDATE session_summaries SET hidden_at = 1")
    conn.close()
    assert fork(home, answered) == found


def test_a_turn_that_never_ended_tells_the_parent_too(home: Path) -> None:
    conn = samples.calc(home)
    added(conn, "other", "Beside it", NOON + samples.HOUR)
    conn.execute("UPDATE turns SET closed_at = NULL WHERE session_id = 1")
    # What a background agent has done later changes nothing.
    assert fork(home, NOON) == ["Beside it"]
    conn.execute("UPDATE turns SET closed_at = ?, last_event_at = ? WHERE id = 1", (NOON, LATER))
    conn.close()
    assert fork(home, NOON) == ["Beside it"]


def test_few_turns_and_sessions_are_looked_at(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(current, "TURNS", 3)
    monkeypatch.setattr(current, "SESSIONS", 3)
    conn = samples.calc(home)
    # What an import has added is no turn of the host's.
    for number in (2, 3, 10**9, 10**9 + 1, 10**9 + 2):
        samples.turn(conn, 1, number, closed_at=LATER, last_event_at=LATER)
    for name in ("a", "b"):
        samples.session(conn, 1, name, started_at=NOON + 1)

    def parents() -> list[str]:
        times = {"since": NOON - 1, "until": NOON + 1}
        found = current.at(conn, current.ENDED, [1], ["claude-code"], **times)
        return [host_id for _ref, _at, host_id in found]

    assert parents() == [OWN]
    samples.session(conn, 1, "c", started_at=NOON + 1)
    assert parents() == []
    conn.execute("UPDATE sessions SET started_at = ? WHERE id > 2", (NOON + 2,))
    assert parents() == [OWN]
    samples.turn(conn, 1, 4, closed_at=LATER, last_event_at=LATER)
    assert parents() == []
    conn.close()


def test_where_several_may_be_the_parent_only_what_others_did_after_it_is_told(home: Path) -> None:
    conn = samples.calc(home)
    twin = added(conn, "twin", "Of the twin", NOON + 1_000)
    added(conn, "before", "Before it", NOON - samples.HOUR, started_at=1)
    added(conn, "after", "After it", NOON + samples.HOUR)
    samples.observation(conn, 1, twin, 2, title="Of the twin, later", created_at=LATER)
    samples.summary(conn, 1, twin, 2, completed="The twin's", created_at=LATER)
    samples.observation(conn, 1, 1, 1, title="Of the parent, later", created_at=LATER)
    conn.close()
    assert fork(home, NOON + 500) == ["After it"]


def test_a_fork_whose_parent_is_not_stored_gets_what_came_after_it(home: Path) -> None:
    conn = samples.calc(home)
    added(conn, "after", "After it", LATER)
    conn.close()
    assert fork(home, LATER - 60_000) == ["After it"]
    assert fork(home, LATER + 60_000) == []
    assert fork(home, None) == []


def test_a_fork_that_is_stored_already_is_not_its_own_parent(home: Path) -> None:
    conn = samples.calc(home)
    added(conn, "other", "Beside it", NOON + samples.HOUR)
    samples.session(conn, 1, NEW, started_at=NOON + 1_000, last_event_at=NOON + 1_000)
    conn.close()
    assert fork(home, NOON) == ["Beside it"]


def test_who_was_at_work_elsewhere_is_no_parent(home: Path) -> None:
    conn = samples.calc(home)
    added(conn, "codex session", "Of another host", NOON + 1_000, host="codex")
    other = samples.project(conn, "other", "/src/other")
    samples.turn(conn, samples.session(conn, other, "elsewhere", cwd="/src/other"), 1)
    conn.close()
    assert fork(home, NOON) == ["Of another host"]
    assert start(home, "/src/other", source="fork", answered=NOON) == {}


def test_a_merged_projects_session_is_a_parent(home: Path) -> None:
    conn = samples.calc(home)
    added(conn, "other", "Beside it", NOON + samples.HOUR)
    old = samples.project(conn, "old", "/src/old")
    conn.execute("UPDATE sessions SET project_id = ? WHERE id = 1", (old,))
    conn.execute("UPDATE projects SET merged_into = 1 WHERE id = ?", (old,))
    conn.close()
    assert fork(home, NOON) == ["Beside it"]


def test_in_folders_that_are_no_project_a_parent_began_in_the_same_one(home: Path) -> None:
    conn = samples.open_store(home)
    samples.project(conn, "unsorted", "", "unsorted")
    for name in ("one", "two"):
        cwd = f"/tmp/{name}"
        added(conn, name, f"Learned in {name}", NOON, cwd=cwd)
        added(conn, f"{name} later", f"Later in {name}", NOON + samples.HOUR, cwd=cwd)
    conn.close()
    document = start(home, "/tmp/one", source="fork", answered=NOON)
    assert told(document) == ["Later in one"]


def test_what_its_parent_was_told_a_fork_is_not_told_again(home: Path) -> None:
    conn = samples.calc(home)
    added(conn, "first", "Told to the parent", NOON + samples.HOUR)
    added(conn, "second", "Told to nobody", NOON + 2 * samples.HOUR)
    conn.close()
    shown.claim(str(home), OWN, ["O3", "file:12"])
    known: set[str] = set()
    assert fork(home, NOON, known=known) == ["Told to nobody"]
    assert known == {"O3", "file:12"}


@pytest.mark.parametrize("source", ["resume", "fork"])
def test_what_is_new_must_be_fit_to_be_told(home: Path, source: str) -> None:
    conn = samples.calc(home)
    turn = samples.turn(conn, samples.session(conn, 1, "other"), 1, closed_at=1, last_event_at=1)
    hidden = ({"taint": "external"}, {"hidden_at": 1}, {"superseded_by": 1})
    for number, values in enumerate(hidden):
        samples.observation(conn, 1, 2, turn, title=f"{number}", created_at=LATER, **values)
    conn.close()
    given = {"source": source, "session": OWN if source == "resume" else "", "answered": NOON}
    assert start(home, "/src/calc", **given) == {}
    assert start(home, "/src/calc", budget=0, **given) == {}


def test_a_resume_of_a_session_nobody_stored_gets_what_came_after_it(home: Path) -> None:
    conn = samples.calc(home)
    added(conn, "after", "After it", LATER)
    conn.close()
    document = start(home, "/src/calc", source="resume", session=NEW, answered=LATER - 60_000)
    assert middle(document)[0].startswith("New since this session, of ")
    assert told(document) == ["After it"]
    # A stored one tells by itself when it began.
    values = {"source": "resume", "session": OWN, "answered": LATER + 60_000}
    assert told(start(home, "/src/calc", **values)) == ["After it"]


# --- the hook ------------------------------------------------------------------------


def now() -> int:
    return time.time_ns() // 1_000_000


def started(home: Path, seconds: object, *, host: str = "claude-code", **fields: Any) -> None:
    """What the hook says to a session that starts, on stdout."""
    given = {"session_id": NEW, "cwd": "/src/calc", "source": "fork", **fields}
    payload = json.loads(RECORDED.read_text()) | given
    payload.pop("seconds_since_last_response")
    text = json.dumps(payload)
    if seconds is not None:
        text = f'{text[:-1]}, "seconds_since_last_response": {seconds}}}'
    taken = intake.identify(host, "SessionStart", text.encode(), captured_at=now())
    assert taken is not None
    tell.speak(
        str(home), event="SessionStart", taken=taken, wire=HOSTS[host], project_env="", settings={}
    )


@pytest.fixture
def lately(home: Path) -> apsw.Connection:
    """A parent that was answered a minute ago, and what another session added since."""
    conn = samples.calc(home)
    at = now() - 60_000
    conn.execute("UPDATE sessions SET started_at = ?1 - 1000, last_event_at = ?1", (at,))
    conn.execute("UPDATE turns SET last_event_at = ?1, closed_at = ?1", (at,))
    added(conn, "other", "Added since", at + 20_000)
    return conn


def test_the_recorded_field_says_when_a_forks_parent_was_answered(
    lately: apsw.Connection, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lately.close()
    started(home, 60)
    assert told(json.loads(capfd.readouterr().out)) == ["Added since"]


ODD = (
    *(None, "null", "true", "false", "-1", "60.0", "60.5", '"60"', "NaN", "Infinity", "[60]"),
    *('{"60": 60}', "1e2", str(2**63), str(2**64), "9" * 400, str(11 * 366 * 86_400)),
)


@pytest.mark.parametrize("seconds", ODD, ids=lambda one: str(one)[:12])
@pytest.mark.parametrize("source", ["fork", "resume"])
def test_seconds_that_are_none_say_nothing(
    lately: apsw.Connection,
    home: Path,
    seconds: str | None,
    source: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    lately.close()
    started(home, seconds, source=source)
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("host", sorted(set(HOSTS) - {"claude-code", "cursor"}))
def test_a_host_that_says_no_such_thing_is_told_nothing(
    lately: apsw.Connection, home: Path, host: str, capfd: pytest.CaptureFixture[str]
) -> None:
    lately.close()
    started(home, 60, host=host)
    assert capfd.readouterr().out == ""


def test_a_fork_is_told_what_has_stopped_as_others_are(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    samples.calc(home).close()
    Path(home, "config.toml").write_text("provider = [")
    started(home, None)
    assert set(json.loads(capfd.readouterr().out)) == {"systemMessage"}


def fired(home: Path, source: str, **fields: Any) -> list[str]:
    """What the real hook tells a session with the id NEW."""
    given = {"session_id": NEW, "cwd": "/src/calc", "source": source, **fields}
    payload = json.loads(RECORDED.read_text()) | {"seconds_since_last_response": 60} | given
    done = hookrun.fire(home, "SessionStart", payload_bytes(payload))
    assert (done.returncode, done.stderr) == (0, b"")
    return told(json.loads(done.stdout)) if done.stdout else []


def test_what_a_fork_was_told_it_is_not_told_when_it_goes_on(
    lately: apsw.Connection, home: Path
) -> None:
    hookrun.ready(home)
    assert fired(home, "fork") == ["Added since"]
    assert shown.read(str(home), NEW) == {"O3"}
    samples.session(lately, 1, NEW, started_at=1, last_event_at=now())
    # As though it had begun before all this: what it was told is known all the same.
    lately.execute("UPDATE observations SET created_at = 1 WHERE session_id = 1")
    lately.execute("UPDATE session_summaries SET created_at = 1")
    assert fired(home, "resume") == []
    added(lately, "third", "Added later", now())
    lately.close()
    assert fired(home, "resume") == ["Added later"]


def test_with_recall_on_a_fork_knows_what_its_parent_was_told(
    lately: apsw.Connection, home: Path
) -> None:
    hookrun.ready(home)
    added(lately, "third", "Told to the parent", now() - 10_000)
    lately.close()
    Path(home, "config.toml").write_text("recall_prompts = true\n")
    shown.begin(str(home), OWN, ["O1", "O2", "O4", "file:12"])
    shown.begin(str(home), NEW, ["O99"])
    assert fired(home, "fork") == ["Added since"]
    assert shown.read(str(home), NEW) == {"O1", "O2", "O3", "O4", "file:12"}
    prompt = {"session_id": NEW, "cwd": "/src/calc", "prompt": "subtract has its operands swapped?"}
    assert hookrun.silent(hookrun.fire(home, "UserPromptSubmit", payload_bytes(prompt)))


def test_a_fork_in_a_folder_that_is_switched_off_is_told_nothing(
    home: Path, tmp_path: Path
) -> None:
    hookrun.ready(home)
    folder = tmp_path / "calc"
    folder.mkdir()
    conn = samples.open_store(home)
    samples.project(conn, "unsorted", "", "unsorted")
    added(conn, "other", "Added since", now() - 10_000, cwd=str(folder))
    conn.close()
    assert fired(home, "fork", cwd=str(folder)) == ["Added since"]
    (folder / ".cmem-off").touch()
    assert fired(home, "fork", cwd=str(folder)) == []
    assert len(hookrun.entries(home)) == 1


# --- what waits in the spool ---------------------------------------------------------


def waits(
    home: Path,
    at: int,
    session: str = OWN,
    event: str = "Stop",
    *,
    host: str = "claude-code",
    **fields: Any,
) -> None:
    """An event that was captured then and is not stored yet."""
    if not (home / "spool.db").exists():
        spooled.create(str(home)).close()
    given = {"session_id": session, "cwd": "/src/calc", "hook_event_name": event, "at": at}
    capturing.put(home, event, given | fields, at, host=host)


def test_a_parent_whose_last_turn_waits_to_be_stored_is_found(home: Path) -> None:
    conn = samples.calc(home)
    added(conn, "before", "Before it", NOON - samples.HOUR)
    added(conn, "beside", "Beside it", NOON + samples.HOUR)
    conn.close()
    waits(home, LATER)
    assert fork(home, LATER + 400) == ["Beside it"]
    assert fork(home, LATER + 6_000) == []


def test_a_parent_of_which_nothing_is_stored_is_found(home: Path) -> None:
    conn = samples.calc(home)
    added(conn, "before", "Before it", NOON + samples.HOUR)
    added(conn, "beside", "Beside it", LATER - 30_000)
    conn.close()
    waits(home, LATER - 60_000, "new", "SessionStart", source="startup")
    waits(home, LATER - 50_000, "new", "UserPromptSubmit", prompt="go on")
    waits(home, LATER, "new")
    known: set[str] = set()
    shown.claim(str(home), "new", ["file:12"])
    assert fork(home, LATER + 400, known=known) == ["Beside it"]
    assert known == {"file:12"}


def test_neither_a_start_nor_another_place_or_host_makes_a_parent_of_what_waits(home: Path) -> None:
    conn = samples.calc(home)
    added(conn, "beside", "Beside it", LATER - 30_000)
    added(conn, "after", "After it", LATER + 30_000)
    conn.close()
    waits(home, LATER, NEW, "SessionStart", source="fork")
    waits(home, LATER, "elsewhere", cwd="/src/other")
    waits(home, LATER, "other", host="codex")
    assert fork(home, LATER) == ["After it"]
    waits(home, LATER)
    assert fork(home, LATER) == ["After it", "Beside it"]


def test_of_several_the_one_that_was_nearest_to_the_answer_is_the_parent(home: Path) -> None:
    conn = samples.calc(home)
    added(conn, "beside", "Beside it", LATER - 30_000)
    added(conn, "after", "After it", LATER + 30_000)
    conn.close()
    waits(home, LATER)
    waits(home, LATER - 60_000, "twin")
    waits(home, LATER - 3_000, "twin")
    assert fork(home, LATER) == ["After it", "Beside it"]
    assert fork(home, LATER - 3_000) == ["After it", "Beside it"]
    assert fork(home, LATER - 1_500) == ["After it"]


def test_a_resume_of_a_session_that_waits_to_be_stored_tells_what_came_since(home: Path) -> None:
    conn = samples.calc(home)
    added(conn, "before", "Before it", NOON + samples.HOUR)
    added(conn, "beside", "Beside it", LATER + 30_000)
    conn.close()
    waits(home, LATER, "new", "SessionStart", source="startup")
    waits(home, LATER + 60_000, "new")
    for answered in (None, LATER + 60_000):
        given = {"source": "resume", "session": "new", "answered": answered}
        assert told(start(home, "/src/calc", **given)) == ["Beside it"]
    assert start(home, "/src/calc", source="resume", session="another") == {}


def test_a_spool_that_cannot_be_read_is_no_hindrance(home: Path) -> None:
    conn = samples.calc(home)
    added(conn, "after", "After it", LATER + 30_000)
    conn.close()
    (home / "spool.db").write_bytes(b"no database" * 99)
    assert fork(home, LATER) == ["After it"]
    assert start(home, "/src/calc", source="resume", session="new") == {}


# --- in the middle of a turn ---------------------------------------------------------

HALF = samples.HOUR // 2
TURNS: dict[str, tuple[dict[str, int | None], bool]] = {
    "a tool that ended long after": ({"last_event_at": NOON + 20_000, "closed_at": NOON}, True),
    "interrupted long after": ({"closed_at": NOON + 20_000}, True),
    "a model that thinks for long": ({"closed_at": None}, True),
    "ended before": ({"closed_at": NOON - HALF}, False),
    "begun after": ({"opened_at": NOON + 9_001, "last_event_at": NOON + 20_000}, False),
    "silent for a day": (
        {"closed_at": None, "last_event_at": NOON - samples.DAY, "opened_at": NOON - samples.DAY},
        False,
    ),
}


@pytest.mark.parametrize("case", TURNS)
def test_a_fork_in_the_middle_of_a_turn_finds_its_parent(home: Path, case: str) -> None:
    conn = samples.calc(home)
    added(conn, "beside", "Beside it", NOON - HALF // 2)
    conn.execute("UPDATE sessions SET started_at = ? WHERE id = 1", (NOON - samples.HOUR,))
    samples.observation(conn, 1, 1, 1, title="Its own", created_at=LATER)
    values, is_parent = TURNS[case]
    times = {"opened_at": NOON - HALF, "last_event_at": NOON - HALF, "closed_at": NOON - HALF}
    ends = times | values
    last = max(at for at in ends.values() if at is not None)
    conn.execute("UPDATE sessions SET last_event_at = ? WHERE id = 1", (last,))
    for name, at in ends.items():
        conn.execute(f"UPDATE turns SET {name} = ? WHERE id = 1", (at,))
    conn.close()
    assert fork(home, NOON + 6_000) == (["Beside it"] if is_parent else ["Its own"])


WAITING: dict[str, tuple[list[tuple[int, str]], bool]] = {
    "a tool that ended long after": ([(-60, "UserPromptSubmit"), (20, "PostToolUse")], True),
    "interrupted long after": ([(-60, "UserPromptSubmit"), (20, "SessionEnd")], True),
    "a model that thinks for long": ([(-60, "UserPromptSubmit")], True),
    "ended before": ([(-60, "UserPromptSubmit"), (-30, "Stop")], False),
    "begun after": ([(20, "UserPromptSubmit"), (30, "Stop")], False),
    "started and nothing else": ([(-60, "SessionStart"), (20, "SessionStart")], False),
    "silent for a day": ([(-86_400, "UserPromptSubmit")], False),
}


@pytest.mark.parametrize("case", WAITING)
def test_so_it_does_where_that_turn_waits(home: Path, case: str) -> None:
    conn = samples.calc(home)
    added(conn, "beside", "Beside it", LATER - 20_000)
    added(conn, "after", "After it", LATER + 20_000)
    conn.close()
    events, is_parent = WAITING[case]
    for seconds, event in events:
        waits(home, LATER + seconds * 1000, "new", event, source="startup", tool_use_id=case)
    assert fork(home, LATER) == (["After it", "Beside it"] if is_parent else ["After it"])


# --- where a session is --------------------------------------------------------------


@pytest.mark.parametrize("cwd", ["/src/calc", "/src/elsewhere"])
def test_a_parent_is_where_it_began_wherever_its_shell_went(home: Path, cwd: str) -> None:
    conn = samples.calc(home)
    added(conn, "beside", "Beside it", LATER - 20_000)
    conn.close()
    waits(home, LATER - 60_000, "new", "UserPromptSubmit", prompt="go on")
    waits(home, LATER, "new", cwd=cwd)
    assert fork(home, LATER) == ["Beside it"]


def test_a_parent_that_is_stored_is_where_it_was_stored(home: Path) -> None:
    conn = samples.calc(home)
    added(conn, "beside", "Beside it", LATER - 20_000)
    other = samples.project(conn, "other", "/src/other")
    samples.session(conn, other, "visitor", cwd="/src/other", started_at=1)
    conn.close()
    waits(home, LATER, "visitor")
    assert fork(home, LATER) == []
    waits(home, LATER + 200, cwd="/src/elsewhere")
    assert fork(home, LATER) == ["Beside it"]


@pytest.mark.parametrize("stored", [True, False])
def test_who_is_busy_while_a_turn_ends_hides_no_parent(home: Path, *, stored: bool) -> None:
    conn = samples.calc(home)
    added(conn, "beside", "Beside it", LATER - 20_000)
    if stored:
        busy = samples.session(conn, 1, "busy", started_at=LATER - 90_000, last_event_at=LATER)
        times = {"opened_at": LATER - 90_000, "last_event_at": LATER}
        turn = samples.turn(conn, busy, 1, **times)
        conn.execute("UPDATE turns SET closed_at = NULL WHERE id = ?", (turn,))
    conn.close()
    for number in range(-9, 0 if stored else 9):
        waits(home, LATER + number * 800, "busy", "PostToolUse", tool_use_id=f"t{number}")
    waits(home, LATER)
    assert fork(home, LATER) == ["Beside it"]


def test_a_session_of_which_nothing_was_stored_is_told_what_came_since_when_it_is_resumed(
    lately: apsw.Connection, home: Path
) -> None:
    hookrun.ready(home)
    lately.close()
    assert fired(home, "resume") == ["Added since"]


def test_text_in_the_spool_that_is_none_is_no_hindrance(home: Path) -> None:
    conn = samples.calc(home)
    added(conn, "after", "After it", LATER + 30_000)
    conn.close()
    waits(home, LATER, "odd")
    spool = apsw.Connection(str(home / "spool.db"))
    spool.execute("UPDATE spool SET cwd = CAST(x'ff41' AS TEXT)")
    spool.close()
    assert fork(home, LATER) == ["After it"]
