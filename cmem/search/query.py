"""What a person typed, as an index expression. Any string is a legal query.

A query is cut into *units*, all of which a row of the first step holds: a word, a quoted
phrase, or something like ``auth.ts`` and 数据库, which is a phrase of terms to the index.
``NOT``, ``*``, ``:`` and the like are ordinary text; only our own terms are ever quoted. A
leading ``-word`` excludes, if anything else is searched, be it by a filter, and it does not look
like a flag.
"""

from __future__ import annotations

from cmem.lazy import pattern
from cmem.named import NamedTuple
from cmem.store import segment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CHARACTERS_MAX = 1000
UNITS_MAX = 32
# A phrase of 9,999 terms took 25 seconds; chunks of eight with AND between are as selective.
PHRASE_MAX = 8

TEXT_COLUMNS = "{title body meta x}"

_QUOTES = '"“”'
_CHUNK = pattern(r'(-?)"([^"]+)"|(-?)“([^”]+)”|([^\s"“”]+)')
# What ends a unit inside a chunk; ``. _ - / : @ = &`` join words and make a phrase.
_CUT = str.maketrans(dict.fromkeys(",;!?()[]{}<>|`、。，；：！？（）「」『』【】《》〈〉…·", " "))
_JOINTS = str.maketrans("_.", "--")
_JOINED_MAX = 4


class Unit(NamedTuple):
    """One thing a row must hold. ``shown`` is it as typed, ``match`` its expression, and
    ``atoms`` the expressions of its pieces, for a search that takes any of them. ``word`` is it
    folded when it is letters only, of a script with spaces, and stood in no quotes; ``other`` is the
    other spelling that ``match`` takes too."""

    shown: str
    match: str
    atoms: tuple[str, ...]
    word: str = ""
    other: str = ""


class Query(NamedTuple):
    text: str
    units: tuple[Unit, ...]
    excluded: tuple[Unit, ...]


def parse(text: str, *, is_filtered: bool = False) -> Query:
    """Read any string; what holds no word of any script gives no unit."""
    wanted: list[Unit] = []
    unwanted: list[Unit] = []
    for chunk, is_phrase, is_excluded in _chunks(text[:CHARACTERS_MAX].replace("\0", " ")):
        if is_phrase:
            units = [unit for unit in [_phrase_unit(chunk)] if unit]
            minus = is_excluded
        else:
            units = _chunk_units(chunk)
            minus = _is_exclusion(chunk)
        (unwanted if minus else wanted).extend(units)
    if not wanted and not is_filtered:
        wanted, unwanted = unwanted, []
    return Query(text, tuple(_once(wanted)), tuple(_once(unwanted)))


def match_all(query: Query) -> str:
    """The expression for rows with every unit and none of the excluded ones."""
    return _without(" AND ".join([unit.match for unit in query.units]), query)


def match_in_turn(query: Query, last: Sequence[Unit]) -> str:
    """The same rows as ``match_all``, by an expression that looks for the units of ``last`` only
    in rows that hold all before them.

    FTS5 makes one list of nested ANDs and goes through all its words side by side, so that of a
    common word more is read than of the rare ones; a NOT, of nothing, keeps them apart."""
    matches = [unit.match for unit in query.units if unit not in last]
    together = " AND ".join(matches)
    for unit in last:
        together = f'(({together}) NOT "") AND {unit.match}' if together else unit.match
    return _without(together, query)


def is_open(query: Query) -> bool:
    """Whether it is but one unit that is open."""
    return len(query.units) == 1 and opens(query.units[0])


def opens(unit: Unit) -> bool:
    """Whether it is but a sign or two of a script without spaces, the beginning of any gram."""
    return unit.match.endswith(" *")


def match_title(query: Query) -> str:
    """The expression for those of the rows of ``match_all`` that have every unit in the title."""
    titled = in_title(" AND ".join([unit.match for unit in query.units]))
    return f"{titled} NOT {unwanted(query)}" if query.excluded else titled


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


