"""Scenes of Claude Code about what a session is told: a large store's block, what is new to a fork,
and recall."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import bench_hooks
from e2e_play import Check, settled
from e2e_world import (
    CODE,
    SESSION_S,
    Session,
    World,
    environment,
    lines,
    run_cmem,
    run_session,
    scripted_model,
    started,
    texts,
    wait_for,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OBSERVATIONS = 100_000
UNITS = 9_500
BLOCK = re.compile(r"<cmem-memory id=(\w+)>\n.*?\n</cmem-memory \1>", re.DOTALL)
CUT = "<persisted-output>"
SUMMARY = {"match": {"last": "summary of the conversation"}, "reply": "<summary>Talk.</summary>"}
READ = {"file_path": "{{cwd}}/calc.py"}
TEST = {"command": "python3 -m unittest -q 2>&1", "description": "Run the tests"}

ABOUT = "What was wrong with subtract in calc.py?"
OLD = "Totals are rounded half even."
NEW = "The calculator speaks French since version two."
WAITS = "touch waits; until test -e noted; do sleep 0.1; done"
WAITING = ({"tool": "Bash", "input": {"command": WAITS, "description": "Wait"}}, "Hello.")
UNRELATED = ("write a haiku about spring rain", "continue")


class Told(NamedTuple):
    """The blocks in one request, and whether the client has cut one."""

    blocks: list[str]
    cut: bool


def large_store(world: World) -> Iterator[Check]:
    """A store of 100,000 memories: start, compaction and clear"""
    run_cmem(world, "install", "--yes")
    bench_hooks.fill(world.home, world.project, count=OBSERVATIONS)
    block = run_cmem(world, "context").strip()
    prompts = ["hello", "/compact", "after the compaction", "/clear", "after the clear"]
    asked = [_told(body) for body in _converse(world, prompts)]
    # The second request is the client's own, for a summary.
    wanted = dict(zip(("startup", "summary", "compact", "clear"), asked, strict=False))
    yield "each of the three begins with a request", len(asked) == len(wanted) == 4, len(asked)
    for source in ("startup", "compact", "clear"):
        found = wanted[source]
        whole = len(found.blocks) == 1 and not found.cut
        yield f"{source}: the block is there once, and whole", whole, found
        units = [len(one.encode("utf-16-le")) // 2 for one in found.blocks]
        yield f"{source}: it is below the limit", all(one <= UNITS for one in units), units
    for source in ("startup", "clear"):
        same = wanted[source].blocks == [block]
        yield f"{source}: it is what `cmem context` prints", same, wanted[source].blocks
    after = "".join(wanted["compact"].blocks)
    so_far = "This session so far (" in after and " asked: hello" in after
    yield "compact: it begins with what this session was asked", so_far, after[:600]


def recalled(world: World, script: Sequence[Any], prompt: str) -> Iterator[Check]:
    """Recall: on prompts, before a file, after a failing command"""
    run_session(world, prompt, script=script)
    settled(world, observations=1, summaries=1)
    # Without a block nothing is told before it is asked for.
    settings = ("context_budget = 0", *(f"recall_{one} = true" for one in ("prompts", "files")))
    config = world.home / "config.toml"
    config.write_text("\n".join((*settings, "recall_failures = true\n")), encoding="utf-8")
    run_cmem(world, "install", "--yes")
    asked = [_told(body).blocks for body in _converse(world, [*UNRELATED, ABOUT, ABOUT])]
    counts = [len(blocks) for blocks in asked]
    yield "prompts that concern nothing carry nothing", counts[:2] == [0, 0], asked[:2]
    carried = counts[2:] == [1, 1] and "O1 bugfix" in asked[2][0]
    yield "one that concerns the memory carries it, once in a session", carried, asked[2:]
    read = ({"tool": "Read", "input": READ}, {"tool": "Read", "input": READ}, "Seen.")
    found = _last(run_session(world, "look", script=read))
    once = len(found) == 1 and "on changes to this file" in found[0] and "O1 " in found[0]
    yield "a file that is read brings its history, once", once, found
    (world.project / "calc.py").write_text(CODE["calc.py"], encoding="utf-8")
    failing = ({"tool": "Bash", "input": TEST}, {"tool": "Bash", "input": TEST}, "It fails.")
    found = _last(run_session(world, "try", script=failing))
    once = len(found) == 1 and "on the same failure" in found[0] and "O1 " in found[0]
    yield "a failure met before brings what followed, once", once, found


def forked(world: World) -> Iterator[Check]:
    """A fork is told what another session added while its parent ran"""
    run_cmem(world, "install", "--yes")
    run_cmem(world, "note", OLD)
    with started(world, "hello", script=WAITING) as (_process, ended):
        wait_for((world.project / "waits").exists, "the tool to run")
        run_cmem(world, "note", NEW)
        (world.project / "noted").touch()
        parent = ended()
    first = _blocks(parent)
    yield "the parent begins with the block", len(first) == 1 and OLD in first[0], first
    settled(world)
    args = ("--resume", _name(parent), "--fork-session")
    fork = run_session(world, "go on", script=("Done.",), args=args)
    yield "the fork has an id of its own", _name(fork) not in ("", _name(parent)), _name(fork)
    found = _blocks(fork)
    news = found[1:]
    whole = found[:1] == first and len(news) == 1 and NEW in news[0] and OLD not in news[0]
    yield "besides that block it carries what is new, once, and nothing else", whole, found
    settled(world)
    for what, more in (("resumed", ()), ("forked in its turn", ("--fork-session",))):
        args = ("--resume", _name(fork), *more)
        same = _blocks(run_session(world, "and on", script=("Done.",), args=args))
        yield f"{what}, it is told nothing again", same == found, same


def _name(session: Session) -> str:
    return str(next((one["session_id"] for one in session.events if "session_id" in one), ""))


def _blocks(session: Session) -> list[str]:
    """The blocks in the first request, those of what was said before included."""
    return _told(session.requests[0]).blocks if session.requests else []


def _last(session: Session) -> list[str]:
    return _told(session.requests[-1]).blocks if session.requests else []


def _told(body: dict[str, Any]) -> Told:
    text = "\n".join(texts(body))
    return Told([found[0] for found in BLOCK.finditer(text)], CUT in text)


def _converse(world: World, prompts: Sequence[str]) -> list[dict[str, Any]]:
    """The requests of one client that is given the prompts one after the other."""
    folder = Path(tempfile.mkdtemp(prefix="session-", dir=world.root))
    (folder / "script.json").write_text(json.dumps({"rules": [SUMMARY], "replies": []}))
    with scripted_model(world, folder) as url:
        given = [*world.client.words(url, ""), "--input-format", "stream-json"]
        process = subprocess.Popen(
            [*world.program, *(word for word in given if word)],
            cwd=world.project,
            env=environment(world, url),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        try:
            _feed(process, list(prompts))
            process.wait(SESSION_S)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait(10)
    return [call["body"] for call in lines(folder / "calls.jsonl") if world.client.asks(call)]


def _feed(process: subprocess.Popen[str], prompts: list[str]) -> None:
    """Each prompt once the answer to the one before it is there."""
    assert process.stdin is not None
    assert process.stdout is not None
    for prompt in prompts:
        message = {"role": "user", "content": prompt}
        process.stdin.write(json.dumps({"type": "user", "message": message}) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            if line.startswith("{") and json.loads(line).get("type") == "result":
                break
    process.stdin.close()
    process.stdout.read()
