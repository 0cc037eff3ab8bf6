"""Drive the real Claude Code client against a scripted model and look at what cmem did.

Prints a line for each thing that must hold, exits 1 if one does not. Needs npm once, to fetch
the client; with ``--optional`` what is missing is said in one line and is no failure.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import e2e_memory
import e2e_play
from e2e_client import ROOT, Package
from e2e_play import Check, counts, end_tool, is_empty, part, settled
from e2e_world import (
    Client,
    Session,
    World,
    kill,
    processes,
    run_client,
    run_cmem,
    run_session,
    started,
    wait_for,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PLUGIN = ROOT / "hooks/claude-code"
PACKAGE = Package(
    "claude-code",
    "@anthropic-ai/claude-code",
    "2.1.332",
    ("@anthropic-ai/claude-code-{}/claude", "@anthropic-ai/claude-code-{}-musl/claude"),
)

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


def words(url: str, prompt: str) -> list[str]:
    return [
        *("-p", prompt, "--allowedTools", "Bash,Edit,Read,Write"),
        *("--output-format", "stream-json", "--verbose", "--include-hook-events"),
    ]


def variables(world: World, url: str) -> dict[str, str]:
    return {
        "CLAUDE_CONFIG_DIR": str(world.config),
        "ANTHROPIC_API_KEY": "dummy",
        "ANTHROPIC_BASE_URL": url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
    }


CLIENT = Client(
    "claude-code",
    "Claude Code",
    PACKAGE,
    "fake_anthropic.py",
    lambda call: call["path"].endswith("/v1/messages"),
    words,
    variables,
)


def main() -> int:
    memory = (e2e_memory.large_store, e2e_memory.forked)
    scenes = (installed, beside_an_install, plugin_alone, plugin_at_first, *memory, recalled)
    return e2e_play.main(CLIENT, scenes)


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
    yield "no process is left", not processes(world), processes(world)


def beside_an_install(world: World) -> Iterator[Check]:
    """The plugin loaded beside `cmem install`"""
    for folder in (PLUGIN, PLUGIN.parent):
        said = run_client(world, "plugin", "validate", str(folder))
        yield f"`claude plugin validate {folder.relative_to(ROOT)}` passes", "passed" in said, said
    run_cmem(world, "install", "--yes")
    args = ("--plugin-dir", str(PLUGIN))
    session = run_session(world, FIX_PROMPT, script=FIX, args=args, CMEM_AUTO_COMPRESS="0")
    runs = {event: hook_runs(session, event) for event in ("SessionStart", "UserPromptSubmit")}
    yield "every hook runs twice", set(runs.values()) == {2}, runs
    report = json.loads(run_cmem(world, "compress", "--json"))
    yield "every event is stored once", report["ingested"] == FIX_EVENTS, report
    yield "and counted once", counts(world, FIX_COUNTS) == FIX_COUNTS, counts(world, FIX_COUNTS)
    # Now with the background run taking events away between one hook and its twin.
    yield from second_session(world, args=args)


def plugin_alone(world: World) -> Iterator[Check]:
    """The plugin alone, from its marketplace, with cmem on PATH"""
    run_client(world, "plugin", "marketplace", "add", str(PLUGIN.parent))
    run_client(world, "plugin", "install", "cmem@cmem")
    yield from first_session(world)
    yield from second_session(world)


def plugin_at_first(world: World) -> Iterator[Check]:
    """The plugin alone, and a first session that is over at once"""
    run_client(world, "plugin", "marketplace", "add", str(PLUGIN.parent))
    run_client(world, "plugin", "install", "cmem@cmem")
    session = run_session(world, "Remember that we indent with tabs.", script=("Noted.",))
    yield "no hook fails or says what it should not", _quiet(session), _hooks(session)
    status = settled(world, prompts=1, summaries=1)
    wanted = {"sessions": 1, "prompts": 1}
    yield "it becomes memory by itself", part(status, wanted) == wanted, status
    told = run_session(world, ASK_PROMPT, script=("Nothing.",)).told()
    yield "the next session begins with it", "we indent with tabs" in told, told[-2000:]


def recalled(world: World) -> Iterator[Check]:
    """Recall switched on: prompts, files, failing commands"""
    run_cmem(world, "install", "--yes")
    yield from e2e_memory.recalled(world, FIX, FIX_PROMPT)


def first_session(world: World) -> Iterator[Check]:
    session = run_session(world, FIX_PROMPT, script=FIX)
    yield "a session edits a file and runs a test", _worked(session, world), _tail(session)
    yield "no hook fails or says what it should not", _quiet(session), _hooks(session)
    status = settled(world, observations=1, summaries=1)
    yield "every event is stored", part(status, FIX_COUNTS) == FIX_COUNTS, status
    yield "the background made it memory, and left nothing over", is_empty(status), status


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
    found = results(session)[:1]
    yield "the agent finds it with `cmem search`", bool(found) and "bugfix" in found[0], found
    status = settled(world, summaries=2)
    yield "every event is stored", part(status, BOTH_COUNTS) == BOTH_COUNTS, status


def killed_session(world: World) -> Iterator[Check]:
    mark = world.project / "tool.pid"
    with started(world, KILLED_PROMPT, script=KILLED) as (process, ended):
        try:
            wait_for(lambda: mark.exists() and mark.read_text(), "the tool to run")
            kill(process)
            code = ended().code
        finally:
            end_tool(mark)
    yield "the client is killed in the middle of a tool", code == -signal.SIGKILL, code
    report = json.loads(run_cmem(world, "compress", "--all", "--json", "--wait", "60"))
    left = (report["pending"], report["parked"], report["observations"])
    yield "a later run closes the turn and observes it", left == (0, 0, 1), report
    status = json.loads(run_cmem(world, "status", "--json"))
    yield "nothing captured is lost", part(status, KILLED_COUNTS) == KILLED_COUNTS, status
    hits = json.loads(run_cmem(world, "search", "multiply", "--json"))["hits"]
    kinds = {hit["kind"] for hit in hits}
    yield "it is found", kinds >= {"observation", "tool_use"}, hits
    block = run_cmem(world, "context")
    yield "the session after it begins with it", "multiply" in block, block


def _worked(session: Session, world: World) -> bool:
    fixed = "return a - b" in (world.project / "calc.py").read_text(encoding="utf-8")
    return session.code == 0 and fixed and "OK" in results(session)[-1]


def hook_runs(session: Session, event: str) -> int:
    """How many hooks the client ran for the event."""
    return sum(one.get("hook_event") == event for one in _hooks(session))


def results(session: Session) -> list[str]:
    """The text of every tool result the model got, in order."""
    blocks = [
        block
        for message in (session.requests[-1]["messages"] if session.requests else ())
        for block in (message["content"] if isinstance(message["content"], list) else ())
    ]
    return [
        "\n".join(_shown(block["content"])) for block in blocks if block["type"] == "tool_result"
    ]


def _shown(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in content if "text" in block]


def _quiet(session: Session) -> bool:
    hooks = _hooks(session)
    loud = [one for one in hooks if one["stdout"] and one["hook_event"] != "SessionStart"]
    return bool(hooks) and not loud and all(one["exit_code"] == 0 for one in hooks)


def _hooks(session: Session) -> list[dict[str, Any]]:
    return [one for one in session.events if one.get("subtype") == "hook_response"]


def _tail(session: Session) -> object:
    return session.code, session.stderr[-500:], results(session)[-1:]


def _registered(settings: Path) -> int:
    """How many hooks of ours the settings run."""
    try:
        hooks = json.loads(settings.read_text(encoding="utf-8")).get("hooks", {})
    except FileNotFoundError:
        return 0
    return sum("hook.py' claude-code" in json.dumps(groups) for groups in hooks.values())


if __name__ == "__main__":
    sys.exit(main())
