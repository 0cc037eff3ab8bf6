"""Observations by rules: no model, no network, the same unit always gives the same drafts.

Every sentence is the user's, the agent's, a tool's, or a label before one of them. A turn
gives one observation of its outcome, and one more for each of: what the user decided, what
still fails, what the project depends on from now. A turn that left nothing is skipped with a
reason.
"""

from __future__ import annotations

from cmem.model import Evidence, ObservationDraft, Observed, Reply, SummaryUnit, TurnUnit
from cmem.observer import borrowed, text
from cmem.observer import extract_words as words
from cmem.observer.errors import NO_USAGE
from cmem.observer.evidence import read_call
from cmem.observer.extract_beside import (
    apart_as_dependencies,
    decisions,
    dependencies,
    failures,
    main_commands,
)
from cmem.observer.extract_commands import IMPORTANT, JUDGES, Command, command_fact, commands
from cmem.observer.extract_draft import draft
from cmem.observer.extract_edits import facts_of, is_dependency, is_docs, is_manifest
from cmem.observer.extract_story import Told, message_facts, narrative, title_of
from cmem.observer.extract_summary import summary_reply
from cmem.observer.extract_view import View, view

VERSION = "extract/3"
SUBSTANCE = 200.0
MAX_FACTS = 16
ACTS = {"install", "deploy", "operate"}
CONCEPTS = {
    "bugfix": ("problem-solution", "what-changed"),
    "feature": ("what-changed",),
    "refactor": ("what-changed", "pattern"),
    "change": ("what-changed",),
    "discovery": ("how-it-works",),
    "decision": ("trade-off",),
    "security_note": ("gotcha",),
}


def observe(unit: TurnUnit) -> Observed:
    """The observations of a turn."""
    return _observed(observation_reply(unit))


def summarise(unit: SummaryUnit) -> Observed:
    """The summary of a session's turns."""
    return _observed(summary_reply(unit))


def _observed(reply: Reply) -> Observed:
    return Observed(
        reply=reply,
        usage=NO_USAGE,
        provider="extract",
        model="extract",
        prompt_version=VERSION,
        calls=0,
    )


def observation_reply(unit: TurnUnit) -> Reply:
    own, outside = apart(unit)
    reply = _reply_of(own)
    if not outside:
        return reply
    mine = [one.id for one in own.evidence if one.taint != "external"]
    drafts = tuple(
        one._replace(sources=tuple(ref for ref in one.sources or mine if ref in mine))
        if one.sources != ()
        else one
        for one in reply.observations
    )
    return reply._replace(observations=drafts + from_outside(unit, outside))


def apart(unit: TurnUnit) -> tuple[TurnUnit, tuple[Evidence, ...]]:
    """(the unit without what came from outside, that). An observation bears the worst taint of
    the events it names, and outside text is never injected by itself: what the agent did must
    not be lost with what it looked up. Of a command that fetched something the command stays,
    for that is the agent's, and only its output goes. The answer may retell what was met, so it
    goes as well, unless all that was met is the chatter of installing. What an edit or a command
    repeats of it goes in any case. A turn that only looked things up stays whole."""
    outside = tuple(one for one in unit.evidence if one.taint == "external")
    if not outside:
        return unit, ()
    unit = borrowed.cleared(unit)
    own = unit._replace(
        assistant_message=unit.assistant_message if _only_installs(outside) else "",
        evidence=tuple(
            one._replace(tool_response="") if one.taint == "external" else one
            for one in unit.evidence
            if one.taint != "external" or read_call(one).kind == "command"
        ),
    )
    return (own, outside) if view(own).acted else (unit, ())


def _only_installs(outside: tuple[Evidence, ...]) -> bool:
    calls = [read_call(one) for one in outside]
    if any(call.kind != "command" for call in calls):
        return False
    return all(one.category == "install" for one in commands(tuple(calls)))


