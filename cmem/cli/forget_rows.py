"""From the options of ``cmem forget`` to the rows they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from cmem.cli import place
from cmem.errors import CmemError, UsageError
from cmem.search import when
from cmem.store import forget as core
from cmem.store import read, selecting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import apsw

    from cmem.store.forget import Plan
    from cmem.store.read import Ref

FILTERS = ("match", "project", "since", "until")


class Asked(NamedTuple):
    """The rows, hidden ones too, and the ids that name none. ``titles``: sessions of which
    only the title is meant. ``one_by_one``: each row was given by its own id. ``nothing``:
    what to say when there are none."""

    refs: list[Ref]
    unknown: list[str]
    titles: tuple[int, ...]
    one_by_one: bool
    nothing: str


def is_anything_asked(values: Mapping[str, Any]) -> bool:
    """True when the options name rows at all."""
    return bool(values["ids"] or values["session"] or _is_filtered(values))


def check(values: Mapping[str, Any]) -> None:
    """UsageError for options that say nothing, or too much."""
    if not is_anything_asked(values):
        raise UsageError(
            "say what to forget: ids such as O12, or --session, --project, --match, --since"
        )
    if values["ids"] and _is_filtered(values):
        raise UsageError("give ids, or filters such as --match and --since, not both")
    if values["match"] is not None and not values["match"].strip():
        raise UsageError("--match needs a text")
    place.is_project_given(values)
    if values["undo"] and values["hard"]:
        raise UsageError("choose one of --undo and --hard")


def resolve(
    conn: apsw.Connection, values: Mapping[str, Any], progress: Callable[[int], None] | None
) -> Asked:
    """The rows that the options mean; ids and sessions together, or what all filters hold for."""
    if not _is_filtered(values):
        refs, unknown = _named(conn, values)
        one_by_one = all(kind != "N" for kind, _number in refs)
        return Asked(refs, unknown, (), one_by_one, f"no such memory: {', '.join(unknown)}")
    since, until = when.parse_range(values["since"], values["until"], place.now_ms())
    wanted = selecting.Wanted(
        text=values["match"] or "", sessions=_sessions(conn, values), since=since, until=until
    )
    chosen = selecting.choose(conn, wanted, progress)
    nothing = "nothing matches, so there is nothing to forget"
    return Asked(list(chosen.refs), [], chosen.titles, one_by_one=False, nothing=nothing)


def plan(conn: apsw.Connection, asked: Asked) -> Plan:
    """Everything that goes."""
    found = core.plan(conn, asked.refs)
    return found._replace(titles=tuple(sorted({*found.titles, *asked.titles})))


def _is_filtered(values: Mapping[str, Any]) -> bool:
    return any(values[name] is not None for name in FILTERS)


def _sessions(conn: apsw.Connection, values: Mapping[str, Any]) -> tuple[int, ...] | None:
    """The sessions that --session and --project leave; None for all."""
    found: set[int] | None = None
    if values["session"]:
        refs, unknown = _named(conn, {"ids": [], "session": values["session"]})
        if unknown:
            raise CmemError(f"no such session: {', '.join(unknown)}")
        found = {number for _kind, number in refs}
    if values["project"] is not None:
        scope = place.scope(conn, {"project": values["project"]}, whole=True)
        inside = set(selecting.sessions_of(conn, scope.projects or ()))
        found = inside if found is None else found & inside
    return None if found is None else tuple(sorted(found))


def _named(conn: apsw.Connection, values: Mapping[str, Any]) -> tuple[list[Ref], list[str]]:
    """The rows that the ids name, hidden ones too, and the ids that name none."""
    refs: list[Ref] = []
    unknown: list[str] = []
    asked = [(text, False) for text in values["ids"]]
    asked += [(text, True) for text in values["session"]]
    for text, is_session in asked:
        word = text.strip()
        if is_session and word.isascii() and word.isdigit():
            word = f"N{word}"  # a bare number is a session here, and O2 is still no session
        ref = place.parse_id(word)
        if ref is None or not _exists(core.plan(conn, [ref])):
            found = read.find_session(conn, word)
            ref = None if found is None else ("N", found)
        if ref is None or (is_session and ref[0] != "N"):
            unknown.append(text)
        else:
            refs.append(ref)
    return list(dict.fromkeys(refs)), unknown


def _exists(found: Plan) -> bool:
    return bool(found.total or found.sessions)
