"""Drive the real Gemini CLI against a scripted model and look at what cmem did."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import e2e_play
from e2e_client import Package
from e2e_scenes import Names, Tools, failed_turn, installed
from e2e_world import Client, World

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Package(
    "gemini-cli", "@google/gemini-cli", "0.61.0", ("@google/gemini-cli/bundle/gemini.js",)
)
BEFORE = """{
  "security": {"auth": {"selectedType": "gemini-api-key"}},
  "hooks": {
    "SessionStart": [ {"hooks": [{"type": "command", "command": "echo > own-hook"}]} ]
  }
}
"""
NAMES = Names("SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "SessionEnd")


def words(url: str, prompt: str) -> list[str]:
    # A model named here keeps it from asking another one first which to take.
    return [*("-m", "gemini-2.5-flash", "--yolo", "--output-format", "stream-json", "-p", prompt)]


def variables(world: World, url: str) -> dict[str, str]:
    return {
        "GEMINI_API_KEY": "dummy",
        "GOOGLE_GEMINI_BASE_URL": url,
        # Without a person to ask it works in no folder that it was not told to trust.
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


def elsewhere(world: World, url: str) -> dict[str, str]:
    return variables(world, url) | {"GEMINI_CLI_HOME": str(world.config)}


CLIENT = Client(
    "gemini-cli",
    "Gemini CLI",
    PACKAGE,
    "fake_gemini.py",
    lambda call: str(call["path"]).endswith(":streamGenerateContent"),
    words,
    variables,
)


def _shell(command: str) -> dict[str, Any]:
    return {"tool": "run_shell_command", "input": {"command": command, "description": "Run"}}


def _look(file: str) -> dict[str, Any]:
    return {"tool": "read_file", "input": {"file_path": "{{cwd}}/" + file}}


def _edit(file: str, old: str, new: str) -> dict[str, Any]:
    given = {"file_path": "{{cwd}}/" + file, "old_string": old, "new_string": new}
    return {"tool": "replace", "input": given | {"instruction": "Change it"}}


TOOLS = Tools(_shell, _look, _edit)


def escaped(text: str) -> str:
    """What a hook adds, as the model gets it."""
    return text.replace("<", "&lt;").replace(">", "&gt;")


def main() -> int:
    return e2e_play.main(CLIENT, (in_home, moved, failing))


def in_home(world: World) -> Iterator[e2e_play.Check]:
    """Installed with `cmem install gemini-cli`"""
    settings = world.user / ".gemini" / "settings.json"
    yield from installed(world, NAMES, TOOLS, settings=settings, before=BEFORE, shown=escaped)


def failing(world: World) -> Iterator[e2e_play.Check]:
    """A turn that the model's server failed"""
    settings = world.user / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(BEFORE, encoding="utf-8")
    # It tells of no end at all: the turn is open until somebody asks, or a session starts.
    yield from failed_turn(world, (NAMES.start, NAMES.prompt), ("asked", "open"))


def moved(world: World) -> Iterator[e2e_play.Check]:
    """The same with GEMINI_CLI_HOME at another place"""
    world = world._replace(client=CLIENT._replace(variables=elsewhere))
    settings = world.config / ".gemini" / "settings.json"
    yield from installed(world, NAMES, TOOLS, settings=settings, before=BEFORE, shown=escaped)


if __name__ == "__main__":
    sys.exit(main())
