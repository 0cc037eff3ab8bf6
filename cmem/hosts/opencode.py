"""OpenCode's events as our plugin (``install/opencode.js``) passes them on.

OpenCode calls functions, not commands, so the wire is the plugin's: flat, with the field names
that other hosts have, and the host's own values in them.
"""

from __future__ import annotations

from collections.abc import Mapping

from cmem.hosts import claude_code, payload, values
from cmem.hosts.payload import Fields, Reader
from cmem.model import Entry, Event, Origin, TurnEnded

# A tool of any other name is an outside server's or comes from another plugin.
_BUILT_IN = frozenset({
    "bash", "read", "write", "edit", "multiedit", "patch", "apply_patch", "list", "glob", "grep",
    "webfetch", "websearch", "codesearch", "todowrite", "todoread", "task", "question", "skill",
    "lsp", "batch", "plan_enter", "plan_exit",
})  # fmt: skip
# How the host names the error of a turn that the user stopped.
_ABORTED = "MessageAbortedError"
# What a tool's metadata repeats of its output.
_COPIES = frozenset({"output", "preview", "display"})


def decode(entry: Entry) -> Event:
    """The event that ``entry`` holds. Never raises."""
    return payload.decode(entry, _READERS)


def unquoted(prompt: str) -> str:
    """The prompt without the quotes that ``opencode run`` puts around it."""
    inner = prompt.strip()[1:-1]
    return inner if prompt.strip() == f'"{inner}"' and '"' not in inner else prompt


def _prompt(origin: Origin, fields: Fields) -> Event:
    return payload.prompt(origin, fields, own=unquoted)


def _tool(origin: Origin, fields: Fields) -> Event:
    response = fields.get("tool_response")
    outcome = "ok"
    if isinstance(response, dict):
        metadata = response.get("metadata")
        if isinstance(metadata, dict):
            response = response | {"metadata": payload.without(metadata, _COPIES)}
        ended = metadata.get("exit") if isinstance(metadata, dict) else None
        failed = "error" in response or (isinstance(ended, int) and ended != 0)
        outcome = "failed" if failed else "ok"
    named = {**fields, "tool_name": _name(fields)}
    return payload.tool(origin, named, response=response, outcome=outcome)


def _name(fields: Fields) -> str:
    """The tool's name; an outside server's carries ``mcp__`` in front, as with other hosts, so
    that what it answers is not taken for the project's own."""
    name = values.word(fields.get("tool_name"))
    return name if not name or name in _BUILT_IN else "mcp__" + name


def _idle(origin: Origin, fields: Fields) -> Event:
    error = values.cut(values.text(fields.get("error")), claude_code.ERROR_LIMIT)
    message = claude_code.message(fields)
    if error.startswith(_ABORTED):
        return TurnEnded(origin, message=message, outcome="interrupted", error="")
    outcome = "failure" if error else "stop"
    return TurnEnded(origin, message=message, outcome=outcome, error=error)


_READERS: Mapping[str, Reader] = {
    "SessionStart": claude_code.session_start,
    "ChatMessage": _prompt,
    "ToolExecuted": _tool,
    "SessionIdle": _idle,
    "SessionCompacting": claude_code.compact,
    "SessionEnd": payload.session_end,
}
