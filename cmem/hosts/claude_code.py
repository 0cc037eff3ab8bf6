"""Claude Code's payloads, read by allow-list into events.

Every field is optional on the wire (host-contracts 1.3, 1.7); a field of the wrong type makes
the event unreadable where it is the event's point, else it counts as absent.
"""

from __future__ import annotations

from collections.abc import Mapping

from cmem.hosts import payload, values
from cmem.hosts.payload import Fields, Reader
from cmem.hosts.wire import NOTIFICATION
from cmem.model import (
    CompactStarted,
    Entry,
    Event,
    Origin,
    SessionStarted,
    SubagentEnded,
    TurnEnded,
)

SOURCES = ("startup", "resume", "clear", "compact", "fork")
ERROR_LIMIT = 2_000

# Bulk that repeats what stands elsewhere in the same event: tool → keys of tool_response.
_DROPPED: Mapping[str, frozenset[str]] = {
    "Edit": frozenset({"originalFile"}),
    "MultiEdit": frozenset({"originalFile", "originalFileContents"}),
    "Write": frozenset({"content", "originalFile"}),
    "NotebookEdit": frozenset({"original_file", "updated_file"}),
}


def decode(entry: Entry) -> Event:
    """The event that ``entry`` holds. Never raises."""
    return payload.decode(entry, _READERS)


# --- one reader per event ------------------------------------------------------------


def session_start(origin: Origin, fields: Fields) -> Event:
    source = values.word(fields.get("source"))
    return SessionStarted(
        origin,
        source=source if source in SOURCES else "startup",
        model=values.word(fields.get("model")),
        title=values.line(fields.get("session_title")),
    )


def _prompt(origin: Origin, fields: Fields) -> Event:
    return payload.prompt(origin, fields, kind=_kind)


def _kind(text: str) -> str:
    return "notification" if text.lstrip().startswith(NOTIFICATION) else "user"


def _tool(origin: Origin, fields: Fields) -> Event:
    dropped = _DROPPED.get(values.word(fields.get("tool_name")), frozenset())
    response = payload.without(fields.get("tool_response"), dropped)
    return payload.tool(origin, fields, response=response, outcome="ok")


def _tool_failure(origin: Origin, fields: Fields) -> Event:
    outcome = "interrupted" if fields.get("is_interrupt") is True else "failed"
    response = {"error": fields.get("error")}
    return payload.tool(origin, fields, response=response, outcome=outcome)


def stop(origin: Origin, fields: Fields) -> Event:
    return TurnEnded(origin, message=message(fields), outcome="stop", error="")


def stop_failure(origin: Origin, fields: Fields) -> Event:
    parts = [values.text(fields.get(key)) for key in ("error", "error_details")]
    error = values.cut(": ".join(part for part in parts if part), ERROR_LIMIT)
    return TurnEnded(origin, message=message(fields), outcome="failure", error=error or "unknown")


def subagent_stop(origin: Origin, fields: Fields) -> Event:
    return SubagentEnded(origin, message=message(fields))


def compact(origin: Origin, fields: Fields) -> Event:
    return CompactStarted(origin, trigger=values.word(fields.get("trigger")))


def message(fields: Fields) -> str:
    return values.text(fields.get("last_assistant_message"))


_READERS: Mapping[str, Reader] = {
    "SessionStart": session_start,
    "UserPromptSubmit": _prompt,
    "PostToolUse": _tool,
    "PostToolUseFailure": _tool_failure,
    "Stop": stop,
    "StopFailure": stop_failure,
    "SubagentStop": subagent_stop,
    "PreCompact": compact,
    "SessionEnd": payload.session_end,
}
