"""What must hold with every host's client: it is remembered, in order, and none the worse.

A host brings the names of its events and how its model calls tools; the scenes are the same.
"""

from __future__ import annotations

import json
import shutil
import signal
from typing import TYPE_CHECKING, Any, NamedTuple

from e2e_play import Check, counts, end_tool, part, rows, settled
from e2e_world import CODE, kill, processes, run_cmem, run_session, started, texts, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from e2e_world import Session, World

    Reply = Mapping[str, Any]

TEST = "python3 -m unittest -q 2>&1"
SWAPPED, RIGHT = "    return b - a\n", "    return a - b\n"
DEFINED = "def subtract(a, b):\n"
MULTIPLY = "def multiply(a, b):\n    return a * b\n\n\n"
FIX_PROMPT = "The test for subtract fails. Please fix it."
ASK_PROMPT = "What was wrong with it last time?"
WAIT_PROMPT = "Add a function that multiplies, then wait for me."
ANSWER = "Fixed: `subtract` returned `b - a`. It now returns `a - b` and the test passes."


class Names(NamedTuple):
    """How the host's events are called, in the order in which they come."""

    start: str
    prompt: str
    tool: str
    stop: str
    end: str

    def session(self, tools: int) -> list[str]:
        """The events of a session of one turn."""
        return [self.start, self.prompt, *[self.tool] * tools, self.stop, self.end]


class Tools(NamedTuple):
    """The model's replies that run a command, read a file, and replace text in one."""

    shell: Callable[[str], Reply]
    look: Callable[[str], Reply]
    edit: Callable[[str, str, str], Reply]


def as_it_is(text: str) -> str:
    """For a host that passes our text on unchanged."""
    return text


def no_more(_world: World) -> Iterator[Check]:
    """For a host that needs nothing more than the install."""
    yield from ()


def installed(
    world: World,
    names: Names,
    tools: Tools,
    *,
    settings: Path,
    before: str | None,
    ready: Callable[[World], Iterator[Check]] = no_more,
    shown: Callable[[str], str] = as_it_is,
) -> Iterator[Check]:
    """From install to uninstall. ``before``: what the user has in ``settings``, None for no such
    file. ``ready``: what the user has to do after the install. ``shown``: our text as the model
    gets it."""
    if before is not None:
        settings.parent.mkdir(parents=True)
        settings.write_text(before, encoding="utf-8")
    run_cmem(world, "install", world.client.host, "--yes")
    yield "the install writes where the client looks", _registered(world, settings), settings
    yield from ready(world)
    yield from first_session(world, names, tools)
    if before is not None:
        own = world.project / "own-hook"
        yield "the user's own hook ran beside ours", own.exists(), settings
    yield from second_session(world, tools, shown)
    yield from killed_session(world, names, tools)
    yield from bereft_session(world, tools)
    run_cmem(world, "uninstall", world.client.host)
    left = settings.read_bytes() if settings.exists() else None
    same = left == (before.encode() if before is not None else None)
    yield "uninstall gives the user's file back, byte for byte", same, left
    yield "no process is left", not processes(world), processes(world)


def first_session(world: World, names: Names, tools: Tools) -> Iterator[Check]:
    session = run_fix(world, tools)
    yield "a session runs a test and edits a file", _worked(session, world), session.tail()
    yield from captured(world, names.session(tools=4))
    report = json.loads(run_cmem(world, "compress", "--json"))
    stored = (report["ingested"], report["pending"], report["parked"])
    yield "`cmem compress` stores them all", stored == (8, 0, 0), report
    wanted = {"sessions": 1, "prompts": 1, "tool_uses": 4, "observations": 1, "summaries": 1}
    yield "as one turn, observed", counts(world, wanted) == wanted, counts(world, wanted)
    turns = rows(world.home / "memory.db", "SELECT kind, closed_by, outcome FROM turns")
    yield "the turn is closed once, by its own end", turns == [("user", "stop", "stop")], turns


def second_session(world: World, tools: Tools, shown: Callable[[str], str]) -> Iterator[Check]:
    block = run_cmem(world, "context").strip()
    # Here the hooks start the background run themselves, as they do for a user.
    replies = (tools.shell("cmem search subtract"), "Its operands were swapped.")
    session = run_session(world, ASK_PROMPT, script=replies)
    begin = "<cmem-memory"
    blocks = session.told().count(shown(begin))
    yield (
        "the next session's first request carries the block of `cmem context`, once",
        blocks == 1 and block.startswith(begin) and shown(block) in session.told(),
        (blocks, block, session.tail()),
    )
    changed = "`return b - a` → `return a - b`"
    yield "the block says what the first session did", changed in block, block
    asked = session.requests or [{}]
    found = "\n".join(set(texts(asked[-1])) - set(texts(asked[0])))
    yield "the agent finds it with `cmem search`", "bugfix" in found, found[-2000:]
    status = settled(world, sessions=2, summaries=2)
    wanted = {"sessions": 2, "prompts": 2, "tool_uses": 5}
    yield "the background stores every event", part(status, wanted) == wanted, status


