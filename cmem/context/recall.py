"""Which memories a text concerns so strongly that they are told without being asked for. HOT.

A memory is strong when it holds several of the text's terms that few memories hold, and those
are a good part of what the text says; a title says more than a body. What is known of nowhere
in the project counts against all: the text is about something else. ``scripts/eval_recall.py``
measures how often that is right, and how often it is silent where it should be.
"""

from cmem.context import terms
from cmem.store import matching

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import apsw

    from cmem.store.recent import Observation

MOST = 3
# A term that so many memories hold says little, and older ones that hold it are not looked at.
COMMON = 300
LOADED = 12
# A project of few memories is weighed as if it had so many: they are not all about the same.
SMALLEST = 100
# What a term counts where it stands only in the body, and one that no memory holds.
IN_BODY = 0.65
UNKNOWN = 0.45
# A strong memory: so much in terms, so much of the text, and a title that answers it. That some
# memory of many holds the terms by chance is in their weights, which grow lighter with the
# project: beyond that a large one asks for less.
LEAST_MASS = 1.9
LEAST_STRENGTH = 1.3
OF_FEW = 0.97
LEAST_SHARE = 0.4
# Beside the best one only those that come near it.
NEAR = 0.7


def strong(
    conn: "apsw.Connection",
    text: str,
    projects: "Sequence[int]",
    *,
    known: "Collection[str]" = (),
    session: int = 0,
) -> "list[tuple[float, Observation]]":
    """Up to ``MOST`` of the projects' memories, the strongest first: none of those ``known`` (ids
    such as O12) and none of the running session's own."""
    asked = terms.of_text(text)
    if sum([mass for _term, mass in asked]) < LEAST_MASS:
        return []
    within = matching.scope(projects)
    held = [
        (set(matching.documents(conn, term, within, limit=COMMON)), term, mass)
        for term, mass in asked
    ]
    masses: dict[int, float] = {}
    for found, _term, mass in held:
        if len(found) < COMMON:
            for one in found:
                masses[one] = masses.get(one, 0.0) + mass
    likely = [one for one, mass in masses.items() if mass >= LEAST_MASS / 2]
    if not likely:
        return []
    size = max(matching.count(conn, projects), SMALLEST)
    weighed = [(found, term, _weight(len(found), size) * mass) for found, term, mass in held]
    total = sum([worth for _found, _term, worth in weighed])
    sums = {one: sum([worth for found, _term, worth in weighed if one in found]) for one in likely}
    best = sorted(likely, key=lambda one: (-sums[one], -one))[:LOADED]
    rows = matching.load(conn, best)
    least = LEAST_STRENGTH + OF_FEW / _log(1 + size)
    scored = []
    for one in best:
        row = rows.get(one)
        if row is None or f"O{row[0]}" in known or (session and row[6] == session):
            continue
        held_here = [(term, worth) for found, term, worth in weighed if one in found]
        mass = sum([given for found, _term, given in held if one in found])
        strength = _strength(row[10], held_here)
        if mass >= LEAST_MASS and strength >= least and strength / total >= LEAST_SHARE:
            scored.append((strength, row))
    scored.sort(key=lambda pair: (-pair[0], -pair[1][1], -pair[1][0]))
    return [pair for pair in scored[:MOST] if pair[0] >= scored[0][0] * NEAR]


def _weight(matches: int, size: int) -> float:
    """From 0 for what every memory holds to 1 for what one does."""
    if not matches:
        return UNKNOWN
    return _log(1 + size / matches) / _log(1 + size)


def _log(number: float) -> float:
    import math

    return math.log(number)


def _strength(title: str, held: "Sequence[tuple[str, float]]") -> float:
    """What the terms count in this memory."""
    plain = " " + " ".join(terms.plain(title).split())
    return sum([worth * (1.0 if _begins(term, plain) else IN_BODY) for term, worth in held])


def _begins(term: str, plain: str) -> bool:
    """Whether a word of the title begins as the term does: the index compares stems."""
    word = term.strip('"')
    if not word.isascii():
        return word in plain
    if " " not in word and len(word) > 5:
        word = word[:-2]
    return " " + word in plain
