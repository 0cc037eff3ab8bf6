from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from cmem.model import Origin, ProjectIdentity, Repo
from cmem.store import connection, evidence, projects, sessions

T = 1_700_000_000_000
CALC = ProjectIdentity("/w/calc", "path", "calc", "/w/calc", (("path", "/w/calc"),))


@pytest.fixture
def conn(home: Path) -> Iterator[apsw.Connection]:
    store = connection.open_writer(str(home), now=T)
    yield store
    store.close()


def new_session(conn: apsw.Connection, *, host: str = "claude-code") -> sessions.Session:
    origin = Origin(
        eid="e",
        host=host,
        event="SessionStart",
        session="s1",
        at=T,
        cwd="/w/calc/src",
        repo=Repo("", "", "", ""),
        project_env="",
        prompt_id="",
        agent_id="",
        agent_type="",
    )
    project = projects.resolve(conn, CALC, now=T)
    return sessions.insert(conn, origin, project_id=project, project_key_source="path")


def row(conn: apsw.Connection, columns: str) -> tuple[object, ...]:
    found = conn.execute(f"SELECT {columns} FROM sessions").fetchone()
    assert found is not None
    return tuple(found)


def test_a_session_knows_its_projects_folder_and_its_own(conn: apsw.Connection) -> None:
    made = new_session(conn)
    assert (made.root, made.cwd, made.prompt_counter) == ("/w/calc", "/w/calc/src", 0)
    assert sessions.find(conn, "claude-code", "s1") == made
    assert sessions.find(conn, "codex", "s1") is None


def test_equal_session_ids_of_two_hosts_are_two_sessions(conn: apsw.Connection) -> None:
    first, second = new_session(conn), new_session(conn, host="codex")
    assert first.id != second.id
    assert first.uid != second.uid


def test_times_only_widen_and_text_only_replaces_text(conn: apsw.Connection) -> None:
    made = new_session(conn)
    sessions.touch(conn, made.id, at=T + 5, model="m1", title="t1")
    sessions.touch(conn, made.id, at=T - 5)
    assert row(conn, "started_at, last_event_at, model, title") == (T - 5, T + 5, "m1", "t1")


@pytest.mark.parametrize(("at", "status"), [(T + 9, "completed"), (T + 11, "active")])
def test_only_an_event_after_the_end_revives(conn: apsw.Connection, at: int, status: str) -> None:
    made = new_session(conn)
    sessions.complete(conn, made.id, at=T + 10)
    sessions.touch(conn, made.id, at=at)
    assert row(conn, "status, completed_at IS NULL") == (status, int(status == "active"))


@pytest.mark.parametrize(
    ("known", "asked", "expected"),
    [
        ("h:s:t:1", "h:s:t:1", True),
        ("h:s:t:1", "h:s:t:12", False),
        ("h:s:h:ab~50000", "h:s:h:ab~60000", True),
        ("h:s:h:ab~50000", "h:s:h:ab~40000", True),
        ("h:s:h:ab~50000", "h:s:h:ab~60001", False),
        ("h:s:h:ab~50000", "h:s:h:abc~50000", False),
        ("h:s:h:ab~50000", "h:s:h:ab", False),
        ("h:s:h:ab", "h:s:h:ab~50000", False),
    ],
)
def test_what_counts_as_seen(conn: apsw.Connection, known: str, asked: str, expected: bool) -> None:
    evidence.remember(conn, known, at=T)
    evidence.remember(conn, known, at=T)
    assert evidence.seen(conn, asked) is expected
