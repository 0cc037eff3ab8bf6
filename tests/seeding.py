"""Rows of a store, put there directly: what a test needs before the part it tests."""

from __future__ import annotations

from pathlib import Path

import apsw

from cmem.model import ObservationDraft, Observed, Reply, SummaryDraft, Usage
from cmem.store import codec, connection, documents, units

T0 = 1_764_424_800_000  # 2025-11-29T14:00:00Z
MINUTE = 60_000
DAY = 86_400_000


def open_store(home: Path) -> apsw.Connection:
    return connection.open_writer(str(home), now=T0)


def add_session(conn: apsw.Connection, name: str = "alpha", *, project: str = "calc") -> int:
    """A session of the project, which is made when there is none of the name."""
    conn.execute(
        """INSERT OR IGNORE INTO projects(key, key_source, name, root, created_at)
        VALUES(?, 'path', ?, ?, ?)""",
        (project, project, f"/home/dev/{project}", T0),
    )
    conn.execute(
        """INSERT INTO sessions(uid, host, content_session_id, project_id, project_key_source,
            cwd, started_at, last_event_at)
        SELECT ?, 'claude-code', ?, id, 'path', root, ?, ? FROM projects WHERE key = ?""",
        (f"claude-code:{name}", name, T0, T0, project),
    )
    return conn.last_insert_rowid()


def add_turn(
    conn: apsw.Connection,
    session: int,
    number: int = 1,
    *,
    prompt: str = "fix the subtract function",
    message: str = "Fixed: the operands were swapped.",
    kind: str = "user",
    closed: bool = True,
) -> int:
    """A turn with its prompt (none when the text is empty)."""
    at = T0 + number * MINUTE
    conn.execute(
        """INSERT INTO turns(session_id, number, kind, opened_at, last_event_at, closed_at,
            outcome, branch, commit_sha, assistant_message)
        VALUES(?, ?, ?, ?, ?, ?, 'stop', 'main', 'c0ffee', ?)""",
        (session, number, kind, at, at + 30_000, at + 30_000 if closed else None, message),
    )
    turn = conn.last_insert_rowid()
    if prompt:
        conn.execute(
            """INSERT INTO user_prompts(uid, session_id, turn_id, prompt_number, kind,
                native_prompt_hash, created_at, prompt_text)
            VALUES(?, ?, ?, ?, ?, ?, ?, ?)""",
            (f"p{turn}", session, turn, number, kind, f"hash{turn}", at, prompt),
        )
        documents.add(conn, "P", conn.last_insert_rowid(), at)
    return turn


def add_tool(
    conn: apsw.Connection,
    turn: int,
    *,
    name: str = "Bash",
    tool_input: str = '{"command":"make"}',
    response: str = '{"stdout":"ok"}',
    taint: str = "local",
    tokens: int = 10,
) -> int:
    count = conn.execute("SELECT count(*) FROM tool_uses").fetchall()[0][0]
    use = f"toolu_{count}" if name != "SubagentStop" else f"subagent:{count}"
    conn.execute(
        """INSERT INTO tool_uses(uid, session_id, turn_id, tool_use_id, tool_name, outcome,
            prompt_number, taint, created_at, evidence_tokens, cwd, tool_input, tool_response)
        SELECT ?1, session_id, id, ?1, ?2, 'ok', number, ?3, opened_at + 1000 * (?4 + 1), ?5,
            '/home/dev/calc', ?6, ?7
        FROM turns WHERE id = ?8""",
        (use, name, taint, count, tokens, codec.pack(tool_input), codec.pack(response), turn),
    )
    return conn.last_insert_rowid()


def add_unit(conn: apsw.Connection, turn: int, *, kind: str = "turn", reason: str = "") -> int:
    session = conn.execute("SELECT session_id FROM turns WHERE id = ?", (turn,)).fetchall()[0][0]
    return units.create(conn, kind=kind, session_id=session, turn_id=turn, reason=reason, now=T0)


def park(conn: apsw.Connection, unit: int, error: str, now: int) -> None:
    """The pending unit is put aside."""
    query = "UPDATE work_units SET state = 'parked', error = ?, finished_at = ? WHERE id = ?"
    conn.execute(query, (error, now, unit)).fetchall()


def draft(title: str = "Swapped operands in subtract", **changes: object) -> ObservationDraft:
    made = ObservationDraft(
        type="bugfix",
        title=title,
        subtitle="calc.py",
        narrative="subtract returned b - a; it returns a - b now.",
        facts=("calc.py: `return b - a` → `return a - b`",),
        concepts=("problem-solution",),
        files_read=("calc.py",),
        files_modified=("calc.py", "test_calc.py"),
        sources=None,
        at=T0 + 2 * MINUTE,
        agent_id="",
        agent_type="",
    )
    return made._replace(**changes)  # type: ignore[arg-type]


FREE = Usage(0, 0, 0, 0, 0.0)
SUMMARY = SummaryDraft(
    request="fix the subtract function",
    investigated="calc.py",
    learned="the operands were swapped",
    completed="subtract fixed",
    next_steps="",
    notes="",
    files_read=("calc.py",),
    files_edited=("calc.py",),
)


def observed(
    *drafts: ObservationDraft,
    summary: SummaryDraft | None = None,
    skipped: str | None = None,
    usage: Usage = FREE,
) -> Observed:
    return Observed(
        reply=Reply(observations=drafts, summary=summary, skipped=skipped, notes=()),
        usage=usage,
        provider="anthropic" if usage.input_tokens else "extract",
        model="some-model" if usage.input_tokens else "",
        prompt_version="code/1",
        calls=int(usage.input_tokens > 0),
    )
