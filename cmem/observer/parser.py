"""A model's reply becomes drafts, or an explicit skip, or is unusable.

A reply counts by its complete blocks, whatever prose stands around them. Prose alone is never
memory: no block and no skip means ``UnusableReply``, as do an empty reply and a refusal. What a
model repeats of its own instructions, their form or their example, counts for nothing.
"""

from __future__ import annotations

import re

from cmem.model import Mode, ObservationDraft, Reply, SummaryDraft, SummaryUnit, TurnUnit
from cmem.observer import ground as grounds
from cmem.observer import markup, modes, text
from cmem.observer.errors import UnusableReply
from cmem.observer.evidence import agent_of, newest
from cmem.observer.ground import Ground
from cmem.observer.prompt import SKIP_REASON

MAX_OBSERVATIONS = 20
MAX_FACTS = 20
MAX_CONCEPTS = 8
TITLE = 200
FACT = 500
NARRATIVE = 4_000
SALVAGE = 20
PROGRESS = ("investigated", "learned", "completed", "next_steps")
SKIP = re.compile(
    r"(?:^[ \t]*|(?<=>)\s*)<skip_summary\b([^<>]{0,1000}?)/?>(?:([^<>]{1,500})</skip_summary\s*>)?"
    r"|<skip_summary\b([^<>]{0,1000}?)/?>\s*(?:```\s*)?\Z",
    re.I | re.M,
)
NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
EVENT = re.compile(
    r"(?<![A-Za-z0-9])T?(\d{1,18})(?![A-Za-z0-9])"
    r"(?:\s*(?:-|–|—|~|～|\bto\b|至|到)\s*T(\d{1,18})(?![A-Za-z0-9]))?",
    re.I,
)
BETWEEN = re.compile(r"[,，、;；|]")
NOTHING = re.compile(
    r"[\s.…\-–—/*_]*|\(?(?:none|n/?a|nothing|no|unknown|empty|keine?s?|nichts|无|沒有|没有|なし|없음|"
    r"không(?: có)?|aucune?|ninguno|нет)\)?[\s.。]*",
    re.I,
)
# What a reply without a record is, as far as its beginning shows; the first that fits.
OTHERWISE = (
    ("an HTML page", re.compile(r"\s*<(?:!doctype html|html)\b", re.I)),
    ("JSON", re.compile(r"\s*(?:```\w*\s*)?(?:\{\s*\"|\[\s*[{\"])")),
    (
        "a message about a usage limit",
        re.compile(
            r"[^<]{0,80}?(?:(?:usage|rate|weekly|session|spending|monthly|5-hour) limit|quota exceeded"
            r"|(?:hit|reached) your [\w -]{0,20}limit|credit balance is too low)",
            re.I,
        ),
    ),
    (
        "a message about the login",
        re.compile(
            r"[^<]{0,80}?(?:invalid api key|please run /login|not logged in|authentication_error"
            r"|oauth token|unauthorized)",
            re.I,
        ),
    ),
)


def parse_observation(reply: str, unit: TurnUnit, mode: Mode) -> Reply:
    """The observations of a reply to an observation request. Raises UnusableReply."""
    prepared = markup.prepare(reply)
    found, lost = markup.blocks(prepared, "observation")
    ground = grounds.of_turn(unit)
    notes = [f"{lost} incomplete observation(s) left out"] if lost else []
    drafts: list[ObservationDraft] = []
    unique = list(dict.fromkeys(block.body.strip() for block in found))
    if len(unique) < len(found):
        notes.append(f"{len(found) - len(unique)} repeated observation(s) left out")
    if len(unique) > MAX_OBSERVATIONS:
        notes.append(f"{len(unique) - MAX_OBSERVATIONS} observation(s) over the limit left out")
    first = {block.body.strip(): block for block in reversed(found)}
    for body in unique[:MAX_OBSERVATIONS]:
        draft = _observation(first[body], unit, mode=mode, ground=ground, notes=notes)
        if draft is not None:
            drafts.append(draft)
    if drafts:
        return Reply(tuple(drafts), None, None, tuple(notes))
    if not lost and (reason := _skip(prepared)) is not None:
        return Reply((), None, reason, tuple(notes))
    if reply.strip() and not prepared:
        raise UnusableReply("nothing but thinking")
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
    if not lost and (reason := _skip(prepared)) is not None:
        return Reply((), None, reason, ())
    if reply.strip() and not prepared:
        raise UnusableReply("nothing but thinking")
    raise UnusableReply(_why_unusable(prepared, found=bool(found), lost=lost, asked="summary"))


