"""OpenCode's events as our plugin (``install/opencode.js``) passes them on.

OpenCode calls functions, not commands, so the wire is the plugin's: flat, with the field names
that other hosts have, and the host's own values in them.
"""

from __future__ import annotations

from collections.abc import Mapping

from cmem.hosts import calls, claude_code, payload, values
from cmem.hosts.payload import Fields, Reader
from cmem.model import Entry, Event, Origin, TurnEnded

# The tool that answers in place of one that the model made up.
_NO_SUCH_TOOL = "invalid"
# How the host names the error of a turn that the user stopped.
_ABORTED = "MessageAbortedError"
# What a tool's metadata repeats of its output.
_COPIES = frozenset({"output", "preview", "display"})


def decode(entry: Entry) -> Event:
    """The event that ``entry`` holds. Never raises."""
    return payload.decode(entry, _READERS)


def unquoted(prompt: str) -> str:
    """The prompt without the quotes that ``opencode run`` puts around it, and the backslashes
    that it puts before those in it."""
    inner = prompt.strip()[1:-1]
    alone = '"' not in inner.replace('\\"', "")
    return inner.replace('\\"', '"') if prompt.strip() == f'"{inner}"' and alone else prompt


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
        failed = failed or fields.get("tool_name") == _NO_SUCH_TOOL
        outcome = "failed" if failed else "ok"
    name = calls.stored_name("opencode", values.word(fields.get("tool_name")))
    named = {**fields, "tool_name": name}
    return payload.tool(origin, named, response=response, outcome=outcome)


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
