"""The terms of the index themselves: what begins like a word, holds a piece, or looks like it.

Read from the index by ``fts5vocab``, so there is no second list of words that ``forget`` would
have to clean. Its cost is that of the terms walked: those with one beginning are few, all of
them are only walked in a store that is small enough.
"""

from __future__ import annotations

from cmem.named import NamedTuple
from cmem.store import find
from cmem.store.rows import rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw

# Documents up to which every term may be walked: 1 µs a term, of which a document has 5 to 20 of
# its own.
WALKED_MAX = 5_000
TERMS_MAX = 50

_OPEN = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.terms USING fts5vocab(main, documents_fts, 'row')"


class Term(NamedTuple):
    text: str
    documents: int


def stem(conn: apsw.Connection, word: str) -> str:
    """``word``, folded already, as the index has it."""
    import apsw

    tokenize = conn.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "0"])
    found = tokenize(
        word.encode(),
        apsw.FTS5_TOKENIZE_DOCUMENT,
        None,
        include_offsets=False,
        include_colocated=False,
    )
    return "".join([str(term) for term in found]) or word


def typed(conn: apsw.Connection, term: str) -> str:
    """A spelling that the index has as ``term``: what is looked for is stemmed, and a stem that is
    stemmed once more is another one (microservic, microserv)."""
    spellings = [term, f"{term}e", f"{term[:-1]}y", f"{term}ing", f"{term}s"]
    return next((one for one in spellings if stem(conn, one) == term), term)


def exact(conn: apsw.Connection, words: list[str]) -> list[Term]:
    """Those of ``words`` that are terms."""
    conn.execute(_OPEN).fetchall()
    query = "SELECT term, doc FROM temp.terms WHERE term = ?"
    return [Term(*found) for word in words for found in rows(conn, query, (word,))]


def beginning(
    conn: apsw.Connection, start: str, *, shortest: int = 0, longest: int = 64
) -> list[Term]:
    """The terms of a length that begin with ``start``."""
    conn.execute(_OPEN).fetchall()
    query = (
        "SELECT term, doc FROM temp.terms WHERE term >= ?1 AND term < ?1 || char(1114111)"
        " AND length(term) BETWEEN ?2 AND ?3"
    )
    return [Term(*found) for found in rows(conn, query, (start, shortest, longest))]


def holding(conn: apsw.Connection, piece: str, *, end: str = "") -> list[Term]:
    """The most frequent words that hold ``piece`` or end in ``end``; none in a store too large to
    walk."""
    if find.size(conn) > WALKED_MAX:
        return []
    conn.execute(_OPEN).fetchall()
    # No word of a text holds ``_``: such terms are filters.
    query = (
        "SELECT term, doc FROM temp.terms"
        " WHERE (instr(term, ?1) OR substr(term, -length(?2)) = nullif(?2, ''))"
        " AND NOT instr(term, '_') ORDER BY doc DESC, term LIMIT ?3"
    )
    return [Term(*found) for found in rows(conn, query, (piece, end, TERMS_MAX))]
