"""What stands beside a turn's outcome: what still fails, what the project depends on from now,
what the user decided. Each says only what the outcome's own facts do not."""

from __future__ import annotations

from cmem.model import ObservationDraft
from cmem.observer import extract_words as words
from cmem.observer import text
from cmem.observer.extract_commands import IMPORTANT, Command, command_fact
from cmem.observer.extract_draft import draft
from cmem.observer.extract_edits import facts_of, is_dependency
from cmem.observer.extract_view import View, offered

MAX_DECISION = 600


def main_commands(seen: View) -> list[Command]:
    """The commands that count, but for a subagent's own."""
    return [one for one in seen.commands if one.category in IMPORTANT and not one.runs[-1].agent]


def failures(seen: View, main: ObservationDraft) -> list[ObservationDraft]:
    """What was left failing in a turn that changed something."""
    if not seen.changes:
        return []
    passed = {one.category for one in seen.commands if not one.still_failing}
    drafts = []
    for one in main_commands(seen):
        last = one.runs[-1]
        refused = any(source == last.source for _said, source in seen.refused)
        if not one.still_failing or one.category in passed or refused:
            continue
        cause = f": {last.cause}" if last.cause else ""
        whole = f"`{text.shorten(one.shown, 50)}` still fails{cause}"
        title = text.shorten(whole, 100)
        facts = [f"Failing test: {name}" for name in last.tests]
        if not text.same(title, whole):
            facts.insert(0, command_fact(one, ""))
        drafts.append(
            draft(
                seen,
                type="discovery",
                title=title,
                narrative=f"Left so at the end of the turn: {main.title}",
                facts=tuple(facts),
                concepts=("gotcha",),
                sources=tuple(run.source for run in one.runs),
            )
        )
    return drafts[:2]


def apart_as_dependencies(seen: View) -> bool:
    """Do dependencies get an observation of their own? Alone they are the outcome itself."""
    others = any(not is_dependency(one) for one in seen.changes)
    return others and (bool(_installs(seen)) or any(map(is_dependency, seen.changes)))


def _installs(seen: View) -> list[Command]:
    return [one for one in seen.commands if one.category == "install" and not one.still_failing]


def dependencies(seen: View, main: ObservationDraft) -> list[ObservationDraft]:
    """What was installed, or pinned in a manifest, beside other edits."""
    if not apart_as_dependencies(seen):
        return []
    installs = _installs(seen)
    pinned = [one for one in seen.changes if is_dependency(one)]
    facts = [command_fact(one, "") for one in installs] + facts_of(pinned, 8)
    paths = ", ".join(dict.fromkeys(one.path for one in pinned))
    whole = f"Ran `{installs[0].shown}`" if installs else f"Dependencies changed in {paths}"
    title = text.title(whole)
    sources = [run.source for one in installs for run in one.runs] + [one.source for one in pinned]
    return [
        draft(
            seen,
            type="change",
            title=title,
            narrative=f"Beside: {main.title}",
            facts=tuple(one for one in text.unique(facts) if not text.retells(one, title))[:8],
            concepts=("what-changed",),
            sources=tuple(dict.fromkeys(sources)),
        )
    ]


def decisions(seen: View, main_title: str) -> list[ObservationDraft]:
    """What the user chose, ruled or refused, in the user's own words."""
    said = [one for one in words.decisions(list(seen.asked)) if not text.is_marked(one)]
    said = [one for one in said if len(one) <= MAX_DECISION][:5]
    facts = [fact for fact, _source in seen.chosen]
    facts += [text.shorten(one, 400) for one in said]
    facts += [fact for fact, _source in seen.refused]
    options = [line for call in seen.calls if seen.chosen for line in offered(call)]
    if not facts:
        return []
    title = text.title(facts[0])
    contrast = any(words.CONTRAST.search(one) for one in facts)
    why = any(words.CAUSE.search(one) for one in said)
    concepts = ["trade-off" if contrast or options else "pattern"]
    return [
        draft(
            seen,
            type="decision",
            title=title,
            narrative=_provenance(seen, main_title, ruled=bool(said)),
            facts=tuple(
                one for one in text.unique([*facts, *options]) if not text.retells(one, title)
            ),
            concepts=(*concepts, *(["why-it-exists"] if why else [])),
            sources=tuple(source for _fact, source in (*seen.refused, *seen.chosen)),
        )
    ]


def _provenance(seen: View, main_title: str, *, ruled: bool) -> str:
    """Whose words a decision is, and what was done in the same turn; where nothing was, what
    the agent made of it."""
    answered = "The user answered a question." if seen.chosen else ""
    own = "The user's own words." if ruled else "The user stopped the agent."
    told = [answered or own]
    answer = [text.shorten(one, 300) for one in seen.said if text.informative(one)][:3]
    if main_title:
        end = "" if main_title.endswith(("…", ".", "!", "?", "。")) else "."
        told.append(f"In the same turn: {main_title}{end}")
    elif answer:
        told.append(f"The agent answered: {text.join(answer)}")
    return "\n".join(told)
