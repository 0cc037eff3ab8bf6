"""``cmem context``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cmem import here, repo, settings
from cmem.cli import off, output, place
from cmem.context import block, inject
from cmem.errors import CmemError, UsageError

SOURCES = ("startup", "clear", "compact", "resume", "fork")


def run(values: Mapping[str, Any]) -> int:
    """Print the block the next session in this directory starts with."""
    source = values["source"]
    if source not in SOURCES:
        raise UsageError(f"no such source: {source}; known: {', '.join(SOURCES)}")
    if values["budget"] is not None and values["budget"] < 1:
        raise UsageError("--budget must be at least 1")
    budget = _budget(values)
    name, text, tokens, chosen, omitted = _build(values, budget)
    # What is asked for by its name is not what a session in this folder would be given.
    why = "" if values["project"] else off.why()
    if source in inject.SILENT or why:
        text, tokens, chosen = "", 0, []
    if values["json"]:
        items = [{"id": ref, "why": why} for ref, why in chosen]
        output.write_json(
            {"project": name, "text": text, "tokens": tokens, "items": items, "omitted": omitted}
        )
        return 0
    if not text:
        silent = f"a session that begins with {source} already holds its block"
        nothing = silent if source in inject.SILENT else _nothing(name, budget, omitted=omitted)
        nothing = why or nothing
        output.write_lines([output.plain(nothing)])
        return 0
    output.write_lines(output.paragraphs(text))
    if values["explain"]:
        told = (output.plain(f"{ref}: {why}")[0][0] for ref, why in chosen)
        output.write_lines([(line, "dim")] for line in told)
    return 0


def _nothing(name: str, budget: int, *, omitted: int) -> str:
    if not omitted:
        return f"nothing remembered for {name} yet"
    return f"a budget of {budget} tokens has room for none of the {omitted} memories of {name}"


def _budget(values: Mapping[str, Any]) -> int:
    env = settings.environment()
    flags = {"context_budget": values["budget"]}
    loaded = settings.load(
        place.home(), env=env, flags=flags, trusted_env=settings.trusts_environment(env)
    )
    return loaded.context_budget


def _build(values: Mapping[str, Any], budget: int) -> "block.Block":
    cwd = place.directory()
    found = repo.read_repo(cwd)
    identity = here.parts_at(cwd, found, settings.environment())
    conn = place.store()
    if conn is None:
        if values["project"]:
            raise CmemError(f"no such project: {values['project']}; there are no memories yet")
        return identity[2], "", 0, [], 0
    try:
        if not values["project"]:
            return block.build(conn, identity, cwd=cwd, branch=found[2], budget=budget)
        scope = place.scope(conn, values)
        return block.of_project(conn, (scope.projects or (0,))[0], budget=budget)
    finally:
        conn.close()
