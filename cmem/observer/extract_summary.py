"""A session's summary by rules, from its turns and their observations."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cmem.hosts.wire import NOTIFICATION
from cmem.model import ObservationDraft, Reply, SessionTurn, SummaryDraft, SummaryUnit
from cmem.observer import extract_words as words
from cmem.observer import text
from cmem.observer.extract_view import asked

FOUND = ("discovery", "security_alert", "security_note", "sensitive")
COMMAND = re.compile(r"`[^`]{1,200}`: |Ran `")
EDIT = re.compile(r"[`”] → [`“]|^\S+ \(written whole\)|^\S+: (?:added|removed) [`“]")
PASSED = re.compile(
    r"(`[^`]{1,200}`): (?:.{0,900}, then )?(passed(?: \([^()]{1,120}\))?)(?: after .*)?$"
)
MAX_LINES = 8
UNFINISHED = 30.0


def summary_reply(unit: SummaryUnit) -> Reply:
    """The summary, or a skip when the session left nothing to tell."""
    drafts = [one for turn in unit.turns for one in turn.observations]
    summary = SummaryDraft(
        request=request(unit.turns),
        investigated=investigated(drafts),
        learned=learned(drafts),
        completed=completed(drafts),
        next_steps=next_steps(unit.turns),
        notes=notes(unit.turns),
        files_read=_files(one.files_read for one in drafts),
        files_edited=_files(one.files_modified for one in drafts),
    )
    progress = (summary.investigated, summary.learned, summary.completed, summary.next_steps)
    if not any(progress):
        summary = summary._replace(learned=answered(unit.turns))
    if not any((*progress, summary.learned)):
        return Reply((), None, "nothing was done or found in the session", ())
    return Reply((), summary, None, ())


def _lines(items: Iterable[str], limit: int = MAX_LINES) -> str:
    """Items as lines of a list, one alone without a bullet, the oldest of too many left out."""
    kept = text.unique([item for item in items if item])
    left_out = len(kept) - limit
    if left_out > 0:
        kept = [f"({left_out} earlier left out)", *kept[-limit:]]
    return kept[0] if len(kept) == 1 else "\n".join(f"- {one}" for one in kept)


def _files(lists: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path for paths in lists for path in paths))[:50]


def _asked(turn: SessionTurn) -> str:
    if turn.prompt.lstrip().startswith(NOTIFICATION):
        return ""
    said = [one for one in asked(turn.prompt) if not text.is_marked(one)]
    return text.clip("\n".join(said), 240) if said else ""


def request(turns: tuple[SessionTurn, ...]) -> str:
    """The user's words, turn by turn, of the turns that left something if any did."""
    left = [turn for turn in turns if turn.observations or turn.outcome != "stop"]
    prompts = [one for one in map(_asked, left or turns) if one]
    telling = [one for one in prompts if text.informative(one)]
    return _lines(telling or prompts[:1])


def investigated(drafts: list[ObservationDraft]) -> str:
    paths = _files(one.files_read for one in drafts)
    more = f" and {len(paths) - 10} more" if len(paths) > 10 else ""
    return f"Read {', '.join(paths[:10])}{more}" if paths else ""


def learned(drafts: list[ObservationDraft]) -> str:
    """Findings and decisions by title, and the sentences that give a cause."""
    lines = []
    for one in drafts:
        if one.type == "decision":
            ruled = [whole(one), *(fact for fact in one.facts if " Offered: " not in fact)]
            lines += [_by_user(said) for said in text.unique(ruled)[:3]]
            continue
        if one.type in FOUND and not _failing(one):
            lines.append(whole(one))
        lines += [fact for fact in one.facts if _gives_cause(fact)][:2]
    return _lines(lines)


def _by_user(said: str) -> str:
    return said if said.startswith("Refused by the user") else f"Decided by the user: {said}"


def whole(draft: ObservationDraft) -> str:
    """The title, or the sentence it was cut from where a fact keeps that."""
    key = text.norm(draft.title.rstrip("…"))
    return next((fact for fact in draft.facts if text.norm(fact).startswith(key)), draft.title)


def _gives_cause(fact: str) -> bool:
    """Is it a sentence that says why, and not a tool's output or a plan?"""
    tools = COMMAND.match(fact) is not None or EDIT.search(fact) is not None
    said = not tools and not fact.startswith(("Open:", "Failing test:", "Committed"))
    return said and words.CAUSE.search(fact) is not None and words.NEXT.search(fact) is None


def completed(drafts: list[ObservationDraft]) -> str:
    lines = []
    for one in drafts:
        if one.type in FOUND or one.type == "decision":
            continue
        proof = [fact for fact in one.facts if fact.startswith("Committed")]
        proof = [
            fact for fact in proof if one.title.removeprefix("Committed: ") not in fact
        ] or proof
        if proof and one.title.startswith("Committed: "):
            lines += proof[:2]
            continue
        lines.append(f"{whole(one)} ({'; '.join(proof[:2])})" if proof else whole(one))
        passed = [found for fact in one.facts if (found := PASSED.match(fact))]
        proved = [found for found in passed if not found[1].startswith("`git ")]
        lines += [f"{found[1]}: {found[2]}" for found in proved[-1:]]
    return _lines(lines)


def _failing(draft: ObservationDraft) -> bool:
    return draft.type == "discovery" and " still fails" in draft.title


def next_steps(turns: tuple[SessionTurn, ...]) -> str:
    """What is open: the last turn's failures and open points, interrupted requests, and what
    the agent's last message says comes next."""
    lines = []
    for at, turn in enumerate(turns):
        later = turns[at + 1 :]
        if turn.outcome in ("interrupted", "failure") and not any(_did(one) for one in later):
            wish = _asked(turn)
            if text.weight(wish) >= UNFINISHED:
                lines.append(f"Not finished: {wish}")
        if any(_did(one) for one in later):
            continue
        for one in turn.observations:
            lines += [one.title] if _failing(one) else []
            lines += [fact for fact in one.facts if fact.startswith("Open:")]
    spoken = [turn for turn in turns if turn.assistant_message.strip()]
    if spoken:
        said = list(map(text.bare, text.sentences(spoken[-1].assistant_message)))
        lines += [text.shorten(one, 300) for one in said if _about_next(one)][:4]
    return _lines(lines)


def _did(turn: SessionTurn) -> bool:
    return turn.outcome == "stop" and any(one.type != "decision" for one in turn.observations)


def _about_next(sentence: str) -> bool:
    return (
        words.NEXT.search(sentence) is not None
        and text.informative(sentence)
        and not sentence.endswith((":", "："))
    )


def answered(turns: tuple[SessionTurn, ...]) -> str:
    """Where no turn was worth an observation: the answers that say something at all."""
    said = [turn.assistant_message for turn in turns if text.weight(turn.assistant_message) >= 120]
    return _lines(text.clip(one, 240) for one in said if text.varied(one))


def notes(turns: tuple[SessionTurn, ...]) -> str:
    failed = [turn.number for turn in turns if turn.outcome == "failure"]
    cut = [turn.number for turn in turns if turn.outcome == "interrupted"]
    lines = [f"Turn {number} ended with an error" for number in failed]
    return _lines([*lines, *(f"Turn {number} ended without an answer" for number in cut)])
