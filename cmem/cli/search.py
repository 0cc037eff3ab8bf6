"""``cmem search``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cmem.cli import items, output, place
from cmem.errors import UsageError
from cmem.search import run as core
from cmem.search import when

if TYPE_CHECKING:
    import apsw

FILTERS = (
    "kind",
    "type",
    "concept",
    "file",
    "session",
    "host",
    "since",
    "until",
    "project",
    "all_projects",
)


def run(values: Mapping[str, Any]) -> int:
    """Print the hits for a query and filters; 0 also when there are none."""
    text = " ".join(values["query"])
    if not text.strip() and not any(values[name] for name in FILTERS):
        raise UsageError("say what to look for, or give a filter such as --type or --since")
    if values["limit"] < 1:
        raise UsageError("--limit must be at least 1")
    now = place.now_ms()
    since, until = when.parse_range(values["since"], values["until"], now)
    kinds = tuple(place.kinds(values["kind"]))
    conn = place.store()
    if conn is None:
        return _print(values, core.SearchResult(text, [], []), "no memories yet")
    try:
        scope = place.scope(conn, values)
        filters = core.Filters(
            kinds=kinds,
            types=tuple(values["type"]),
            projects=scope.projects,
            host=values["host"] or "",
            session=_session(conn, values["session"]),
            since=since,
            until=until,
            file=values["file"] or "",
        )
        result = _search(conn, text, filters, values, now=now)
    finally:
        conn.close()
    return _print(values, result, f"nothing found in {scope.name}")


def _session(conn: apsw.Connection, given: str | None) -> str:
    found = place.session(conn, given)
    return "" if found is None else f"N{found}"


def _search(
    conn: apsw.Connection,
    text: str,
    filters: core.Filters,
    values: Mapping[str, Any],
    *,
    now: int,
) -> core.SearchResult:
    """One search for each concept, the best hits of all."""
    found = [
        core.search(
            conn, text=text, filters=filters._replace(concept=one), limit=values["limit"], now=now
        )
        for one in values["concept"] or [""]
    ]
    if len(found) == 1:
        return found[0]
    hits = {hit.id: hit for result in found for hit in result.hits}
    best = sorted(hits.values(), key=lambda hit: (-hit.score, -hit.created_at, hit.id))
    steps = list(dict.fromkeys(step for result in found for step in result.steps))
    return core.SearchResult(text, steps, best[: values["limit"]])


def _print(values: Mapping[str, Any], result: core.SearchResult, nothing: str) -> int:
    if values["json"]:
        hits = [items.document(hit) for hit in result.hits]
        output.write_json({"query": result.query, "steps": result.steps, "hits": hits})
        return 0
    if not result.hits:
        output.write_lines([output.plain(nothing)])
    output.write_lines(line for hit in result.hits for line in items.lines(hit))
    return 0
