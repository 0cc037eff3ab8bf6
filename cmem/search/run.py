"""The search itself: a text and filters in, the best rows with a snippet each out."""

from __future__ import annotations

from cmem.errors import UsageError
from cmem.named import NamedTuple
from cmem.search import ladder, near, snippet
from cmem.search import query as queries
from cmem.store import find, records
from cmem.store import scope as scopes
from cmem.store.scope import Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from cmem.search.ladder import Scored
    from cmem.search.mending import Mended
    from cmem.search.query import Query

LIMIT_MAX = 200
LISTED = "newest"
# Replacements named for one word, of those that are looked for in the hits.
SHOWN_MAX = 3
TRIED_MAX = 12


class Filters(NamedTuple):
    """Which rows to search; empty takes all. ``kinds`` are letters of ids (O S P T).
    ``projects`` are project rows; ``session`` an id (N4) or the host's own; ``since`` and
    ``until`` ms, the latter excluded. What one of ``without`` would find is left out."""

    kinds: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    projects: tuple[int, ...] | None = None
    host: str = ""
    session: str = ""
    since: int | None = None
    until: int | None = None
    concept: str = ""
    file: str = ""
    branch: str = ""
    agent: str = ""
    without: tuple[Filters, ...] = ()


class Hit(NamedTuple):
    id: str
    kind: str
    project: str
    session: str
    host_session: str
    type: str
    title: str
    subtitle: str
    snippet: str
    created_at: int
    files: list[str]
    tokens: int
    score: float


class SearchResult(NamedTuple):
    """``steps``: those that gave hits, or the ones tried when none did. ``replaced``: what was
    shown for words that nothing holds. ``words``: what to look for in the hits."""

    query: str
    steps: list[str]
    hits: list[Hit]
    replaced: dict[str, list[str]] = {}  # noqa: RUF012 - nobody changes it
    words: tuple[str, ...] = ()


def search(
    conn: apsw.Connection,
    *,
    text: str,
    filters: Filters,
    limit: int,
    now: int,
    is_filtered: bool = False,
) -> SearchResult:
    """The best ``limit`` rows for ``text``; without any wanted word, the newest in ``filters``.
    ``is_filtered``: a person has given one of them, so that ``-word`` alone excludes."""
    limit = max(0, min(limit, LIMIT_MAX))
    scope = _scope(conn, filters)
    if scope is None or limit == 0:
        return SearchResult(text, [], [])
    query = queries.parse(text, is_filtered=is_filtered)
    mended: Mended | None = None
    if not text.strip() or (query.excluded and not query.units):
        found = {LISTED: _list(conn, scope, query, limit=limit)}
    elif not query.units:
        found = {}
    else:
        scope = find.settled(conn, scope, [queries.in_text(unit.match) for unit in query.units])
        found, mended = ladder.climb(conn, query, scope, limit=limit, now=now)
    steps = [step for step, rows in found.items() if rows] or list(found)
    rows = [row for step in found.values() for row in step][:limit]
    replaced = _shown(mended, rows) if mended else {}
    words = [unit.shown for unit in query.units]
    words += [one for shown in replaced.values() for one in shown]
    return SearchResult(text, steps, [_hit(row, words) for row in rows], replaced, tuple(words))


def _shown(mended: Mended, rows: list[Scored]) -> dict[str, list[str]]:
    """For each replaced word, the words the hits have for it."""
    texts = [text for row in rows for text in (row.record.title, row.record.body)]
    found: dict[str, list[str]] = {}
    for word, terms in mended.terms.items():
        shown = [one for term in terms[:TRIED_MAX] if (one := near.spelled(term, texts))]
        found[word] = list(dict.fromkeys(shown))[:SHOWN_MAX]
    return found


def _scope(conn: apsw.Connection, filters: Filters) -> Scope | None:
    """The filters as the store takes them; None when nothing can be in scope."""
    if filters.since is not None and filters.until is not None and filters.since >= filters.until:
        raise UsageError("the range is empty: --since is after --until")
    session = find.session_id(conn, filters.session) if filters.session else None
    nowhere = filters.projects is not None and not filters.projects
    if nowhere or (filters.session and session is None):
        return None
    without = [found for one in filters.without if (found := _scope(conn, one))]
    return Scope(**{**filters._asdict(), "session": session, "without": tuple(without)})


def _list(conn: apsw.Connection, scope: Scope, query: Query, *, limit: int) -> list[Scored]:
    match = scopes.key_match(scope)
    if query.excluded:
        match = f"({match or scopes.ALL}) NOT {queries.unwanted(query)}"
    # More than asked for: documents come in the order of their writing, not of their time.
    wanted = 10 * limit + 500
    newest = (
        find.newest(conn, match, scope, limit=wanted)
        if match
        else find.listed(conn, scope, limit=wanted)
    )
    newest.sort(key=lambda one: (-one.created_at, -one.document))
    found: list[Scored] = []
    for start in range(0, len(newest), ladder.BATCH):
        batch = newest[start : start + ladder.BATCH]
        rows = records.load(conn, batch)
        found += [
            ladder.Scored(rows[at], 0.0) for one in batch if (at := (one.kind, one.ref)) in rows
        ]
        if len(found) >= limit:
            break
    return found[:limit]


def _hit(row: Scored, words: Sequence[str]) -> Hit:
    record = row.record
    return Hit(
        id=f"{record.kind}{record.ref}",
        kind=record.kind,
        project=snippet.line(record.project),
        session=f"N{record.session}",
        host_session=snippet.line(record.host_session),
        type=snippet.line(record.type),
        title=snippet.line(record.title),
        subtitle=snippet.line(record.subtitle),
        snippet=snippet.around(record, words),
        created_at=record.created_at,
        files=[snippet.line(_relative_path(path, record.root)) for path in record.files],
        tokens=record.tokens,
        score=row.score,
    )


def _relative_path(path: str, root: str) -> str:
    inside = root.rstrip("/") + "/"
    return path[len(inside) :] if root and path.startswith(inside) else path
