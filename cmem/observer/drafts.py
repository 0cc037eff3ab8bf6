"""One function over every word of a reply, for what all memory must go through."""

from __future__ import annotations

from collections.abc import Callable

from cmem.model import ObservationDraft, Reply, SummaryDraft


def map_text(reply: Reply, wash: Callable[[str], str]) -> Reply:
    """The reply with ``wash`` applied to every text in it; types, ids and times are untouched."""
    return reply._replace(
        observations=tuple(_observation(one, wash) for one in reply.observations),
        summary=_summary(reply.summary, wash) if reply.summary else None,
        skipped=wash(reply.skipped) if reply.skipped else reply.skipped,
    )


def _all(values: tuple[str, ...], wash: Callable[[str], str]) -> tuple[str, ...]:
    return tuple(washed for washed in map(wash, values) if washed)


def _observation(draft: ObservationDraft, wash: Callable[[str], str]) -> ObservationDraft:
    return draft._replace(
        title=wash(draft.title),
        subtitle=wash(draft.subtitle),
        narrative=wash(draft.narrative),
        facts=_all(draft.facts, wash),
        concepts=_all(draft.concepts, wash),
        files_read=_all(draft.files_read, wash),
        files_modified=_all(draft.files_modified, wash),
    )


def _summary(draft: SummaryDraft, wash: Callable[[str], str]) -> SummaryDraft:
    return SummaryDraft(
        request=wash(draft.request),
        investigated=wash(draft.investigated),
        learned=wash(draft.learned),
        completed=wash(draft.completed),
        next_steps=wash(draft.next_steps),
        notes=wash(draft.notes),
        files_read=_all(draft.files_read, wash),
        files_edited=_all(draft.files_edited, wash),
    )
