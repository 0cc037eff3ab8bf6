"""Claude Code's settings: where they are and which hooks we register there. Pure.

``hooks_json`` does the work on the text; what is special here is what the host is told.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cmem.install import hooks_json
from cmem.install.host import RefusedError, Registration
from cmem.install.own_part import OwnPart

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

__all__ = [
    "EVENTS", "HOST", "MATCHERS", "NOTICE", "OPTIONAL", "OWN_SCOPE", "TITLE", "RefusedError",
    "Registration", "add", "created_by", "hooks", "optional", "parse_command", "settings_path",
    "snippet", "take_out", "warnings",
]  # fmt: skip

HOST = "claude-code"
TITLE = "Claude Code"
NOTICE = ""
OWN_SCOPE = "To keep them to yourself, move the hooks to settings.local.json"

# Seconds the host grants, over the hook's own watchdog. SessionEnd has 1.5 s whatever stands here.
TIMEOUTS = {
    "SessionStart": 10,
    "UserPromptSubmit": 10,
    "PostToolUse": 10,
    "PostToolUseFailure": 10,
    "Stop": 10,
    "StopFailure": 10,
    "SubagentStop": 10,
    "PreCompact": 10,
    "SessionEnd": 5,
}
EVENTS = tuple(TIMEOUTS)
# Event → the setting without which it is not registered, and the tools it is for.
OPTIONAL: Mapping[str, str] = {"PreToolUse": "recall_files"}
MATCHERS: Mapping[str, str] = {"PreToolUse": "Read|Edit|MultiEdit|Write|NotebookEdit"}
_PART = OwnPart(hooks_json, HOST, (*EVENTS, *OPTIONAL), matchers=MATCHERS)
add, take_out, created_by = _PART.add, _PART.take_out, _PART.created_by


def settings_path(*, env: Mapping[str, str], user_home: str, scope: str, cwd: str) -> str:
    """The file that Claude Code reads for ``scope`` (user | project)."""
    if scope == "project":
        return os.path.join(cwd, ".claude", "settings.json")
    folder = env.get("CLAUDE_CONFIG_DIR") or os.path.join(user_home, ".claude")
    return os.path.join(cwd, folder, "settings.json")


def hooks(command: Callable[[str], str]) -> dict[str, dict[str, object]]:
    """Event → the hook to register; ``command`` gives the shell line for an event."""
    return hooks_json.hooks(command, TIMEOUTS)


def optional(command: Callable[[str], str], on: Collection[str]) -> dict[str, dict[str, object]]:
    """The hooks that the settings which are on want besides."""
    wanted = [event for event, setting in OPTIONAL.items() if setting in on]
    return hooks_json.hooks(command, dict.fromkeys(wanted, 5))


def snippet(wanted: Mapping[str, Mapping[str, object]]) -> str:
    """What a person adds by hand to a file that we do not edit."""
    return hooks_json.snippet(wanted, MATCHERS)


def parse_command(command: object) -> Registration | None:
    """Our own command taken apart, whichever data home it is for; None for any other."""
    return hooks_json.parse_command(command, HOST)


def warnings(text: str, *, launcher: str) -> list[str]:
    """What in the settings keeps our hooks from running, or makes them run twice."""
    found = _PART.warnings(text, launcher=launcher)
    if hooks_json.value_of(text, "disableAllHooks") is True:
        found.insert(
            0, "disableAllHooks is true in these settings: no hook runs until it is removed"
        )
    return found
