"""The steps of a search, from strict to loose, and how the rows of a step are ordered.

1. *all words*: rows that hold every unit of the query.
2. *any word*: when those are too few, rows with some of its rarest pieces.
3. *part of a word*, else *similar word*: when a word is unknown (of a longer query only when
   nothing was found), rows with the words it is a part of, or else a slip of.

Hits of an earlier step stay above. A common term is never ranked as a whole: past a cap the
newest matches are taken, observations and summaries apart from raw evidence, which would
crowd them out.
"""

from __future__ import annotations

from math import log

from cmem.named import NamedTuple
from cmem.search import mending, near, pool, small
from cmem.search import query as queries
from cmem.search.pool import Pool
from cmem.store import find, records, verify
from cmem.store import scope as scopes
from cmem.store.scope import Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    import apsw

    from cmem.search.mending import Mended
    from cmem.search.query import Query, Unit
    from cmem.store.find import Candidate
    from cmem.store.records import Record

    Abouts = Callable[[], list[int]]

# Matches of which the best are looked for, and how few need no bm25;
# what is looked at when there are more, and how many of those may be walked for their titles.
RANKED_MAX = 2000
FEW = 10
# To look for a word in the texts of one row costs about what it does in an index of so many, and
# of more rows than this it takes too long.
ROWS_PER_TEXT = 10_000
TEXTS_MAX = 100
NEWEST = 500
WALKED_MAX = 60_000
# Of too many matches the loose step takes the newest.
LOOSE = 1000
# Loose step: pieces tried, the matches they may have in all, and where counting one ends.
PIECES_MAX = 24
PIECE_MATCHES = 20_000
PIECE_COUNT_MAX = 5000
# Rows loaded at a time for the final order.
BATCH = 60
# Beside rows that hold everything, a row of the loose step must hold this much.
WORTHWHILE = 0.6

ALL_WORDS = "all words"
ANY_WORD = "any word"
PART = "part of a word"
SIMILAR = "similar word"

_HALF_LIFE_MS = 30 * 86_400_000


class Scored(NamedTuple):
    record: Record
    score: float


class Climbed(NamedTuple):
    """The hits of each step that was taken, in order; a row is a hit once. ``mended``: the
    query of the last of them, if it is another one."""

    steps: dict[str, list[Scored]]
    mended: Mended | None


