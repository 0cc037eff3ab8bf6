"""Raw evidence: prompts and tool uses, searchable at once, and the events ever seen.

Each row has its own natural key, so an event delivered again changes nothing.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from cmem import tokens
from cmem.eid import WINDOW_MS
from cmem.store import codec, documents, erase

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import apsw

    from cmem.model import PromptSubmitted, ToolUsed
    from cmem.store.sessions import Session
    from cmem.turn_rules import Turn

# Of so many of the newest turns so many of the newest calls are looked at, of these so many kept.
OUTSIDE_TURNS, OUTSIDE_LOOKED, OUTSIDE_CALLS = 30, 500, 40
OUTSIDE = """SELECT cwd, tool_input FROM tool_uses
    WHERE id IN (SELECT id FROM tool_uses INDEXED BY tool_uses_turn WHERE turn_id IN
            (SELECT id FROM turns WHERE session_id = ?1 ORDER BY number DESC LIMIT ?3)
        ORDER BY id DESC LIMIT ?5)
    AND taint = 'external' AND tool_name IN (SELECT value FROM json_each(?2))
    ORDER BY id DESC LIMIT ?4"""


def seen(conn: apsw.Connection, eid: str) -> bool:
    """True when the event was taken in before. An identity with a time (``X~MS``) is the same
    event as one of the same stem within ten seconds."""
    stem, window, at = eid.rpartition("~")
    if window and at.isdecimal():
        row = conn.execute(
            """SELECT 1 FROM seen_events WHERE eid >= ?1 || '~' AND eid < ?1 || '~:'
                AND abs(CAST(substr(eid, length(?1) + 2) AS INTEGER) - ?2) <= ?3 LIMIT 1""",
            (stem, int(at), WINDOW_MS),
        ).fetchone()
    else:
        row = conn.execute("SELECT 1 FROM seen_events WHERE eid = ?", (eid,)).fetchone()
    return row is not None


def remember(conn: apsw.Connection, eid: str, *, at: int) -> None:
    """Note the event as taken in."""
    conn.execute("INSERT INTO seen_events(eid, at) VALUES(?, ?) ON CONFLICT DO NOTHING", (eid, at))


def has_prompt(conn: apsw.Connection, session: Session, event: PromptSubmitted) -> bool:
    """True when the session holds this prompt, the same prompt id and the same text, or held
    it until it was forgotten."""
    name, digest = prompt_name(session, event)
    row = conn.execute(
        """SELECT 1 FROM user_prompts
        WHERE session_id = ? AND native_prompt_id = ? AND native_prompt_hash = ?""",
        (session.id, event.origin.prompt_id, digest),
    ).fetchone()
    return row is not None or erase.is_forgotten(conn, "P", name)


def has_tool(conn: apsw.Connection, session: Session, tool_use_id: str) -> bool:
    """True when the session holds this tool use, or held it until it was forgotten."""
    row = conn.execute(
        "SELECT 1 FROM tool_uses WHERE session_id = ? AND tool_use_id = ?",
        (session.id, tool_use_id),
    ).fetchone()
    name = uid(session, "tool", tool_use_id)
    return row is not None or erase.is_forgotten(conn, "T", name)


def insert_prompt(
    conn: apsw.Connection, session: Session, turn: Turn, event: PromptSubmitted, *, number: int
) -> int:
    """The prompt as a row and, where there is text to find, in the index."""
    text = "" if turn.private else event.text
    name, digest = prompt_name(session, event)
    conn.execute(
        """INSERT INTO user_prompts(uid, session_id, turn_id, prompt_number, kind,
            native_prompt_id, native_prompt_hash, created_at, cwd, prompt_text)
        VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            name,
            session.id,
            turn.id,
            number,
            event.kind,
            event.origin.prompt_id,
            digest,
            event.origin.at,
            event.origin.cwd,
            text,
        ),
    )
    row = conn.last_insert_rowid()
    if text.strip():
        documents.add(conn, "P", row, event.origin.at)
    return row


