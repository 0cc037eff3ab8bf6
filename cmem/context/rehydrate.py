"""After a compaction: what this session was asked and what was done since. HOT; pure.

What was asked comes first for every turn, because a compaction's own summary tends to lose it,
and the very first prompt, which is the task, before all others. What was done follows, newest
first, as far as the budget goes: what was observed, and of a turn that was not yet, the files it
changed and the commands it ran.
"""

from cmem.context import render
from cmem.context.fence import FACT_CAP, NARRATIVE_CAP, TITLE_CAP, line
from cmem.context.render import NO_TEXT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cmem.context.select import Purse
    from cmem.store.current import Own, Turn
    from cmem.store.recent import Summary

    Details = dict[int, tuple[str, list[str]]]
    Items = list[tuple[str, str]]
    Pays = Callable[..., bool]

TURNS = 40
# Of the prompts that wait to be stored.
WAITING = 12
OBSERVATIONS = 30
DETAILED = 6
# Of a turn that was not observed yet: what is told of it at most, and of how many such turns.
FILES = 12
COMMANDS = 3
COMMAND_CAP = 120
UNOBSERVED = 3
# What the section leaves to the rest of the block, and what prompts leave to what was done.
REST_SHARE = 0.35
DONE_SHARE = 0.3
HEAD = "This session so far{ref}, newest first:"


class SoFar:
    """What is known of a session that was compacted. ``turns``: newest first, the very first one
    among them; ``prompts`` counts them all; ``waiting``: prompts that are not stored yet;
    ``done``: (files, commands) by turn where nothing is observed yet."""

    __slots__ = ("done", "own", "prompts", "ref", "summary", "turns", "waiting")

    def __init__(self) -> None:
        self.ref = 0
        self.turns: Sequence[Turn] = []
        self.prompts = 0
        self.waiting: Sequence[str] = []
        self.own: Sequence[Own] = []
        self.done: dict[int, tuple[list[str], list[str]]] = {}
        self.summary: Summary | None = None


def section(so_far: SoFar, *, details: "Details", purse: "Purse") -> "tuple[list[str], Items]":
    """The section's lines and what is in it and why; ([], []) where nothing can be told."""
    keep, units = int(purse.left * REST_SHARE), int(purse.units * REST_SHARE)
    for_done, units_done = int(purse.left * DONE_SHARE), int(purse.units * DONE_SHARE)

    def pays(texts: list[str], *, prompt: bool = False) -> bool:
        if prompt:
            return purse.pay(texts, keep=keep + for_done, keep_units=units + units_done)
        return purse.pay(texts, keep=keep, keep_units=units)

    head = HEAD.format(ref=f" (N{so_far.ref})" if so_far.ref else "")
    if not (so_far.turns or so_far.waiting) or not pays([head]):
        return [], []
    first = _first(so_far, purse)
    waiting = list(so_far.waiting if so_far.turns else so_far.waiting[:-1])
    new = [f"- asked, not stored yet: {line(text, FACT_CAP)}" for text in waiting[:WAITING]]
    new = [text for text in new if pays([text], prompt=True)]
    left = len(waiting) - len(new)
    new += _counted(left, "- {} more {}, not stored yet", purse)
    told, items = _asked(so_far, first, pays)
    left = so_far.prompts - len(items)
    summary = [text for text in _summary(so_far) if pays([text])]
    if summary and so_far.summary is not None:
        items.append((f"S{so_far.summary[0]}", "summary of this session"))
    more = _counted(left, f"- {{}} earlier {{}}: `cmem session show N{so_far.ref}`", purse)
    _add_done(so_far, told, pays)
    items += _add_own(so_far, told, details, pays=pays)
    lines = [*new, *([first] if first and not so_far.turns else ())]
    for turn, _prompt, _asked_for, _answered in so_far.turns:
        if turn == so_far.turns[-1][0]:
            lines += more
            more = []
        lines += told.pop(turn, [])
    lines += summary
    return ([head, *lines], items) if lines else ([], [])


def _first(so_far: SoFar, purse: "Purse") -> str:
    """The line of the very first prompt, which is the task: as much of it as can be paid."""
    if so_far.turns:
        _turn, prompt, asked, _answered = so_far.turns[-1]
        others = len(so_far.turns) > 1 or so_far.waiting
        what = f"P{prompt} asked" + (" first" if others else "")
    else:
        asked = so_far.waiting[-1]
        what = "asked" + (" first" if len(so_far.waiting) > 1 else "") + ", not stored yet"
    for cap in (NARRATIVE_CAP, FACT_CAP, TITLE_CAP):
        text = f"- {what}: {line(asked, cap) or NO_TEXT}"
        if purse.pay([text]):
            return text
    return ""


def _counted(left: int, text: str, purse: "Purse") -> list[str]:
    """How many prompts are not told, which is said where there is any room."""
    text = text.format(left, "prompt" if left == 1 else "prompts")
    return [text] if left > 0 and purse.pay([text]) else []


def _asked(so_far: SoFar, first: str, pays: "Pays") -> "tuple[dict[int, list[str]], Items]":
    """What was asked in each stored turn, as far as it can be paid; the first one is."""
    told: dict[int, list[str]] = {}
    items: Items = []
    for at, (turn, prompt, asked, _answered) in enumerate([*so_far.turns[-1:], *so_far.turns[:-1]]):
        text = first if at == 0 else f"- P{prompt} asked: {line(asked, FACT_CAP) or NO_TEXT}"
        if text and (at == 0 or pays([text], prompt=True)):
            told.setdefault(turn, []).append(text)
            items.append((f"P{prompt}", "asked in this session"))
    return told, items


def _add_done(so_far: SoFar, told: "dict[int, list[str]]", pays: "Pays") -> None:
    """What was answered or done in turns of which nothing is observed yet."""
    observed = {turn for turn, _row in so_far.own}
    for turn, _prompt, _asked_for, answered in so_far.turns:
        if turn not in told or turn in observed:
            continue
        texts = []
        if said := line(answered.lstrip().split("\n\n")[0], FACT_CAP):
            texts.append("  · answered: " + said)
        files, commands = so_far.done.get(turn, ([], []))
        if shown := ", ".join(_lines(files[:FILES])):
            rest = f" and {len(files) - FILES} more files" if len(files) > FILES else ""
            texts.append(f"  · changed: {shown}{rest}")
        texts += [f"  · ran: {one}" for one in _lines(commands[:COMMANDS])]
        told[turn] += [text for text in texts if pays([text])]


def _lines(texts: "Sequence[str]") -> list[str]:
    """Those of which anything can be seen, harmless."""
    return list(filter(None, [line(text, COMMAND_CAP) for text in texts]))


def _add_own(
    so_far: SoFar, told: "dict[int, list[str]]", details: "Details", *, pays: "Pays"
) -> "Items":
    """What was observed, below what was asked."""
    items: Items = []
    for turn, row in so_far.own:
        texts = [render.title_line(row)]
        if turn not in told or not pays(texts):
            continue
        for text in render.detail_lines(row, details[row[0]]) if row[0] in details else ():
            if pays([text]):
                texts.append(text)
        told[turn].extend(texts)
        items.append((f"O{row[0]}", "done in this session"))
    return items


def _summary(so_far: SoFar) -> list[str]:
    """What its own summary adds to what was asked."""
    row = so_far.summary
    if row is None:
        return []
    return render.summary_lines((*row[:4], "", *row[5:]), f"S{row[0]} ")
