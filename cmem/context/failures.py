"""The same failure met before, and what followed then. HOT.

Two failures are the same when the lines that tell most of both have the same words: numbers,
hashes and places in files move from run to run and do not count, nor do the words that every
failure has. A memory tells of it when one of its lines has all these words. A line that many
outputs hold tells nothing, and a short one too little.
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
# What every failure says of itself.
_NOISE = """
    abort aborted build child cmd code command err errno error errors exception exit exited fail
    failed failing failure fatal invalid job non nonzero process return returned script status
    target task traceback unexpected unknown warning zero
"""
NOISE = frozenset([terms.quoted(word) for word in _NOISE.split()])
SIGNS = (
    *("error", "exception", "fail", "fatal", "panic", "cannot", "can't", "could not", "not found"),
    *("undefined", "unresolved", "no such", "denied", "refused", "invalid", "unexpected"),
    *("missing", "expected", "conflict", "unable", "unknown"),
)

_APART = {ord(sign): " " for sign in "()[]="}


def telling(output: str) -> list[str]:
    """The terms of the line that tells most of a failing command's output; [] for none."""
    best: list[str] = []
    most = 0.0
    lines = output[-LOOKED_AT:].splitlines()
    told = [line for line in lines if _is_sign(line)][:LINES]
    for line in told:
        found = _terms(line)[:TERMS]
        mass = _mass(line, found)
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
    if len(found) == GENERIC:
        return []
    found = [doc for doc, kind, text in matching.texts(conn, found) if _tells(kind, text, wanted)]
    if not found:
        return []
    rows = matching.fixes(conn, found, projects, limit=MOST + len(known))
    rows = [row for row in rows if f"O{row[0]}" not in known and row[6] != session]
    return rows[:MOST]


def _tells(kind: str, text: str, wanted: "Collection[str]") -> bool:
    """Whether an output is of the failure that these terms tell of, or a memory tells of it."""
    if kind == "T":
        return set(telling(text)) == set(wanted)
    return any(set(wanted) <= {term for term, _mass in _terms(line)} for line in text.splitlines())


def _terms(line: str) -> "list[tuple[str, float]]":
    """What a line says, without what every failure says."""
    return [found for found in terms.of_text(_settled(line)) if found[0] not in NOISE]


def _mass(line: str, found: "list[tuple[str, float]]") -> float:
    """How much a line tells. Beside a name of code, that it failed counts too."""
    named = any(mass == terms.NAME for _term, mass in found)
    return sum([mass for _term, mass in (terms.of_text(_settled(line)) if named else found)])


def _is_sign(line: str) -> bool:
    low = line.lower()
    return any(sign in low for sign in SIGNS)


def _settled(line: str) -> str:
    """The line without what differs from one run to the next: hashes, places, numbers."""
    kept = []
    for word in line.translate(_APART).split():
        bare = terms.unplaced(word.strip("`'\"[]<>,;:!?."))
        digits = sum([char.isdigit() for char in bare])
        if digits and not _is_code(bare) and (digits * 3 >= len(bare) or _is_hex(bare)):
            continue
        kept.append(bare)
    return " ".join(kept)


def _is_code(word: str) -> bool:
    """Whether it is what a compiler or a database calls a kind of failure: ``E0382``."""
    letters = word.rstrip("0123456789")
    digits = len(word) - len(letters)
    head = letters.removesuffix("-")
    return 3 <= digits <= 5 and 0 < len(head) <= 5 and head.isalpha() and head.isupper()


def _is_hex(word: str) -> bool:
    return len(word) >= 7 and all(char in "0123456789abcdefx-" for char in word.lower())