def from_outside(unit: TurnUnit, evidence: tuple[Evidence, ...]) -> tuple[ObservationDraft, ...]:
    """One observation of what services, pages and downloads brought into a turn."""
    seen = view(unit._replace(evidence=evidence, prompt="", assistant_message=""))
    facts = _told(seen) + [said for said, _source in seen.refused]
    refused = {source for _said, source in seen.refused}
    ran = [one for one in seen.commands if one.runs[-1].source not in refused]
    facts += [command_fact(one, "") for one in ran if _brought(one)]
    facts += [f"Failing test: {name}" for one in seen.commands for name in one.runs[0].tests]
    facts += facts_of(seen.changes, 8)
    facts = text.unique([text.shorten(one, 500) for one in facts])
    answer = "" if _only_installs(evidence) else text.clip(unit.assistant_message, 800)
    facts = facts or text.sentences(answer)[:1]
    if not facts:
        return ()
    title = text.title(facts[0])
    names = ", ".join(dict.fromkeys(one.tool_name for one in evidence))
    told = f"\nResult: {answer}" if answer else ""
    found = draft(
        seen,
        type="discovery",
        title=title,
        narrative=f"From outside, by {names}.{told}",
        facts=tuple(one for one in facts if not text.retells(one, title))[:MAX_FACTS],
        concepts=("how-it-works",),
        sources=tuple(one.id for one in evidence),
    )
    return (found,)


def _brought(command: Command) -> bool:
    """Did a command that fetches something say more than that it ran?"""
    weighty = command.category in IMPORTANT - {"install"}
    weighty = weighty and any(run.result or run.cause for run in command.runs)
    return weighty or command.still_failing


def _reply_of(unit: TurnUnit) -> Reply:
    seen = view(unit)
    drafts: list[ObservationDraft] = []
    if substantial(seen):
        main = outcome(seen)
        drafts = [main, *dependencies(seen, main), *failures(seen, main)]
    drafts += decisions(seen, drafts[0].title if drafts else "")
    if drafts:
        return Reply(tuple(drafts), None, None, ())
    return Reply((), None, skip_reason(seen), ())


def substantial(seen: View) -> bool:
    """Is there an outcome to tell? Something done, something found, or a real answer."""
    if seen.acted:
        return True
    answer = seen.unit.assistant_message
    if seen.unit.outcome == "failure" or not text.varied(answer):
        return False
    looked = any(call.ok and call.kind in ("read", "search", "command") for call in seen.calls)
    if looked and any(text.informative(one) for one in seen.said):
        return True
    return text.weight(answer) >= SUBSTANCE


def skip_reason(seen: View) -> str:
    if seen.unit.outcome == "failure":
        return f"the turn failed before anything was done: {seen.unit.error or 'no reason given'}"
    if seen.unit.outcome == "interrupted":
        return "ended before anything was done"
    return "routine look without a finding" if seen.calls else "short exchange without tools"


def type_of(seen: View) -> str:
    """What kind of outcome: by what was edited, what failed before, and whose verb is first."""
    if not seen.changes:
        said = f"{seen.unit.prompt[:2000]} {seen.unit.assistant_message[:2000]}"
        if words.SECURITY.search(said):
            return "security_note"
        done_something = seen.commits or any(
            one.category in ACTS and not one.still_failing for one in seen.commands
        )
        return "change" if done_something else "discovery"
    if all(is_docs(path) for path in seen.modified):
        return "change"
    found = _first_verb(" ".join(seen.asked[:4])) or _first_verb(" ".join(seen.said[:2]))
    if found:
        return found
    if any(one.recovered and one.category in JUDGES for one in seen.commands):
        return "bugfix"
    created = [one.path for one in seen.changes if one.verb == "created"]
    code = [path for path in created if not is_manifest(path) and not is_docs(path)]
    return "feature" if code else "change"


def _first_verb(source: str) -> str:
    patterns = (("bugfix", words.FIX), ("refactor", words.REFACTOR), ("feature", words.FEATURE))
    places = [(found.start(), name) for name, one in patterns if (found := one.search(source))]
    return min(places)[1] if places else ""


# --- the outcome ---------------------------------------------------------------------


