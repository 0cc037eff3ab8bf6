"""Which memories fit the budget, and why each is there. HOT; pure.

Candidates are the newest of the project that may be told, older ones of the types that last, and
what a person has pinned or written; *now* is the time of the newest one, so the choice does not
move with the clock. A score falls by half each week and with every sixty newer memories, but never
below half for each thirty of those, so that neither a pause nor a date in the future makes all
others nothing; it is weighed by type, branch, shared files and agent. The third memory of one file, or of one turn,
counts less, the fourth still less, so that one topic does not fill the block. What comes far
behind the best is not told though there were room. Titles come before details: an id is enough to
ask for the rest.
"""

from _codecs import utf_16_le_encode

from cmem.context import price, render

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from cmem.store.recent import Observation, Summary

    Ranked = list[tuple[float, Observation, str]]  # score, row, why
    Details = dict[int, tuple[str, list[str]]]

CANDIDATES = 48
LASTING = 30
DETAILED = 12
HALF_LIFE_MS = 7 * 86_400_000
HALF_LIFE_ROWS = 30
BURST_ROWS = 60
WEIGHTS = {
    "note": 1.6,
    "decision": 1.6,
    "security_alert": 1.6,
    "bugfix": 1.3,
    "security_note": 1.2,
    "feature": 1.2,
    "refactor": 1.0,
    "change": 1.0,
    "discovery": 1.0,
}
# A branch is what the next prompt most often goes on with (scripts/eval_context.py).
BRANCH = 3.0
FILES = 1.5
FOLDERS = 1.4
AGENT = 0.6
# How much of its score a note written by hand keeps, however old it is.
NOTE_FLOOR = 0.5
# And one of the types that last.
LASTING_FLOOR = 0.25
# So many memories of one topic count in full, each further one so much less; of subagents
# together, whatever the topic.
FREE = 2
AGENTS_FREE = 4
# Beyond so many of one topic, and of subagents, older ones of others are looked for.
FEW = 4
CROWD = 0.85
# Of decisions and the like each says something else.
CROWD_LASTING = 0.95
LASTING_TYPES = ("decision", "note", "security_alert")
# A memory that has less than this of the best one's score is told only among the first few.
WEAK = 0.25
LEAST = 12
AGENTS = "\0agents"
OWN = 50.0
PIN = 100.0
# Of the budget: what the pinned, all projects' notes and the open work may take at most.
PIN_SHARE = 0.3
WIDE_SHARE = 0.1
WORK_SHARE = 0.15
# Of what is left after summary and pinned: the share titles may take before details do.
TITLE_SHARE = 0.6
# A title pays its part of the day's heading too.
DAY_SHARE = " " * 8 + "\n"


def rank(
    rows: "Sequence[Observation]",
    *,
    branch: str,
    files: dict[int, set[str]],
    session: int = 0,
    notes: "Container[int]" = (),
    parts: bool | None = False,
    met: "Mapping[int, Sequence[int]] | None" = None,
) -> "Ranked":
    """Best first. ``session``: the running session after a compaction; its own come first.
    ``notes``: those written by hand. ``parts``: each reason with its number; None: no reasons.
    ``met``: the days on which each was met, where activation stands for mere age."""
    if not rows:
        return []
    newest = max([row[1] for row in rows])
    latest = rows[0][6]
    touched, folders = _touched(rows, files, latest)
    ranked: Ranked = []
    newer = {True: 0, False: 0}  # on the branch only those of the branch count
    for row in sorted(rows, key=lambda row: (-row[1], -row[0])):
        here = bool(branch) and row[12] == branch
        place = newer[True] + (0 if here else newer[False])
        newer[here] += 1
        age = max(_age(row, newest=newest, met=met) * 0.5 ** (place / BURST_ROWS),
                  0.5 ** (place / HALF_LIFE_ROWS))  # fmt: skip
        if row[0] in notes:
            age = max(age, NOTE_FLOOR)
        elif row[2] in LASTING_TYPES and not row[7]:
            age = max(age, LASTING_FLOOR)
        shared = 1.0
        if row[6] != latest and row[0] in files:
            shared = _shared(files[row[0]], touched, folders)
        score = WEIGHTS.get(row[2], 1.0) * age * (BRANCH if here else 1.0) * shared
        if row[7]:
            score *= AGENT
        if own := bool(session) and row[6] == session:
            score += OWN
        if row[3]:
            score += PIN
        why = ""
        if parts is not None:
            from cmem.context import reasons  # which no hook is asked for

            factors = [("recent" if met is None else "activation", age)]
            factors += [("branch " + branch, BRANCH)] if here else []
            why = reasons.of_score(row, factors, shared=shared, own=own, parts=parts)
        ranked.append((score, row, why))
    ranked.sort(key=lambda one: (-one[0], -one[1][1], -one[1][0]))
    return _strong(_spread(ranked, files, parts=bool(parts)))


def _touched(
    rows: "Sequence[Observation]", files: dict[int, set[str]], session: int
) -> tuple[set[str], set[str]]:
    """The files that a session tells of, and their folders."""
    touched: set[str] = set()
    for row in rows:
        if row[6] == session:
            touched |= files.get(row[0], set())
    return touched, _folders(touched)


