"""``cmem timeline``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cmem.cli import boundary, items, listing, output, place
from cmem.errors import CmemError, UsageError
from cmem.search import when
from cmem.store import projects, read, window

if TYPE_CHECKING:
    import apsw

    from cmem.search.run import Hit
    from cmem.store.read import Ref

KINDS = ("O", "S", "P")
MOST = 200


def run(values: Mapping[str, Any]) -> int:
    """Print what lies around an anchor; 1 for an id that does not exist."""
    if not (0 <= values["before"] <= MOST and 0 <= values["after"] <= MOST):
        raise UsageError(f"--before and --after must be between 0 and {MOST}")
    kinds = place.kinds(values["kind"]) or list(KINDS)
    ranged = _is_range(values)
    conn = place.store()
    if conn is None:
        if values["anchor"] and place.parse_id(" ".join(values["anchor"])):
            raise CmemError(f"no memories yet, so no {' '.join(values['anchor'])}")
        return _print(values, "", [], nothing="no memories yet")
    try:
        ref = _named(conn, " ".join(values["anchor"]))
        scope = None if ref else place.scope(conn, values)
        if ranged and scope is not None:
            anchor, found = "", _of_time(conn, kinds, values, scope)
        else:
            anchor, found = _around(conn, kinds, values, ref=ref, scope=scope)
    finally:
        conn.close()
    return _print(values, anchor, found, nothing=_nothing(scope, values, ranged=ranged))


def _nothing(scope: place.Scope | None, values: Mapping[str, Any], *, ranged: bool) -> str:
    words = " ".join(values["anchor"]).strip()
    if scope is None:
        return f"nothing found around {words}"
    what = "found of that time" if ranged else f"found for {words}" if words else "to show yet"
    return f"nothing {what} in {scope.name}{place.further(scope)}"


def _is_range(values: Mapping[str, Any]) -> bool:
    """Whether a time is asked for and no anchor; UsageError for both, and for a bad time."""
    when.parse_range(values["since"], values["until"], place.now_ms())
    listing.check_ways(values["by"])
    if not 1 <= values["limit"] <= MOST:
        raise UsageError(f"--limit must be between 1 and {MOST}")
    ranged = values["since"] is not None or values["until"] is not None
    if ranged and " ".join(values["anchor"]).strip():
        raise UsageError("give either an anchor, or --since and --until")
    return ranged


def _of_time(
    conn: apsw.Connection, kinds: list[str], values: Mapping[str, Any], scope: place.Scope
) -> list[Hit]:
    session = place.session(conn, values["session"])
    found = listing.between(conn, values, scope.projects, kinds=tuple(kinds))
    if session is not None:
        found = [one for one in found if one.session == f"N{session}"]
    return list(reversed(found))


def _around(
    conn: apsw.Connection,
    kinds: list[str],
    values: Mapping[str, Any],
    *,
    ref: Ref | None,
    scope: place.Scope | None,
) -> tuple[str, list[Hit]]:
    session = place.session(conn, values["session"])
    if scope is not None:
        ref = _anchor(conn, kinds, " ".join(values["anchor"]), scope=scope, session=session)
    at = read.place(conn, ref) if ref else None
    if ref is None or at is None:
        return "", []
    refs = window.around(
        conn,
        at,
        projects=projects.family(conn, at.project)
        if not values["all_projects"]
        else place.every_project(conn),
        session=session,
        kinds=kinds,
        before=values["before"],
        after=values["after"],
    )
    return f"{ref[0]}{ref[1]}", items.load(conn, refs)


def _named(conn: apsw.Connection, text: str) -> Ref | None:
    """The row that an id names; None for words, or nothing."""
    ref = place.find(conn, text) if text.strip() else None
    if ref is not None and read.place(conn, ref) is None:
        raise CmemError(place.no_such([text]))
    return ref


def _anchor(
    conn: apsw.Connection, kinds: list[str], text: str, *, scope: place.Scope, session: int | None
) -> Ref | None:
    """The best match of the words, else the newest."""
    if text.strip():
        return _best(conn, text, scope, kinds=kinds, session=session)
    chosen = scope.projects if scope.projects is not None else place.every_project(conn)
    return window.newest(conn, projects=chosen, session=session, kinds=kinds)


def _best(
    conn: apsw.Connection,
    text: str,
    scope: place.Scope,
    *,
    kinds: list[str],
    session: int | None,
) -> Ref | None:
    from cmem.search import run as core

    filters = core.Filters(
        kinds=tuple(kinds),
        projects=scope.projects,
        session="" if session is None else f"N{session}",
    )
    hits = core.search(conn, text=text, filters=filters, limit=1, now=place.now_ms()).hits
    return place.parse_id(hits[0].id) if hits else None


def _print(values: Mapping[str, Any], anchor: str, found: list[Hit], *, nothing: str) -> int:
    if values["json"]:
        shown = [items.document(item) for item in found]
        output.write_json({"anchor": anchor or None, "items": shown})
        return 0
    if not found:
        boundary.complain(nothing)
    if values["by"]:
        output.write_lines(listing.grouped(found, [values["by"]]))
        return 0
    output.write_lines(
        line
        for item in found
        for line in items.lines(item, mark="> " if item.id == anchor else "  ")
    )
    return 0
