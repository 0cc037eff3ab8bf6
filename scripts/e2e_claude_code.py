"""Drive the real Claude Code client against a scripted model and look at what cmem did.

Prints a line for each thing that must hold, exits 1 if one does not. Needs npm once, to fetch
the client; with ``--optional`` what is missing is said in one line and is no failure.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from e2e_client import (
    ROOT,
    E2eError,
    MissingError,
    Session,
    World,
    find_client,
    new_world,
    run_client,
    run_cmem,
    run_session,
    started,
    wait_for,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PLUGIN = ROOT / "hooks/claude-code"
# A claim, whether it holds, and what was seen.
Check = tuple[str, bool, object]

TEST = {"command": "python3 -m unittest -q 2>&1", "description": "Run the tests"}
SWAP = {
    "file_path": "{{cwd}}/calc.py",
    "old_string": "    return b - a\n",
    "new_string": "    return a - b\n",
}
MULTIPLY = {
    "file_path": "{{cwd}}/calc.py",
    "old_string": "def subtract",
    "new_string": "def multiply(a, b):\n    return a * b\n\n\ndef subtract",
}
READ = {"file_path": "{{cwd}}/calc.py"}
WAIT = {"command": "echo $$ > tool.pid; exec sleep 600", "description": "Wait"}

FIX_PROMPT = "The test for subtract fails. Please fix it."
FIX: tuple[Any, ...] = (
    {
        "text": "I'll look at the code and its test.",
        "tools": [["Read", READ], ["Read", {"file_path": "{{cwd}}/test_calc.py"}]],
    },
    {"tool": "Bash", "input": TEST},
    {"text": "The operands are swapped.", "tool": "Edit", "input": SWAP},
    {"tool": "Bash", "input": TEST},
    "Fixed: `subtract` returned `b - a`. It now returns `a - b` and the test passes.",
)
FIX_COUNTS = {"sessions": 1, "prompts": 1, "tool_uses": 5}
FIX_EVENTS = 9  # session start, prompt, five tool calls, stop, session end

ASK_PROMPT = "What was wrong with it last time?"
ASK: tuple[Any, ...] = (
    {"tool": "Bash", "input": {"command": "cmem search subtract", "description": "Look it up"}},
    "Its operands were swapped.",
)
BOTH_COUNTS = {"sessions": 2, "prompts": 2, "tool_uses": 6, "summaries": 2}

KILLED_PROMPT = "Add a function that multiplies, then wait for me."
KILLED: tuple[Any, ...] = (
    {"tool": "Read", "input": READ},
    {"text": "Adding multiply.", "tool": "Edit", "input": MULTIPLY},
    {"tool": "Bash", "input": WAIT},
)
KILLED_COUNTS = {"sessions": 3, "prompts": 3, "tool_uses": 8}


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the real Claude Code client with cmem.")
    parser.add_argument(
        "--optional", action="store_true", help="a client that cannot be had is no failure"
    )
    parser.add_argument("--keep", action="store_true", help="leave the sandboxes in .e2e")
    given = parser.parse_args()
    begin, failed = time.monotonic(), 0
    try:
        client = find_client()
        for scene in (installed, beside_an_install, plugin_alone):
            print(f"\n{(scene.__doc__ or '').strip()}", flush=True)
            failed += play(scene, client, keep=given.keep)
    except MissingError as error:
        print(f"e2e: not run: {error}")
        return 0 if given.optional else 1
    print(f"\n{failed or 'none'} failed, {time.monotonic() - begin:.0f} s")
    return 1 if failed else 0


def play(scene: Callable[[World], Iterator[Check]], client: Path, *, keep: bool) -> int:
    """How many checks of the scene do not hold; a scene that cannot go on ends with one more."""
    failed = 0
    try:
        with new_world(client, keep=keep) as world:
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


def installed(world: World) -> Iterator[Check]:
    """Installed with `cmem install`"""
    run_cmem(world, "install", "--yes")
    settings = world.config / "settings.json"
    yield "the settings in CLAUDE_CONFIG_DIR run our hooks", _registered(settings) == 9, settings
    yield from first_session(world)
    yield from second_session(world)
    yield from killed_session(world)
    run_cmem(world, "uninstall")
    yield "uninstall takes the hooks out again", _registered(settings) == 0, settings
    yield "no process is left", not _processes(world), _processes(world)


def beside_an_install(world: World) -> Iterator[Check]:
    """The plugin loaded beside `cmem install`"""
    for folder in (PLUGIN, PLUGIN.parent):
        said = run_client(world, "plugin", "validate", str(folder))
        yield f"`claude plugin validate {folder.relative_to(ROOT)}` passes", "passed" in said, said
    run_cmem(world, "install", "--yes")
    args = ("--plugin-dir", str(PLUGIN))
    session = run_session(world, FIX_PROMPT, script=FIX, args=args, CMEM_AUTO_COMPRESS="0")
    runs = {event: session.hook_runs(event) for event in ("SessionStart", "UserPromptSubmit")}
    yield "every hook runs twice", set(runs.values()) == {2}, runs
    report = json.loads(run_cmem(world, "compress", "--json"))
    yield "every event is stored once", report["ingested"] == FIX_EVENTS, report
    yield "and counted once", _counts(world, FIX_COUNTS) == FIX_COUNTS, _counts(world, FIX_COUNTS)
    # Now with the background run taking events away between one hook and its twin.
    yield from second_session(world, args=args)


def plugin_alone(world: World) -> Iterator[Check]:
    """The plugin alone, from its marketplace, with cmem on PATH"""
    run_client(world, "plugin", "marketplace", "add", str(PLUGIN.parent))
    run_client(world, "plugin", "install", "cmem@cmem")
    yield from first_session(world)
    yield from second_session(world)


def first_session(world: World) -> Iterator[Check]:
    session = run_session(world, FIX_PROMPT, script=FIX)
    yield "a session edits a file and runs a test", _worked(session, world), _tail(session)
    yield "no hook fails or says what it should not", _quiet(session), _hooks(session)
    status = _settled(world, observations=1, summaries=1)
    yield "every event is stored", _part(status, FIX_COUNTS) == FIX_COUNTS, status
    yield "the background made it memory, and left nothing over", _empty(status), status


def second_session(world: World, *, args: Sequence[str] = ()) -> Iterator[Check]:
    block = run_cmem(world, "context").strip()
    session = run_session(world, ASK_PROMPT, script=ASK, args=args)
    told_model = session.told()
    blocks = told_model.count("<cmem-memory")
    yield (
        "the next session's first request carries the block of `cmem context`, once",
        blocks == 1 and block.startswith("<cmem-memory") and block in told_model,
        (blocks, block),
    )
    yield (
        "the block says what the first session did",
        "`return b - a` → `return a - b`" in block,
        block,
    )
    found = session.results()[:1]
    yield "the agent finds it with `cmem search`", bool(found) and "bugfix" in found[0], found
    status = _settled(world, summaries=2)
    yield "every event is stored", _part(status, BOTH_COUNTS) == BOTH_COUNTS, status


def killed_session(world: World) -> Iterator[Check]:
    mark = world.project / "tool.pid"
    with started(world, KILLED_PROMPT, script=KILLED) as (process, ended):
        try:
            wait_for(lambda: mark.exists() and mark.read_text(), "the tool to run")
            process.send_signal(signal.SIGKILL)
            code = ended().code
        finally:
            _end_tool(mark)
    yield "the client is killed in the middle of a tool", code == -signal.SIGKILL, code
    report = json.loads(run_cmem(world, "compress", "--all", "--json", "--wait", "60"))
    left = (report["pending"], report["parked"], report["observations"])
    yield "a later run closes the turn and observes it", left == (0, 0, 1), report
    status = json.loads(run_cmem(world, "status", "--json"))
    yield "nothing captured is lost", _part(status, KILLED_COUNTS) == KILLED_COUNTS, status
    hits = json.loads(run_cmem(world, "search", "multiply", "--json"))["hits"]
    kinds = {hit["kind"] for hit in hits}
    yield "it is found", kinds >= {"observation", "tool_use"}, hits
    block = run_cmem(world, "context")
    yield "the session after it begins with it", "multiply" in block, block


def _end_tool(mark: Path) -> None:
    """The tool's process outlives its client; it is ours to end."""
    try:
        os.kill(int(mark.read_text()), signal.SIGTERM)
    except (OSError, ValueError):
        return


