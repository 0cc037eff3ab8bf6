"""Drive the real OpenCode against a scripted model and look at what cmem did."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import e2e_play
from e2e_client import Package
from e2e_scenes import Names, Tools, failed_turn, installed
from e2e_world import Client, World

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PACKAGE = Package(
    "opencode",
    "opencode-ai",
    "1.18.33",
    tuple(
        f"opencode-{{}}{kind}/bin/opencode" for kind in ("", "-baseline", "-musl", "-baseline-musl")
    ),
)
MODEL = "claude-sonnet-4-5"
NAMES = Names("SessionStart", "ChatMessage", "ToolExecuted", "SessionIdle", "SessionEnd")


def words(url: str, prompt: str) -> list[str]:
    return ["run", "--format", "json", prompt]


def variables(world: World, url: str) -> dict[str, str]:
    options = {"baseURL": f"{url}/v1", "apiKey": "dummy"}
    scripted = {"options": options, "models": {MODEL: {"name": "Scripted"}}}
    config = {
        "autoupdate": False,
        "share": "disabled",
        "model": f"anthropic/{MODEL}",
        "provider": {"anthropic": scripted},
    }
    return {
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "npm_config_offline": "true",
    }


CLIENT = Client(
    "opencode",
    "OpenCode",
    PACKAGE,
    "fake_anthropic.py",
    # A request without tools is the one for a title.
    lambda call: call["path"].endswith("/v1/messages") and bool(call["body"].get("tools")),
    words,
    variables,
    rules=({"match": {"tools": False}, "reply": "Calculator"},),
)


def _shell(command: str) -> dict[str, Any]:
    return {"tool": "bash", "input": {"command": command, "description": "Run"}}


def _look(file: str) -> dict[str, Any]:
    return {"tool": "read", "input": {"filePath": "{{cwd}}/" + file}}


def _edit(file: str, old: str, new: str) -> dict[str, Any]:
    given = {"filePath": "{{cwd}}/" + file, "oldString": old, "newString": new}
    return {"tool": "edit", "input": given}


TOOLS = Tools(_shell, _look, _edit)


def fetched(world: World) -> Path:
    """Its configuration folder, as it is once OpenCode has fetched the package for plugins that
    ours does not use. Without it every start tries to, and one that ends meanwhile leaves a lock
    for which the next waits a minute."""
    folder = world.user / ".config" / "opencode"
    (folder / "node_modules").mkdir(parents=True)
    lock = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": PACKAGE.version}}}}
    (folder / "package-lock.json").write_text(json.dumps(lock), encoding="utf-8")
    return folder


def main() -> int:
    return e2e_play.main(CLIENT, (plugin, failing))


def failing(world: World) -> Iterator[e2e_play.Check]:
    """A turn that the model's server failed"""
    fetched(world)
    yield from failed_turn(world, NAMES.session(tools=0), ("stop-failure", "failure"))


def plugin(world: World) -> Iterator[e2e_play.Check]:
    """The plugin that `cmem install opencode` writes"""
    settings = fetched(world) / "plugins" / "cmem.js"
    yield from installed(world, NAMES, TOOLS, settings=settings, before=None)


if __name__ == "__main__":
    sys.exit(main())
