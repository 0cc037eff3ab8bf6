"""Gemini CLI's settings: where they are and which hooks we register there. Pure."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cmem.install import hooks_json
from cmem.install.hooks_json import snippet
from cmem.install.own_part import OwnPart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "EVENTS", "HOST", "NOTICE", "OWN_SCOPE", "TITLE", "add", "created_by", "hooks",
    "settings_path", "snippet", "take_out", "warnings",
]  # fmt: skip

HOST = "gemini-cli"
TITLE = "Gemini CLI"
NOTICE = ""
OWN_SCOPE = ""

# Milliseconds the host grants, over the hook's own watchdog.
TIMEOUTS = {
    "SessionStart": 10_000,
    "BeforeAgent": 10_000,
    "AfterTool": 10_000,
    "AfterAgent": 10_000,
    "SessionEnd": 5_000,
}
EVENTS = tuple(TIMEOUTS)
_PART = OwnPart(hooks_json, HOST, EVENTS)
add, take_out, created_by = _PART.add, _PART.take_out, _PART.created_by


def settings_path(*, env: Mapping[str, str], user_home: str, scope: str, cwd: str) -> str:
    """The file that Gemini CLI reads for ``scope`` (user | project)."""
    folder = cwd if scope == "project" else env.get("GEMINI_CLI_HOME") or user_home
    return os.path.join(cwd, folder, ".gemini", "settings.json")


def hooks(command: Callable[[str], str]) -> dict[str, dict[str, object]]:
    """Event → the hook to register; ``command`` gives the shell line for an event."""
    return hooks_json.hooks(command, TIMEOUTS)


def warnings(text: str, *, launcher: str) -> list[str]:
    """What in the settings keeps our hooks from running, or makes them run twice."""
    found = _PART.warnings(text, launcher=launcher)
    if hooks_json.value_of(text, "hooksConfig", "enabled") is False:
        found.insert(0, "hooksConfig.enabled is false in these settings: no hook runs")
    return found