def _worked(session: Session, world: World) -> bool:
    fixed = "return a - b" in (world.project / "calc.py").read_text(encoding="utf-8")
    return session.code == 0 and fixed and "OK" in session.results()[-1]


def _quiet(session: Session) -> bool:
    hooks = _hooks(session)
    loud = [one for one in hooks if one["stdout"] and one["hook_event"] != "SessionStart"]
    return bool(hooks) and not loud and all(one["exit_code"] == 0 for one in hooks)


def _hooks(session: Session) -> list[dict[str, Any]]:
    return [one for one in session.events if one.get("subtype") == "hook_response"]


def _tail(session: Session) -> object:
    return session.code, session.stderr[-500:], session.results()[-1:]


def _settled(world: World, **least: int) -> dict[str, Any]:
    """The status once the background has made at least so much and has nothing left to do."""
    status: dict[str, Any] = {}

    def look() -> bool:
        status.update(json.loads(run_cmem(world, "status", "--json")))
        return _empty(status) and all(status["counts"][name] >= n for name, n in least.items())

    try:
        wait_for(look, f"the background to make {least}")
    except E2eError as error:
        logs = [path.read_text(encoding="utf-8") for path in sorted(world.home.glob("*.log"))]
        raise E2eError(f"{error}; instead: {status}; logs: {logs}") from error
    return status


def _empty(status: dict[str, Any]) -> bool:
    waiting = (*status["spool"].values(), status["work"]["pending"], status["work"]["parked"])
    return not any(waiting)


def _part(status: dict[str, Any], wanted: dict[str, int]) -> dict[str, int]:
    return {name: status["counts"][name] for name in wanted}


def _counts(world: World, wanted: dict[str, int]) -> dict[str, int]:
    return _part(json.loads(run_cmem(world, "status", "--json")), wanted)


def _registered(settings: Path) -> int:
    """How many hooks of ours the settings run."""
    try:
        hooks = json.loads(settings.read_text(encoding="utf-8")).get("hooks", {})
    except FileNotFoundError:
        return 0
    return sum("hook.py' claude-code" in json.dumps(groups) for groups in hooks.values())


def _processes(world: World) -> list[str]:
    """Command lines that name this world; always none where there is no /proc."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if str(world.root) in line:
            found.append(line)
    return found


if __name__ == "__main__":
    sys.exit(main())
