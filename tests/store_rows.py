"""A store with rows of every kind, written by plain SQL, for tests of index and search."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw

from cmem.store import codec, connection, documents

T0 = 1_780_000_000_000
DAY = 86_400_000


def open_store(home: Path) -> apsw.Connection:
    return connection.open_writer(str(home), now=T0)


def insert(conn: apsw.Connection, table: str, **values: Any) -> int:
    names = ", ".join(values)
    marks = ", ".join("?" * len(values))
    conn.execute(f"INSERT INTO {table}({names}) VALUES({marks})", tuple(values.values())).fetchall()
    return conn.last_insert_rowid()


def project(conn: apsw.Connection, name: str = "shop", **values: Any) -> int:
    given = {"key": f"path:{name}", "key_source": "path", "name": name, "root": f"/p/{name}"}
    return insert(conn, "projects", **{**given, "created_at": T0, **values})


def session(conn: apsw.Connection, project_id: int, native: str = "s1", **values: Any) -> int:
    given = {
        "uid": f"claude-code:{native}",
        "host": "claude-code",
        "content_session_id": native,
        "project_id": project_id,
        "project_key_source": "path",
        "cwd": "/p/shop",
        "started_at": T0,
        "last_event_at": T0,
    }
    return insert(conn, "sessions", **{**given, **values})


def turn(conn: apsw.Connection, session_id: int, number: int = 1, **values: Any) -> int:
    given = {"session_id": session_id, "number": number, "kind": "user", "opened_at": T0}
    given |= {"last_event_at": T0, "closed_at": T0, "closed_by": "stop", "outcome": "stop"}
    return insert(conn, "turns", **{**given, **values})


def prompt(conn: apsw.Connection, turn_id: int, text: str, **values: Any) -> int:
    session_id, number = _of_turn(conn, turn_id)
    serial = _next(conn, "user_prompts")
    given = {
        "uid": f"prompt-{serial}",
        "session_id": session_id,
        "turn_id": turn_id,
        "prompt_number": number,
        "kind": "user",
        "native_prompt_hash": f"hash-{serial}",
        "created_at": T0 + serial,
        "prompt_text": text,
    }
    return _add(conn, "P", "user_prompts", {**given, **values})


def tool(
    conn: apsw.Connection,
    turn_id: int,
    name: str,
    *,
    given: Any,
    answer: Any,
    **values: Any,
) -> int:
    session_id, number = _of_turn(conn, turn_id)
    serial = _next(conn, "tool_uses")
    texts = [json.dumps(value, ensure_ascii=False) for value in (given, answer)]
    row = {
        "uid": f"tool-{serial}",
        "session_id": session_id,
        "turn_id": turn_id,
        "tool_use_id": f"toolu_{serial}",
        "tool_name": name,
        "outcome": "ok",
        "prompt_number": number,
        "created_at": T0 + serial,
        "evidence_tokens": 10,
        "tool_input": codec.pack(texts[0]),
        "tool_response": codec.pack(texts[1]),
    }
    return _add(conn, "T", "tool_uses", {**row, **values})


def observation(
    conn: apsw.Connection,
    turn_id: int,
    title: str,
    narrative: str = "",
    *,
    facts: tuple[str, ...] = (),
    concepts: tuple[str, ...] = (),
    files: tuple[str, ...] = (),
    sources: tuple[tuple[str, int], ...] = (),
    **values: Any,
) -> int:
    session_id, number = _of_turn(conn, turn_id)
    serial = _next(conn, "observations")
    project_id = _one(conn, "SELECT project_id FROM sessions WHERE id = ?", session_id)
    row = {
        "uid": f"observation-{serial}",
        "session_id": session_id,
        "project_id": project_id,
        "turn_id": turn_id,
        "host": "claude-code",
        "prompt_number": number,
        "created_at": T0 + serial,
        "taint": "agent",
        "type": "discovery",
        "evidence_tokens": 100,
        "discovery_tokens": 0,
        "read_tokens": 40,
        "last_reinforced": T0,
        "reinforcement_dates": "[]",
        "content_hash": f"hash-{serial}",
        "title_norm_key": title.lower(),
        "generated_by_model": "extract",
        "prompt_version": "extract/1",
        "title": title,
        "subtitle": "",
        "concepts": json.dumps(concepts, ensure_ascii=False),
        "files_read": "[]",
        "files_modified": json.dumps(files, ensure_ascii=False),
        "facts": json.dumps(facts, ensure_ascii=False),
        "narrative": narrative,
    }
    ref = _add(conn, "O", "observations", {**row, **values})
    for path in files:
        insert(conn, "observation_files", path=path, observation_id=ref, role="modified")
    for kind, source in sources:
        insert(conn, "observation_sources", observation_id=ref, kind=kind, ref=source)
    return ref


def summary(conn: apsw.Connection, turn_id: int, request: str, **values: Any) -> int:
    session_id, number = _of_turn(conn, turn_id)
    serial = _next(conn, "session_summaries")
    project_id = _one(conn, "SELECT project_id FROM sessions WHERE id = ?", session_id)
    texts = ("investigated", "learned", "completed", "next_steps", "notes")
    row: dict[str, Any] = dict.fromkeys(texts, "")
    row |= {
        "uid": f"summary-{serial}",
        "session_id": session_id,
        "project_id": project_id,
        "turn_id": turn_id,
        "created_at": T0 + serial,
        "prompt_number": number,
        "taint": "agent",
        "evidence_tokens": 100,
        "discovery_tokens": 0,
        "read_tokens": 50,
        "generated_by_model": "extract",
        "prompt_version": "extract/1",
        "request": request,
        "files_read": "[]",
        "files_edited": "[]",
    }
    return _add(conn, "S", "session_summaries", {**row, **values})


def _add(conn: apsw.Connection, kind: str, table: str, values: dict[str, Any]) -> int:
    with connection.transaction(conn):
        ref = insert(conn, table, **values)
        documents.add(conn, kind, ref, values["created_at"])
    return ref


def _of_turn(conn: apsw.Connection, turn_id: int) -> tuple[int, int]:
    query = "SELECT session_id, number FROM turns WHERE id = ?"
    return conn.execute(query, (turn_id,)).fetchall()[0]


def _next(conn: apsw.Connection, table: str) -> int:
    return int(_one(conn, f"SELECT coalesce(max(id), 0) + 1 FROM {table}"))


def _one(conn: apsw.Connection, query: str, *values: Any) -> Any:
    return conn.execute(query, values).fetchall()[0][0]
