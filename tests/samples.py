"""Rows for tests of what reads: put straight into a real store, no pipeline involved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw

from cmem.store import connection, documents

NOON = 1_780_000_000_000  # 2026-05-28T20:26:40Z
HOUR = 3_600_000
DAY = 24 * HOUR


def open_store(home: Path) -> apsw.Connection:
    return connection.open_writer(str(home), now=NOON)


def insert(conn: apsw.Connection, table: str, **values: Any) -> int:
    columns = ", ".join(values)
    marks = ", ".join("?" * len(values))
    conn.execute(f"INSERT INTO {table}({columns}) VALUES({marks})", tuple(values.values()))
    return conn.last_insert_rowid()


def project(conn: apsw.Connection, name: str, root: str, source: str = "path") -> int:
    key = root if source != "unsorted" else "unsorted"
    ref = insert(
        conn, "projects", key=key, key_source=source, name=name, root=root, created_at=NOON
    )
    if source != "unsorted":
        insert(conn, "project_aliases", kind="path", alias=key, project_id=ref, created_at=NOON)
    return ref


def session(conn: apsw.Connection, project_id: int, host_id: str, **values: Any) -> int:
    row: dict[str, Any] = {
        "uid": "claude-code:" + host_id,
        "host": "claude-code",
        "content_session_id": host_id,
        "project_id": project_id,
        "project_key_source": "path",
        "cwd": "/src/calc",
        "started_at": NOON,
        "last_event_at": NOON + HOUR,
    }
    return insert(conn, "sessions", **(row | values))


def turn(conn: apsw.Connection, session_id: int, number: int, **values: Any) -> int:
    row: dict[str, Any] = {
        "session_id": session_id,
        "number": number,
        "kind": "user",
        "opened_at": NOON,
        "last_event_at": NOON,
        "closed_at": NOON,
        "outcome": "stop",
    }
    return insert(conn, "turns", **(row | values))


def prompt(conn: apsw.Connection, session_id: int, turn_id: int, text: str, **values: Any) -> int:
    row: dict[str, Any] = {
        "uid": f"p:{session_id}:{turn_id}:{text}",
        "session_id": session_id,
        "turn_id": turn_id,
        "prompt_number": 1,
        "kind": "user",
        "native_prompt_hash": text,
        "created_at": NOON,
        "prompt_text": text,
    }
    ref = insert(conn, "user_prompts", **(row | values))
    documents.add(conn, "P", ref, (row | values)["created_at"])
    return ref


def tool(
    conn: apsw.Connection,
    session_id: int,
    turn_id: int,
    name: str,
    given: object,
    answer: object,
    **values: Any,
) -> int:
    count = conn.execute("SELECT count(*) FROM tool_uses").fetchone()
    row: dict[str, Any] = {
        "uid": f"t:{session_id}:{count}",
        "session_id": session_id,
        "turn_id": turn_id,
        "tool_use_id": f"toolu_{count}",
        "tool_name": name,
        "outcome": "ok",
        "prompt_number": 1,
        "created_at": NOON,
        "evidence_tokens": 40,
        "cwd": "/src/calc",
        "tool_input": json.dumps(given, ensure_ascii=False),
        "tool_response": json.dumps(answer, ensure_ascii=False),
    }
    ref = insert(conn, "tool_uses", **(row | values))
    documents.add(conn, "T", ref, (row | values)["created_at"])
    return ref


def observation(
    conn: apsw.Connection, project_id: int, session_id: int, turn_id: int, **values: Any
) -> int:
    row: dict[str, Any] = {
        "session_id": session_id,
        "project_id": project_id,
        "turn_id": turn_id,
        "host": "claude-code",
        "prompt_number": 1,
        "created_at": NOON,
        "taint": "local",
        "type": "bugfix",
        "evidence_tokens": 400,
        "discovery_tokens": 100,
        "read_tokens": 60,
        "last_reinforced": NOON,
        "reinforcement_dates": "[]",
        "title_norm_key": "",
        "generated_by_model": "extract",
        "prompt_version": "extract/1",
        "title": "A title",
        "subtitle": "",
        "concepts": "[]",
        "files_read": "[]",
        "files_modified": "[]",
        "facts": "[]",
        "narrative": "",
    } | values
    for name in ("concepts", "files_read", "files_modified", "facts"):
        if isinstance(row[name], list):
            row[name] = json.dumps(row[name], ensure_ascii=False)
    sources = row.pop("sources", ())
    row.setdefault("content_hash", f"{row['title']}{row['created_at']}{row['narrative']}")
    row.setdefault("uid", f"o:{session_id}:{row['content_hash']}")
    ref = insert(conn, "observations", **row)
    for role in ("files_read", "files_modified"):
        for path in json.loads(row[role]):
            insert(
                conn,
                "observation_files",
                path=path,
                observation_id=ref,
                role=role.removeprefix("files_"),
            )
    for kind, source in sources:
        insert(conn, "observation_sources", observation_id=ref, kind=kind, ref=source)
    documents.add(conn, "O", ref, row["created_at"])
    return ref


def summary(
    conn: apsw.Connection, project_id: int, session_id: int, turn_id: int, **values: Any
) -> int:
    row: dict[str, Any] = {
        "uid": f"s:{session_id}:{turn_id}",
        "session_id": session_id,
        "project_id": project_id,
        "turn_id": turn_id,
        "created_at": NOON,
        "prompt_number": 1,
        "taint": "local",
        "evidence_tokens": 400,
        "discovery_tokens": 100,
        "read_tokens": 80,
        "generated_by_model": "extract",
        "prompt_version": "extract/1",
        "request": "",
        "investigated": "",
        "learned": "",
        "completed": "",
        "next_steps": "",
        "notes": "",
        "files_read": "[]",
        "files_edited": "[]",
    } | values
    ref = insert(conn, "session_summaries", **row)
    documents.add(conn, "S", ref, row["created_at"])
    return ref


def calc(home: Path, root: str = "/src/calc") -> apsw.Connection:
    """A small project with one of everything: P1, T1, T2, O1, O2, S1, N1."""
    conn = open_store(home)
    calc_id = project(conn, "calc", root)
    session_id = session(conn, calc_id, "5f7d2c1a-0000-4000-8000-000000000001", cwd=root)
    turn_id = turn(conn, session_id, 1)
    prompt_id = prompt(conn, session_id, turn_id, "Fix subtract so that the tests pass")
    read = tool(
        conn,
        session_id,
        turn_id,
        "Read",
        {"file_path": root + "/calc.py"},
        {"type": "text", "file": {"content": "def subtract(a, b): return b - a"}},
        created_at=NOON + 1000,
    )
    edit = tool(
        conn,
        session_id,
        turn_id,
        "Edit",
        {"file_path": root + "/calc.py", "old_string": "b - a", "new_string": "a - b"},
        {"filePath": root + "/calc.py"},
        created_at=NOON + 2000,
    )
    observation(
        conn,
        calc_id,
        session_id,
        turn_id,
        title="Fixed subtract",
        subtitle="The operands were swapped",
        narrative="Asked to fix subtract. The operands were swapped; both tests pass now.",
        facts=["calc.py: `return b - a` became `return a - b`", "Ran 2 tests: OK"],
        concepts=["problem-solution"],
        files_read=["calc.py"],
        files_modified=["calc.py"],
        sources=(("P", prompt_id), ("T", read), ("T", edit)),
        created_at=NOON + 2000,
    )
    observation(
        conn,
        calc_id,
        session_id,
        turn_id,
        type="decision",
        title="unittest, not pytest",
        narrative="The user wants the standard library's unittest.",
        sources=(("P", prompt_id),),
        created_at=NOON + 2500,
    )
    summary(
        conn,
        calc_id,
        session_id,
        turn_id,
        request="Fix subtract",
        completed="subtract returns a - b",
        next_steps="add a test for divide",
        created_at=NOON + 3000,
    )
    return conn
