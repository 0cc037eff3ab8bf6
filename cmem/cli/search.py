"""``cmem search``."""

from __future__ import annotations

import sys

from cmem.cli import boundary, items, output, place
from cmem.errors import CmemError, UsageError
from cmem.hosts import wire
from cmem.privacy.sanitise import clean
from cmem.search import fields
from cmem.search import run as core
from cmem.store import projects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    import apsw

FILTERS = (
    "kind",
    "type",
    "concept",
    "file",
    "session",
    "host",
    "branch",
    "agent",
    "since",
    "until",
    "project",
    "all_projects",
)


def run(values: Mapping[str, Any]) -> int:
    """Print the hits for a query and filters; 0 also when there are none."""
    typed = " ".join(values["query"])
    if not typed.strip() and not any(values[name] for name in FILTERS):
        raise UsageError("say what to look for, or give a filter such as --type or --since")
    if values["limit"] < 1:
        raise UsageError("--limit must be at least 1")
    now = place.now_ms()
    _range(values, now)
    place.kinds(values["kind"])
    conn = place.store()
    if conn is None:
        return _print(values, core.SearchResult(typed, [], []), "no memories yet")
    try:
        text, values, unwanted = _with_fields(conn, values, now=now)
        since, until = _range(values, now)
        kinds = tuple(place.kinds(values["kind"]))
        scope = _scope(conn, values)
        filters = core.Filters(
            kinds=kinds,
            types=tuple(values["type"]),
            projects=scope.projects,
            host=values["host"] or "",
            session=_session(conn, values["session"]),
            since=since,
            until=until,
            file=place.asked(values["file"] or ""),
            branch=values["branch"] or "",
            agent=values["agent"] or "",
            without=tuple(_each(conn, unwanted)),
        )
        result = _search(conn, text, filters, values, now=now)._replace(query=typed)
    finally:
        conn.close()
    return _print(values, result, f"nothing found in {scope.name}{place.further(scope)}")


def _range(values: Mapping[str, Any], now: int) -> tuple[int | None, int | None]:
    if values["since"] is None and values["until"] is None:
        return None, None
    from cmem.search import when  # here, because most searches name no time

    return when.parse_range(values["since"], values["until"], now)


def _with_fields(
    conn: apsw.Connection, values: Mapping[str, Any], *, now: int
) -> tuple[str, Mapping[str, Any], Mapping[str, list[str]]]:
    """The words of the query, the values with the filters that stood among them, and the filters
    with a minus. An option counts more than the same filter among the words."""
    text = " ".join(values["query"])
    if ":" not in text:
        return text, values, {}
    from cmem.search import when

    def is_readable(parse: Callable[[str], object]) -> Callable[[str], bool]:
        def is_usable(value: str) -> bool:
            try:
                parse(value)
            except CmemError:
                return False
            return True

        return is_usable

    usable = {
        "kind": is_readable(lambda value: place.kinds([value])),
        "since": is_readable(lambda value: when.parse_since(value, now)),
        "until": is_readable(lambda value: when.parse_until(value, now)),
        "host": lambda value: value.lower() in wire.HOSTS,
        "project": lambda value: bool(projects.find_by_name(conn, value)),
        "session": is_readable(lambda value: place.session(conn, value)),
    }

    def is_whole(name: str, value: str) -> bool:
        return usable[name](value) if name in usable else _is_there(conn, name, value, now=now)

    text = " ".join([fields.spaced(word, is_whole) for word in values["query"]])
    left, given, unwanted = fields.split(text, usable)
    if values["all_projects"]:
        given.pop("project", None)
    more: dict[str, Any] = {
        name: values[name] or (found if isinstance(values[name], list | tuple) else found[-1])
        for name, found in given.items()
    }
    typed = values["project"] is None and "project" in given
    return left, {**values, **more, "wide": typed}, unwanted


def _scope(conn: apsw.Connection, values: Mapping[str, Any]) -> place.Scope:
    """A name among the words of a query may be that of several projects, as an option may not."""
    if values.get("wide"):
        return place.wide_scope(conn, values["project"])
    return place.scope(conn, values)


def _is_there(conn: apsw.Connection, name: str, value: str, *, now: int) -> bool:
    """Whether the filter alone would find anything: what holds spaces may be a filter and words."""
    (alone,) = _each(conn, {name: [value]})
    return bool(core.search(conn, text="", filters=alone, limit=1, now=now).hits)


def _each(conn: apsw.Connection, unwanted: Mapping[str, list[str]]) -> Iterator[core.Filters]:
    """Each value of each filter with a minus, as filters of its own."""
    read: dict[str, Callable[[str], dict[str, Any]]] = {
        "kind": lambda value: {"kinds": tuple(place.kinds([value]))},
        "type": lambda value: {"types": (value,)},
        "file": lambda value: {"file": place.asked(value)},
        "session": lambda value: {"session": _session(conn, value)},
        "project": lambda value: {"projects": place.wide_scope(conn, value).projects},
    }
    for name, values in unwanted.items():
        for value in values:
            yield core.Filters(**(read[name](value) if name in read else {name: value}))


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
    is_filtered = bool(filters.without) or any(values[name] for name in FILTERS[:-1])
    found = [
        core.search(
            conn,
            text=text,
            filters=filters._replace(concept=one),
            limit=values["limit"],
            now=now,
            is_filtered=is_filtered,
        )
        for one in values["concept"] or [""]
    ]
    if len(found) == 1:
        return found[0]
    hits = {hit.id: hit for result in found for hit in result.hits}
    best = sorted(hits.values(), key=lambda hit: (-hit.score, -hit.created_at, hit.id))
    steps = list(dict.fromkeys(step for result in found for step in result.steps))
    merged = found[0]._replace(steps=steps, hits=best[: values["limit"]])
    return merged._replace(replaced={word: x for one in found for word, x in one.replaced.items()})


def _print(values: Mapping[str, Any], result: core.SearchResult, nothing: str) -> int:
    if values["json"]:
        hits = [items.document(hit) for hit in result.hits]
        replaced = {"replaced": result.replaced} if result.replaced else {}
        output.write_json({"query": result.query, "steps": result.steps, **replaced, "hits": hits})
        return 0
    for word, shown in result.replaced.items():
        words = ", ".join(shown) or "the nearest"
        said = clean(f"no results for {word}, showing {words}", one_line=True)
        sys.stderr.write(f"{said}\n")
    if not result.hits:
        boundary.complain(nothing)
    output.write_lines(line for hit in result.hits for line in items.lines(hit, words=result.words))
    return 0
