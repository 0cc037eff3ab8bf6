"""The documents of one step: which of many are looked at, and in what order they are read.

Of a document of a large store each fact is a page of its own to read: how long it is (for bm25),
what kind it is, its text. So only ``BEST`` are ranked by bm25, and kinds are read as far down as
they can still change who stands above.
"""

from __future__ import annotations

from cmem.named import NamedTuple
from cmem.store import find
from cmem.store import scope as scopes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import apsw

    from cmem.store.find import Candidate
    from cmem.store.scope import Scope

# How many of the matches are ranked by bm25, and of how many of the best a fourth has to be
# observations or summaries; else as many of the newest of those are ranked besides.
BEST = 500
OBSERVED = 120

# An observation says what raw evidence only shows. None weighs more than 1.
KIND_WEIGHT = {"O": 1.0, "S": 0.95, "P": 0.6, "T": 0.45}


class Pool(NamedTuple):
    """Documents with their relevance from 0 to 1, and what has been read of them already."""

    relevance: dict[int, float]
    read: dict[int, Candidate]


def of(documents: Sequence[int], relevance: float) -> Pool:
    return Pool(dict.fromkeys(documents, relevance), {})


def add(pool: Pool, found: Sequence[Candidate], relevance: float) -> None:
    """Take in what is not there yet."""
    for one in found:
        pool.relevance.setdefault(one.document, relevance)
        pool.read.setdefault(one.document, one)


def ranked(
    conn: apsw.Connection,
    match: str,
    documents: Mapping[int, float],
    *,
    by: str,
    title: str,
    scope: Scope,
) -> Pool:
    """The best of ``documents``, which all match and are told with how much of the words each
    holds: relevance by bm25 of ``by``. Of too many those count that hold most, of equals those
    that ``title`` finds, which looks in the titles, then the newest."""
    if len(documents) <= BEST:
        return _relative(find.ranked(conn, by, list(documents)))
    titled = find.among(conn, title, list(documents))
    order = sorted(documents, key=lambda one: (-documents[one], one not in titled, -one))
    found = find.ranked(conn, by, order[:BEST])
    pool = _relative(found)
    first = find.at(conn, [document for document, _ in found[:OBSERVED]])
    pool.read.update({one.document: one for one in first})
    # What was observed stands above raw evidence, so it must not be crowded out by it.
    if scope.kinds or sum(one.kind in "OS" for one in first) >= OBSERVED // 4:
        return pool
    only = scope._replace(kinds=("O", "S"))
    observed = find.last(conn, scopes.scoped(match, only), only, limit=OBSERVED)
    more = [one for one in observed if one in documents and one not in pool.relevance]
    return pool._replace(relevance=_relative([*found, *find.ranked(conn, by, more)]).relevance)


def _relative(found: Sequence[tuple[int, float]]) -> Pool:
    best = min([rank for _, rank in found], default=0.0)
    return Pool({document: rank / best if best else 1.0 for document, rank in found}, {})


def batches(
    conn: apsw.Connection, pool: Pool, *, size: int
) -> Iterator[list[tuple[Candidate, float]]]:
    """All of the pool by relevance and kind, ``size`` at a time; of equals, the newest first."""
    ready = [(pool.read[one], rank) for one, rank in pool.relevance.items() if one in pool.read]
    ready.sort(key=_first_sight)
    unread = [(one, rank) for one, rank in pool.relevance.items() if one not in pool.read]
    waiting = sorted(unread, key=lambda one: -one[1])
    while waiting or ready:
        while waiting and not _are_first(ready[:size], waiting[0][1], size=size):
            relevance = dict(waiting[:size])
            ready += [(one, relevance[one.document]) for one in find.at(conn, list(relevance))]
            waiting = waiting[size:]
            ready.sort(key=_first_sight)
        yield ready[:size]
        ready = ready[size:]


def _are_first(ready: Sequence[tuple[Candidate, float]], relevance: float, *, size: int) -> bool:
    """Whether nothing of ``relevance``, whatever its kind, can stand among ``ready``."""
    return len(ready) == size and -_first_sight(ready[-1])[0] > relevance


def _first_sight(pair: tuple[Candidate, float]) -> tuple[float, int, int]:
    one, relevance = pair
    return (-relevance * KIND_WEIGHT[one.kind], -one.created_at, -one.document)
