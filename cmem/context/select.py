"""Which memories fit the budget, and why each is there. HOT; pure.

Candidates are the newest of the project; *now* is the time of the newest one, so the choice
does not move with the clock. A score falls by half each week and is weighed by type, branch,
shared files and agent. Titles come before details: an id is enough to ask for the rest.
"""

from _codecs import utf_16_le_encode

from cmem.context import price, render

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from cmem.store.recent import Observation, Summary

    Ranked = list[tuple[float, Observation, str]]  # score, row, why
    Details = dict[int, tuple[str, list[str]]]

CANDIDATES = 50
DETAILED = 12
HALF_LIFE_MS = 7 * 86_400_000
WEIGHTS = {
    "decision": 1.6,
    "security_alert": 1.6,
    "bugfix": 1.3,
    "security_note": 1.2,
    "feature": 1.2,
    "refactor": 1.0,
    "change": 1.0,
    "discovery": 1.0,
}
# Of what is left after summary and pinned: the share titles may take before details do.
TITLE_SHARE = 0.6
# A title pays its part of the day's heading too.
DAY_SHARE = " " * 8


def visible(rows: "Sequence[Observation]") -> tuple[list["Observation"], int]:
    """The rows that may be injected, and how many may not: text from outside sources waits
    for a person to ask for it."""
    kept = [row for row in rows if row[4] != "external"]
    return kept, len(rows) - len(kept)


def rank(
    rows: "Sequence[Observation]",
    *,
    branch: str,
    files: dict[int, set[str]],
    session: int = 0,
) -> "Ranked":
    """Best first. ``session``: the running session after a compaction; its own come first."""
    if not rows:
        return []
    newest = max(row[1] for row in rows)
    touched: set[str] = set()
    for row in rows:
        if row[6] == rows[0][6]:
            touched |= files.get(row[0], set())
    ranked: Ranked = []
    for row in rows:
        score = 0.5 ** ((newest - row[1]) / HALF_LIFE_MS) * WEIGHTS.get(row[2], 1.0)
        reasons = ["recent"]
        if row[2] in ("decision", "security_alert"):
            reasons.append(row[2])
        if branch and row[12] == branch:
            score *= 1.2
            reasons.append("branch " + branch)
        if row[6] != rows[0][6] and touched & files.get(row[0], set()):
            score *= 1.2
            reasons.append("files of the last session")
        if row[7]:
            score *= 0.6
            reasons.append("by a subagent")
        if session and row[6] == session:
            score += 10
            reasons.append("this session")
        if row[3]:
            score += 100
            reasons.insert(0, "pinned")
        ranked.append((score, row, ", ".join(reasons)))
    ranked.sort(key=lambda one: (-one[0], -one[1][1], -one[1][0]))
    return ranked


class Purse:
    """What is left of the budget. Holds: never below zero, and every line paid once."""

    __slots__ = ("left", "units")

    def __init__(self, left: int, units: int) -> None:
        self.left = left
        self.units = units

    def pay(self, lines: "Sequence[str]", *, keep: int = 0) -> bool:
        """Take the lines' price if that leaves ``keep``; False, and nothing taken, if not."""
        text = "\n".join(lines) + "\n"
        cost = price.count(text)
        size = utf16(text)
        if cost + keep > self.left or size > self.units:
            return False
        self.left -= cost
        self.units -= size
        return True


def utf16(text: str) -> int:
    """Length in the units a host counts."""
    return len(text) if text.isascii() else len(utf_16_le_encode(text, "replace")[0]) // 2


def choose_summary(rows: "Sequence[Summary]", purse: Purse) -> tuple["Summary | None", list[str]]:
    """The newest summary that may be injected, as many of its lines as a third buys."""
    for row in rows:
        if row[3] == "external":
            continue
        keep = purse.left * 2 // 3
        lines = [render.summary_head(row)]
        if not purse.pay(lines, keep=keep):
            return None, []
        for text in render.summary_lines(row):
            if purse.pay([text], keep=keep):
                lines.append(text)
        return (row, lines) if len(lines) > 1 else (None, [])
    return None, []


def choose(
    ranked: "Ranked", details: "Details", purse: Purse
) -> tuple["Ranked", dict[int, list[str]]]:
    """The observations to show, and the lines of each: titles for a share of the purse, then
    details best first, then more titles."""
    keep = int(purse.left * (1 - TITLE_SHARE))
    titles = {one[1][0]: render.title_line(one[1]) for one in ranked}
    shown: Ranked = []
    rest: Ranked = []
    for one in ranked:
        paid = purse.pay([titles[one[1][0]] + DAY_SHARE], keep=keep)
        (shown if paid else rest).append(one)
    lines = {one[1][0]: [titles[one[1][0]]] for one in shown}
    for _, row, _why in shown:
        for text in render.detail_lines(row, details[row[0]]) if row[0] in details else ():
            if not purse.pay([text]):
                break
            lines[row[0]].append(text)
    for one in rest:
        if not purse.pay([titles[one[1][0]] + DAY_SHARE]):
            break
        shown.append(one)
        lines[one[1][0]] = [titles[one[1][0]]]
    return shown, lines
