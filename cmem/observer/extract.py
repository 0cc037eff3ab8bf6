"""Observations by rules: no model, no network, the same unit always gives the same drafts.

Every sentence is the user's, the agent's, a tool's, or a label before one of them. A turn
gives one observation of its outcome, and one more for each of: what the user decided, what
still fails, what the project depends on from now. A turn that left nothing is skipped with a
reason.
"""

from __future__ import annotations

from cmem.model import Evidence, ObservationDraft, Observed, Reply, SummaryUnit, TurnUnit
from cmem.observer import extract_words as words
from cmem.observer import text
from cmem.observer.errors import NO_USAGE
from cmem.observer.evidence import agent_of, files, newest, read_call
from cmem.observer.extract_commands import IMPORTANT, Command, command_fact, run_words
from cmem.observer.extract_edits import is_docs, is_manifest
from cmem.observer.extract_story import done, message_facts, result, title_of
from cmem.observer.extract_summary import summary_reply
from cmem.observer.extract_view import View, offered, view

VERSION = "extract/1"
SUBSTANCE = 200.0
MAX_FACTS = 16
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
    for that is the agent's, and only its output goes. A turn that only looked things up stays
    whole: its answer retells them."""
    outside = tuple(one for one in unit.evidence if one.taint == "external")
    own = unit._replace(
        evidence=tuple(
            one._replace(tool_response="") if one in outside else one
            for one in unit.evidence
            if one not in outside or read_call(one).kind == "command"
        )
    )
    if not outside or not view(own).acted:
        return unit, ()
    return own, outside


def from_outside(unit: TurnUnit, evidence: tuple[Evidence, ...]) -> tuple[ObservationDraft, ...]:
    """One observation of what services, pages and downloads brought into a turn."""
    seen = view(unit._replace(evidence=evidence, prompt="", assistant_message=""))
    facts = _told(seen)
    facts += [command_fact(one, "") for one in seen.commands if one.still_failing]
    facts += [fact for change in seen.changes for fact in change.facts]
    if not facts:
        return ()
    draft = _draft(
        seen,
        type="discovery",
        title=text.title(facts[0]),
        subtitle="",
        narrative=f"From outside, by {', '.join(dict.fromkeys(one.tool_name for one in evidence))}.",
        facts=tuple(text.unique(facts)[:MAX_FACTS]),
        concepts=("how-it-works",),
        sources=tuple(one.id for one in evidence),
    )
    return (draft,)


def _reply_of(unit: TurnUnit) -> Reply:
    seen = view(unit)
    drafts: list[ObservationDraft] = []
    if substantial(seen):
        main = outcome(seen)
        drafts = [main, *failures(seen), *dependencies(seen, main)]
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
            one.category in ("install", "deploy") and not one.still_failing for one in seen.commands
        )
        return "change" if done_something else "discovery"
    if any(one.recovered and one.category in IMPORTANT for one in seen.commands):
        return "bugfix"
    if all(is_docs(path) for path in seen.modified):
        return "change"
    for source in (" ".join(seen.asked[:4]), " ".join(seen.said[:2])):
        found = _first_verb(source)
        if found:
            return found
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
    facts = outcome_facts(seen, used)
    sources = sources_of(seen)
    concepts = list(CONCEPTS[kind])
    if kind != "bugfix" and any(one.still_failing for one in _main_commands(seen)):
        concepts.append("gotcha")
    if any(words.CAUSE.search(one) for one in seen.said):
        concepts.append("why-it-exists")
    asked = [one for one in seen.asked if text.informative(one) and one != used]
    return _draft(
        seen,
        type=kind,
        title=title,
        subtitle=text.shorten(asked[0], 150) if asked else "",
        narrative=narrative(seen),
        facts=facts,
        concepts=tuple(dict.fromkeys(concepts))[:3],
        sources=sources,
    )


def outcome_facts(seen: View, used: str) -> tuple[str, ...]:
    edited = ", ".join(seen.modified[:3])
    facts = [fact for change in seen.changes for fact in change.facts][:8]
    facts += [
        command_fact(one, edited)
        for one in seen.commands
        if one.category in IMPORTANT - {"commit"} or (one.category == "other" and one.still_failing)
    ][:5]
    facts += [
        f"Failing test: {name}"
        for one in _main_commands(seen)
        for name in (one.runs[-1].tests if one.still_failing else one.runs[0].tests)
    ][:3]
    facts += [
        f"Committed {sha}: {line}" if sha else f"Committed: {line}" for sha, line, _ in seen.commits
    ]
    facts += [fact for fact, _source in seen.chosen]
    facts += _told(seen)
    facts += message_facts(seen, used)
    kept = [text.shorten(text.MARKER.sub("[private]", one), 500) for one in text.unique(facts)]
    return tuple(kept[:MAX_FACTS])


def _told(seen: View) -> list[str]:
    """What was told, the newest list of open points only."""
    facts = [fact for fact, _source in seen.told]
    lists = [fact for fact in facts if fact.startswith("Open: ")]
    kept = [fact for fact in facts if not fact.startswith("Open:")]
    return kept[:6] + (lists[-1:] if facts and facts[-1] != "Open: " else [])


def narrative(seen: View) -> str:
    """Asked, done, result: the turn in its own words."""
    asked = text.clip(text.join(seen.asked), 600)
    parts = [("Asked", asked), ("Done", done(seen)), ("Result", result(seen))]
    return "\n".join(f"{label}: {said}" for label, said in parts if said)[:4000]


def _main_commands(seen: View) -> list[Command]:
    return [one for one in seen.commands if one.category in IMPORTANT and not one.runs[-1].agent]


def sources_of(seen: View) -> tuple[int, ...] | None:
    """The tool uses the outcome rests on: all but idle looks and tools about tools."""
    idle = {run.source for one in seen.commands if one.category == "look" for run in one.runs}
    kept = [
        call.evidence.id
        for call in seen.calls
        if call.kind != "meta" and (call.evidence.id not in idle or not seen.acted)
    ]
    return tuple(kept) if len(kept) < len(seen.calls) else None


# --- what stands beside the outcome --------------------------------------------------


def failures(seen: View) -> list[ObservationDraft]:
    """What was left failing in a turn that changed something."""
    if not seen.changes:
        return []
    passed = {one.category for one in seen.commands if not one.still_failing}
    drafts = []
    for one in _main_commands(seen):
        last = one.runs[-1]
        if not one.still_failing or one.category in passed:
            continue
        edited = ", ".join(seen.modified[:3])
        drafts.append(
            _draft(
                seen,
                type="discovery",
                title=text.title(f"`{text.shorten(one.shown, 50)}` still fails: {last.cause}"),
                subtitle="",
                narrative=f"At the end of the turn `{one.shown}` {run_words(last)}.",
                facts=(command_fact(one, edited), *(f"Failing test: {t}" for t in last.tests)),
                concepts=("gotcha",),
                sources=tuple(run.source for run in one.runs),
            )
        )
    return drafts[:2]


def dependencies(seen: View, main: ObservationDraft) -> list[ObservationDraft]:
    """What was installed or configured beside other edits; alone it is the outcome itself."""
    installs = [one for one in seen.commands if one.category == "install" and not one.still_failing]
    manifests = [one for one in seen.changes if is_manifest(one.path)]
    others = [one for one in seen.changes if not is_manifest(one.path)]
    if not others or not (installs or manifests):
        return []
    facts = [f"Ran `{one.shown}`" for one in installs]
    facts += [fact for change in manifests for fact in change.facts]
    paths = list(dict.fromkeys(one.path for one in manifests))
    first = (
        f"Ran `{installs[0].shown}`" if installs else f"Configuration changed: {', '.join(paths)}"
    )
    sources = [run.source for one in installs for run in one.runs] + [c.source for c in manifests]
    return [
        _draft(
            seen,
            type="change",
            title=text.title(first),
            subtitle=text.shorten(main.title, 150),
            narrative=f"{'. '.join(facts)[:1500]}\nBeside: {main.title}",
            facts=tuple(text.unique(facts)[:8]),
            concepts=("what-changed",),
            sources=tuple(dict.fromkeys(sources)),
        )
    ]


def decisions(seen: View, main_title: str) -> list[ObservationDraft]:
    """What the user chose, ruled or refused, in the user's own words."""
    said = [one for one in words.decisions(list(seen.asked)) if not text.is_marked(one)]
    said = [one for one in said if len(one) <= 600][:5]
    facts = [fact for fact, _source in seen.chosen] + [text.shorten(one, 400) for one in said]
    options = [line for call in seen.calls if seen.chosen for line in offered(call)]
    if not facts:
        return []
    contrast = any(words.CONTRAST.search(one) for one in facts)
    why = any(words.CAUSE.search(one) for one in said)
    told = [f"The user answered: {fact}." for fact, _source in seen.chosen]
    told += [f"The user said: “{one}”" for one in said]
    if main_title:
        told.append(f"In the same turn: {main_title}.")
    return [
        _draft(
            seen,
            type="decision",
            title=text.title(facts[0]),
            subtitle="",
            narrative="\n".join(told),
            facts=tuple(text.unique([*facts, *options])),
            concepts=(
                "trade-off" if contrast or options else "pattern",
                *(["why-it-exists"] if why else []),
            ),
            sources=tuple(source for _fact, source in seen.chosen),
        )
    ]


def _draft(
    seen: View,
    *,
    type: str,  # noqa: A002 - the field's name
    title: str,
    subtitle: str,
    narrative: str,
    facts: tuple[str, ...],
    concepts: tuple[str, ...],
    sources: tuple[int, ...] | None,
) -> ObservationDraft:
    """A draft with what follows from its sources: files, time, agent."""
    calls = [one for one in seen.calls if sources is None or one.evidence.id in sources]
    read, modified = files(calls, seen.unit.project_root)
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
