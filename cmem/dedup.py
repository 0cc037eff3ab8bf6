"""Finding near-duplicates in a store, and joining what is surely the same.

``cmem dedup`` shows pairs and lets a person decide. With the setting ``dedup``, ``compress``
joins by itself what has the very same title and a text that agrees; titles that are only alike
are never joined but by a person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmem import likeness
from cmem.store import dedup as store
from cmem.store import meta, projects, segment
from cmem.store.rows import rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from cmem.likeness import Pair


def find(conn: apsw.Connection, members: Sequence[int]) -> list[Pair]:
    """The pairs of one project (its id and those merged into it), not decided about yet. Of
    those with one title only such whose texts agree are of level 0."""
    groups: dict[tuple[str, str], list[likeness.Title]] = {}
    for one in store.candidates(conn, members):
        title = likeness.Title(one.ref, _words(one.key))
        groups.setdefault(one.group, []).append(title)
    kept = store.decided(conn)
    found = [pair for group in groups.values() for pair in likeness.pairs(group)]
    return [_judged(conn, pair) for pair in sorted(found) if (pair.older, pair.newer) not in kept]


def sweep(conn: apsw.Connection, *, now: int) -> int:
    """Join what is surely the same among what is new since the last time; return how many."""
    after = meta.number(conn, "dedup_seen")
    query = "SELECT DISTINCT project_id, max(id) FROM observations WHERE id > ? GROUP BY project_id"
    new = [(int(project), int(last)) for project, last in rows(conn, query, (after,))]
    joined = 0
    for family in dict.fromkeys(tuple(projects.family(conn, project)) for project, _last in new):
        for pair in find(conn, family):
            if pair.level == 0 and pair.newer > after:
                score = pair.score
                joined += store.join(conn, pair.older, pair.newer, level=0, score=score, now=now)
    if new:
        meta.put(conn, "dedup_seen", max(last for _project, last in new))
    return joined


def _words(key: str) -> tuple[str, ...]:
    """A title's words; where a script sets no spaces, the grams that the index has too."""
    return tuple(key.split() if key.isascii() else segment.words(key).split())


def _judged(conn: apsw.Connection, pair: Pair) -> Pair:
    if pair.level:
        return pair
    older, newer = store.side(conn, pair.older), store.side(conn, pair.newer)
    doubtful = likeness.contradict(older.told, newer.told)
    return pair._replace(level=1) if doubtful else pair