def outcome(seen: View) -> ObservationDraft:
    kind = type_of(seen)
    title, used = title_of(seen, avoid=words.decisions(list(seen.asked)))
    facts = outcome_facts(seen, Told(title, used))
    concepts = list(CONCEPTS[kind])
    if kind != "bugfix" and any(one.still_failing for one in main_commands(seen)):
        concepts.append("gotcha")
    if any(words.CAUSE.search(one) for one in seen.said):
        concepts.append("why-it-exists")
    asked = [one for one in seen.asked if text.informative(one) and one != used]
    plain = [one for one in asked if not one.endswith((":", "："))]
    subtitle = text.shorten((plain or asked)[0], 150) if asked else ""
    return draft(
        seen,
        type=kind,
        title=title,
        subtitle=subtitle,
        narrative=narrative(seen, (title, subtitle, *facts, *_told_beside(seen))),
        facts=facts,
        concepts=tuple(dict.fromkeys(concepts))[:3],
        sources=sources_of(seen),
    )


def _told_beside(seen: View) -> list[str]:
    """The commands that observations beside the outcome tell of."""
    refused = [said for said, _source in seen.refused]
    beside = apart_as_dependencies(seen)
    return refused + [one.shown for one in seen.commands if beside and one.category == "install"]


def outcome_facts(seen: View, told: Told) -> tuple[str, ...]:
    """What the tools show, then what the answer adds; of too much the tools' part gives way."""
    edited = ", ".join(seen.modified[:3])
    beside = apart_as_dependencies(seen)
    facts = facts_of([one for one in seen.changes if not (beside and is_dependency(one))], 8)
    facts += [command_fact(one, edited) for one in _telling_commands(seen, beside=beside)][:6]
    facts += [
        f"Failing test: {name}"
        for one in main_commands(seen)
        for name in (one.runs[-1].tests if one.still_failing else one.runs[0].tests)
    ][:3]
    facts += [
        f"Committed {sha}: {line}" if sha else f"Committed: {line}" for sha, line, _ in seen.commits
    ]
    facts += [fact for fact, _source in seen.chosen]
    facts += _told(seen)
    said = [one for one in message_facts(seen, told) if not text.retells(one, told.title)]
    kept = [_clean(one) for one in text.unique(facts)]
    kept = [one for one in kept if not text.retells(one, told.title)]
    return tuple(text.unique([*kept[: MAX_FACTS - len(said)], *map(_clean, said)]))


def _clean(fact: str) -> str:
    return text.shorten(text.MARKER.sub("[private]", fact), 500)


def _telling_commands(seen: View, *, beside: bool) -> list[Command]:
    """The commands that count, those that failed, and those whose output was short enough to
    be its own result."""
    refused = {source for _said, source in seen.refused}
    return [
        one
        for one in seen.commands
        if one.runs[-1].source not in refused and _tells(one, beside=beside)
    ]


def _tells(one: Command, *, beside: bool) -> bool:
    if one.category == "commit":
        return any(not run.ok for run in one.runs)
    if one.category == "install" and beside:
        return one.still_failing
    if one.category == "look":
        return False
    result = one.category == "other" and bool(one.runs[-1].result)
    return one.category in IMPORTANT or one.still_failing or result


def _told(seen: View) -> list[str]:
    """What was told, the newest list of open points only."""
    facts = [fact for fact, _source in seen.told]
    lists = [fact for fact in facts if fact.startswith("Open: ")]
    kept = [fact for fact in facts if not fact.startswith("Open:")]
    return kept[:6] + (lists[-1:] if facts and facts[-1] != "Open: " else [])


def sources_of(seen: View) -> tuple[int, ...] | None:
    """The tool uses the outcome rests on: all but idle looks and tools about tools."""
    idle = {run.source for one in seen.commands if one.category == "look" for run in one.runs}
    kept = [
        call.evidence.id
        for call in seen.calls
        if call.kind != "meta" and (call.evidence.id not in idle or not seen.acted)
    ]
    return tuple(kept) if len(kept) < len(seen.calls) else None
