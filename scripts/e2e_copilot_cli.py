"""Drive the real GitHub Copilot CLI against a scripted model and look at what cmem did."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import e2e_play
from e2e_client import Package
from e2e_scenes import Names, Tools, installed
from e2e_world import Client, World

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Package("copilot-cli", "@github/copilot", "1.0.102", ("@github/copilot-{}/copilot",))
BEFORE = """{
  "version": 1,
  "hooks": {
    "sessionStart": [ {"type": "command", "bash": "echo > own-hook"} ]
  }
}
"""
NAMES = Names("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd")


def words(url: str, prompt: str) -> list[str]:
    return ["--allow-all-tools", "-p", prompt]


def variables(world: World, url: str) -> dict[str, str]:
    return {
        # It asks nobody for a login, and reaches nothing but the model that is named here.
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_PROVIDER_TYPE": "anthropic",
        "COPILOT_PROVIDER_BASE_URL": url,
        "COPILOT_PROVIDER_API_KEY": "dummy",
        "COPILOT_MODEL": "claude-sonnet-4.6",
    }


def elsewhere(world: World, url: str) -> dict[str, str]:
    return variables(world, url) | {"COPILOT_HOME": str(world.config)}


CLIENT = Client(
    "copilot-cli",
    "GitHub Copilot CLI",
    PACKAGE,
    "fake_anthropic.py",
    lambda call: str(call["path"]).endswith("/v1/messages") and bool(call["body"].get("tools")),
    words,
    variables,
)


def _shell(command: str) -> dict[str, Any]:
    return {"tool": "bash", "input": {"command": command, "description": "Run"}}


def _look(file: str) -> dict[str, Any]:
    return {"tool": "view", "input": {"path": "{{cwd}}/" + file}}


def _edit(file: str, old: str, new: str) -> dict[str, Any]:
    given = {"path": "{{cwd}}/" + file, "old_str": old, "new_str": new}
    return {"tool": "edit", "input": given}


TOOLS = Tools(_shell, _look, _edit)


def main() -> int:
    return e2e_play.main(CLIENT, (in_home, moved))


def in_home(world: World) -> Iterator[e2e_play.Check]:
    """Installed with `cmem install copilot-cli`"""
    settings = world.user / ".copilot" / "hooks" / "cmem.json"
    yield from installed(world, NAMES, TOOLS, settings=settings, before=None)


def moved(world: World) -> Iterator[e2e_play.Check]:
    """The same with COPILOT_HOME at another place, and a hook of the user's own in our file"""
    world = world._replace(client=CLIENT._replace(variables=elsewhere))
    settings = world.config / "hooks" / "cmem.json"
    yield from installed(world, NAMES, TOOLS, settings=settings, before=BEFORE)


if __name__ == "__main__":
    sys.exit(main())