def _shared(files: set[str], touched: set[str], folders: set[str]) -> float:
    if not touched.isdisjoint(files):
        return FILES
    return FOLDERS if folders and not folders.isdisjoint(_folders(files)) else 1.0


def telling(
    rows: "Iterable[Observation]",
    files: dict[int, set[str]],
    met: dict[object, int],
    *,
    most: int,
    session: int = 0,
) -> "list[Observation]":
    """Up to ``most`` of those that say something of their own: not of the running session, nor of
    a topic that ``FEW`` before tell of. ``met`` counts the topics on."""
    found = []
    for row in rows:
        if row[6] == session:
            continue
        counted = 0
        for topic in _topics(row, files) if not row[7] else (AGENTS, *_topics(row, files)):
            met[topic] = count = met.get(topic, 0) + 1
            counted = max(counted, count)
        if counted <= FEW:
            found.append(row)
            if len(found) == most:
                break
    return found


def _topics(row: "Observation", files: dict[int, set[str]]) -> "tuple[object, ...]":
    """What it tells of: its title, and its files, or its turn where no file is known."""
    return (row[10], *(files.get(row[0]) or ((row[6], row[5]),)))


def _strong(ranked: "Ranked") -> "Ranked":
    """Those that are worth their line: beside the first few, what comes near the best."""
    plain = [one for one in ranked if one[0] < OWN]
    least = plain[0][0] * WEAK if plain else 0.0
    kept = {one[1][0] for at, one in enumerate(plain) if at < LEAST or one[0] >= least}
    return [one for one in ranked if one[0] >= OWN or one[1][0] in kept]


def _folders(files: "Iterable[str]") -> set[str]:
    """The folders of files, except for the project's own."""
    return {path.rpartition("/")[0] for path in files} - {""}


def _age(row: "Observation", *, newest: int, met: "Mapping[int, Sequence[int]] | None") -> float:
    if met is None:
        return float(0.5 ** ((newest - row[1]) / HALF_LIFE_MS))
    from cmem.context import activation

    return activation.level(row[1], met.get(row[0], ()), now=newest)


def _in_all(why: str, factor: float, left: float) -> str:
    from cmem.context import reasons

    return reasons.in_all(why, factor, left)


def _spread(ranked: "Ranked", files: dict[int, set[str]], *, parts: bool) -> "Ranked":
    """The same rows, those that crowd one topic further down."""
    met: dict[object, int] = {}
    spread: Ranked = []
    for score, row, why in ranked:
        topics = _topics(row, files)
        crowd = -FREE
        if row[7]:
            crowd = max(crowd, met.get(AGENTS, 0) - AGENTS_FREE)
            met[AGENTS] = met.get(AGENTS, 0) + 1
        for topic in topics:
            seen = met.get(topic, 0)
            met[topic] = seen + 1
            crowd = max(crowd, seen - FREE)
        crowd += 1
        if crowd > 0 and score < OWN:
            lasts = row[2] in LASTING_TYPES and not row[7]
            factor = (CROWD_LASTING if lasts else CROWD) ** crowd
            left = score * factor
        else:
            left, factor = score, 1.0
        spread.append((left, row, _in_all(why, factor, left) if parts else why))
    spread.sort(key=lambda one: (-one[0], -one[1][1], -one[1][0]))
    return spread


class Purse:
    """What is left of the budget. Holds: never below zero, and every line paid once."""

    __slots__ = ("left", "units")

    def __init__(self, left: int, units: int) -> None:
        self.left = left
        self.units = units

    def pay(self, lines: "Sequence[str]", *, keep: int = 0, keep_units: int = 0) -> bool:
        """Take the lines' price if that leaves what is to be kept; False, and nothing taken, if
        not."""
        return self.buy("\n".join(lines) + "\n", keep=keep, keep_units=keep_units)

    def buy(self, text: str, *, keep: int = 0, keep_units: int = 0) -> bool:
        """The same of one text."""
        cost, size = price.measure(text)
        if cost + keep > self.left or size + keep_units > self.units:
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


def choose_lines(
    entries: "Sequence[tuple[str, list[str]]]", purse: Purse, *, most: int, heading: str
) -> tuple[list[str], list[str]]:
    """(ids, lines) of those that ``most`` tokens buy, under a heading: the first line of each,
    then what the first ones say besides."""
    keep = max(0, purse.left - most)
    if not entries or not purse.pay([heading], keep=keep):
        return [], []
    bought = [(ref, texts) for ref, texts in entries if purse.pay(texts[:1], keep=keep)]
    told = [heading]
    for _ref, texts in bought:
        told.append(texts[0])
        for text in texts[1:]:
            if not purse.pay([text], keep=keep):
                break
            told.append(text)
    return ([ref for ref, _texts in bought], told) if bought else ([], [])


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
        paid = purse.buy(titles[one[1][0]] + DAY_SHARE, keep=keep)
        (shown if paid else rest).append(one)
    lines = {one[1][0]: [titles[one[1][0]]] for one in shown}
    for _, row, _why in shown:
        for text in render.detail_lines(row, details[row[0]]) if row[0] in details else ():
            if not purse.buy(text + "\n"):
                break
            lines[row[0]].append(text)
    for one in rest:
        if not purse.buy(titles[one[1][0]] + DAY_SHARE):
            break
        shown.append(one)
        lines[one[1][0]] = [titles[one[1][0]]]
    return shown, lines
