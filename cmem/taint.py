"""How far a piece of evidence can be trusted: user < agent < local < external.

External is whatever a stranger may have written: the web, other programs' servers, what a
download command printed, files outside the project and files that others vendored into it.
In doubt the worse one. Pure.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cmem import downloads
from cmem.shell import fetches

ORDER = ("user", "agent", "local", "external")

# Tools whose result is what the agent itself or one of its helpers wrote.
_AGENT_TOOLS = frozenset({
    "Agent", "Task", "task", "SubagentStop", "TodoWrite", "TodoRead", "ExitPlanMode",
    "EnterPlanMode", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "invoke_agent",
    "complete_task", "update_topic",
})  # fmt: skip
# Of these, the ones whose result is what a subagent answered.
SUBAGENT_TOOLS = frozenset({"Agent", "Task", "task", "SubagentStop", "invoke_agent"})
# Of these, the ones of a host that does not tell a subagent's calls from the agent's own.
UNTOLD_SUBAGENT_TOOLS = frozenset({"invoke_agent"})
# What stands for a call that could not be read: it may have been any.
UNREADABLE = "unreadable"
_USER_TOOLS = frozenset({"AskUserQuestion"})
_WEB_TOOLS = frozenset({
    "WebFetch", "WebSearch", "web_search", "web_fetch", "google_web_search", "webfetch",
    "websearch", "codesearch",
})  # fmt: skip
# Tools whose input is the text of a patch; what it adds to a file is no command.
_PATCH_TOOLS = frozenset({"apply_patch", "patch"})
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)
_PATH_KEYS = ("file_path", "notebook_path", "path", "filePath", "absolute_path", "dir_path")
_EDIT_KEYS = ("old_string", "old_str", "oldString", "new_source", "edits")
# Tools that run a command.
COMMAND_TOOLS = (
    "Bash", "bash", "shell", "run_shell_command", "exec_command", "local_shell", "powershell",
)  # fmt: skip
_VENDORED = re.compile(
    r"(?:^|[/\s'\x22=])(?:node_modules|vendor|site-packages|dist-packages)(?:/|$)"
)

_WORD = re.compile(r"""[^\s'"`;|&<>()=]+""")
_WRITTEN = re.compile(r""">>?\s*['"]?([^\s'"`;|&<>()]+)""")
# What a file outside a project starts with; "/login" in a search pattern is no file.
_FILE = re.compile(
    r"(?:~|\.\.|/(?:home|root|Users|etc|tmp|var|opt|srv|mnt|media|proc|sys|private|Volumes"
    r"|usr/(?:share|src|include|lib))(?=/|$))"
)


def worst(taints: Iterable[str], *, least: str = "user") -> str:
    """The worst of ``taints``, ``least`` when there are none. Unknown words are external."""
    rank = ORDER.index(least)
    for taint in taints:
        rank = max(rank, ORDER.index(taint) if taint in ORDER else len(ORDER) - 1)
    return ORDER[rank]


def of_tool(tool_name: str, tool_input: object, *, cwd: str, roots: Sequence[str]) -> str:
    """The taint of one tool use. ``roots``: the folders that are the session's own project;
    with none known, paths say nothing and count as local."""
    if tool_name in _WEB_TOOLS or tool_name.startswith("mcp__") or tool_name == UNREADABLE:
        return "external"
    if tool_name in _USER_TOOLS:
        return "user"
    if tool_name in _AGENT_TOOLS:
        return "agent"
    fields: Mapping[Any, Any] = tool_input if isinstance(tool_input, dict) else {}
    if any(_outside(path, cwd, roots) for path in _paths(fields)):
        return "external"
    if tool_name in _PATCH_TOOLS:
        texts = [text for text in fields.values() if isinstance(text, str)]
        named = [path.strip() for text in texts for path in _PATCHED.findall(text)]
        return "external" if any(_outside(path, cwd, roots) for path in named) else "local"
    if _stranger(_command(fields.get("command")), cwd, roots):
        return "external"
    return "local"


def of_downloaded(
    tool_name: str, tool_input: object, *, cwd: str, earlier: Iterable[tuple[str, object]]
) -> bool:
    """Does a tool use that seems to be local read what an earlier command has brought in?
    ``earlier``: (working directory, input) of the session's commands that were external. What a
    file is overwritten with is the agent's."""
    fields: Mapping[Any, Any] = tool_input if isinstance(tool_input, dict) else {}
    paths, command = [*_paths(fields)], _command(fields.get("command"))
    if tool_name in _PATCH_TOOLS or not (paths or command) or "content" in fields:
        return False
    commands = ((place, given) for place, given in earlier if isinstance(given, dict))
    found = [downloads.brought(_command(one.get("command")), place) for place, one in commands]
    edits = any(key in fields for key in _EDIT_KEYS)
    return downloads.reads(paths, command, cwd, earlier=found, edits=edits)


def _paths(fields: Mapping[Any, Any]) -> Iterable[str]:
    return (value for key in _PATH_KEYS if isinstance(value := fields.get(key), str))


def _command(told: object) -> str:
    """A command as a shell would read it: some hosts send it word by word."""
    if isinstance(told, list):
        return shlex.join(word for word in told if isinstance(word, str))
    return told if isinstance(told, str) else ""


def _stranger(command: str, cwd: str, roots: Sequence[str]) -> bool:
    """True when the command fetches from elsewhere, or names a vendored file or a file that
    is not the project's. What the command itself writes is not foreign to it."""
    if fetches.fetches(command) or _VENDORED.search(command):
        return True
    written = set(_WRITTEN.findall(command))
    words = (word for word in _WORD.findall(command) if word not in written)
    return any(_outside(word, cwd, roots) for word in words if _FILE.match(word))


def _outside(path: str, cwd: str, roots: Sequence[str]) -> bool:
    if path.startswith("~") or _VENDORED.search(path):
        return True
    if not path.startswith("/"):
        if not path.startswith("..") and "/../" not in path:
            return False
        path = cwd + "/" + path
    full = _normal(path)
    known = [_normal(root) for root in roots if root]
    return bool(known) and not any(full == root or full.startswith(root + "/") for root in known)


def _normal(path: str) -> str:
    """The path with ``.`` and ``..`` worked out, on the text alone."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)
