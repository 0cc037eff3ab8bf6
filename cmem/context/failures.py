"""The same failure met before, and what followed then. HOT.

Two failures are the same when the lines that tell most of both have the same words: numbers,
hashes and places in files move from run to run and do not count, nor do the words that every
failure has. A memory tells of it when one of its lines has all these words. A line that many
outputs hold tells nothing, and a short one only as a whole: where it names what failed, as
"command not found: jq" does, and few hold it.
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
# And one that tells only as a whole, whose words beside the name are at least so many.
RARE = 12
LEAST_BESIDE = 2
LONGEST = 16
# What every failure says of itself.
_NOISE = """
    abort aborted build child cmd code command err errno error errors exception exit exited fail
    failed failing failure fatal invalid job non nonzero npm pnpm process return returned script
    status target task traceback uncaught unexpected unknown warning yarn zero
"""
NOISE = frozenset([terms.quoted(word) for word in _NOISE.split()])
SIGNS = (
    *("error", "exception", "fail", "fatal", "panic", "cannot", "can't", "could not", "not found"),
    *("undefined", "unresolved", "no such", "denied", "refused", "invalid", "unexpected"),
    *("missing", "expected", "conflict", "unable", "unknown"),
)
# Of a line that tells as a whole: who says it, and signs that say nothing of what failed.
_SPEAKERS = frozenset(
    [
        "bash",
        "bin",
        "dash",
        "e",
        "err",
        "error",
        "fatal",
        "fish",
        "ksh",
        "line",
        "npm",
        "pnpm",
        "sh",
        "uncaught",
        "usr",
        "yarn",
        "zsh",
    ]
)
_VAGUE = ("error", "exception", "expected", "fail", "fatal", "panic")
_QUOTES = "'\"`\u2018\u2019\u201c\u201d"
_AROUND = "()[]{},;:.!?"
_APART = {ord(sign): " " for sign in "()[]="}


def telling(output: str) -> list[str]:
    """The terms of the line that tells most of a failing command's output, or one phrase for all
    of it; [] for none."""
    return _told(output)[0]


def _told(output: str) -> tuple[list[str], bool]:
    """The same, and whether it is a phrase."""
    best: list[str] = []
    most = 0.0
    lines = output[-LOOKED_AT:].splitlines()
    told = [line for line in lines if _is_sign(line)][:LINES]
    masses = []
    for line in told:
        found = _terms(line)[:TERMS]
        mass = _mass(line, found)
        masses.append(mass)
        if mass > most:
            best, most = [term for term, _mass in found], mass
    if most >= LEAST_MASS:
        return best, False
    for at in sorted(range(len(told)), key=lambda at: -masses[at]):
        phrase = _phrase(told[at])
        if phrase:
            return [terms.quoted(phrase)], True
    return [], False


def followed(
    conn: "apsw.Connection",
    output: str,
    projects: "Sequence[int]",
    *,
    known: "Collection[str]" = (),
    session: int = 0,
) -> "list[Observation]":
    """What was done, newest first, after the same failure in an earlier session."""
    wanted, whole = _told(output)
    if not wanted:
        return []
    match = " AND ".join(wanted)
    within = matching.scope(projects, kinds=("O", "T"))
    limit = RARE if whole else GENERIC
    found = matching.documents(conn, match, within, limit=limit)
    if len(found) == limit:
        return []
    texts = matching.texts(conn, found)
    found = [doc for doc, kind, text in texts if _tells(kind, text, wanted, whole=whole)]
    if not found:
        return []
    rows = matching.fixes(conn, found, projects, limit=MOST + len(known))
    rows = [row for row in rows if f"O{row[0]}" not in known and row[6] != session]
    return rows[:MOST]


def _tells(kind: str, text: str, wanted: "Collection[str]", *, whole: bool) -> bool:
    """Whether an output is of the failure that these terms tell of, or a memory tells of it."""
    if kind == "T":
        return set(telling(text)) == set(wanted)
    if whole:
        phrases = [f" {phrase[1:-1]} " for phrase in wanted]
        lines = [f" {' '.join(_words(line))} " for line in text.splitlines()]
        return any(phrase in line for phrase in phrases for line in lines)
    return any(set(wanted) <= {term for term, _mass in _terms(line)} for line in text.splitlines())


def _phrase(line: str) -> str:
    """The words of a line that names what failed, where it says besides how; of an exception that
    is all of the line the name is enough. Else ""."""
    words = _words(line)
    while words and words[0] in _SPEAKERS:
        del words[0]
    phrase = " ".join(words)
    if not 0 < len(words) <= LONGEST:
        return ""
    if _is_exception(line):
        return phrase
    if not any(sign in phrase for sign in SIGNS if sign not in _VAGUE):
        return ""
    names = {word for name in _names(line) for word in terms.plain(name).split()}
    beside = [word for word in words if word not in names]
    return phrase if names and len(beside) >= LEAST_BESIDE else ""


def _words(line: str) -> list[str]:
    return terms.plain(_settled(line)).split()


def _names(line: str) -> list[str]:
    """What a line names: in quotes, as code is named, or alone beside a colon."""
    found = []
    for word in line.split():
        bare = word.strip(_AROUND)
        if len(bare) > 2 and bare[0] in _QUOTES and bare[-1] in _QUOTES:
            found.append(bare)
    found += [term for term, mass in terms.of_text(_settled(line)) if mass == terms.NAME]
    for part in line.split(": "):
        alone = part.split()
        if len(alone) == 1 and _is_word(alone[0].strip(_AROUND)):
            found.append(alone[0])
    return found


def _is_word(text: str) -> bool:
    """Whether it is a word that not every failure has."""
    word = text.lower()
    plain = word.replace("-", "").replace(".", "").isalnum() and not word.isdigit()
    generic = word in _SPEAKERS or word in terms.EVERYDAY or terms.quoted(word) in NOISE
    return plain and not generic


def _is_exception(line: str) -> bool:
    """Whether all of it is the name of an exception with its place: ``java.lang.OutOfMemoryError``.
    One without is every program's."""
    name = line.strip().rstrip(":")
    last = name.rpartition(".")[2]
    plain = name.replace(".", "").replace("_", "").isalnum()
    return plain and "." in name.strip(".") and last.endswith(("Exception", "Error"))


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
