"""OpenCode's plugin: where it lies, and the text of it with our command in it.

OpenCode runs no commands of its own, so what is installed is a file that is ours as a whole.
``opencode.js`` beside this module is that file, with a command that finds cmem on the PATH.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
from typing import TYPE_CHECKING

from cmem.install.host import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

HOST = "opencode"
TITLE = "OpenCode"
NOTICE = ""
OWN_SCOPE = ""

# The plugin passes the event to the command as a word of the shell's.
EVENT = '"$1"'
EVENTS: tuple[str, ...] = (
    *("SessionStart", "ChatMessage", "ToolExecuted", "SessionIdle", "SessionCompacting"),
    "SessionEnd",
)
_LINE = re.compile(r'^const LINE = ("(?:[^"\\\n]|\\.)*")$', re.MULTILINE)
_FIRST = "// cmem for OpenCode: "


def settings_path(*, env: Mapping[str, str], user_home: str, scope: str, cwd: str) -> str:
    """The plugin's file for ``scope`` (user | project)."""
    if scope == "project":
        return os.path.join(cwd, ".opencode", "plugins", "cmem.js")
    folder = env.get("OPENCODE_CONFIG_DIR")
    if not folder:
        config = env.get("XDG_CONFIG_HOME") or os.path.join(user_home, ".config")
        folder = os.path.join(config, "opencode")
    return os.path.join(cwd, folder, "plugins", "cmem.js")


def hooks(command: Callable[[str], str]) -> dict[str, dict[str, object]]:
    """Every event → the one command that all of them run."""
    line = command(EVENT)
    return {event: {"command": line} for event in EVENTS}


def snippet(wanted: Mapping[str, Mapping[str, object]]) -> str:
    """The plugin's whole text."""
    line = json.dumps(_command(wanted), ensure_ascii=False)
    return _LINE.sub(lambda _found: "const LINE = " + line, template(), count=1).rstrip("\n")


def add(text: str, wanted: Mapping[str, dict[str, object]], *, launcher: str) -> str:
    """The plugin, in place of an older one of ours; RefusedError over anybody else's file."""
    if text and not _is_ours(text, launcher):
        other = _launcher_in(text)
        raise RefusedError(
            f"it belongs to another data home: {os.path.dirname(other)}"
            if other
            else "it is not cmem's"
        )
    return snippet(wanted) + "\n"


def take_out(text: str, *, launcher: str, created: Collection[str] | None) -> str | None:
    """None for a plugin of ours, which goes as a whole; another's text as it is."""
    return None if _is_ours(text, launcher) else text


def created_by(before: str) -> list[str]:
    """Nothing is made inside the file."""
    return []


def warnings(text: str, *, launcher: str) -> list[str]:
    """A file of our own has nothing in it that could be in the way."""
    return []


def template() -> str:
    """The plugin as it lies in the package."""
    with open(os.path.join(os.path.dirname(__file__), "opencode.js"), encoding="utf-8") as file:
        return file.read()


def _command(wanted: Mapping[str, Mapping[str, object]]) -> str:
    return str(next(iter(wanted.values()))["command"])


def _is_ours(text: str, launcher: str) -> bool:
    """Whether it is a plugin of this data home, or one copied by hand, which names none."""
    if not text.startswith(_FIRST):
        return False
    found = _launcher_in(text)
    return not found or os.path.abspath(found) == launcher


def command_in(text: str) -> str:
    """The command of the plugin; "" where the text is no plugin of cmem's."""
    line = _LINE.search(text) if text.startswith(_FIRST) else None
    try:
        return str(json.loads(line[1])) if line is not None else ""
    except ValueError:
        return ""


def _launcher_in(text: str) -> str:
    """The launcher that the plugin's command runs; "" when it runs none."""
    try:
        words = shlex.split(command_in(text))
    except ValueError:
        return ""
    named = [word for word, host in itertools.pairwise(words) if host == HOST]
    return next((word for word in named if os.path.basename(word) == "hook.py"), "")
