"""The steps of a search, from strict to loose, and how the rows of a step are ordered.

1. *all words*: rows that hold every unit of the query.
2. *any word*: when those are too few, rows with some of its rarest pieces.
3. *part of a word*, else *similar word*: when a word of a short query is unknown, rows with the
   words it is a part of, or else a slip of.

Hits of an earlier step stay above. A common term is never ranked as a whole: past a cap the
newest matches are taken, observations and summaries apart from raw evidence, which would
crowd them out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from cmem.search import mending, near, small
from cmem.search import query as queries
from cmem.search.mending import Mended
from cmem.search.query import Query
from cmem.store import find, records
from cmem.store.find import Candidate, Scope
from cmem.store.records import Record

if TYPE_CHECKING:
    import apsw

# Matches that bm25 may walk, and what is looked at when there are more.
RANKED_MAX = 2000
NEWEST = 1000
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

# An observation says what raw evidence only shows.
_KIND_WEIGHT = {"O": 1.0, "S": 0.95, "P": 0.6, "T": 0.45}
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
            others = _words(conn, mended.query, scope, limit=limit, now=now)
            known = {(row.record.kind, row.record.ref) for row in loose}
            rows = others[ALL_WORDS] or ([] if loose else others.get(ANY_WORD, []))
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
    candidates = _best(conn, query, scope)
    words = _shares(conn, query)
    strict = _rerank(conn, candidates, query, words=words, limit=limit, now=now, floor=1.0)
    found = {ALL_WORDS: strict}
    # Raw evidence often only repeats the question; it does not make other rows worthless.
    is_answered = any(row.record.kind in "OS" for row in strict)
    pieces = queries.atoms(query)
    is_whole = list(pieces) == [query.units[0].match]
    if len(strict) < limit and not is_whole and not (is_answered and len(query.units) == 1):
        known = {(row.record.kind, row.record.ref) for row in strict}
        rare = _rare(conn, small.without(pieces), scope)
        loose = _loose(conn, query, scope, weights=rare, least=WORTHWHILE * is_answered)
        fresh = [one for one in loose if (one[0].kind, one[0].ref) not in known]
        left = limit - len(strict)
        words = [sum([rare.get(atom, 0.0) for atom in unit.atoms]) for unit in query.units]
        found[ANY_WORD] = _rerank(conn, fresh, query, words=words, limit=left, now=now, floor=0.0)
    return found


def _shares(conn: apsw.Connection, query: Query) -> list[float]:
    """What each unit counts in a title: all together 1, a rare one more."""
    if len(query.units) == 1:
        return [1.0]
    size = max(find.size(conn), 1)
    counts = [
        find.count(conn, queries.in_text(unit.match), Scope(), cap=PIECE_COUNT_MAX)
        for unit in query.units[:PIECES_MAX]
    ]
    weights = [math.log(1 + size / max(count, 1)) for count in counts]
    weights += [0.0] * (len(query.units) - len(counts))
    return [weight / sum(weights) for weight in weights]


def _best(conn: apsw.Connection, query: Query, scope: Scope) -> list[tuple[Candidate, float]]:
    """The candidates with a relevance from 0 to 1, whatever the number of matches."""
    match = queries.match_all(query)
    scoped = find.scoped(match, scope)
    if queries.is_open(query):
        # All terms that begin so are merged for every statement: one statement, no ranking.
        return [(one, 0.5) for one in find.newest(conn, scoped, scope, limit=4 * NEWEST)]
    if find.count(conn, scoped, scope, cap=RANKED_MAX + 1) <= RANKED_MAX:
        return _relative(find.ranked(conn, scoped, scope, limit=RANKED_MAX))
    taken: dict[int, tuple[Candidate, float]] = {}
    for kinds in (("O", "S"), ("P", "T")):
        wanted = tuple([kind for kind in kinds if not scope.kinds or kind in scope.kinds])
        if wanted:
            scoped = find.scoped(match, scope._replace(kinds=wanted))
            if "O" in kinds:
                # Where few titles hold it, this walks all matches: not for raw evidence as well.
                titled = f"({queries.match_title(query)}) AND ({scoped})"
                for one in find.newest(conn, titled, scope, limit=BATCH):
                    taken[one.document] = (one, 1.0)
            for one in find.newest(conn, scoped, scope, limit=NEWEST):
                taken.setdefault(one.document, (one, 0.5))
    return list(taken.values())


def _relative(found: Sequence[Candidate]) -> list[tuple[Candidate, float]]:
    best = min((one.rank for one in found), default=0.0)
    return [(one, one.rank / best if best else 1.0) for one in found]


def _loose(
    conn: apsw.Connection, query: Query, scope: Scope, *, weights: dict[str, float], least: float
) -> list[tuple[Candidate, float]]:
    """Rows with any of the rarest pieces, by relevance and by how much of them they hold."""
    if not weights:
        return []
    match = find.scoped(queries.match_any(query, list(weights)), scope)
    if find.count(conn, match, scope, cap=PIECE_MATCHES + 1) > PIECE_MATCHES:
        found = [(one, 0.5) for one in find.newest(conn, match, scope, limit=NEWEST)]
    else:
        found = _relative(find.ranked(conn, match, scope, limit=NEWEST))
    covered = dict.fromkeys([one.document for one, _ in found], 0.0)
    for piece, weight in weights.items():
        for document in find.among(conn, queries.in_text(piece), list(covered)):
            covered[document] += weight
    return [
        (one, (relevance + covered[one.document]) / 2)
        for one, relevance in found
        if covered[one.document] >= least
    ]


def _rare(conn: apsw.Connection, pieces: dict[str, float], scope: Scope) -> dict[str, float]:
    """The rarest pieces in scope, with what each counts: all together 1, a rare one more.

    Rare in all of the store, since that is what ranking by them costs."""
    size = max(find.size(conn), 1)
    there = [
        piece
        for piece in pieces
        if find.count(conn, find.scoped(queries.in_text(piece), scope), scope, cap=1)
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
        weights[piece] = pieces[piece] * math.log(1 + size / count)
    total = sum(weights.values())
    return {piece: weight / total for piece, weight in weights.items()}


def _rerank(
    conn: apsw.Connection,
    candidates: list[tuple[Candidate, float]],
    query: Query,
    *,
    words: Sequence[float],
    limit: int,
    now: int,
    floor: float,
) -> list[Scored]:
    """The best ``limit`` candidates in their final order, scored above ``floor``.

    Relevance picks the rows that are loaded; their text then decides."""

    def first_sight(pair: tuple[Candidate, float]) -> tuple[float, int, int]:
        one, relevance = pair
        return (-relevance * _KIND_WEIGHT[one.kind], -one.created_at, -one.document)

    found: list[Scored] = []
    ordered = sorted(candidates, key=first_sight)
    size = max(BATCH, limit)
    for start in range(0, len(ordered), size):
        batch = ordered[start : start + size]
        rows = records.load(conn, [one for one, _ in batch])
        for one, relevance in batch:
            record = rows.get((one.kind, one.ref))
            if record:
                score = floor + _score(record, relevance, query, words=words, now=now)
                found.append(Scored(record, round(score, 4)))
        if len(found) >= limit:
            break
    found.sort(key=lambda row: (-row.score, -row.record.created_at, -row.record.ref))
    return found[:limit]


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
    return float(score * _KIND_WEIGHT[record.kind])
