"""Codex CLI's ``hooks.json``: where it is and which hooks we register there. Pure."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cmem.install import hooks_json
from cmem.install.hooks_json import snippet
from cmem.install.own_part import OwnPart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "EVENTS", "HOST", "NOTICE", "OWN_SCOPE", "TITLE", "UNSEEN", "add", "created_by",
    "hooks", "settings_path", "snippet", "take_out", "warnings",
]  # fmt: skip

HOST = "codex"
TITLE = "Codex"
# Its screen asks when it starts; ``codex exec`` skips what is not trusted without a word.
NOTICE = (
    "Codex runs no hook that you have not trusted: start codex, and trust those of cmem when it "
    "says that hooks need review, or in /hooks. Do so again whenever cmem install has changed them"
)
# Trust is kept by the hash of a hook in a form of the host's own.
UNSEEN = (
    "Codex runs only hooks that you have trusted, which cannot be seen from here: type /hooks in "
    "codex"
)
OWN_SCOPE = ""

# Seconds the host grants, over the hook's own watchdog; for the last two it allows no more.
TIMEOUTS = {
    "SessionStart": 10,
    "UserPromptSubmit": 10,
    "PostToolUse": 10,
    "Stop": 10,
    "StopFailure": 10,
    "SubagentStop": 10,
    "PreCompact": 10,
    "Interrupt": 3,
    "SessionEnd": 3,
}
EVENTS = tuple(TIMEOUTS)
_PART = OwnPart(hooks_json, HOST, EVENTS)
add, take_out, created_by = _PART.add, _PART.take_out, _PART.created_by
warnings = _PART.warnings


def settings_path(*, env: Mapping[str, str], user_home: str, scope: str, cwd: str) -> str:
    """The file that Codex reads for ``scope`` (user | project)."""
    if scope == "project":
        return os.path.join(cwd, ".codex", "hooks.json")
    folder = env.get("CODEX_HOME") or os.path.join(user_home, ".codex")
    return os.path.join(cwd, folder, "hooks.json")


def hooks(command: Callable[[str], str]) -> dict[str, dict[str, object]]:
    """Event → the hook to register; ``command`` gives the shell line for an event."""
    return hooks_json.hooks(command, TIMEOUTS)
