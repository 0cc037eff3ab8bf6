"""From rows to what an observer is given: one turn's evidence, or a session to summarise."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import apsw

from cmem.model import Evidence, ObservationDraft, SessionTurn, SummaryUnit, TurnUnit
from cmem.store import codec
from cmem.store.rows import row as first_row
from cmem.store.rows import rows, value

UNIT = """SELECT u.kind, u.session_id, u.turn_id, u.first_tool, u.last_tool, u.reason,
        u.attempts, p.name, p.root, t.number, t.opened_at, t.last_event_at, t.closed_at,
        t.outcome, t.error, t.assistant_message, t.hidden_at, s.project_id
    FROM work_units u JOIN turns t ON t.id = u.turn_id
    JOIN sessions s ON s.id = u.session_id JOIN projects p ON p.id = s.project_id
    WHERE u.id = ?"""
# The folders of a project: its work trees and clones, and what was merged into it. One within the
# root of the project is a linked work tree of its own, but a part of it when it came by a merge.
TREES = """SELECT a.alias FROM project_aliases a JOIN projects p ON p.id = a.project_id
    JOIN projects own ON own.id = ?1
    WHERE a.kind = 'path' AND (p.id = ?1 OR p.merged_into = ?1
        AND substr(a.alias, 1, length(own.root) + 1) <> own.root || '/')
    ORDER BY a.alias"""
PROMPT = """SELECT id, prompt_text, created_at FROM user_prompts
    WHERE turn_id = ? AND kind = 'user' AND hidden_at IS NULL ORDER BY id LIMIT 1"""
# first_tool and last_tool bound a half; NULL is no bound.
IN_RANGE = """turn_id = ?1 AND id >= coalesce(?2, 0)
    AND id <= coalesce(?3, 9223372036854775807) AND hidden_at IS NULL"""
TOOL_IDS = f"SELECT id FROM tool_uses WHERE {IN_RANGE} ORDER BY id"
TOOLS = f"""SELECT id, tool_name, tool_input, tool_response, outcome, created_at, cwd, agent_id,
        agent_type, taint
    FROM tool_uses WHERE {IN_RANGE} ORDER BY created_at, id"""
# What earlier summaries have told: by units that are settled (one given up is not told later
# either), and by summaries without one. What claude-mem has made of a session counts for nothing
# here, so that it is the same whether it came first or last.
SUMMARISED = """SELECT coalesce(max(number), 0) FROM (
    SELECT t.number FROM work_units u JOIN turns t ON t.id = u.turn_id
    WHERE u.session_id = ?1 AND u.kind = 'summary' AND u.state IN ('done', 'skipped', 'dropped')
    UNION ALL
    SELECT t.number FROM session_summaries m JOIN turns t ON t.id = m.turn_id
    WHERE m.session_id = ?1 AND m.prompt_version <> 'claude-mem')
    WHERE number < ?2"""
TURNS = """SELECT t.id, t.number, t.assistant_message, t.outcome, t.last_event_at,
        (SELECT p.prompt_text FROM user_prompts p WHERE p.turn_id = t.id AND p.kind = 'user'
            AND p.hidden_at IS NULL ORDER BY p.id LIMIT 1),
        EXISTS (SELECT 1 FROM tool_uses x WHERE x.turn_id = t.id AND x.taint = 'external')
    FROM turns t WHERE t.session_id = ?1 AND t.number > ?2 AND t.number <= ?3
    AND t.closed_at IS NOT NULL AND t.hidden_at IS NULL AND t.private = 0 ORDER BY t.number"""
# A summary is injected by itself, so it is made of nothing that came from outside: neither
# observations tainted so nor the answer of a turn that met any.
OBSERVATIONS = """SELECT o.id, o.turn_id, o.type, o.title, o.subtitle, o.narrative, o.facts,
        o.concepts, o.files_read, o.files_modified, o.created_at, o.agent_id, o.agent_type
    FROM observations o JOIN turns t ON t.id = o.turn_id
    WHERE o.session_id = ?1 AND t.number > ?2 AND t.number <= ?3
    AND o.hidden_at IS NULL AND o.superseded_by IS NULL AND o.taint <> 'external'
    AND o.prompt_version <> 'claude-mem' ORDER BY o.created_at, o.id"""
SOURCES = """SELECT c.observation_id, c.ref FROM observations o JOIN turns t ON t.id = o.turn_id
    JOIN observation_sources c ON c.observation_id = o.id AND c.kind = 'T'
    WHERE o.session_id = ?1 AND t.number > ?2 AND t.number <= ?3 ORDER BY c.ref"""


def load(conn: apsw.Connection, unit_id: int, *, language: str) -> TurnUnit | SummaryUnit:
    """Return the unit with its visible evidence; LookupError when there is none."""
    row = first_row(conn, UNIT, (unit_id,))
    if row is None:
        raise LookupError(f"no work unit {unit_id}")
    if row[0] == "turn":
        return _turn_unit(conn, unit_id, row=row, language=language)
    return _summary_unit(conn, unit_id, row=row, language=language)


def _turn_unit(
    conn: apsw.Connection, unit_id: int, *, row: tuple[Any, ...], language: str
) -> TurnUnit:
    (_kind, session_id, turn_id, first, last, _reason, attempts, project, root, number) = row[:10]
    opened_at, last_event_at, closed_at, outcome, error, message, hidden_at, own = row[10:]
    evidence = tuple(_evidence(tool) for tool in rows(conn, TOOLS, (turn_id, first, last)))
    prompt = first_row(conn, PROMPT, (turn_id,))
    return TurnUnit(
        unit_id=unit_id,
        session_id=session_id,
        project=project,
        project_root=root,
        language=language,
        turn_number=number,
        prompt_id=prompt[0] if prompt else None,
        prompt=prompt[1] if prompt else "",
        prompt_at=prompt[2] if prompt else opened_at,
        evidence=evidence,
        assistant_message="" if hidden_at is not None else message,
        outcome=outcome or "interrupted",
        error=error,
        closed_at=last_event_at if closed_at is None else closed_at,
        attempts=attempts,
        trees=_trees([tree for (tree,) in rows(conn, TREES, (own,))], evidence),
    )


def _trees(known: list[str], evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """The folders, also as the tools spell them where the file system does not tell case apart:
    there they are kept in small letters."""
    found = dict.fromkeys(known)
    for cwd in dict.fromkeys(one.cwd for one in evidence):
        for tree in known:
            spelled = cwd[: len(tree)]
            if spelled.casefold() == tree and cwd[len(tree) :][:1] in ("", "/"):
                found[spelled] = None
    return tuple(found)


def _evidence(row: tuple[Any, ...]) -> Evidence:
    tool_id, name, tool_input, response, outcome, at, cwd, agent_id, agent_type, taint = row
    return Evidence(
        id=tool_id,
        tool_name=name,
        tool_input=codec.unpack(tool_input),
        tool_response=codec.unpack(response),
        outcome=outcome,
        at=at,
        cwd=cwd,
        agent_id=agent_id,
        agent_type=agent_type,
        taint=taint,
    )


def _summary_unit(
    conn: apsw.Connection, unit_id: int, *, row: tuple[Any, ...], language: str
) -> SummaryUnit:
    session_id, reason, attempts, project, last = row[1], row[5], row[6], row[7], row[9]
    first = value(conn, SUMMARISED, (session_id, last))
    span = (session_id, first, last)
    drafts = _drafts(conn, span)
    turns = rows(conn, TURNS, span)
    return SummaryUnit(
        unit_id=unit_id,
        session_id=session_id,
        project=project,
        language=language,
        reason=reason,
        turns=tuple(
            SessionTurn(
                number=number,
                prompt=prompt or "",
                assistant_message="" if outside else message,
                outcome=outcome or "interrupted",
                observations=tuple(drafts[turn_id]),
            )
            for turn_id, number, message, outcome, _at, prompt, outside in turns
        ),
        at=max((turn[4] for turn in turns), default=row[11]),
        attempts=attempts,
    )


def _drafts(conn: apsw.Connection, span: tuple[int, int, int]) -> dict[int, list[ObservationDraft]]:
    sources: dict[int, list[int]] = defaultdict(list)
    for observation_id, tool_id in rows(conn, SOURCES, span):
        sources[observation_id].append(tool_id)
    drafts: dict[int, list[ObservationDraft]] = defaultdict(list)
    for row in rows(conn, OBSERVATIONS, span):
        drafts[row[1]].append(_draft(row, tuple(sources[row[0]])))
    return drafts


def _draft(row: tuple[Any, ...], sources: tuple[int, ...]) -> ObservationDraft:
    return ObservationDraft(
        type=row[2],
        title=row[3],
        subtitle=row[4],
        narrative=row[5],
        facts=tuple(json.loads(row[6])),
        concepts=tuple(json.loads(row[7])),
        files_read=tuple(json.loads(row[8])),
        files_modified=tuple(json.loads(row[9])),
        sources=sources,
        at=row[10],
        agent_id=row[11],
        agent_type=row[12],
    )