def _skip(prepared: str) -> str | None:
    """The reason of an explicit skip; None where the tag is only spoken of, or repeated from
    the instructions."""
    found = SKIP.search(prepared)
    if found is None:
        return None
    given = markup.attributes(found[1] or found[3] or "").get("reason")
    reason = text.shorten(given or markup.decode(found[2] or ""), 200)
    return None if reason == SKIP_REASON else reason or "no reason given"


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
    what = next((name for name, sign in OTHERWISE if sign.match(prepared)), "")
    return f"no {asked} in the reply, only {what or 'other text'}"


# --- one observation -----------------------------------------------------------------


def _observation(
    block: markup.Block, unit: TurnUnit, *, mode: Mode, ground: Ground, notes: list[str]
) -> ObservationDraft | None:
    """The draft of a block, None if there is nothing in it; ``notes`` gets what was put right."""
    raw = markup.fields(block.body, markup.FIELDS)
    title, subtitle, narrative = _texts(raw, block.body)
    facts, unverified = _facts(raw.get("facts", ""), ground, notes)
    # A sentence about the tags, as in `no <observation>…</observation> here`, has no word in them.
    if not any(char.isalnum() for char in "".join((title, subtitle, narrative, *facts))):
        notes.append("empty observation left out")
        return None
    if text.norm(title) in {text.norm(one.title) for one in mode.examples}:
        notes.append("the example of the instructions left out")
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
    title, subtitle, narrative = (
        _grounded(one, ground, notes) for one in (title, subtitle, narrative)
    )
    named = grounds.doubtful_names(f"{title}\n{subtitle}\n{narrative}", ground)
    names = [one for one in named if one not in unverified]
    notes += [f"quoted but not in the events: {text.shorten(one, 120)}" for one in names]
    return ObservationDraft(
        type=kind,
        title=title,
        subtitle=subtitle,
        narrative=narrative,
        facts=facts,
        concepts=_concepts(raw.get("concepts", ""), kind, mode=mode, notes=notes),
        files_read=read,
        files_modified=modified,
        sources=sources,
        at=newest(unit, sources),
        agent_id=agent_id,
        agent_type=agent_type,
        unverified=tuple(dict.fromkeys((*unverified, *names))),
    )


def _texts(raw: dict[str, str], body: str) -> tuple[str, str, str]:
    """Title, subtitle and narrative. A block without any field is all narrative, if it says
    enough."""
    narrative = markup.paragraph(raw.get("narrative") or raw.get("text", ""))
    if not raw:
        narrative = markup.paragraph(markup.bare(body))
        narrative = narrative if len(narrative) >= SALVAGE else ""
    title = _bounded(markup.line(raw.get("title", "")), TITLE)
    subtitle = _bounded(markup.line(raw.get("subtitle", "")), TITLE)
    return _said(title), _said(subtitle), _said(narrative[:NARRATIVE])


def _said(value: str) -> str:
    """The text, "" for a word that only says that there is none."""
    return "" if NOTHING.fullmatch(value) else value


def _bounded(line: str, limit: int) -> str:
    return line if len(line) <= limit else text.shorten(line, limit)


def _grounded(value: str, ground: Ground, notes: list[str]) -> str:
    value, parts = grounds.marked(value, ground)
    notes += [f"not in the events, marked: {text.shorten(part, 120)}" for part in parts]
    return value


