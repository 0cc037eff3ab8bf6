"""A turn told: its title, what was done in one sentence, and what the answer adds."""

from __future__ import annotations

import posixpath
import re
from typing import NamedTuple

from cmem.observer import extract_words as words
from cmem.observer import text
from cmem.observer.extract_view import View

POINTING = re.compile(
    r"^(?:it|this|that|these|those|they|he|she|both|es|das|dies\w*|sie|beide|nó|điều này|"
    r"ce(?:la|ci)?|il|elle|esto|eso|ello)\b|^(?:它|这|這|那|これ|それ|この|その|이것|그것)",
    re.I,
)
PROCESS = re.compile(
    r"(?:I(?:['’]ve| have)?|We) (?:looked|checked|read|searched|went|investigated|examined|reviewed|"
    r"analy[sz]ed|explored|ran|started)\b|I(?:['’]ll| will| won['’]t)\b|(?:after|having) (?:looking|reading|checking|investigating)\b|"
    r"(?:looking|based) (?:at|on)\b|ich habe .{1,60} (?:angesehen|geprüft|untersucht)|j['’]ai (?:regardé|vérifié|lu)|"
    r"tôi đã (?:xem|kiểm tra|đọc)|我(?:查看|检查|看|阅读|分析)了|я (?:посмотрел|проверил|изучил)",
    re.I,
)
NAME = re.compile(r"[A-Za-z_][\w./-]{3,80}\w")
FIRST = (1.0, 0.5, 0.25, 0.0, 0.0, 0.0)
MAX_MESSAGE_FACTS = 8
MAX_FINDINGS = 12
MAX_ASKED = 600
MAX_RESULT = 600
SHORT = 90.0
TAIL = 20


class Told(NamedTuple):
    """A title and the sentence it was made of, "" for none."""

    title: str
    sentence: str


def title_of(seen: View, *, avoid: list[str]) -> tuple[str, str]:
    """(title, the sentence it was made of or ""). The agent's first sentence that names
    something, else the prompt's, else the deed. ``avoid``: sentences that have an
    observation of their own."""
    said = [one for one in seen.said[:6] if text.informative(one) and not _dangling(one)]
    asked = [one for one in seen.asked[:3] if text.informative(one) and one not in avoid]
    if said and asked and not text.same_script(said[0], asked[0]):
        said = []
    candidates = [*said, *asked[:1]]
    best = max(candidates, key=lambda one: _telling(one, seen, said), default="")
    deed = deed_title(seen)
    # A wish that nobody says was fulfilled is no title where there is a deed.
    wished = best not in said and (seen.unit.outcome != "stop" or not seen.said)
    if deed and (not best or wished or _telling(best, seen, said) < 1):
        return text.title(deed), ""
    if best:
        return text.title(best), best
    return text.title(deed or _anything(seen)), ""


def _dangling(sentence: str) -> bool:
    """Does the sentence need its neighbour: it points back, or announces a list?"""
    return sentence.endswith((":", "：")) or POINTING.match(sentence) is not None


def _telling(sentence: str, seen: View, said: list[str]) -> float:
    """How much a sentence names: code, the files of the turn, what was asked for, then mere
    length. The agent's answer tells what is, the prompt only what was wished, and of an
    answer the beginning tells most."""
    names = [posixpath.basename(path) for path in (*seen.modified, *seen.read)]
    score = 0.5 if any(name and name in sentence for name in names) else 0.0
    score += 1.0 if text.CODE.search(sentence) else 0.0
    score += 0.75 if sentence in seen.said else 0.0
    score += FIRST[said.index(sentence)] if sentence in said else 0.0
    score += 0.75 if any(name in sentence for name in _wished(seen)) else 0.0
    score += 0.5 if words.CAUSE.search(sentence) and not seen.modified else 0.0
    score -= 1.5 if PROCESS.match(sentence) else 0.0
    score += 0.5 if text.weight(sentence) >= 25 else 0.0
    score += 0.5 if text.WIDE.search(sentence) and text.weight(sentence) >= 20 else 0.0
    return score + (0.25 if words.FIX.search(sentence) or words.FEATURE.search(sentence) else 0.0)


def _wished(seen: View) -> list[str]:
    """The names of code the prompt begins with."""
    found = NAME.findall(" ".join(seen.asked[:2])[:600])
    return [one for one in found if text.CODE.search(one)]


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


