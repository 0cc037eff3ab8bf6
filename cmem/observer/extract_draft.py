"""A draft with what follows from its sources: files, time, agent."""

from __future__ import annotations

from cmem.model import ObservationDraft
from cmem.observer.evidence import agent_of, files, newest
from cmem.observer.extract_view import View


def draft(
    seen: View,
    *,
    type: str,  # noqa: A002 - the field's name
    title: str,
    concepts: tuple[str, ...],
    sources: tuple[int, ...] | None,
    subtitle: str = "",
    narrative: str = "",
    facts: tuple[str, ...] = (),
) -> ObservationDraft:
    """The observation; a decision rests on no files."""
    calls = [one for one in seen.calls if sources is None or one.evidence.id in sources]
    read, modified = files(calls, seen.unit.roots)
    if type == "decision":
        read, modified = (), ()
    agent_id, agent_type = agent_of(seen.unit, sources)
    return ObservationDraft(
        type=type,
        title=title,
        subtitle=subtitle,
        narrative=narrative,
        facts=facts,
        concepts=concepts,
        files_read=read,
        files_modified=modified,
        sources=sources,
        at=newest(seen.unit, sources),
        agent_id=agent_id,
        agent_type=agent_type,
    )
