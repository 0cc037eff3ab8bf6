"""A turn told: its title, what was done in one sentence, and what the answer adds."""

from __future__ import annotations

import posixpath
import re

from cmem.observer import extract_words as words
from cmem.observer import text
from cmem.observer.extract_view import View

POINTING = re.compile(
    r"^(?:it|this|that|these|those|they|he|she|both|es|das|dies\w*|sie|beide|nó|điều này|"
    r"ce(?:la|ci)?|il|elle|esto|eso|ello)\b|^(?:它|这|這|那|これ|それ|この|その|이것|그것)",
    re.I,
)
MAX_MESSAGE_FACTS = 8


def title_of(seen: View, *, avoid: list[str]) -> tuple[str, str]:
    """(title, the sentence it was made of or ""). The agent's first sentence that names
    something, else the prompt's, else the deed. ``avoid``: sentences that have an
    observation of their own."""
    said = [one for one in seen.said[:4] if text.informative(one) and not _dangling(one)]
    asked = [one for one in seen.asked[:3] if text.informative(one) and one not in avoid]
    if said and asked and not text.same_script(said[0], asked[0]):
        said = []
    candidates = [*said[:2], *asked[:1], *said[2:]]
    best = max(candidates, key=lambda one: _telling(one, seen), default="")
    deed = deed_title(seen)
    unfinished = seen.unit.outcome != "stop" and best not in said
    if deed and (not best or unfinished or _telling(best, seen) < 1):
        return text.title(deed), ""
    if best:
        return text.title(best), best
    return text.title(deed or _anything(seen)), ""


def _dangling(sentence: str) -> bool:
    """Does the sentence need its neighbour: it points back, or announces a list?"""
    return sentence.endswith((":", "：")) or POINTING.match(sentence) is not None


def _telling(sentence: str, seen: View) -> float:
    """How much a sentence names: files of the turn most, then code, then mere length. The
    agent's answer tells what is, the prompt only what was wished."""
    names = [posixpath.basename(path) for path in (*seen.modified, *seen.read)]
    score = 1.0 if any(name and name in sentence for name in names) else 0.0
    score += 1.0 if text.CODE.search(sentence) else 0.0
    score += 0.75 if sentence in seen.said else 0.0
    score += 0.5 if seen.said[:1] == (sentence,) else 0.0
    score += 0.5 if text.weight(sentence) >= 40 else 0.0
    score += 0.5 if text.WIDE.search(sentence) and text.weight(sentence) >= 20 else 0.0
    return score + (0.25 if words.FIX.search(sentence) or words.FEATURE.search(sentence) else 0.0)


def deed_title(seen: View) -> str:
    """What was done, as a title: ``Edited calc.py``, ``Ran `make deploy` ``."""
    if seen.modified:
        verb = "Created" if all(one.verb == "created" for one in seen.changes) else "Edited"
        return f"{verb} {listed(seen.modified, 3)}"
    if seen.commits:
        return f"Committed: {seen.commits[0][1]}"
    if seen.told and not seen.told[0][0].startswith("Open:"):
        return text.sentences(seen.told[0][0])[0]
    ran = [one for one in seen.commands if one.category != "look" and not one.runs[-1].agent]
    return f"Ran `{ran[0].shown}`" if ran else ""


def _anything(seen: View) -> str:
    """The last resort: whatever is there and not private."""
    for one in (*seen.said, *seen.asked):
        if not text.is_marked(one):
            return one
    return f"Looked at {listed(seen.read, 3)}" if seen.read else "A turn without words"


def listed(names: tuple[str, ...] | list[str], limit: int) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def done(seen: View) -> str:
    """What the tools did, as one sentence."""
    parts: list[str] = []
    only_read = [path for path in seen.read if path not in seen.modified]
    if only_read:
        parts.append(f"read {listed(only_read, 6)}")
    for verb in ("created", "rewrote", "edited", "deleted"):
        paths = list(dict.fromkeys(one.path for one in seen.changes if one.verb == verb))
        if paths:
            parts.append(f"{verb} {listed(paths, 8)}")
    for one in seen.commands:
        if one.category in ("look", "commit"):
            continue
        ends = [("passed" if run.ok else "failed") for run in one.runs]
        trace = [end for at, end in enumerate(ends) if not at or ends[at - 1] != end]
        tested = one.category in ("test", "lint", "build") or "failed" in trace
        parts.append(f"ran `{one.shown}`" + (f" ({', then '.join(trace)})" if tested else ""))
    parts += [f"committed {sha} “{line}”".replace("  ", " ") for sha, line, _ in seen.commits]
    parts += [f"asked the user: {fact}" for fact, _source in seen.chosen]
    sentence = "; ".join(parts)
    return f"{text.shorten(sentence, 900)}." if sentence else ""


def result(seen: View) -> str:
    """How it ended: the agent's answer, and what cut it short."""
    said = text.clip(text.MARKER.sub("[private]", seen.unit.assistant_message), 2000)
    if seen.unit.outcome == "failure":
        return f"the turn ended with an error: {seen.unit.error or said}"
    if seen.unit.outcome == "interrupted":
        return f"{said} (The turn ended without an answer.)".strip()
    return said


def message_facts(seen: View, used: str) -> list[str]:
    """The sentences of the answer that stand alone and say something exact. A sentence that
    points back stays with the one it points at. Where nothing was changed the answer is the
    finding, so all of it counts."""
    joined: list[str] = []
    for sentence in seen.said:
        if POINTING.match(sentence) and joined and len(joined[-1]) + len(sentence) < 280:
            joined[-1] += f" {sentence}"
        else:
            joined.append(sentence)
    facts = []
    for one in joined:
        exact = text.CODE.search(one) or words.CAUSE.search(one) or words.NEXT.search(one)
        if one != used and text.informative(one) and (exact or not seen.changes):
            facts.append(text.shorten(one, 300))
    return [one for one in facts if not one.endswith((":", "："))][:MAX_MESSAGE_FACTS]
