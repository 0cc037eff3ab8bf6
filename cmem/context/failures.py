"""The same failure met before, and what followed then. HOT.

Two failures are the same when the line that tells most of the one has all its words in the
other: numbers, hashes and places in files move from run to run and do not count. A line that
many outputs hold tells nothing, and a short one too little.
"""

from cmem.context import terms
from cmem.store import matching

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import apsw

    from cmem.store.recent import Observation

MOST = 2
LOOKED_AT = 12_000
LINES = 40
# What the line that tells most must hold, as ``terms`` counts, and where it is cut.
LEAST_MASS = 3.0
TERMS = 10
# So many outputs and memories hold a generic line.
GENERIC = 24
SIGNS = (
    *("error", "exception", "fail", "fatal", "panic", "cannot", "can't", "could not", "not found"),
    *("undefined", "unresolved", "no such", "denied", "refused", "invalid", "unexpected"),
    *("missing", "expected", "conflict", "unable", "unknown"),
)


def telling(output: str) -> list[str]:
    """The terms of the line that tells most of a failing command's output; [] for none."""
    best: list[str] = []
    most = 0.0
    lines = output[-LOOKED_AT:].splitlines()
    told = [line for line in lines if _is_sign(line)][:LINES]
    for line in told:
        found = terms.of_text(_settled(line))[:TERMS]
        mass = sum([one for _term, one in found])
        if mass > most:
            best, most = [term for term, _mass in found], mass
    return best if most >= LEAST_MASS else []


def followed(
    conn: "apsw.Connection",
    output: str,
    projects: "Sequence[int]",
    *,
    known: "Collection[str]" = (),
    session: int = 0,
) -> "list[Observation]":
    """What was done, newest first, after the same failure in an earlier session."""
    wanted = telling(output)
    if not wanted:
        return []
    match = " AND ".join(wanted)
    within = matching.scope(projects, kinds=("O", "T"))
    found = matching.documents(conn, match, within, limit=GENERIC)
    if not found or len(found) == GENERIC:
        return []
    rows = matching.fixes(conn, found, projects, limit=MOST + len(known))
    rows = [row for row in rows if f"O{row[0]}" not in known and row[6] != session]
    return rows[:MOST]


def _is_sign(line: str) -> bool:
    low = line.lower()
    return any(sign in low for sign in SIGNS)


def _settled(line: str) -> str:
    """The line without what differs from one run to the next: hashes, places, numbers."""
    kept = []
    for word in line.replace("(", " ").replace(")", " ").replace("=", " ").split():
        bare = terms.unplaced(word.strip("`'\"[]<>,;:!?."))
        digits = sum([char.isdigit() for char in bare])
        if digits and (digits * 3 >= len(bare) or _is_hex(bare)):
            continue
        kept.append(bare)
    return " ".join(kept)


def _is_hex(word: str) -> bool:
    return len(word) >= 7 and all(char in "0123456789abcdefx-" for char in word.lower())