def climb(conn: apsw.Connection, query: Query, scope: Scope, *, limit: int, now: int) -> Climbed:
    found = _words(conn, query, scope, limit=limit, now=now)
    if found[ALL_WORDS]:
        return Climbed(found, None)
    loose = found.get(ANY_WORD, [])
    words = mending.unknown(conn, query, scope)
    if not words or (loose and len(query.units) > mending.UNITS_MAX):
        return Climbed(found, None)
    looks: tuple[tuple[str, mending.Look], ...] = ((PART, near.parts), (SIMILAR, near.slips))
    for step, look in looks:
        mended = mending.mend(conn, query, words, scope, look=look)
        if mended:
            best, rows = _strict(conn, mended.query, scope, limit=limit, now=now)
            if not rows and not loose:
                rows = _any(
                    conn, mended.query, scope, best, is_answered=False, limit=limit, now=now
                )
            known = {(row.record.kind, row.record.ref) for row in loose}
            rows = [row for row in rows if (row.record.kind, row.record.ref) not in known]
            if rows:
                # Few of the words as typed must not crowd out all of the words as meant.
                kept = loose[: max(limit - len(rows), limit // 2)]
                under = min([row.score for row in kept], default=2.0)
                rows = [row._replace(score=round(min(row.score / 2, under), 4)) for row in rows]
                steps = {**found, ANY_WORD: kept} if ANY_WORD in found else found
                return Climbed({**steps, step: rows[: limit - len(kept)]}, mended)
    return Climbed(found, None)


def _words(
    conn: apsw.Connection, query: Query, scope: Scope, *, limit: int, now: int
) -> dict[str, list[Scored]]:
    """The steps that take the words as they are."""
    best, strict = _strict(conn, query, scope, limit=limit, now=now)
    found = {ALL_WORDS: strict}
    # Raw evidence often only repeats the question; it does not make other rows worthless.
    is_answered = any(row.record.kind in "OS" for row in strict)
    is_whole = list(queries.atoms(query)) == [query.units[0].match]
    left = limit - len(strict)
    if left > 0 and not is_whole and not (is_answered and len(query.units) == 1):
        found[ANY_WORD] = _any(
            conn, query, scope, best, is_answered=is_answered, limit=left, now=now
        )
    return found


def _strict(
    conn: apsw.Connection, query: Query, scope: Scope, *, limit: int, now: int
) -> tuple[Pool, list[Scored]]:
    """What was looked at of the rows with every unit, and the best of them."""
    abouts = _counted(conn, query)
    best = _best(conn, query, scope, abouts)
    words = _shares(conn, query, abouts) if best.relevance else []
    return best, _rerank(conn, best, query, words=words, limit=limit, now=now, floor=1.0)


def _any(
    conn: apsw.Connection,
    query: Query,
    scope: Scope,
    best: Pool,
    *,
    is_answered: bool,
    limit: int,
    now: int,
) -> list[Scored]:
    """The best rows with some of the words, of those that are not in ``best``."""
    rare = _rare(conn, small.without(queries.atoms(query)), scope)
    loose = _loose(conn, query, scope, weights=rare, least=WORTHWHILE * is_answered)
    for document in best.relevance:
        loose.relevance.pop(document, None)
    words = [sum([rare.get(atom, 0.0) for atom in unit.atoms]) for unit in query.units]
    return _rerank(conn, loose, query, words=words, limit=limit, now=now, floor=0.0)


def _shares(conn: apsw.Connection, query: Query, abouts: Abouts) -> list[float]:
    """What each unit counts in a title: all together 1, a rare one more."""
    if len(query.units) == 1:
        return [1.0]
    size = max(find.size(conn), 1)
    weights = [log(1 + size / max(count, 1)) for count in abouts()]
    weights += [0.0] * (len(query.units) - len(weights))
    return [weight / sum(weights) for weight in weights]


def _counted(conn: apsw.Connection, query: Query) -> Abouts:
    """How many rows have each of the first units, looked up once and when it is first asked for."""
    found: list[int] = []

    def abouts() -> list[int]:
        if not found:
            found.extend([_about(conn, unit, query) for unit in query.units[:PIECES_MAX]])
        return found

    return abouts


def _about(conn: apsw.Connection, unit: Unit, query: Query) -> int:
    # An open unit beside others takes long to count, and is common where it does.
    if queries.opens(unit) and len(query.units) > 1 and find.size(conn) > WALKED_MAX:
        return find.OPEN_MAX
    return find.about(conn, queries.in_text(unit.match))


def _best(conn: apsw.Connection, query: Query, scope: Scope, abouts: Abouts) -> Pool:
    """The rows with every unit, as many as are looked at."""
    match = queries.match_all(query)
    scoped = scopes.scoped(match, scope)
    if queries.is_open(query):
        # All terms that begin so are merged for every statement: one statement, no ranking.
        found = pool.of((), 0.5)
        pool.add(found, find.newest(conn, scoped, scope, limit=4 * LOOSE), 0.5)
        return found
    # What is open is merged for every statement, so there are to be as few as can be.
    is_open = any(queries.opens(unit) for unit in query.units)
    few = None if scopes.is_narrow(scope) or is_open else _few(conn, query, scope)
    if few is not None:
        return pool.of(few, 1.0)
    in_turn = queries.match_in_turn(query, _little(query))
    common = min(abouts()) if is_open else find.about(conn, in_turn)
    if scoped != match or scopes.is_narrow(scope) or common <= 4 * RANKED_MAX:
        every = find.oldest(conn, scopes.scoped(in_turn, scope), scope, limit=RANKED_MAX + 1)
        if is_open and len(every) <= FEW:
            return pool.of(every, 1.0)
        if len(every) <= RANKED_MAX:
            title = queries.match_title(query)
            by = _telling(query, abouts())
            whole = dict.fromkeys(every, 1.0)
            return pool.ranked(conn, scoped, whole, by=by, title=title, scope=scope)
    if len(query.units) > 1:
        # Looking for all words in the titles goes through those of the rarest.
        common = max(common, min(abouts()))
    return _newest(conn, query, scope, common=common)


def _little(query: Query) -> list[Unit]:
    """The small words of a question, the longer first, which are mostly the rarer."""
    little = [unit for unit in query.units if small.is_small(unit.match)]
    return sorted(little, key=lambda unit: -len(unit.shown))


def _telling(query: Query, abouts: list[int]) -> str:
    """The words that tell one row from another: bm25 goes through all rows of each word to know
    how rare it is, and those that are in many say next to nothing."""
    counted = list(zip(abouts, query.units, strict=False))
    fewest = min([count for count, _ in counted])
    units = tuple([unit for count, unit in counted if count <= max(WALKED_MAX, fewest)])
    return queries.match_all(query._replace(units=units, excluded=()))


def _few(conn: apsw.Connection, query: Query, scope: Scope) -> list[int] | None:
    """All rows with every unit where those are so few that all are shown, so that nothing has to
    be ranked; None where there are more."""
    match = scopes.scoped(queries.match_in_turn(query, _little(query)), scope)
    texts = min(find.size(conn) // ROWS_PER_TEXT, TEXTS_MAX)
    parts = [_part(conn, unit) for unit in query.units] if texts else []
    if parts != [unit.match for unit in query.units] and texts:
        core = scopes.scoped(queries.in_text(" AND ".join(parts)), scope)
        some = find.oldest(conn, core, Scope(), limit=texts + 1)
        if len(some) <= texts:
            few = verify.matching(conn, match, some)
            is_all = len(few) <= FEW and (not few or len(query.units) > 1)
            return few if is_all else None
    few = find.oldest(conn, match, Scope(), limit=FEW + 1)
    return few if not few or (len(few) <= FEW and len(query.units) > 1) else None


def _part(conn: apsw.Connection, unit: Unit) -> str:
    """What every row with the unit matches, and which is cheaper to look for.

    The words of a path are in nearly every row, and their lists have millions of entries: two
    words will do where one of them is rare, and the rows' own texts tell the rest."""
    if not 2 < len(unit.atoms) <= PIECES_MAX:
        return unit.match
    texts = [queries.in_text(atom) for atom in unit.atoms]
    counts = [find.count(conn, text, Scope(), cap=PIECE_COUNT_MAX) for text in texts]
    if not min(counts) < PIECE_COUNT_MAX <= max(counts):
        return unit.match
    return queries.pair(unit, counts.index(min(counts))) or unit.match


def _newest(conn: apsw.Connection, query: Query, scope: Scope, *, common: int) -> Pool:
    """Those with every unit in the title, and the newest."""
    match = queries.match_all(query)
    found = pool.of((), 0.0)
    for kinds in (("O", "S"), ("P", "T")):
        wanted = tuple([kind for kind in kinds if not scope.kinds or kind in scope.kinds])
        # Raw evidence stands below what was observed, so where there is enough it is not seen.
        if wanted and len(found.relevance) < 4 * BATCH:
            only = scope._replace(kinds=wanted)
            newest = find.newest(conn, scopes.scoped(match, only), scope, limit=NEWEST)
            if "O" in kinds:
                pool.add(found, _titled(conn, query, only, newest, common=common), 1.0)
            pool.add(found, newest, 0.5)
    return found


def _titled(
    conn: apsw.Connection, query: Query, scope: Scope, newest: Sequence[Candidate], *, common: int
) -> list[Candidate]:
    """Those with every unit in the title: of all matches, or of the newest when they are so common
    that walking through them takes longer than a search may."""
    if common <= WALKED_MAX:
        titled = scopes.scoped(queries.match_title(query), scope)
        return find.newest(conn, titled, scope, limit=BATCH)
    titles = records.titles(conn, newest)
    words = [unit.shown.casefold() for unit in query.units]
    found = [(one, titles.get((one.kind, one.ref), "").casefold()) for one in newest]
    return [one for one, title in found if all(word in title for word in words)]


def _loose(
    conn: apsw.Connection, query: Query, scope: Scope, *, weights: dict[str, float], least: float
) -> Pool:
    """Rows with any of the rarest pieces, by relevance and by how much of them they hold."""
    found = pool.of((), 0.0)
    if not weights:
        return found
    match = scopes.scoped(queries.match_any(query, list(weights)), scope)
    every = find.oldest(conn, match, scope, limit=PIECE_MATCHES + 1)
    is_common = len(every) > PIECE_MATCHES
    if is_common:
        pool.add(found, find.newest(conn, match, scope, limit=LOOSE), 0.5)
        every = list(found.relevance)
    covered = dict.fromkeys(every, 0.0)
    for piece, weight in weights.items():
        for document in _holding(conn, queries.in_text(piece), covered):
            covered[document] += weight
    worthwhile = {document: share for document, share in covered.items() if share >= least}
    if not is_common:
        title = queries.in_title(" OR ".join(weights))
        found = pool.ranked(conn, match, worthwhile, by=match, title=title, scope=scope)
    return found._replace(
        relevance={
            document: (relevance + worthwhile[document]) / 2
            for document, relevance in found.relevance.items()
            if document in worthwhile
        }
    )


def _holding(conn: apsw.Connection, match: str, documents: Collection[int]) -> Collection[int]:
    """Those of ``documents`` that match: the cheaper way to know it."""
    if len(documents) <= LOOSE:
        return find.among(conn, match, documents)
    every = find.oldest(conn, match, Scope(), limit=PIECE_MATCHES + 1)
    if len(every) > PIECE_MATCHES:
        return find.among(conn, match, documents)
    return [document for document in every if document in documents]


def _rare(conn: apsw.Connection, pieces: dict[str, float], scope: Scope) -> dict[str, float]:
    """The rarest pieces in scope, with what each counts: all together 1, a rare one more.

    Rare in all of the store, since that is what ranking by them costs."""
    size = max(find.size(conn), 1)
    there = [
        piece
        for piece in pieces
        if find.count(conn, scopes.scoped(queries.in_text(piece), scope), scope, cap=1)
    ]
    counted = [
        (find.count(conn, queries.in_text(piece), Scope(), cap=PIECE_COUNT_MAX), piece)
        for piece in there
    ]
    weights: dict[str, float] = {}
    matches = 0
    for count, piece in sorted(counted)[:PIECES_MAX]:
        matches += count
        # What was counted to the cap may be in every row: it would crowd out the rare ones.
        if weights and (matches > PIECE_MATCHES or count >= PIECE_COUNT_MAX):
            break
        weights[piece] = pieces[piece] * log(1 + size / count)
    total = sum(weights.values())
    return {piece: weight / total for piece, weight in weights.items()}


def _rerank(
    conn: apsw.Connection,
    found: Pool,
    query: Query,
    *,
    words: Sequence[float],
    limit: int,
    now: int,
    floor: float,
) -> list[Scored]:
    """The best ``limit`` rows of the pool in their final order, scored above ``floor``.

    Relevance picks the rows that are loaded; their text then decides."""
    scored: list[Scored] = []
    for batch in pool.batches(conn, found, size=max(BATCH, limit)):
        rows = records.load(conn, [one for one, _ in batch])
        for one, relevance in batch:
            record = rows.get((one.kind, one.ref))
            if record:
                score = floor + _score(record, relevance, query, words=words, now=now)
                scored.append(Scored(record, round(score, 4)))
        if len(scored) >= limit:
            break
    scored.sort(key=lambda row: (-row.score, -row.record.created_at, -row.record.ref))
    return scored[:limit]


def _score(
    record: Record, relevance: float, query: Query, *, words: Sequence[float], now: int
) -> float:
    """From 0 to 1: relevance, the words in the title by what each counts, the query as it was
    typed, recency."""
    title = record.title.casefold()
    shown = [unit.shown.casefold() for unit in query.units]
    in_title = sum([share for word, share in zip(shown, words, strict=True) if word in title])
    typed = query.text.strip().casefold()
    literal = (
        typed in title or typed in record.body.casefold() or typed in record.subtitle.casefold()
    )
    recent = 0.5 ** (max(now - record.created_at, 0) / _HALF_LIFE_MS)
    score = 0.6 * relevance + 0.2 * in_title + 0.12 * literal + 0.08 * recent
    return float(score * pool.KIND_WEIGHT[record.kind])
