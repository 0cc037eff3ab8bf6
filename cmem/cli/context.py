"""``cmem context``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cmem import here, repo, settings
from cmem.cli import off, output, place
from cmem.context import block, gather, health, inject, price
from cmem.errors import CmemError, UsageError
from cmem.lazy import pattern
from cmem.plural import counted
from cmem.store import current, projects

if TYPE_CHECKING:
    import apsw

_ITEM = pattern(r"(- )([OSPW]\d+)(\s.*?)( \(~[\d,]+ tokens\))?")
WHOLE = ("startup", "clear")
SOURCES = ("startup", "clear", "compact", "resume", "fork")


def run(values: Mapping[str, Any]) -> int:
    """Print the block the next session in this directory starts with."""
    _check(values)
    if values["remove"]:
        from cmem.cli import agents_file  # what few calls need

        return agents_file.remove(
            values["remove"], dry_run=values["dry_run"], as_json=values["json"]
        )
    loaded = _settings(values)
    budget = loaded.context_budget
    name, text, tokens, chosen, omitted, outside = _build(values, loaded)
    # What is asked for by its name is not what a session in this folder would be given.
    why = "" if values["project"] is not None else off.why()
    # Which session goes on, or was forked, is only known where one is named.
    source = values["source"]
    silent = source in inject.GOES_ON and not values["session"]
    if silent or why:
        text, tokens, chosen = "", 0, []
    if values["write"]:
        from cmem.cli import agents_file

        return agents_file.write(
            values["write"], text, dry_run=values["dry_run"], as_json=values["json"]
        )
    if values["json"]:
        items = [{"id": ref, "why": why} for ref, why in chosen]
        output.write_json(
            {"project": name, "text": text, "tokens": tokens, "items": items, "omitted": omitted}
        )
        return 0
    if not text:
        holds = f"a session that begins with {source} already holds its block"
        goes_on = source in inject.GOES_ON
        unsorted = name == projects.UNSORTED and not values["project"]
        where = "this folder" if unsorted else name
        nothing = holds if goes_on else _nothing(where, budget, omitted=omitted, outside=outside)
        output.write_lines([output.plain(why or nothing)])
        return 0
    output.write_lines(_coloured(text))
    if values["explain"]:
        told = (output.plain(f"{ref}: {why}")[0][0] for ref, why in chosen)
        output.write_lines([(line, "dim")] for line in told)
    return 0


def _check(values: Mapping[str, Any]) -> None:
    """UsageError where what was asked for does not go together."""
    source = values["source"]
    if source not in SOURCES:
        raise UsageError(f"no such source: {source}; known: {', '.join(SOURCES)}")
    if values["budget"] is not None and values["budget"] < 1:
        raise UsageError("--budget must be at least 1")
    if place.is_project_given(values) and (values["session"] or source not in WHOLE):
        raise UsageError("--project shows the whole block; --session and --source go without it")
    if values["write"] is not None and values["remove"] is not None:
        raise UsageError("--write and --remove cannot go together")
    if "" in (values["write"], values["remove"]):
        raise UsageError("the name of a file is missing")


def _coloured(text: str) -> list[output.Line]:
    """The block for a terminal: headings stand out, ids have their colours, the frame and what a
    memory costs step back."""
    return [_pieces(piece) for line in output.paragraphs(text) for piece, _none in line]


def _pieces(text: str) -> output.Line:
    found = _ITEM.fullmatch(text)
    if found is None:
        return [(text, _style(text))]
    mark, ref, says, cost = found.groups(default="")
    return [(mark, ""), (ref, output.STYLES[ref[0]]), (says, ""), (cost, "dim")]


def _style(text: str) -> str:
    if text.startswith("- "):
        return ""
    if text.startswith("  "):
        return "dim"
    return "bold" if text.endswith(":") and not text.startswith("<") else "dim"


def _nothing(name: str, budget: int, *, omitted: int, outside: int) -> str:
    if outside >= omitted:
        return health.untold(name, omitted, outside)
    left = "the 1 memory" if omitted == 1 else f"any of the {omitted:,} memories"
    return f"a budget of {counted(budget, 'token')} has no room for {left} of {name}"


def _settings(values: Mapping[str, Any]) -> settings.Settings:
    env = settings.environment()
    flags = {"context_budget": values["budget"]}
    return settings.load(
        place.home(), env=env, flags=flags, trusted_env=settings.trusts_environment(env)
    )


def _build(values: Mapping[str, Any], loaded: settings.Settings) -> "block.Block":
    cwd = place.directory()
    found = repo.read_repo(cwd)
    identity = here.parts_at(cwd, found, settings.environment())
    conn = place.store()
    if conn is None:
        if values["project"] is not None:
            raise CmemError(f"no such project: {values['project']}; there are no memories yet")
        return _of_waiting(identity[2], values, loaded.context_budget)
    try:
        if values["project"] is None:
            place.tell_namesakes(conn, identity)
            session = _host_session(conn, values["session"])
            read = gather.for_directory(
                conn,
                identity,
                cwd=cwd,
                branch=found[2],
                session=session,
                source=values["source"],
                parts=bool(values["explain"]),
                activation=loaded.activation,
                counted=gather.ALL,
                home=str(place.home()),
                known=_known(session) if values["source"] in inject.GOES_ON else None,
            )
        else:
            read = gather.for_project(
                conn,
                place.project(conn, values["project"])[0],
                parts=bool(values["explain"]),
                activation=loaded.activation,
                counted=gather.ALL,
            )
        return block.of_rows(conn, read, budget=loaded.context_budget)
    finally:
        conn.close()


def _known(session: str) -> set[str]:
    """What a session was told that goes on or was forked."""
    from cmem.context import shown  # what few calls need

    return shown.read(str(place.home()), session)


def _of_waiting(name: str, values: Mapping[str, Any], budget: int) -> "block.Block":
    """The block where nothing has ever been stored."""
    text = ""
    if values["session"] and values["source"] == "compact":
        home, session = str(place.home()), _waits(values["session"])
        text = block.of_waiting(home, name, session=session, budget=budget)
    return name, text, price.count(text), [], 0, 0


def _host_session(conn: apsw.Connection, text: str | None) -> str:
    """What its host calls the session that is named, be it stored or waiting to be."""
    try:
        ref = place.session(conn, text)
    except CmemError:
        if text and (waiting := _waits(text)):
            return waiting
        raise
    return "" if ref is None else current.host_id(conn, ref)


def _waits(text: str) -> str:
    """The host's id of a session of which events wait to be stored; "" where none does."""
    from cmem import spooled  # what few calls need
    from cmem.hosts.wire import HOSTS

    name = text.strip()
    return name if spooled.session(str(place.home()), HOSTS, name) else ""
