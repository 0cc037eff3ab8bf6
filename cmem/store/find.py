"""The SQL behind search: which documents match, cheaply; ``records`` then loads the rows.

The caller brings match expressions, and a *scope* for what narrows them further by other facts of
the row. Candidates may be hidden or superseded rows: those fall away when the rows are loaded, so
that no match costs a look at its row.
"""

from __future__ import annotations

from cmem.named import NamedTuple
from cmem.store import scope as scopes
from cmem.store.rows import row, value
from cmem.store.scope import JOIN, Scope, narrow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

    import apsw

# A title says more than a body, parts of identifiers (``x``) are the weakest sign, and filters
# (``k``) are no text.
WEIGHTS = {"body": 1.0, "title": 4.0, "meta": 1.5, "x": 0.7, "k": 0.0}

# What an expression has in it for all words with a beginning, whose lists are merged by every
# statement, and as far as their rows are counted.
OPEN = '" *'
OPEN_MAX = 10_000

# Matches from which it pays to know all documents of a session or branch, and of how many it does.
COMMON = 5_000
OWN_MAX = 20_000

# Matches from which the number of all is told.
SAMPLE = 100


class Candidate(NamedTuple):
    document: int
    kind: str
    ref: int
    created_at: int


def count(conn: apsw.Connection, match: str, scope: Scope, *, cap: int) -> int:
    """How many documents match, counted no further than ``cap``."""
    source, conditions, values = narrow(scope)
    sql = (
        f"SELECT count(*) FROM (SELECT 1 FROM documents_fts f {source}"
        f" WHERE documents_fts MATCH :match {conditions} LIMIT :cap)"
    )
    bound = {**values, "match": match, "cap": cap}
    return sum([int(number) for (number,) in conn.execute(sql, bound)])