def pair(unit: Unit, rarest: int) -> str:
    """What every row with the unit matches too: its atom of this number beside the next one, or the
    one before the last. "" where the unit is not longer than that, or not such a phrase."""
    if len(unit.atoms) <= 2:
        return ""
    first = min(rarest, len(unit.atoms) - 2)
    words = " ".join([atom.strip('"') for atom in unit.atoms[first : first + 2]])
    if f" {words} " not in f" {unit.match.replace(chr(34), ' ')} ":
        return ""
    return f"({quote(words)} OR {unit.other})" if unit.other else quote(words)


def unwanted(query: Query) -> str:
    """The expression for rows with one of the excluded units."""
    return in_text(" OR ".join([unit.match for unit in query.excluded]))


def in_text(match: str) -> str:
    """``match`` in the columns of text, never in the one of filters."""
    return f"{TEXT_COLUMNS} : ({match})"


def in_title(match: str) -> str:
    return f"title : ({match})"


def quote(terms: str) -> str:
    """Space-separated terms as one phrase. Our terms hold no quotation mark; others may."""
    return '"' + terms.replace('"', '""') + '"'


def _without(match: str, query: Query) -> str:
    return f"{in_text(match)} NOT {unwanted(query)}" if query.excluded else in_text(match)


def _chunks(text: str) -> Iterator[tuple[str, bool, bool]]:
    """What stands between white space or in quotes; whether it is a phrase, and a minus before it."""
    if not any(quote in text for quote in _QUOTES):
        yield from [(chunk, False, False) for chunk in text.split()]
        return
    for found in _CHUNK.finditer(text):
        phrase = found[2] or found[4]
        yield phrase or found[5], bool(phrase), bool(found[1] or found[3])


def _is_exclusion(chunk: str) -> bool:
    """``-draft`` is; ``--draft``, ``-rf`` and a lone dash are not."""
    name = chunk[1:]
    is_short_flag = len(name) in (1, 2) and name.isascii() and name.isalpha()
    return chunk[0] == "-" and name[:1] != "-" and not is_short_flag


def _once(units: list[Unit]) -> list[Unit]:
    return list({unit.match: unit for unit in units}.values())[:UNITS_MAX]


def _chunk_units(chunk: str) -> list[Unit]:
    pieces = [piece.rstrip(".:'") for piece in chunk.translate(_CUT).split()]
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
    spelling = _other_spelling(text, runs)
    other = quote(spelling) if spelling else ""
    if other:
        match = f"({match} OR {other})"
    if len(runs) == 1 and not runs[0][1]:
        return Unit(text, match, (match,), runs[0][0] if runs[0][0].isalpha() else "", other)
    return Unit(text, match, _atoms(runs), "", other)


def _other_spelling(text: str, runs: list[tuple[str, int]]) -> str:
    """``getUserById`` is also get user by id, ``utf-8`` also utf8, ``1.2.3`` also v1.2.3,
    a pointed word also the bare one."""
    if segment.is_pointed_script(runs[0][0]) and not any(gram for _, gram in runs):
        whole = " ".join([word for word, _ in runs])
        return bare if (bare := segment.bare(whole)) != whole else ""
    if _is_version(text):
        terms = [word for word, _ in runs]
        first = terms[0].removeprefix("v") if terms[0][0] == "v" else f"v{terms[0]}"
        return " ".join([first, *terms[1:]]) if len(terms) <= PHRASE_MAX else ""
    if _is_joined(text):
        return "".join([word for word, _ in runs])
    if text.isascii() and text.isalnum() and not (text.islower() and text.isalpha()):
        parts = segment.split_identifier(text)
        return " ".join(parts) if 1 < len(parts) <= segment.PARTS_MAX else ""
    return ""


def _is_version(text: str) -> bool:
    """``1.2``, ``v1.2.3``, ``1.2.3-rc.1``: joined they would be another number."""
    first, dot, rest = text.removeprefix("v").removeprefix("V").partition(".")
    return bool(dot) and text.isascii() and first.isdigit() and rest[:1].isdigit()


def _is_joined(text: str) -> bool:
    """Two to four words of letters and digits with ``-``, ``_`` or ``.`` between."""
    if not text.isascii():
        return False
    words = text.translate(_JOINTS).split("-")
    return 1 < len(words) <= _JOINED_MAX and all(word.isalnum() for word in words)


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
