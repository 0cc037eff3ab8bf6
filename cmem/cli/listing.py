"""``cmem list`` and ``cmem file``: memories by what they are and what they are about."""

from __future__ import annotations

import itertools
import os
import time
from typing import TYPE_CHECKING, Any

from cmem.cli import boundary, items, output, place
from cmem.errors import UsageError
from cmem.privacy.sanitise import clean
from cmem.search import run as core
from cmem.search import when
from cmem.store import projects, renames, window

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import apsw

    from cmem.cli.output import Line
    from cmem.search.run import Hit

WAYS = ("day", "project")
FILE_KINDS = ("O", "S")


def run(values: Mapping[str, Any]) -> int:
    """Print the newest memories that fit the filters."""
    _check(values)
    conn = place.store()
    if conn is None:
        return _print([], values, "no memories yet")
    try:
        scope = place.scope(conn, values)
        found = between(conn, values, scope.projects, kinds=("O",))
    finally:
        conn.close()
    return _print(found, values, f"nothing to list in {scope.name}{place.further(scope)}")


def run_file(values: Mapping[str, Any]) -> int:
    """Print what is known of a file, under the names it had before and has now too."""
    _check(values)
    conn = place.store()
    if conn is None:
        told = {"path": values["path"], "earlier": [], "later": []}
        return _print([], values, "no memories yet", told=told)
    try:
        scope = place.scope(conn, values)
        chosen = scope.projects if scope.projects is not None else place.every_project(conn)
        path = place.asked(values["path"])
        earlier, later = _other_names(conn, chosen, path)
        found: dict[str, Hit] = {}
        for name in (path, *earlier, *later):
            for one in between(conn, values, scope.projects, kinds=FILE_KINDS, file=name):
                found.setdefault(one.id, one)
    finally:
        conn.close()
    newest = sorted(found.values(), key=newest_first)
    nothing = f"nothing known of {values['path']} in {scope.name}{place.further(scope)}"
    told = {"path": path, "earlier": earlier, "later": later}
    return _print(newest[: values["limit"]], values, nothing, told=told)


def between(
    conn: apsw.Connection,
    values: Mapping[str, Any],
    chosen: Sequence[int] | None,
    *,
    kinds: tuple[str, ...],
    file: str = "",
) -> list[Hit]:
    """The newest rows that fit the options ``since``, ``until``, ``kind``, ``type``,
    ``concept`` and ``limit``, as far as the command has them."""
    now = place.now_ms()
    since, until = when.parse_range(values["since"], values["until"], now)
    concepts = values.get("concept") or [""]
    types = tuple(values.get("type") or ())
    found: dict[str, Hit] = {}
    for concept in concepts:
        filters = core.Filters(
            kinds=tuple(place.kinds(values["kind"])) or kinds,
            types=types,
            projects=None if chosen is None else tuple(chosen),
            since=since,
            until=until,
            concept=concept,
            file=file,
        )
        for hit in core.search(conn, text="", filters=filters, limit=values["limit"], now=now).hits:
            found.setdefault(hit.id, hit)
    newest = sorted(found.values(), key=newest_first)
    return newest[: values["limit"]]


def newest_first(one: Hit) -> tuple[int, int, int]:
    """The order of a list: at one moment what was made of something stands before it."""
    return -one.created_at, -window.ORDER[one.kind], -int(one.id[1:])


def shown_by_day(found: Sequence[Hit]) -> Iterator[Line]:
    """The items in their order, under the day each belongs to."""
    return _grouped(found, "day")


def grouped(found: Sequence[Hit], ways: Sequence[str]) -> Iterator[Line]:
    """The items under days or projects; as plain lines without either."""
    if not ways:
        return (line for one in found for line in items.lines(one))
    return _grouped(found, ways[0])


def check_ways(given: str | None) -> list[str]:
    """What ``--by`` names, as a list of none or one."""
    if given is not None and given not in WAYS:
        raise UsageError(f"--by {given}: day or project")
    return [given] if given else []


def _grouped(found: Sequence[Hit], way: str) -> Iterator[Line]:
    def head(one: Hit) -> str:
        return _day(one.created_at) if way == "day" else one.project

    ordered = found if way == "day" else sorted(found, key=lambda one: one.project)
    for name, group in itertools.groupby(ordered, head):
        yield [(clean(name, one_line=True), "bold underline")]
        for one in group:
            yield from items.lines(one, mark="  ")


def _day(at: int) -> str:
    try:
        return time.strftime("%Y-%m-%d %A", time.localtime(at / 1000))
    except (OverflowError, ValueError, OSError):
        return str(at)


def _check(values: Mapping[str, Any]) -> None:
    if not 1 <= values["limit"] <= core.LIMIT_MAX:
        raise UsageError(f"--limit must be between 1 and {core.LIMIT_MAX}")
    when.parse_range(values["since"], values["until"], place.now_ms())
    place.kinds(values["kind"])
    check_ways(values.get("by"))


def _other_names(conn: apsw.Connection, chosen: Sequence[int], path: str) -> renames.Names:
    """The names a file had before and afterwards, by the moves that were captured."""
    family = [one for ref in chosen for one in projects.family(conn, ref)]
    here = os.path.normpath(os.path.join(place.directory(), path))
    return renames.names(conn, list(dict.fromkeys(family)), (path, here))


def _print(
    found: list[Hit],
    values: Mapping[str, Any],
    nothing: str,
    *,
    told: Mapping[str, Any] | None = None,
) -> int:
    """``told``: what is said of the file that was asked for."""
    if values["json"]:
        output.write_json({**(told or {}), "items": [items.document(one) for one in found]})
        return 0
    lines: list[Line] = [
        output.plain(f"{time}: {name}")
        for time in ("earlier", "later")
        for name in (told or {}).get(time, ())
    ]
    output.write_lines([*lines, *grouped(found, check_ways(values.get("by")))])
    if not found:
        boundary.complain(nothing)
    return 0
