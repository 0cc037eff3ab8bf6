"""From drafts to observations: identity, provenance, taint and what each has cost.

The same observation twice in a session is one row, reinforced: that it was seen again is
evidence that it holds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import apsw

from cmem import taint, tokens
from cmem.model import ObservationDraft, Observed, TurnUnit, Usage
from cmem.store import cleaning, documents, erase, observation_files, titles
from cmem.store.rows import insert, row, rows

MAX_REINFORCEMENTS = 10

EVIDENCE_TOKENS = """SELECT id, evidence_tokens FROM tool_uses
    WHERE id IN (SELECT value FROM json_each(?))"""
SAME = """SELECT id, reinforcement_dates, taint, hidden_at FROM observations
    WHERE session_id = ? AND content_hash = ?"""
REINFORCE = """UPDATE observations SET occurrence_count = occurrence_count + 1,
    last_reinforced = max(last_reinforced, ?), reinforcement_dates = ?, taint = ? WHERE id = ?"""


class Place(NamedTuple):
    """Where the rows of one unit belong, and the run that made them. ``turn_name``: what the host
    calls the turn, its number where the host has no name for it."""

    unit_id: int
    session_id: int
    session_uid: str
    host: str
    project_id: int
    turn_id: int
    turn_name: str
    branch: str
    commit: str
    prompt_number: int
    run_id: int


class _Sources(NamedTuple):
    """What one observation was made of."""

    prompt_id: int | None
    tool_ids: tuple[int, ...]
    taint: str
    tokens: int


def store(conn: apsw.Connection, place: Place, *, unit: TurnUnit, observed: Observed) -> int:
    """Store the drafts of one turn and return how many are new. Part of a transaction."""
    ids = json.dumps([event.id for event in unit.evidence])
    costs = dict(rows(conn, EVIDENCE_TOKENS, (ids,)))
    shares = _shares(spent(observed.usage), len(observed.reply.observations))
    new = 0
    for ordinal, given in enumerate(observed.reply.observations):
        draft = _cleaned(given)
        sources = _sources(unit, draft, costs)
        known = content_hash(place.session_uid, draft.title, draft.narrative)
        if erase.is_buried(conn, place.session_id, known):
            continue  # a person has put other words in its place
        if _reinforce(conn, place, known, draft=draft, sources=sources):
            continue
        # By what is the same on every machine that has the session, whatever was first there.
        uid = digest(place.session_uid, "observation", known, by="|")
        if erase.is_forgotten(conn, "O", uid):
            continue
        columns = {
            "uid": uid,
            "discovery_tokens": shares[ordinal],
            "generated_by_model": observed.model or observed.provider,
            "prompt_version": observed.prompt_version,
            **_place_columns(place),
            **_sources_columns(sources),
            **_draft_columns(place, draft),
        }
        observation_id = insert(conn, "observations", columns)
        if observation_id is not None:
            _add_dependents(conn, observation_id, draft=draft, sources=sources)
            new += 1
    return new


def spent(usage: Usage) -> int:
    """Return all tokens of a call, cached ones too."""
    return sum(usage[:4])


def hashes(session_uid: str, observed: Observed) -> list[str]:
    """What the drafts of a reply are known by in their session."""
    cleaned = [_cleaned(draft) for draft in observed.reply.observations]
    return [content_hash(session_uid, one.title, one.narrative) for one in cleaned]


def content_hash(session_uid: str, title: str, narrative: str) -> str:
    """Return what makes two observations of a session the same one."""
    return digest(session_uid, title, narrative, by="\0")[:16]


def digest(*parts: str, by: str) -> str:
    """Return the SHA-256 of the parts joined, in hex."""
    return hashlib.sha256(by.join(parts).encode("utf-8", "replace")).hexdigest()


def json_list(values: Sequence[str]) -> str:
    """Return the stored form of a list of texts."""
    return json.dumps(values, ensure_ascii=False)


def _place_columns(place: Place) -> dict[str, int | str]:
    return {
        "session_id": place.session_id,
        "project_id": place.project_id,
        "turn_id": place.turn_id,
        "unit_id": place.unit_id,
        "run_id": place.run_id,
        "host": place.host,
        "prompt_number": place.prompt_number,
        "branch": place.branch,
        "commit_sha": place.commit,
    }


def _sources_columns(sources: _Sources) -> dict[str, int | str]:
    return {"taint": sources.taint, "evidence_tokens": sources.tokens}


def _draft_columns(place: Place, draft: ObservationDraft) -> dict[str, int | str]:
    return {
        "created_at": draft.at,
        "last_reinforced": draft.at,
        "reinforcement_dates": json.dumps([day(draft.at)]),
        "content_hash": content_hash(place.session_uid, draft.title, draft.narrative),
        "title_norm_key": titles.norm_key(draft.title),
        "read_tokens": tokens.count("\n".join((draft.title, draft.narrative, *draft.facts))),
        "agent_id": draft.agent_id,
        "agent_type": draft.agent_type,
        "type": draft.type,
        "title": draft.title,
        "subtitle": draft.subtitle,
        "concepts": json_list(draft.concepts),
        "files_read": json_list(draft.files_read),
        "files_modified": json_list(draft.files_modified),
        "facts": json_list(draft.facts),
        "narrative": draft.narrative,
        "metadata": _metadata(draft),
    }


def _metadata(draft: ObservationDraft) -> str:
    """What else is known of the observation: pieces of its facts that its evidence does not
    hold."""
    known = {"unverified": draft.unverified} if draft.unverified else {}
    return json.dumps(known, ensure_ascii=False)


def _add_dependents(
    conn: apsw.Connection, observation_id: int, *, draft: ObservationDraft, sources: _Sources
) -> None:
    observation_files.add(
        conn, observation_id, read=draft.files_read, modified=draft.files_modified
    )
    _add_sources(conn, observation_id, sources)
    documents.add(conn, "O", observation_id, created_at=draft.at)


def _add_sources(conn: apsw.Connection, observation_id: int, sources: _Sources) -> None:
    refs = [(observation_id, "T", tool_id) for tool_id in sources.tool_ids]
    if sources.prompt_id is not None:
        refs.append((observation_id, "P", sources.prompt_id))
    conn.executemany(
        "INSERT OR IGNORE INTO observation_sources(observation_id, kind, ref) VALUES(?, ?, ?)",
        refs,
    )


def _reinforce(
    conn: apsw.Connection, place: Place, known: str, *, draft: ObservationDraft, sources: _Sources
) -> bool:
    """Count a repetition in the row that is there; False when there is none.

    Its day is added, once, ten are kept; nothing of this touches the index. An observation
    that is being forgotten is neither brought back nor reinforced."""
    found = row(conn, SAME, (place.session_id, known))
    if found is None:
        return False
    if reinforce(conn, place.session_id, known, at=draft.at, label=sources.taint):
        _add_sources(conn, int(found[0]), sources)
    return True


def reinforce(conn: apsw.Connection, session_id: int, known: str, *, at: int, label: str) -> bool:
    """Count the observation of this content once more, told with this taint; False when it is
    not there to be seen."""
    found = row(conn, SAME, (session_id, known))
    if found is None or found[3] is not None:
        return False
    observation_id, dates, before, _hidden_at = found
    days = sorted({*json.loads(dates), day(at)})[-MAX_REINFORCEMENTS:]
    worst = taint.worst([before, label])
    conn.execute(REINFORCE, (at, json.dumps(days), worst, observation_id))
    return True


def _sources(unit: TurnUnit, draft: ObservationDraft, costs: Mapping[int, int]) -> _Sources:
    """Return what a draft was made of: the events it names, else the whole unit; so is one
    whose names are all unknown.

    The request and the last message were always before the observer's eyes."""
    events = list(unit.evidence)
    if draft.sources is not None:
        cited = [event for event in events if event.id in draft.sources]
        events = cited if cited or not draft.sources else events
    said = "agent" if unit.assistant_message or not unit.prompt else "user"
    return _Sources(
        prompt_id=unit.prompt_id,
        tool_ids=tuple(event.id for event in events),
        taint=taint.worst((event.taint for event in events), least=said),
        tokens=tokens.count(unit.prompt) + sum(costs.get(event.id, 0) for event in events),
    )


def _cleaned(draft: ObservationDraft) -> ObservationDraft:
    return draft._replace(
        type=cleaning.line(draft.type),
        title=cleaning.line(draft.title),
        subtitle=cleaning.line(draft.subtitle),
        narrative=cleaning.paragraphs(draft.narrative),
        facts=tuple(cleaning.lines(draft.facts)),
        concepts=tuple(cleaning.lines(draft.concepts)),
        files_read=tuple(cleaning.lines(draft.files_read)),
        files_modified=tuple(cleaning.lines(draft.files_modified)),
        unverified=tuple(cleaning.lines(draft.unverified)),
    )


def _shares(total: int, count: int) -> list[int]:
    """Split a call's tokens over its observations; the sum stays the total."""
    return [total // count + (place < total % count) for place in range(count)]


def day(at: int) -> str:
    """Return the day of a moment, as reinforcements are dated."""
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d")
