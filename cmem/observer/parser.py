"""A model's reply becomes drafts, or an explicit skip, or is unusable.

A reply counts by its complete blocks, whatever prose stands around them. Prose alone is never
memory: no block and no skip means ``UnusableReply``, as do an empty reply and a refusal.
"""

from __future__ import annotations

import re

from cmem.model import ObservationDraft, Reply, SummaryDraft, SummaryUnit, TurnUnit
from cmem.observer import ground as grounds
from cmem.observer import markup, text
from cmem.observer.errors import UnusableReply
from cmem.observer.evidence import agent_of, newest
from cmem.observer.ground import Ground
from cmem.observer.modes import Mode

MAX_OBSERVATIONS = 20
MAX_FACTS = 20
MAX_CONCEPTS = 8
TITLE = 200
FACT = 500
NARRATIVE = 4_000
SALVAGE = 20
FIELDS = (
    "type",
    "title",
    "subtitle",
    "facts",
    "narrative",
    "text",
    "concepts",
    "files_read",
    "files_modified",
    "events",
)
SUMMARY_FIELDS = ("request", "investigated", "learned", "completed", "next_steps", "notes")
PROGRESS = ("investigated", "learned", "completed", "next_steps")
SKIP = re.compile(r"<skip_summary\b([^<>]{0,1000}?)/?>(?:([^<>]{1,500})</skip_summary\s*>)?", re.I)
NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
EVENT = re.compile(r"\bT?(\d{1,18})\b")
NOTHING = re.compile(
    r"[\s.…\-–—/*_]*|\(?(?:none|n/?a|nothing|no|unknown|empty|keine?s?|nichts|无|沒有|没有|なし|없음|"
    r"không(?: có)?|aucune?|ninguno|нет)\)?[\s.。]*",
    re.I,
)


def parse_observation(reply: str, unit: TurnUnit, mode: Mode) -> Reply:
    """The observations of a reply to an observation request. Raises UnusableReply."""
    prepared = markup.prepare(reply)
    found, lost = markup.blocks(prepared, "observation")
    ground = grounds.of_turn(unit)
    notes = [f"{lost} incomplete observation(s) left out"] if lost else []
    drafts: list[ObservationDraft] = []
    for block in found[:MAX_OBSERVATIONS]:
        draft = _observation(block, unit, mode=mode, ground=ground, notes=notes)
        if draft is not None:
            drafts.append(draft)
    if len(found) > MAX_OBSERVATIONS:
        notes.append(f"{len(found) - MAX_OBSERVATIONS} observation(s) over the limit left out")
    if drafts:
        return Reply(tuple(drafts), None, None, tuple(notes))
    if not found and (reason := _skip(prepared)) is not None:
        return Reply((), None, reason, tuple(notes))
    raise UnusableReply(_why_unusable(prepared, found=bool(found), lost=lost, asked="observation"))


def parse_summary(reply: str, unit: SummaryUnit) -> Reply:
    """The summary of a reply to a summary request. Raises UnusableReply."""
    prepared = markup.prepare(reply)
    found, lost = markup.blocks(prepared, "summary")
    ground = grounds.of_summary(unit)
    for block in found:
        summary, notes = _summary(block, unit, ground)
        if any(getattr(summary, name) for name in PROGRESS):
            return Reply((), summary, None, tuple(notes))
    if not found and (reason := _skip(prepared)) is not None:
        return Reply((), None, reason, ())
    raise UnusableReply(_why_unusable(prepared, found=bool(found), lost=lost, asked="summary"))


def _skip(prepared: str) -> str | None:
    found = SKIP.search(prepared)
    if found is None:
        return None
    reason = markup.attributes(found[1]).get("reason") or markup.decode(found[2] or "")
    return text.shorten(reason, 200) or "no reason given"


def _why_unusable(prepared: str, *, found: bool, lost: int, asked: str) -> str:
    other = "summary" if asked == "observation" else "observation"
    if not prepared:
        return "empty reply"
    if found:
        return f"nothing but an empty {asked}"
    if lost:
        return f"cut off before the first {asked} was complete"
    if markup.blocks(prepared, other)[0]:
        return f"{other} in answer to a request for {asked}"
    return f"no {asked} in the reply, only other text"


# --- one observation -----------------------------------------------------------------


