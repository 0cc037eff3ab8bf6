"""From the draft of a summary to its row."""

from __future__ import annotations

import json

import apsw

from cmem import taint, tokens
from cmem.model import Observed, SummaryUnit
from cmem.store import cleaning, documents, erase
from cmem.store.drafts import Place, digest, json_list, spent
from cmem.store.rows import insert, rows, value

PROSE = ("request", "investigated", "learned", "completed", "next_steps", "notes")

# What a summary stands for: the raw evidence of its turns, and the worst of what it retells.
TURN_TOKENS = """SELECT coalesce(sum(x.evidence_tokens), 0)
    FROM turns t JOIN tool_uses x ON x.turn_id = t.id
    WHERE t.session_id = ? AND t.number IN (SELECT value FROM json_each(?))
    AND x.hidden_at IS NULL"""
TURN_TAINTS = """SELECT DISTINCT o.taint FROM turns t JOIN observations o ON o.turn_id = t.id
    WHERE t.session_id = ? AND t.number IN (SELECT value FROM json_each(?))
    AND o.hidden_at IS NULL AND o.taint <> 'external'"""


def store(conn: apsw.Connection, place: Place, *, unit: SummaryUnit, observed: Observed) -> int:
    """Store the summary of the reply, if it has one; 1 when it is new. Part of a transaction."""
    draft = observed.reply.summary
    if draft is None:
        return 0
    prose = {name: cleaning.paragraphs(getattr(draft, name)) for name in PROSE}
    span = (place.session_id, json.dumps([turn.number for turn in unit.turns]))
    said = sum(tokens.count(turn.prompt + turn.assistant_message) for turn in unit.turns)
    taints = [label for (label,) in rows(conn, TURN_TAINTS, span)]
    # By what is the same on every machine that has the session: which turn it comes to, and what
    # it says.
    uid = digest(place.session_uid, "summary", place.turn_name, *prose.values(), by="|")
    if erase.is_forgotten(conn, "S", uid):
        return 0
    columns = {
        "uid": uid,
        "session_id": place.session_id,
        "project_id": place.project_id,
        "turn_id": place.turn_id,
        "unit_id": place.unit_id,
        "run_id": place.run_id,
        "created_at": unit.at,
        "prompt_number": place.prompt_number,
        "taint": taint.worst(taints, least="agent"),
        "evidence_tokens": said + value(conn, TURN_TOKENS, span),
        "discovery_tokens": spent(observed.usage),
        "read_tokens": tokens.count("\n".join(filter(None, prose.values()))),
        "branch": place.branch,
        "generated_by_model": observed.model or observed.provider,
        "prompt_version": observed.prompt_version,
        **prose,
        "files_read": json_list(cleaning.lines(draft.files_read)),
        "files_edited": json_list(cleaning.lines(draft.files_edited)),
    }
    summary_id = insert(conn, "session_summaries", columns)
    if summary_id is None:  # the same was made before: it is this unit's from now on
        query = "UPDATE session_summaries SET unit_id = ?, run_id = ? WHERE uid = ?"
        conn.execute(query, (place.unit_id, place.run_id, uid)).fetchall()
        return 0
    documents.add(conn, "S", summary_id, created_at=unit.at)
    return 1
