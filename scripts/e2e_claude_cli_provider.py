"""The provider ``claude-cli`` with the real Claude Code client, whose hooks are cmem's own.

Prints a line for each thing that must hold, exits 1 if one does not. The observer's client has
a configuration folder of its own, with the same hooks in it, and a scripted model of its own.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import e2e_play
from e2e_claude_code import CLIENT
from e2e_client import ROOT
from e2e_play import Check, counts, rows, settled
from e2e_world import Session, World, environment, processes, run_cmem, run_session

from cmem import intake
from cmem.observer.providers import claude_cli

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

sys.path.insert(0, str(ROOT / "tests"))
FakeAnthropic: Any = importlib.import_module("fake_anthropic").FakeAnthropic

OBSERVATION = """<observation><type>discovery</type><title>The calculator has a reader</title>
<subtitle>seen</subtitle><facts><fact>calc.py was read</fact></facts>
<narrative>The user asked what calc.py does, and it was read.</narrative>
<concepts><concept>how-it-works</concept></concepts></observation>"""
SUMMARY = """<summary><request>Explain calc.py</request><investigated>calc.py</investigated>
<learned>It adds and subtracts.</learned><completed>Explained.</completed>
<next_steps>None.</next_steps></summary>"""
OBSERVER = {
    "rules": [{"match": {"body": "<observed_from_primary_session>"}, "reply": OBSERVATION}],
    "default": SUMMARY,
}
PROMPT = "What does calc.py do?"
TURN: tuple[Any, ...] = (
    {"tool": "Read", "input": {"file_path": "{{cwd}}/calc.py"}},
    "It adds and subtracts.",
)
ONE = {"sessions": 1, "prompts": 1, "tool_uses": 1, "observations": 1, "summaries": 1}
NONE = dict.fromkeys(ONE, 0)
FAULTS: dict[str, tuple[Any, str]] = {
    "a refused key": ({"status": 401}, "auth"),
    "a model that is not there": ({"status": 404, "message": "model: x"}, "config"),
    "no credit left": ({"status": 400, "message": "Your credit balance is too low"}, "quota"),
    "an overloaded server": ({"status": 529}, "overload"),
    "a connection that breaks": ({"drop": True}, "transport"),
    "a request that is too long": ({"status": 400, "message": "prompt is too long"}, "unusable"),
    "a refusal": ({"text": "", "stop_reason": "refusal"}, "unusable"),
    "a call of a tool": ({"tool": "Bash", "input": {"command": "true"}}, "unusable"),
}


def main() -> int:
    return e2e_play.main(CLIENT, (observed, failing, marked))


def observed(world: World) -> Iterator[Check]:
    """A session observed by the user's own Claude Code, started by a hook"""
    run_cmem(world, "install", "--yes")
    with FakeAnthropic(OBSERVER) as model:
        login = _configure(world, model.url)
        before = _folders()
        run_session(world, PROMPT, script=TURN)
        status = settled(world, observations=1, summaries=1)
        yield "the session is stored, and nothing of the observer's", _is(world, ONE), status
        title = json.loads(run_cmem(world, "search", "reader", "--json"))["hits"]
        found = bool(title) and title[0]["title"] == "The calculator has a reader"
        yield "the model's words are found", found, title
        bodies = [call["body"] for call in model.messages]
        yield "one call for the turn, one for the summary", len(bodies) == 2, len(bodies)
        bare = all(not body["tools"] and len(body["messages"]) <= 2 for body in bodies)
        yield "each is without tools and history", bare, bodies
        hooked = [body for body in bodies if "cmem-memory" in json.dumps(body)]
        yield "and without anything a hook has said", not hooked, hooked
        books = rows(
            world.home / "memory.db",
            "SELECT DISTINCT provider, model LIKE 'claude-%', cost_microusd > 0 FROM observer_runs",
        )
        yield "the ledger has what it told it cost", books == [("claude-cli", 1, 1)], books
        left = [str(path) for path in (login / "projects").rglob("*.jsonl")]
        yield "no transcript is left", not left, left
        yield "no folder is left", _folders() == before, _folders()
    yield "no process is left", not processes(world), processes(world)


def failing(world: World) -> Iterator[Check]:
    """What stands in its way is told with its class"""
    for name, (reply, kind) in FAULTS.items():
        with FakeAnthropic({"replies": [], "default": reply}) as model:
            _configure(world, model.url)
            found = _test(world)
        yield f"{name}: {kind}", found.get("kind") == kind, found
    _configure(world, "http://127.0.0.1:9", key="")
    found = _test(world)
    told = found.get("kind") == "auth" and "run `claude` once" in str(found.get("fix"))
    yield "no login: auth, and how to log in", told, found
    with FakeAnthropic(["ready"]) as model:
        _configure(world, model.url)
        found = _test(world)
    yield "and it answers when nothing does", found.get("kind") == "ok", found


def marked(world: World) -> Iterator[Check]:
    """A session with our hooks, known as the observer's by one mark alone"""
    run_cmem(world, "install", "--yes")
    with tempfile.TemporaryDirectory(prefix=intake.OWN_FOLDER) as folder:
        own = f"{intake.OWN_PROMPT}\n{PROMPT}"
        away = world._replace(project=Path(folder))
        chosen = ("--session-id", claude_cli.new_session())
        sessions: dict[str, Callable[[], Session]] = {
            "the variable": lambda: run_session(world, PROMPT, script=TURN, CMEM_OBSERVER="1"),
            "the folder": lambda: run_session(away, PROMPT, script=("Hello.",)),
            "the session's id": lambda: run_session(world, PROMPT, script=TURN, args=chosen),
            "the prompt's beginning": lambda: run_session(world, own, script=TURN),
        }
        for name, session in sessions.items():
            done = session()
            run_cmem(world, "compress", "--all", "--wait", "60")
            stored = counts(world, NONE)
            yield f"{name}: nothing is stored", done.code == 0 and stored == NONE, stored
    run_session(world, PROMPT, script=TURN)
    status = settled(world, observations=1, summaries=1)
    yield "without any of them it is", _is(world, ONE), status


# --- the observer's own client -------------------------------------------------------


def _configure(world: World, url: str, *, key: str = "dummy") -> Path:
    """The provider, with a login and hooks in a folder of their own; that folder."""
    login = world.root / "login"
    login.mkdir(exist_ok=True)
    hooks = world.config / "settings.json"
    settings = json.loads(hooks.read_text(encoding="utf-8")) if hooks.exists() else {}
    settings["env"] = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": key}
    (login / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    world.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    (world.home / "config.toml").write_text(
        f'provider = "claude-cli"\nclaude_path = "{world.program[0]}"\n'
        f'claude_config_dir = "{login}"\n',
        encoding="utf-8",
    )
    return login


def _test(world: World) -> dict[str, Any]:
    """What ``cmem provider test --json`` prints, whichever way it ends."""
    env = environment(world)
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "CLAUDE_CONFIG_DIR"):
        env.pop(name)
    done = subprocess.run(
        [str(ROOT / ".venv/bin/cmem"), "provider", "test", "--json"],
        cwd=world.project,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return {"stderr": done.stderr}
    return found


def _is(world: World, wanted: dict[str, int]) -> bool:
    return counts(world, wanted) == wanted


def _folders() -> set[str]:
    """Folders of observers, of whichever run, in the place for temporary ones."""
    names = os.listdir(tempfile.gettempdir())
    return {name for name in names if name.startswith(intake.OWN_FOLDER)}


if __name__ == "__main__":
    sys.exit(main())
