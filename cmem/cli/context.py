"""``cmem context``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cmem import here, repo, settings
from cmem.cli import output, place
from cmem.context import block, inject
from cmem.errors import CmemError, UsageError

SOURCES = ("startup", "clear", "compact", "resume", "fork")


def run(values: Mapping[str, Any]) -> int:
    """Print the block the next session in this directory starts with."""
    source = values["source"]
    if source not in SOURCES:
        raise UsageError(f"no such source: {source}; known: {', '.join(SOURCES)}")
    name, text, tokens, chosen, omitted = _build(values, _budget(values))
    if source in inject.SILENT:
        text, tokens, chosen = "", 0, []
    if values["json"]:
        items = [{"id": ref, "why": why} for ref, why in chosen]
        output.write_json(
            {"project": name, "text": text, "tokens": tokens, "items": items, "omitted": omitted}
        )
        return 0
    if not text:
        silent = f"a session that begins with {source} already holds its block"
        nothing = silent if source in inject.SILENT else f"nothing remembered for {name} yet"
        output.write_lines([output.plain(nothing)])
        return 0
    output.write_lines([(line, "")] for line in text.split("\n"))
    if values["explain"]:
        output.write_lines([[(f"{ref}: {why}", "dim")] for ref, why in chosen])
    return 0


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