def _facts(raw: str, ground: Ground, notes: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(facts, the pieces of them that are in doubt)."""
    kept: list[str] = []
    unverified: list[str] = []
    for given in text.unique(markup.items(raw, "fact"))[: 2 * MAX_FACTS]:
        fact = _bounded(_said(given), FACT)
        parts = grounds.invented(fact, ground)
        if parts:
            notes.append(f"fact left out, not in the events: {text.shorten(parts[0], 120)}")
        elif fact and len(kept) < MAX_FACTS:
            pieces = grounds.doubtful(fact, ground)
            notes += [f"quoted but not in the events: {text.shorten(one, 120)}" for one in pieces]
            unverified += pieces
            kept.append(fact)
    return tuple(kept), tuple(dict.fromkeys(unverified))


def _name(raw: str) -> str:
    """A type or concept as written, folded to one word; "" if it is none."""
    name = re.sub(r"[\s_]+", "-", markup.line(raw).casefold())
    name = re.sub(r"^[^a-z]+|[^a-z0-9]+$", "", name)
    return name if NAME.fullmatch(name) else ""


def _type(raw: str, mode: Mode, notes: list[str]) -> str:
    """Missing: the mode's first. Unknown: kept as it is, and noted. Several: the first known."""
    known = {text.norm(one.label): one.key for one in mode.types if text.norm(one.label)}
    known |= {text.norm(one.key): one.key for one in mode.types}
    for part in (raw, *re.split(r"[,，、;；|/]|\bor\b", raw)):
        if (key := known.get(text.norm(markup.line(part)))) is not None:
            return key
    name = _name(raw)
    missing = "type not understood" if markup.line(raw) else "type missing"
    notes.append(f"unknown type: {name}" if name else missing)
    return name or mode.types[0].key


def _concepts(raw: str, kind: str, *, mode: Mode, notes: list[str]) -> tuple[str, ...]:
    """Concepts without the type; well-formed ones the mode does not know are kept and noted."""
    known = {one.key.replace("_", "-"): one.key for one in mode.concepts}
    named = [_name(one) for item in markup.items(raw, "concept") for one in BETWEEN.split(item)]
    kept = [one for one in dict.fromkeys(named) if one and one != kind.replace("_", "-")]
    notes += [f"unknown concept: {one}" for one in kept if one not in known]
    return tuple(known.get(one, one) for one in kept[:MAX_CONCEPTS])


def _sources(raw: str, unit: TurnUnit) -> tuple[int, ...] | None:
    """The tool uses a record names, one by one or as a range; none of ours named means the
    whole unit."""
    ids = [one.id for one in unit.evidence]
    named: dict[int, None] = {}
    for found in EVENT.finditer(markup.bare(raw)[:4_000]):
        first, last = int(found[1]), int(found[2] or found[1])
        named |= dict.fromkeys(one for one in ids if first <= one <= last)
    kept = tuple(named)
    return None if not kept or len(kept) == len(ids) else kept


# --- the summary ---------------------------------------------------------------------


def _summary(
    block: markup.Block, unit: SummaryUnit, ground: Ground
) -> tuple[SummaryDraft, list[str]]:
    raw = markup.fields(block.body, markup.SUMMARY_FIELDS)
    mode = unit.mode or modes.load()
    asked = {text.norm(meaning) for _name, meaning in mode.summary}
    notes: list[str] = []
    said: dict[str, str] = {}
    for name in markup.SUMMARY_FIELDS:
        value = _said(markup.paragraph(markup.bare(raw.get(name, "")))[:NARRATIVE])
        value = "" if text.norm(value) in asked else value
        said[name] = _grounded(value, ground, notes)
    drafts = [one for turn in unit.turns for one in turn.observations]
    read = dict.fromkeys(path for one in drafts for path in one.files_read)
    edited = dict.fromkeys(path for one in drafts for path in one.files_modified)
    return SummaryDraft(**said, files_read=tuple(read), files_edited=tuple(edited)), notes