def killed_session(world: World, names: Names, tools: Tools) -> Iterator[Check]:
    mark = world.project / "tool.pid"
    replies = (
        tools.look("calc.py"),
        tools.edit("calc.py", DEFINED, MULTIPLY + DEFINED),
        tools.shell("echo $$ > tool.pid; exec sleep 600"),
    )
    off = {"CMEM_AUTO_COMPRESS": "0"}
    with started(world, WAIT_PROMPT, script=replies, **off) as (process, ended):
        try:
            wait_for(lambda: mark.exists() and mark.read_text(), "the tool to run")
            kill(process)
            code = ended().code
        finally:
            end_tool(mark)
    yield "the client is killed in the middle of a tool", code == -signal.SIGKILL, code
    yield from captured(world, names.session(tools=2)[:4])
    report = json.loads(run_cmem(world, "compress", "--all", "--json", "--wait", "60"))
    left = (report["ingested"], report["pending"], report["parked"], report["observations"])
    yield "a later run closes the turn and observes it", left == (4, 0, 0, 1), report
    hits = json.loads(run_cmem(world, "search", "multiply", "--json"))["hits"]
    kinds = {hit["kind"] for hit in hits}
    yield "it is found", kinds >= {"observation", "tool_use"}, hits


def bereft_session(world: World, tools: Tools) -> Iterator[Check]:
    away = world.home.with_name("cmem-away")
    world.home.rename(away)
    try:
        session = run_fix(world, tools)
        made = world.home.exists()
    finally:
        shutil.rmtree(world.home, ignore_errors=True)
        away.rename(world.home)
    worked = _worked(session, world) and not made
    yield "a session with cmem gone from under it goes its way", worked, session.tail()


def failed_turn(
    world: World,
    wanted: Sequence[str],
    turn: tuple[str, str],
    *,
    ready: Callable[[World], Iterator[Check]] = no_more,
) -> Iterator[Check]:
    """What a turn leaves that the model's server failed: these events, and how it was closed
    (by what, with which outcome)."""
    run_cmem(world, "install", world.client.host, "--yes")
    yield from ready(world)
    fault = {"status": 400, "message": "max_tokens is too large"}
    session = run_session(world, ASK_PROMPT, script=(fault,), CMEM_AUTO_COMPRESS="0")
    yield "the client ends with a failure", session.code != 0, session.tail()
    yield from captured(world, list(wanted))
    run_cmem(world, "compress", "--all")
    turns = rows(world.home / "memory.db", "SELECT closed_by, outcome FROM turns")
    yield "the turn is closed once, and as what it was", turns == [turn], turns


def captured(world: World, wanted: list[str]) -> Iterator[Check]:
    """That these events are waiting, and in this order."""
    # A host need not wait for its last hook.
    wait_for(lambda: len(spooled(world)) >= len(wanted), f"{len(wanted)} events, not one less")
    yield f"captured are {', '.join(wanted)}", spooled(world) == wanted, spooled(world)


def spooled(world: World) -> list[str]:
    """The events that wait to be stored."""
    return [
        name for (name,) in rows(world.home / "spool.db", "SELECT event FROM spool ORDER BY id")
    ]


def run_fix(world: World, tools: Tools) -> Session:
    """A session that repairs the calculator, which is broken for it; nothing is compressed."""
    (world.project / "calc.py").write_text(CODE["calc.py"], encoding="utf-8")
    replies = (
        tools.shell(TEST),
        tools.look("calc.py"),
        {"text": "The operands are swapped.", **tools.edit("calc.py", SWAPPED, RIGHT)},
        tools.shell(TEST),
        ANSWER,
    )
    return run_session(world, FIX_PROMPT, script=replies, CMEM_AUTO_COMPRESS="0")


def _worked(session: Session, world: World) -> bool:
    fixed = RIGHT in (world.project / "calc.py").read_text(encoding="utf-8")
    return session.code == 0 and fixed


def _registered(world: World, settings: Path) -> bool:
    return settings.exists() and str(world.home / "hook.py") in settings.read_text("utf-8")
