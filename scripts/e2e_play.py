"""Playing scenes in worlds, and saying of each thing in them whether it holds."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sqlite3
import time
from typing import TYPE_CHECKING, Any

from e2e_client import E2eError, MissingError, find_client
from e2e_world import new_world, run_cmem, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from e2e_world import Client, World

# A claim, whether it holds, and what was seen.
Check = tuple[str, bool, object]


def main(client: Client, scenes: Sequence[Callable[[World], Iterator[Check]]]) -> int:
    """Play the scenes; the exit code. With ``--optional`` what is missing is no failure."""
    parser = argparse.ArgumentParser(description=f"Run the real {client.title} client with cmem.")
    parser.add_argument(
        "--optional", action="store_true", help="a client that cannot be had is no failure"
    )
    parser.add_argument("--keep", action="store_true", help="leave the sandboxes in .e2e")
    given = parser.parse_args()
    begin, failed = time.monotonic(), 0
    try:
        program = find_client(client.package)
        print(f"\n{client.title} {client.package.version}", flush=True)
        for scene in scenes:
            print(f"\n{(scene.__doc__ or '').strip()}", flush=True)
            failed += play(scene, client, program, keep=given.keep)
    except MissingError as error:
        print(f"e2e: not run: {error}")
        return 0 if given.optional else 1
    print(f"\n{failed or 'none'} failed, {time.monotonic() - begin:.0f} s")
    return 1 if failed else 0


def play(
    scene: Callable[[World], Iterator[Check]],
    client: Client,
    program: tuple[str, ...],
    *,
    keep: bool,
) -> int:
    """How many checks of the scene do not hold; a scene that cannot go on ends with one more."""
    failed = 0
    try:
        with new_world(client, program, keep=keep) as world:
            for check in scene(world):
                failed += not told(check)
    except E2eError as error:
        failed += not told(("the scene comes to its end", False, error))
    return failed


def told(check: Check) -> bool:
    """Whether the check holds; it is printed, with what was seen if it does not."""
    claim, holds, seen = check
    print(f"  {'ok  ' if holds else 'FAIL'}  {claim}", flush=True)
    if not holds:
        print(f"        {seen}", flush=True)
    return holds


def settled(world: World, **least: int) -> dict[str, Any]:
    """The status once the background has made at least so much and has nothing left to do."""
    status: dict[str, Any] = {}

    def look() -> bool:
        status.update(json.loads(run_cmem(world, "status", "--json")))
        return is_empty(status) and all(status["counts"][name] >= n for name, n in least.items())

    try:
        wait_for(look, f"the background to make {least}")
    except E2eError as error:
        logs = [path.read_text(encoding="utf-8") for path in sorted(world.home.glob("*.log"))]
        raise E2eError(f"{error}; instead: {status}; logs: {logs}") from error
    return status


def is_empty(status: Mapping[str, Any]) -> bool:
    """Whether nothing is left to be stored or observed."""
    waiting = (*status["spool"].values(), status["work"]["pending"], status["work"]["parked"])
    return not any(waiting)


def part(status: Mapping[str, Any], wanted: Mapping[str, int]) -> dict[str, int]:
    """Of the status, the counts that are wanted."""
    return {name: status["counts"][name] for name in wanted}


def counts(world: World, wanted: Mapping[str, int]) -> dict[str, int]:
    """The wanted counts as they are now."""
    return part(json.loads(run_cmem(world, "status", "--json")), wanted)


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    """What the query finds in a database of the world; nothing where there is none yet."""
    if not path.exists():
        return []
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as conn:
        return conn.execute(query).fetchall()


def end_tool(mark: Path) -> None:
    """End the tool's process, named in the file: it outlives its client, and is ours to end."""
    try:
        os.kill(int(mark.read_text(encoding="utf-8")), signal.SIGTERM)
    except (OSError, ValueError):
        return
