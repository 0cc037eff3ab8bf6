"""After a compaction: what this session was asked and what was done since. HOT; pure.

What was asked comes first for every turn, because a compaction's own summary tends to lose it;
what was done follows, newest first, as far as the budget goes.
"""

from cmem.context import render
from cmem.context.fence import FACT_CAP, line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cmem.context.select import Purse
    from cmem.store.current import Own, Turn

    Details = dict[int, tuple[str, list[str]]]

TURNS = 12
OBSERVATIONS = 30
DETAILED = 6
# What the section leaves to the rest of the block.
REST_SHARE = 0.35
HEAD = "This session so far (N{ref}), newest first:"


def section(
    ref: int,
    turns: "Sequence[Turn]",
    own: "Sequence[Own]",
    *,
    details: "Details",
    purse: "Purse",
) -> tuple[list[str], list[tuple[str, str]]]:
    """The section's lines and what is in it and why; ([], []) where nothing can be told."""
    keep, units = int(purse.left * REST_SHARE), int(purse.units * REST_SHARE)

    def pays(texts: list[str]) -> bool:
        return purse.pay(texts, keep=keep, keep_units=units)

    head = HEAD.format(ref=ref)
    if not turns or not pays([head]):
        return [], []
    told: dict[int, list[str]] = {}
    items = []
    for turn, prompt, asked, _answered in turns:
        text = f"- P{prompt} asked: {line(asked, FACT_CAP)}"
        if pays([text]):
            told.setdefault(turn, []).append(text)
            items.append((f"P{prompt}", "asked in this session"))
    done = {turn for turn, _row in own}
    for turn, _prompt, _asked, answered in turns:
        text = "  · answered: " + line(answered.lstrip().split("\n\n")[0], FACT_CAP)
        if answered.strip() and turn in told and turn not in done and pays([text]):
            told[turn].append(text)
    for turn, row in own:
        texts = [render.title_line(row)]
        if turn not in told or not pays(texts):
            continue
        for text in render.detail_lines(row, details[row[0]]) if row[0] in details else ():
            if pays([text]):
                texts.append(text)
        told[turn].extend(texts)
        items.append((f"O{row[0]}", "done in this session"))
    lines = [text for texts in told.values() for text in texts]
    return ([head, *lines], items) if lines else ([], [])
