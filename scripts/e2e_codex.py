"""Drive the real Codex CLI against a scripted model and look at what cmem did.

Codex runs a hook only once its user has trusted it in ``/hooks``. Here its own app server does
what that screen does, so that nothing in the sessions is switched off.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Self

import e2e_play
from e2e_client import ROOT, E2eError, Package
from e2e_scenes import Names, Tools, failed_turn, installed, run_fix, spooled
from e2e_world import WAIT_S, Client, World, environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PACKAGE = Package("codex", "@openai/codex", "0.171.0", ("@openai/codex-{}/vendor/*/bin/codex",))
# One that Codex knows to have the tool for patches.
MODEL = "gpt-5.5"
# Hooks of ours that this version knows; StopFailure is in its documentation only.
KNOWN = (
    *("interrupt", "postToolUse", "preCompact", "sessionEnd", "sessionStart", "stop"),
    *("subagentStop", "userPromptSubmit"),
)
BEFORE = """{
  "description": "mine",
  "hooks": {
    "SessionStart": [ {"hooks": [{"type": "command", "command": "echo > own-hook"}]} ]
  }
}
"""
NAMES = Names("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd")


def words(url: str, prompt: str) -> list[str]:
    provider = "model_providers.scripted"
    return [
        *("exec", "--json", "--dangerously-bypass-approvals-and-sandbox", prompt),
        *("-c", f'model="{MODEL}"', "-c", 'model_provider="scripted"'),
        *("-c", f'{provider}.name="Scripted"', "-c", f'{provider}.base_url="{url}/v1"'),
        *("-c", f'{provider}.wire_api="responses"'),
    ]


CLIENT = Client(
    "codex",
    "Codex",
    PACKAGE,
    "fake_openai.py",
    lambda call: str(call["path"]).endswith("/responses"),
    words,
    lambda world, url: {},
)


def _shell(command: str) -> dict[str, Any]:
    return {"tool": "exec_command", "input": {"cmd": command, "yield_time_ms": 30_000}}


def _edit(file: str, old: str, new: str) -> dict[str, Any]:
    changed = "".join(f"-{line}\n" for line in old.splitlines())
    changed += "".join(f"+{line}\n" for line in new.splitlines())
    patch = f"*** Begin Patch\n*** Update File: {file}\n@@\n{changed}*** End Patch\n"
    return {"tool": "apply_patch", "input": patch}


TOOLS = Tools(_shell, lambda file: _shell(f"cat {file}"), _edit)


def main() -> int:
    return e2e_play.main(CLIENT, (trusted, failing))


def trusted(world: World) -> Iterator[e2e_play.Check]:
    """Installed with `cmem install codex`, its hooks trusted"""
    # It runs commands in a login shell, whose PATH is not the client's.
    profile = f"PATH={shlex.quote(str(ROOT / '.venv/bin'))}:$PATH\n"
    (world.user / ".profile").write_text(profile, encoding="utf-8")
    settings = world.user / ".codex" / "hooks.json"
    yield from installed(world, NAMES, TOOLS, settings=settings, before=BEFORE, ready=trust)


def failing(world: World) -> Iterator[e2e_play.Check]:
    """A turn that the model's server failed"""
    wanted = (NAMES.start, NAMES.prompt, NAMES.end)
    yield from failed_turn(world, wanted, ("session-end", "interrupted"), ready=trust)


def trust(world: World) -> Iterator[e2e_play.Check]:
    session = run_fix(world, TOOLS)
    yield "a session whose hooks nobody trusted goes its way", session.code == 0, session.tail()
    yield "and none of them ran", not spooled(world), spooled(world)
    with AppServer(world) as server:
        before = _ours(server, world)
        known = sorted(hook["eventName"] for hook in before)
        yield "Codex lists our hooks", known == sorted(KNOWN), known
        states = {hook["key"]: {"trusted_hash": hook["currentHash"]} for hook in server.hooks()}
        edit = {"keyPath": "hooks.state", "value": states, "mergeStrategy": "upsert"}
        server.call("config/batchWrite", {"edits": [edit]})
        after = {hook["trustStatus"] for hook in _ours(server, world)}
    found = ({hook["trustStatus"] for hook in before}, after)
    yield "they are trusted once the user has said so", found == ({"untrusted"}, {"trusted"}), found


def _ours(server: AppServer, world: World) -> list[dict[str, Any]]:
    return [hook for hook in server.hooks() if str(world.home) in hook["command"]]


class AppServer:
    """Codex's server for other front ends: what its own screens do can be asked of it."""

    def __init__(self, world: World) -> None:
        self._cwd = str(world.project)
        self._asked = 0
        self._process = subprocess.Popen(
            [*world.program, "app-server"],
            cwd=world.project,
            env=environment(world),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> Self:
        self.call("initialize", {"clientInfo": {"name": "e2e", "title": "e2e", "version": "1"}})
        return self

    def __exit__(self, *_error: object) -> None:
        try:
            self._process.communicate(timeout=WAIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()

    def hooks(self) -> list[dict[str, Any]]:
        """Every hook that a session in the project would have."""
        found = self.call("hooks/list", {"cwds": [self._cwd]})
        return [hook for entry in found["data"] for hook in entry["hooks"]]

    def call(self, method: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The result of one request."""
        if self._process.stdin is None or self._process.stdout is None:
            raise E2eError("the app server has no pipes")
        self._asked += 1
        asked = {"id": self._asked, "method": method, "params": given}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self._asked:
                if "result" not in answer:
                    raise E2eError(f"codex app-server: {method}: {answer}")
                return dict(answer["result"])
        raise E2eError(f"codex app-server ended at {method}")


if __name__ == "__main__":
    sys.exit(main())
