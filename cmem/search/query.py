"""What a person typed, as an index expression. Any string is a legal query.

A query is cut into *units*, all of which a row of the first step holds: a word, a quoted
phrase, or something like ``auth.ts`` and 数据库, which is a phrase of terms to the index.
``NOT``, ``*``, ``:`` and the like are ordinary text; only our own terms are ever quoted. A
leading ``-word`` excludes, if anything else is searched and it does not look like a flag.
"""

import re
from typing import NamedTuple

from cmem.store import segment

CHARACTERS_MAX = 1000
UNITS_MAX = 32
# A phrase of 9,999 terms took 25 seconds; chunks of eight with AND between are as selective.
PHRASE_MAX = 8

TEXT_COLUMNS = "{title body meta x}"

_CHUNK = re.compile(r'(-?)"([^"]+)"|(-?)“([^”]+)”|([^\s"“”]+)')
# What ends a unit inside a chunk; ``. _ - / : @ = &`` join words and make a phrase.
_CUT = re.compile(r"[,;!?()\[\]{}<>|`、。，；：！？（）「」『』【】《》〈〉…·]+")
_JOINED = re.compile(r"[A-Za-z0-9]+(?:[-_.][A-Za-z0-9]+){1,3}")
_SHORT_FLAG = re.compile(r"-[A-Za-z]{1,2}")


class Unit(NamedTuple):
    """One thing a row must hold. ``shown`` is it as typed, ``match`` its expression, and
    ``atoms`` the expressions of its pieces, for a search that takes any of them. ``word`` is it
    folded when it is letters only, of a script with spaces, and stood in no quotes."""

    shown: str
    match: str
    atoms: tuple[str, ...]
    word: str = ""


class Query(NamedTuple):
    text: str
    units: tuple[Unit, ...]
    excluded: tuple[Unit, ...]


def parse(text: str) -> Query:
    """Read any string; what holds no word of any script gives no unit."""
    wanted: list[Unit] = []
    unwanted: list[Unit] = []
    for found in _CHUNK.finditer(text[:CHARACTERS_MAX].replace("\0", " ")):
        phrase = found[2] or found[4]
        if phrase:
            units = [unit for unit in [_phrase_unit(phrase)] if unit]
            minus = bool(found[1] or found[3])
        else:
            units = _chunk_units(found[5])
            minus = _is_exclusion(found[5])
        (unwanted if minus else wanted).extend(units)
    if not wanted:
        wanted, unwanted = unwanted, []
    return Query(text, tuple(_once(wanted)), tuple(_once(unwanted)))


def match_all(query: Query) -> str:
    """The expression for rows with every unit and none of the excluded ones."""
    return _without(" AND ".join([unit.match for unit in query.units]), query)


def is_open(query: Query) -> bool:
    """Whether it is but a sign or two of a script without spaces, the beginning of any gram."""
    return len(query.units) == 1 and query.units[0].match.endswith(" *")


def match_title(query: Query) -> str:
    """The expression for rows with every unit in the title."""
    return f"title : ({' AND '.join([unit.match for unit in query.units])})"


def match_any(query: Query, atoms: list[str]) -> str:
    """The expression for rows with one of ``atoms`` and none of the excluded units."""
    return _without(" OR ".join(atoms), query)


def atoms(query: Query) -> dict[str, float]:
    """The pieces of all units, each with its share of its unit."""
    found: dict[str, float] = {}
    for unit in query.units:
        for atom in unit.atoms:
            if atom in found or len(found) < UNITS_MAX:
                found[atom] = max(found.get(atom, 0.0), 1 / len(unit.atoms))
    return found


def in_text(match: str) -> str:
    """``match`` in the columns of text, never in the one of filters."""
    return f"{TEXT_COLUMNS} : ({match})"


def quote(terms: str) -> str:
    """Space-separated terms as one phrase. Our terms hold no quotation mark; others may."""
    return '"' + terms.replace('"', '""') + '"'


def _without(match: str, query: Query) -> str:
    if not query.excluded:
        return in_text(match)
    unwanted = " OR ".join([unit.match for unit in query.excluded])
    return f"{in_text(match)} NOT {in_text(unwanted)}"


def _is_exclusion(chunk: str) -> bool:
    """``-draft`` is; ``--draft``, ``-rf`` and a lone dash are not."""
    return chunk[0] == "-" and chunk[1:2] != "-" and not _SHORT_FLAG.fullmatch(chunk)


def _once(units: list[Unit]) -> list[Unit]:
    return list({unit.match: unit for unit in units}.values())[:UNITS_MAX]


def _chunk_units(chunk: str) -> list[Unit]:
    pieces = [piece.rstrip(".:'") for piece in _CUT.split(chunk)]
    return [unit for unit in map(_piece_unit, pieces) if unit]


def _phrase_unit(text: str) -> Unit | None:
    match = _phrase(segment.runs(text), segment.specials(text))
    return Unit(text.strip(), match, (match,)) if match else None


def _piece_unit(text: str) -> Unit | None:
    runs = segment.runs(text)
    specials = segment.specials(text)
    if not runs:
        return None
    if specials == [text.lower()]:
        match = quote(specials[0])
        # ``c`` is no part of what ``c++`` means, but ``verify`` is of ``--no-verify``.
        pieces = _atoms(runs) if text.startswith("--") else ()
        return Unit(text, match, (match, *pieces))
    match = _phrase(runs, specials)
    other = _other_spelling(text, runs)
    if other:
        match = f"({match} OR {quote(other)})"
    if len(runs) == 1 and not runs[0][1]:
        return Unit(text, match, (match,), runs[0][0] if runs[0][0].isalpha() else "")
    return Unit(text, match, _atoms(runs))


def _other_spelling(text: str, runs: list[tuple[str, int]]) -> str:
    """``getUserById`` is also get user by id, ``utf-8`` also utf8."""
    if _JOINED.fullmatch(text):
        return "".join([word for word, _ in runs])
    if text.isascii() and text.isalnum():
        parts = segment.split_identifier(text)
        return " ".join(parts) if 1 < len(parts) <= segment.PARTS_MAX else ""
    return ""


def _phrase(runs: list[tuple[str, int]], specials: list[str]) -> str:
    """The runs one after the other, in chunks, and the special spellings among them."""
    if not runs:
        return ""
    terms = [term for run in runs[:-1] for term in segment.run_terms(run)]
    last, is_prefix = _open_terms(runs[-1])
    terms += last
    starts = range(0, len(terms), PHRASE_MAX)
    chunks = [quote(" ".join(terms[start : start + PHRASE_MAX])) for start in starts]
    if is_prefix:
        chunks[-1] += " *"
    chunks += [quote(special) for special in specials]
    return chunks[0] if len(chunks) == 1 else f"({' AND '.join(chunks)})"


def _open_terms(run: tuple[str, int]) -> tuple[list[str], bool]:
    """The terms of a run that may go on in the text, and whether the last is a prefix."""
    text, gram = run
    if gram and len(text) < gram:
        return [text], True
    terms = segment.run_terms(run)
    return (terms[: 1 - gram] if gram else terms), False


def _atoms(runs: list[tuple[str, int]]) -> tuple[str, ...]:
    found: list[str] = []
    for run in runs:
        terms, is_prefix = _open_terms(run)
        found += [quote(term) + (" *" if is_prefix else "") for term in terms]
    return tuple(found)
