"""Cursor's ``hooks.json``: where it is and which hooks we register there. Pure."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cmem.install import hook_list, hooks_json
from cmem.install.hook_list import snippet

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

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


def settings_path(*, env: Mapping[str, str], user_home: str, scope: str, cwd: str) -> str:
    """The file that Cursor reads for ``scope`` (user | project)."""
    return os.path.join(cwd if scope == "project" else user_home, ".cursor", "hooks.json")


def hooks(command: Callable[[str], str]) -> dict[str, dict[str, object]]:
    """Event → the hook to register; ``command`` gives the shell line for an event."""
    return {
        event: {"command": command(event), "timeout": timeout}
        for event, timeout in TIMEOUTS.items()
    }


def add(text: str, wanted: Mapping[str, dict[str, object]], *, launcher: str) -> str:
    """The file with each wanted hook registered exactly once, and no older one of ours."""
    return hook_list.add(text, wanted, _ours(launcher))


def take_out(text: str, *, launcher: str, created: Collection[str] | None) -> str:
    """The file without our hooks, nor the emptied containers among ``created``."""
    return hook_list.take_out(text, _ours(launcher), created=created)


def created_by(before: str) -> list[str]:
    """What a registration in ``before`` has to make: "version", "hooks", "hooks.EVENT"."""
    return hook_list.created_by(before, _ours(""))


def warnings(text: str, *, launcher: str) -> list[str]:
    """What in the file makes our hooks run twice."""
    return hook_list.other_homes(text, _ours(launcher))


def _ours(launcher: str) -> hooks_json.Ours:
    return hooks_json.Ours(HOST, EVENTS, launcher)
