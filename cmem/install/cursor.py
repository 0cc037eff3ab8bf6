"""Cursor's ``hooks.json``: where it is and which hooks we register there. Pure."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cmem.install import hook_list
from cmem.install.hook_list import snippet
from cmem.install.own_part import OwnPart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "EVENTS", "HOST", "NOTICE", "OWN_SCOPE", "TITLE", "UNTRIED", "add", "created_by", "hooks",
    "settings_path", "snippet", "take_out", "warnings",
]  # fmt: skip

HOST = "cursor"
TITLE = "Cursor"
UNTRIED = "built from Cursor's documentation, and not yet tried with Cursor itself"
NOTICE = UNTRIED + ": look at what `cmem status` counts after the first session"
OWN_SCOPE = ""

# Seconds the host grants, over the hook's own watchdog.
TIMEOUTS = {
    "sessionStart": 10,
    "beforeSubmitPrompt": 10,
    "postToolUse": 10,
    "postToolUseFailure": 10,
    "afterAgentResponse": 10,
    "stop": 10,
    "subagentStop": 10,
    "preCompact": 10,
    "sessionEnd": 10,
}
EVENTS = tuple(TIMEOUTS)
_PART = OwnPart(hook_list, HOST, EVENTS)
add, take_out, created_by = _PART.add, _PART.take_out, _PART.created_by
warnings = _PART.warnings


def settings_path(*, env: Mapping[str, str], user_home: str, scope: str, cwd: str) -> str:
    """The file that Cursor reads for ``scope`` (user | project)."""
    return os.path.join(cwd if scope == "project" else user_home, ".cursor", "hooks.json")


def hooks(command: Callable[[str], str]) -> dict[str, dict[str, object]]:
    """Event → the hook to register; ``command`` gives the shell line for an event."""
    return {
        event: {"command": command(event), "timeout": timeout}
        for event, timeout in TIMEOUTS.items()
    }