def narrative(seen: View, told: tuple[str, ...]) -> str:
    """Asked, done, result: the turn in its own words, without what is told elsewhere."""
    known = [text.norm(one) for one in told]
    ruled = words.decisions(list(seen.asked))
    asked = [one for one in seen.asked if one not in ruled and _news(one, known)]
    parts = [
        ("Asked", text.clip("\n".join(map(_masked, asked)), MAX_ASKED)),
        ("Done", done(seen, told)),
        ("Result", result(seen, known)),
    ]
    return "\n".join(f"{label}: {said}" for label, said in parts if said)


def _news(sentence: str, known: list[str]) -> bool:
    keys = (text.norm(sentence), text.norm(text.title(sentence, len(sentence))))
    said_elsewhere = any(key in one for one in known for key in keys)
    return (
        text.informative(_masked(sentence))
        and not said_elsewhere
        and not sentence.endswith((":", "："))
    )


def _masked(sentence: str) -> str:
    return text.MARKER.sub("…", sentence)


def done(seen: View, told: tuple[str, ...]) -> str:
    """What the tools did, as one sentence; a command that has a fact is not told again."""
    parts: list[str] = []
    only_read = [path for path in seen.read if path not in seen.modified]
    if only_read:
        parts.append(f"read {listed(only_read, 6)}")
    for verb in ("created", "rewrote", "edited", "deleted"):
        paths = list(dict.fromkeys(one.path for one in seen.changes if one.verb == verb))
        if paths:
            parts.append(f"{verb} {listed(paths, 4)}")
    ran = [
        f"`{text.shorten(one.shown, 100)}`"
        for one in seen.commands
        if one.category not in ("look", "commit") and not any(one.shown in fact for fact in told)
    ]
    parts += [f"ran {listed(ran, 4)}"] if ran else []
    parts += [f"committed {sha}" for sha, _line, _source in seen.commits if sha]
    sentence = text.shorten("; ".join(parts), 900)
    return f"{sentence}{_turn(seen)}." if sentence else ""


def _turn(seen: View) -> str:
    """Whose edits: that alone tells two turns apart that changed the same file and said no more,
    and a text that is the same twice is stored once. The turn's number and not those of the tool
    uses: the text goes to other machines, and there these are another's."""
    return f" (turn {seen.unit.turn_number})" if seen.changes else ""


def result(seen: View, known: list[str]) -> str:
    """How it ended: the rest of the agent's answer, and what cut it short."""
    rest = [one for one in seen.said if _news(one, known) and not words.QUESTION.search(one)]
    said = text.clip("\n".join(map(_masked, rest)), MAX_RESULT)
    if seen.unit.outcome == "failure":
        return f"the turn ended with an error: {seen.unit.error or 'no reason given'}"
    if seen.unit.outcome == "interrupted":
        return f"{said} (The turn ended without an answer.)".strip()
    return said


def message_facts(seen: View, told: Told) -> list[str]:
    """The sentences of the answer that stand alone and say something exact. A sentence that
    points back stays with the one it points at. Where nothing was changed the answer is the
    finding, so all of it counts. Causes and open points go before the rest of a long one."""
    whole = text.norm(told.sentence)[-TAIL:] in text.norm(told.title)
    joined: list[str] = []
    for sentence in seen.said:
        pointing = POINTING.match(sentence) is not None
        alone = not joined or (joined[-1] == told.sentence and whole)
        if pointing and not alone and len(joined[-1]) + len(sentence) < 280:
            joined[-1] += f" {sentence}"
        else:
            joined.append(sentence)
    facts = [
        one
        for one in joined
        if _stands(one, everything=not seen.changes) and not (whole and one == told.sentence)
    ]
    weighty = [one for one in facts if words.CAUSE.search(one) or words.NEXT.search(one)]
    limit = MAX_MESSAGE_FACTS if seen.changes else MAX_FINDINGS
    chosen = [*weighty, *(one for one in facts if one not in weighty)][:limit]
    return [text.shorten(one, 300) for one in facts if one in chosen]


def _stands(sentence: str, *, everything: bool) -> bool:
    exact = (
        text.CODE.search(sentence) or words.CAUSE.search(sentence) or words.NEXT.search(sentence)
    )
    open_ended = sentence.endswith((":", "：")) or words.QUESTION.search(sentence)
    if (
        PROCESS.match(sentence)
        and text.weight(sentence) < SHORT
        and not words.NEXT.search(sentence)
    ):
        return False
    return bool(everything or exact) and text.informative(sentence) and not open_ended