def about(conn: apsw.Connection, match: str) -> int:
    """How many documents match: exactly below ``SAMPLE``, else about, told from how close the
    oldest lie together, and the newest. The smaller number counts, so that what is new in an old
    store is not taken for common. One with the beginning of a word is counted, up to a cap."""
    if OPEN in match:
        return count(conn, match, Scope(), cap=OPEN_MAX)
    few = oldest(conn, match, Scope(), limit=SAMPLE)
    if len(few) < SAMPLE:
        return len(few)
    end = size(conn)
    span = end - last(conn, match, Scope(), limit=SAMPLE)[-1]
    return max(SAMPLE * end // max(span, few[-1]), SAMPLE)


def oldest(conn: apsw.Connection, match: str, scope: Scope, *, limit: int) -> list[int]:
    """The documents that match, the first ones first: the cheapest way through the index."""
    source, conditions, values = narrow(scope)
    sql = (
        f"SELECT f.rowid FROM documents_fts f {source}"
        f" WHERE documents_fts MATCH :match {conditions} ORDER BY f.rowid LIMIT :limit"
    )
    bound = {**values, "match": match, "limit": limit}
    return [int(document) for (document,) in conn.execute(sql, bound)]


def last(conn: apsw.Connection, match: str, scope: Scope, *, limit: int) -> list[int]:
    """The documents that match, the last ones first."""
    source = narrow(scope)[0]
    rows = _backwards(conn, f"f.rowid FROM documents_fts f {source}", match, scope, limit=limit)
    return [int(document) for (document,) in rows]


def at(conn: apsw.Connection, documents: Sequence[int]) -> list[Candidate]:
    """The documents of these ids."""
    sql = (
        "SELECT id, kind, ref, created_at FROM documents"
        " WHERE id IN (SELECT value FROM json_each(?))"
    )
    return list(map(Candidate._make, conn.execute(sql, (as_json(documents),))))


def ranked(
    conn: apsw.Connection, match: str, documents: Collection[int]
) -> list[tuple[int, float]]:
    """Those of ``documents`` that match, with their bm25, the best first. Only for few: it reads
    how long each is, which is a page for each in a large store."""
    sql = (
        f"SELECT rowid, bm25(documents_fts, {_weights(conn)}) AS rank FROM documents_fts"
        " WHERE documents_fts MATCH ? AND +rowid IN (SELECT value FROM json_each(?)) ORDER BY rank"
    )
    return [(int(one), float(rank)) for one, rank in conn.execute(sql, (match, as_json(documents)))]


def _weights(conn: apsw.Connection) -> str:
    """The weights in the order of the index's columns: a store that is only read may be of an
    older schema, which had another order."""
    names = conn.execute("SELECT name FROM pragma_table_info('documents_fts') ORDER BY cid")
    return ", ".join([str(WEIGHTS[str(name)]) for (name,) in names])


def newest(conn: apsw.Connection, match: str, scope: Scope, *, limit: int) -> list[Candidate]:
    """The matches that came last, unranked: the cost is that of ``limit``, not of all."""
    shown = f"f.rowid, d.kind, d.ref, d.created_at FROM documents_fts f {JOIN}"
    return list(map(Candidate._make, _backwards(conn, shown, match, scope, limit=limit)))


def listed(conn: apsw.Connection, scope: Scope, *, limit: int) -> list[Candidate]:
    """The documents that came last, of those in scope, without a match expression."""
    _, conditions, values = narrow(scope)
    sql = (
        "SELECT d.id, d.kind, d.ref, d.created_at FROM documents d"
        f" WHERE 1 {conditions} ORDER BY d.id DESC LIMIT :limit"
    )
    return list(map(Candidate._make, conn.execute(sql, {**values, "limit": limit})))


def among(conn: apsw.Connection, match: str, documents: Collection[int]) -> set[int]:
    """Those of ``documents`` that match; meant for expressions with few matches."""
    sql = (
        "SELECT rowid FROM documents_fts WHERE documents_fts MATCH ?"
        " AND +rowid IN (SELECT value FROM json_each(?))"
    )
    return {int(row[0]) for row in conn.execute(sql, (match, as_json(documents)))}


def as_json(numbers: Collection[int]) -> str:
    """Numbers for ``json_each``."""
    return f"[{','.join(map(str, numbers))}]"


def size(conn: apsw.Connection) -> int:
    """About how many documents there are."""
    return int(value(conn, "SELECT max(id) FROM documents") or 0)


def settled(conn: apsw.Connection, scope: Scope, matches: Sequence[str]) -> Scope:
    """The scope with the documents of its session and its branch, where one of ``matches`` is so
    common that this costs less than to look at the rows of all that match, as each step does."""
    if not (scope.branch or scope.session is not None):
        return scope
    if all(about(conn, match) < COMMON for match in matches):
        return scope
    found: list[int] = []
    for sql, values in scopes.every(scope, most=OWN_MAX + 1):
        found += [int(document) for (document,) in conn.execute(sql, values)]
        if len(found) > OWN_MAX:
            return scope
    return scope._replace(documents=tuple(found))


def session_id(conn: apsw.Connection, text: str) -> int | None:
    """The session named ``N4`` or by the host's own id."""
    query = "SELECT id FROM sessions WHERE content_session_id = ? ORDER BY id DESC LIMIT 1"
    found = row(conn, query, (text,))
    number = text.removeprefix("#").upper().removeprefix("N")
    if found is None and number.isdecimal() and len(number) < 19:
        found = row(conn, "SELECT id FROM sessions WHERE id = ?", (int(number),))
    return None if found is None else int(found[0])


def _backwards(
    conn: apsw.Connection, shown: str, match: str, scope: Scope, *, limit: int
) -> list[tuple[Any, ...]]:
    """The last matches, the last one first, a span of rows at a time from the end.

    Asked for them by ``DESC``, FTS5 reads all of a word's list before the first row: 4 MB of a
    word that is in half of a million rows."""
    _, conditions, values = narrow(scope)
    sql = f"SELECT {shown} WHERE documents_fts MATCH :match {conditions}"
    if OPEN in match:
        sql += " ORDER BY f.rowid DESC LIMIT :limit"
        return conn.execute(sql, {**values, "match": match, "limit": limit}).fetchall()
    sql += " AND f.rowid > :low AND f.rowid <= :high ORDER BY f.rowid"
    high, span = size(conn), 4 * limit
    found: list[tuple[Any, ...]] = []
    while high > 0 and len(found) < limit:
        bound = {**values, "match": match, "low": max(high - span, 0), "high": high}
        some = conn.execute(sql, bound).fetchall()
        found += some[::-1]
        high -= span
        # As much as the rest should need, were it as frequent there.
        span = min(max(span * (limit - len(found)) // max(len(some), 1), span), 8 * span)
    return found[:limit]