def _observation(
    block: markup.Block, unit: TurnUnit, *, mode: Mode, ground: Ground, notes: list[str]
) -> ObservationDraft | None:
    """The draft of a block, None if there is nothing in it; ``notes`` gets what was put right."""
    raw = markup.fields(block.body, FIELDS)
    title = _bounded(markup.line(raw.get("title", "")), TITLE)
    subtitle = _bounded(markup.line(raw.get("subtitle", "")), TITLE)
    narrative = markup.paragraph(raw.get("narrative") or raw.get("text", ""))[:NARRATIVE]
    facts = _facts(raw.get("facts", ""), ground, notes)
    if not raw:
        narrative = markup.paragraph(markup.bare(block.body))[:NARRATIVE]
        if len(narrative) < SALVAGE:
            narrative = ""
    if not (title or subtitle or narrative or facts):
        notes.append("empty observation left out")
        return None
    if not title:
        first = text.sentences(subtitle or narrative or facts[0])
        title = text.title(first[0] if first else subtitle or narrative or facts[0])
        notes.append("title made of the text")
    kind = _type(raw.get("type") or block.attributes.get("type", ""), mode, notes)
    sources = _sources(raw.get("events", ""), unit)
    claimed = markup.items(raw.get("files_read", ""), "file")
    changed = markup.items(raw.get("files_modified", ""), "file")
    read, modified, dropped = grounds.grounded_files(
        ground, sources, claimed=claimed, claimed_modified=changed
    )
    notes += [f"file not in the events left out: {text.shorten(one, 120)}" for one in dropped]
    agent_id, agent_type = agent_of(unit, sources)
    return ObservationDraft(
        type=kind,
        title=_grounded(title, ground, notes),
        subtitle=_grounded(subtitle, ground, notes),
        narrative=_grounded(narrative, ground, notes),
        facts=facts,
        concepts=_concepts(raw.get("concepts", ""), kind, mode=mode, notes=notes),
        files_read=read,
        files_modified=modified,
        sources=sources,
        at=newest(unit, sources),
        agent_id=agent_id,
        agent_type=agent_type,
    )


def _bounded(line: str, limit: int) -> str:
    return line if len(line) <= limit else text.shorten(line, limit)


def _grounded(value: str, ground: Ground, notes: list[str]) -> str:
    value, parts = grounds.marked(value, ground)
    notes += [f"not in the events, marked: {text.shorten(part, 120)}" for part in parts]
    return value


def _facts(raw: str, ground: Ground, notes: list[str]) -> tuple[str, ...]:
    kept = []
    for fact in text.unique(markup.items(raw, "fact")):
        parts = grounds.invented(fact, ground)
        if parts:
            notes.append(f"fact left out, not in the events: {text.shorten(parts[0], 120)}")
            continue
        quotes = grounds.foreign_quotes(fact, ground)
        notes += [f"quoted but not in the events: {text.shorten(one, 120)}" for one in quotes]
        kept.append(_bounded(fact, FACT))
    return tuple(kept[:MAX_FACTS])


def _name(raw: str) -> str:
    """A type or concept as written, folded to one word; "" if it is none."""
    name = re.sub(r"[\s_]+", "-", markup.line(raw).casefold()).strip("-")
    return name if NAME.fullmatch(name) else ""


def _type(raw: str, mode: Mode, notes: list[str]) -> str:
    """Missing: the mode's first. Unknown: kept as it is, and noted."""
    name = _name(raw)
    for known, _meaning in mode.types:
        if name == known.replace("_", "-"):
            return known
    if not name:
        notes.append("type missing")
        return mode.types[0][0]
    notes.append(f"unknown type: {name}")
    return name


def _concepts(raw: str, kind: str, *, mode: Mode, notes: list[str]) -> tuple[str, ...]:
    """Concepts without the type; well-formed ones the mode does not know are kept and noted."""
    known = {name for name, _meaning in mode.concepts}
    names = [_name(one) for item in markup.items(raw, "concept") for one in item.split(",")]
    kept = [one for one in dict.fromkeys(names) if one and one != kind.replace("_", "-")]
    notes += [f"unknown concept: {one}" for one in kept if one not in known]
    return tuple(kept[:MAX_CONCEPTS])


def _sources(raw: str, unit: TurnUnit) -> tuple[int, ...] | None:
    """The tool uses a record names; none of ours named means the whole unit."""
    ids = {one.id for one in unit.evidence}
    named = dict.fromkeys(int(found) for found in EVENT.findall(markup.bare(raw)))
    kept = tuple(one for one in named if one in ids)
    return None if not kept or len(kept) == len(ids) else kept


# --- the summary ---------------------------------------------------------------------


def _summary(
    block: markup.Block, unit: SummaryUnit, ground: Ground
) -> tuple[SummaryDraft, list[str]]:
    raw = markup.fields(block.body, SUMMARY_FIELDS)
    notes: list[str] = []
    said: dict[str, str] = {}
    for name in SUMMARY_FIELDS:
        value = markup.paragraph(markup.TAG.sub("", raw.get(name, "")))[:NARRATIVE]
        value = "" if NOTHING.fullmatch(value) else value
        said[name] = _grounded(value, ground, notes)
    drafts = [one for turn in unit.turns for one in turn.observations]
    read = dict.fromkeys(path for one in drafts for path in one.files_read)
    edited = dict.fromkeys(path for one in drafts for path in one.files_modified)
    return SummaryDraft(**said, files_read=tuple(read), files_edited=tuple(edited)), notes
