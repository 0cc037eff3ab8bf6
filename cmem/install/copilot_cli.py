"""GitHub Copilot CLI's hooks: a file of our own in the folder where it looks for them. Pure.

The events are named as Claude Code names them, which makes the host send its fields under Claude
Code's names too. Whoever adds hooks of their own to our file keeps them: it is edited like one
that others share.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cmem.install import hook_list, hooks_json
from cmem.install.hook_list import snippet
from cmem.install.own_part import OwnPart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "EVENTS", "HOST", "NOTICE", "OWN_SCOPE", "TITLE", "add", "created_by", "hooks",
    "settings_path", "snippet", "take_out", "warnings",
]  # fmt: skip

HOST = "copilot-cli"
TITLE = "Copilot CLI"
NOTICE = ""
OWN_SCOPE = ""
FILE = "cmem.json"

# Seconds the host grants, over the hook's own watchdog.
TIMEOUTS = {
    "SessionStart": 10,
    "UserPromptSubmit": 10,
    "PostToolUse": 10,
    "PostToolUseFailure": 10,
    "Stop": 10,
    "SubagentStop": 10,
    "PreCompact": 10,
    "SessionEnd": 5,
}
EVENTS = tuple(TIMEOUTS)
_PART = OwnPart(hook_list, HOST, EVENTS)
add, take_out, created_by = _PART.add, _PART.take_out, _PART.created_by


def settings_path(*, env: Mapping[str, str], user_home: str, scope: str, cwd: str) -> str:
    """Our file in the folder of hooks for ``scope`` (user | project)."""
    if scope == "project":
        return os.path.join(cwd, ".github", "hooks", FILE)
    folder = env.get("COPILOT_HOME") or os.path.join(user_home, ".copilot")
    return os.path.join(cwd, folder, "hooks", FILE)


def hooks(command: Callable[[str], str]) -> dict[str, dict[str, object]]:
    """Event → the hook to register; ``command`` gives the shell line for an event."""
    return {
        event: {"type": "command", "bash": command(event), "timeoutSec": timeout}
        for event, timeout in TIMEOUTS.items()
    }


def warnings(text: str, *, launcher: str) -> list[str]:
    """What in the file keeps our hooks from running, or makes them run twice."""
    found = _PART.warnings(text, launcher=launcher)
    if hooks_json.value_of(text, "disableAllHooks") is True:
        found.insert(0, "disableAllHooks is true in this file: none of its hooks runs")
    return found
