"""What a turn becomes when its events come in another order than they happened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from capturing import put
from support import run_cmem
from test_ingest import NOW, Host, T

from cmem import ingest
from cmem.store import connection


@pytest.fixture
def conn(home: Path) -> Iterator[apsw.Connection]:
    store = connection.open_writer(str(home), now=NOW)
    yield store
    store.close()


@pytest.fixture
def host(home: Path, conn: apsw.Connection) -> Host:
    return Host(home, conn)


PRIVATE = "<pri" + "vate>horse</pri" + "vate>"


def test_a_shell_commands_end_takes_no_interrupted_turn_for_its_own(host: Host) -> None:
    host.prompt("do", "p1")
    host.tool("t1", "p1")
    host.stop("ran it", "bang")
    assert host.turns() == [
        '1 user interrupted/next-prompt ["do" t1] 1',
        "2 message stop/stop [] ran it 1",
    ]


def test_a_turn_that_goes_on_after_a_shell_command_gets_its_own_answer(host: Host) -> None:
    host.prompt("do", "p1")
    host.stop("ran it", "bang")
    host.tool("t1", "p1")
    host.stop("done", "p1")
    assert host.turns() == [
        '1 user stop/stop ["do" t1] done 1',
        "2 message stop/stop [] ran it 1",
    ]


def test_the_end_of_another_prompt_without_words_only_closes(host: Host) -> None:
    host.prompt("do", "p1")
    host.stop("", "p2")
    assert host.turns() == ['1 user interrupted/next-prompt ["do"] 1']


def test_a_call_whose_prompt_is_on_the_way_is_not_the_open_turns(host: Host) -> None:
    host.prompt("first", "p1")
    host.tool("t1", "p2")
    host.prompt("second", "p2", at=500)
    host.stop("done", "p2")
    assert host.turns() == [
        '1 user interrupted/next-prompt ["first"] 1',
        '2 user stop/stop ["second" t1] done 1',
    ]


def test_a_private_prompt_on_the_way_hides_the_calls_that_overtook_it(host: Host) -> None:
    host.prompt("first", "p1")
    host.tool("t1", "p2")
    host.prompt(PRIVATE, "p2", at=500)
    assert host.turns() == [
        '1 user interrupted/next-prompt ["first"] 1',
        '2 user private open ["" -t1] 0',
    ]


def test_a_background_agent_of_a_prompt_nobody_saw_stays_in_the_open_turn(host: Host) -> None:
    host.prompt("do", "p1")
    host.tool("t1", "before the install", agent_id="a", agent_type="Explore")
    host.stop("done", "p1")
    assert host.turns() == ['1 user stop/stop ["do" t1] done 1']


def test_a_prompt_that_comes_after_its_own_end_has_that_answer(host: Host) -> None:
    host.stop("done", "p1")
    host.prompt("do", "p1", at=-1)
    assert host.turns() == ['1 user stop/stop ["do"] done 1']


def test_a_private_prompt_that_comes_after_its_own_end_takes_the_answer_back(host: Host) -> None:
    host.stop("the horse is grey", "p1")
    host.turns()
    host.prompt(PRIVATE, "p1", at=-1)
    assert host.turns() == ['1 user private stop/stop [""] 0']


def test_a_prompt_that_comes_after_its_calls_closes_the_turn_before(host: Host) -> None:
    host.prompt("first", "p1")
    host.tool("t1", "p2", agent_id="a", agent_type="Explore")
    host.stop("second is done", "p2")
    host.prompt("third", "p3")
    host.prompt("second", "p2", at=1_500)
    assert host.turns() == [
        '1 user interrupted/next-prompt ["first" t1] 1',
        '2 user stop/stop ["second"] second is done 1',
        '3 user open ["third"] 0',
    ]


def test_a_late_end_without_words_says_how_its_turn_ended(host: Host) -> None:
    host.prompt("first", "p1")
    host.prompt("second", "p2")
    host.stop("", "p1")
    assert host.turns() == ['1 user stop/stop ["first"] 1', '2 user open ["second"] 0']


def test_what_background_agents_told_in_a_private_turn_goes_with_it(
    host: Host, conn: apsw.Connection
) -> None:
    host.tool("t1", "p1")
    host.prompt("<task-notification>the horse is grey</task-notification>", "n1")
    host.turns()
    host.prompt(PRIVATE, "p1")
    assert host.turns() == ['1 user private open [-t1 "" ""] 0']
    kinds = conn.execute("SELECT kind FROM documents").fetchall()
    assert kinds == []


def test_what_was_observed_of_a_turn_that_turns_out_private_is_hidden(
    host: Host, home: Path, conn: apsw.Connection
) -> None:
    host.tool("t1", "p1", tool_input={"command": "make horse"}, tool_response={"stdout": "grey"})
    host.stop("The horse is grey, because nobody had painted it.", "p1")
    host.ingest()
    conn.close()
    assert run_cmem("compress", "--all").returncode == 0
    seen = connection.open_writer(str(home), now=NOW)
    visible = "SELECT count(*) FROM observations WHERE hidden_at IS NULL"
    assert seen.execute(visible).fetchone() == (1,)
    late = {"session_id": "s1", "cwd": "/w/calc", "prompt": PRIVATE, "prompt_id": "p1"}
    put(home, "UserPromptSubmit", late, T - 1)
    ingest.ingest(str(home), seen, now=NOW)
    assert seen.execute(visible).fetchone() == (0,)
    seen.close()
