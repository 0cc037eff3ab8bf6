"""A query whose unknown words are replaced by known ones."""

from __future__ import annotations

from cmem.named import NamedTuple
from cmem.search import near
from cmem.search import query as queries
from cmem.search.query import Query, Unit
from cmem.store import find, vocabulary
from cmem.store import scope as scopes
from cmem.store.scope import Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    import apsw

    Look = Callable[[apsw.Connection, str], list[str]]

# A longer query is a question: its unknown words are those of a person, not of a program.
UNITS_MAX = 4


class Mended(NamedTuple):
    """``terms``: for each replaced word as typed, the terms that stand for it."""

    query: Query
    terms: dict[str, list[str]]


def unknown(conn: apsw.Connection, query: Query, scope: Scope) -> list[Unit]:
    """The plain words of the query that nothing in scope holds."""
    words = [unit for unit in query.units if unit.word and near.is_enough(unit.word)]
    return [unit for unit in words if not _is_there(conn, unit.match, scope)]


def mend(
    conn: apsw.Connection, query: Query, words: list[Unit], scope: Scope, *, look: Look
) -> Mended | None:
    """The query with what ``look`` finds for each of ``words``; None when it finds nothing."""
    found: dict[Unit, list[str]] = {}
    for unit in words:
        terms = [one for one in look(conn, unit.word) if _is_there(conn, _match(conn, one), scope)]
        if terms:
            found[unit] = terms
    if not found:
        return None
    units = tuple(
        [_replaced(conn, unit, found[unit]) if unit in found else unit for unit in query.units]
    )
    return Mended(query._replace(units=units), {unit.shown: found[unit] for unit in found})


def _match(conn: apsw.Connection, term: str) -> str:
    return queries.quote(vocabulary.typed(conn, term))


def _replaced(conn: apsw.Connection, unit: Unit, terms: list[str]) -> Unit:
    match = "(" + " OR ".join([_match(conn, term) for term in terms]) + ")"
    return Unit(terms[0], match, (match,))


def _is_there(conn: apsw.Connection, match: str, scope: Scope) -> bool:
    return find.count(conn, scopes.scoped(queries.in_text(match), scope), scope, cap=1) > 0