def insert_tool(
    conn: apsw.Connection,
    session: Session,
    turn: Turn,
    event: ToolUsed,
    *,
    number: int,
    taint: str,
) -> int:
    """The tool use as a row and in the index; of a private turn only the fact."""
    origin = event.origin
    tool_input, response = ("", "") if turn.private else (event.tool_input, event.tool_response)
    conn.execute(
        """INSERT INTO tool_uses(uid, session_id, turn_id, tool_use_id, tool_name, outcome,
            prompt_number, agent_id, agent_type, taint, duration_ms, created_at,
            evidence_tokens, branch, commit_sha, cwd, tool_input, tool_response)
        VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            uid(session, "tool", event.tool_use_id),
            session.id,
            turn.id,
            event.tool_use_id,
            event.tool_name,
            event.outcome,
            number,
            origin.agent_id,
            origin.agent_type,
            taint,
            event.duration_ms,
            origin.at,
            tokens.count(tool_input) + tokens.count(response),
            origin.repo.branch,
            origin.repo.commit,
            origin.cwd,
            codec.pack(tool_input),
            codec.pack(response),
        ),
    )
    row = conn.last_insert_rowid()
    if not turn.private:
        documents.add(conn, "T", row, origin.at)
    return row


def subagent_taints(
    conn: apsw.Connection, session_id: int, *, turn_id: int, agent_id: str, told: bool
) -> list[str]:
    """What a subagent met so far: of the named one in the whole session, else of every
    subagent of the turn; of the turn's every call where those of subagents are not ``told``."""
    query = """SELECT DISTINCT taint FROM tool_uses
        WHERE session_id = ?1 AND (agent_id <> '' OR NOT ?4)
        AND (agent_id = ?3 OR (?3 = '' AND turn_id = ?2))"""
    found = conn.execute(query, (session_id, turn_id, agent_id, told)).fetchall()
    return [str(label) for (label,) in found]


def outside_calls(
    conn: apsw.Connection, session_id: int, tools: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """(working directory, input) of the newest calls of some tools in a session's newest turns
    that were external, newest first."""
    limits = (OUTSIDE_TURNS, OUTSIDE_CALLS, OUTSIDE_LOOKED)
    found = conn.execute(OUTSIDE, (session_id, json.dumps(tools), *limits))
    for cwd, given in found:
        if given:
            yield str(cwd), codec.unpack(given)


def tool_ids(conn: apsw.Connection, turn_id: int) -> list[int]:
    """The turn's tool uses."""
    rows = conn.execute("SELECT id FROM tool_uses WHERE turn_id = ? ORDER BY id", (turn_id,))
    return [int(row[0]) for row in rows]


def prompt_number(conn: apsw.Connection, session: Session, turn: Turn) -> int:
    """The number of the user's prompt that the turn goes back to: its own, the one whose id
    it carries, else the session's newest."""
    row = conn.execute(
        """SELECT coalesce(
            (SELECT max(prompt_number) FROM user_prompts WHERE turn_id = ?1 AND kind = 'user'),
            (SELECT max(prompt_number) FROM user_prompts WHERE session_id = ?2
                AND native_prompt_id = ?3 AND ?3 <> '' AND kind = 'user'),
            ?4)""",
        (turn.id, session.id, turn.prompt_id, session.prompt_counter),
    ).fetchone()
    return session.prompt_counter if row is None else row[0]


def make_private(conn: apsw.Connection, turn_id: int) -> None:
    """Take the content of a turn's tool uses, and of what background agents have told in it, out
    again: its prompt, come late, was private."""
    for row in tool_ids(conn, turn_id):
        documents.remove(conn, "T", row)
    for row in list(conn.execute("SELECT id FROM user_prompts WHERE turn_id = ?", (turn_id,))):
        documents.remove(conn, "P", row[0])
    conn.execute("UPDATE user_prompts SET prompt_text = '' WHERE turn_id = ?", (turn_id,))
    conn.execute(
        """UPDATE tool_uses SET tool_input = '', tool_response = '', evidence_tokens = 0
        WHERE turn_id = ?""",
        (turn_id,),
    )
    conn.execute("UPDATE turns SET assistant_message = '', error = '' WHERE id = ?", (turn_id,))
    conn.execute(
        """DELETE FROM work_units WHERE turn_id = ?1 AND kind = 'turn' AND state = 'pending'
            AND NOT EXISTS(SELECT 1 FROM observer_runs r WHERE r.unit_id = work_units.id)""",
        (turn_id,),
    )


def prompt_name(session: Session, event: PromptSubmitted) -> tuple[str, str]:
    """The uid of a prompt, and what tells it apart among those of its prompt id."""
    digest = _prompt_hash(event)
    return uid(session, "prompt", event.origin.prompt_id, digest), digest


def _prompt_hash(event: PromptSubmitted) -> str:
    """What tells two prompts of one prompt id apart. Without a prompt id an equal text may be
    a second "yes", so there the event's identity decides."""
    text = event.text if event.origin.prompt_id else event.origin.eid
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def uid(session: Session, *parts: str) -> str:
    """The name of a row of the session, from what the host calls it; it outlives the row."""
    return uid_in(session.uid, *parts)


def uid_in(session_uid: str, *parts: str) -> str:
    """The same by the session's own name."""
    name = "\0".join((session_uid, *parts))
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:32]
