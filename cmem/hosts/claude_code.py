"""Claude Code's payloads, read by allow-list into events.

Total: whatever the bytes are, the answer is an event; what is none is ``Unreadable`` with
its reason. Every field is optional on the wire (host-contracts 1.3, 1.7); a field of the
wrong type makes the event unreadable where it is the event's point, else it counts as absent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from cmem import lenient
from cmem.eid import safe_id
from cmem.hosts import values
from cmem.model import (
    CompactStarted,
    Entry,
    Event,
    Origin,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    SubagentEnded,
    ToolUsed,
    TurnEnded,
    Unreadable,
)

SOURCES = ("startup", "resume", "clear", "compact", "fork")
NOTIFICATION = "<task-notification>"
ERROR_LIMIT = 2_000

# Bulk that repeats what stands elsewhere in the same event: tool → keys of tool_response.
_DROPPED: Mapping[str, frozenset[str]] = {
    "Edit": frozenset({"originalFile"}),
    "MultiEdit": frozenset({"originalFile", "originalFileContents"}),
    "Write": frozenset({"content", "originalFile"}),
    "NotebookEdit": frozenset({"original_file", "updated_file"}),
}

_Fields = Mapping[str, Any]


def decode(entry: Entry) -> Event:
    """The event that ``entry`` holds. Never raises."""
    fields = _parse(entry.payload)
    if fields is None:
        return Unreadable(_origin(entry, {}), "not a JSON object")
    origin = _origin(entry, fields)
    stub = fields.get("cmem_stub")
    if stub is not None:
        return Unreadable(origin, _stub_reason(fields))
    if not origin.session:
        return Unreadable(origin, "no session id")
    reader = _READERS.get(entry.event)
    if reader is None:
        return Unreadable(origin, "unknown event " + values.word(entry.event))
    return reader(origin, fields)


def _parse(payload: bytes) -> dict[str, Any] | None:
    document = payload.removeprefix(b"\xef\xbb\xbf")
    try:
        value = orjson.loads(document)
    except orjson.JSONDecodeError:
        # It is right about all that is strict JSON; hosts send more than that.
        try:
            value = lenient.loads(document)
        except ValueError:
            return None
    return value if isinstance(value, dict) else None


def _stub_reason(fields: _Fields) -> str:
    size = fields.get("bytes")
    known = isinstance(size, int) and not isinstance(size, bool)
    reason = values.word(fields.get("cmem_stub")) or "stub"
    return f"{reason}: {size} bytes" if known else reason


def _origin(entry: Entry, fields: _Fields) -> Origin:
    cwd = fields.get("cwd")
    return Origin(
        eid=entry.eid,
        host=entry.host,
        event=entry.event,
        session=_identifier(fields.get("session_id")),
        at=entry.captured_at,
        cwd=values.path(cwd if isinstance(cwd, str) else entry.cwd),
        repo=entry.repo,
        project_env=entry.project_env,
        prompt_id=_identifier(fields.get("prompt_id")),
        agent_id=_identifier(fields.get("agent_id")),
        agent_type=values.word(fields.get("agent_type")),
    )


def _identifier(value: object) -> str:
    """An id as the store keeps it: itself when plain, a hash when odd, "" when none."""
    return safe_id(value) if isinstance(value, str) and value else ""


# --- one reader per event ------------------------------------------------------------


def _session_start(origin: Origin, fields: _Fields) -> Event:
    source = values.word(fields.get("source"))
    return SessionStarted(
        origin,
        source=source if source in SOURCES else "startup",
        model=values.word(fields.get("model")),
        title=values.line(fields.get("session_title")),
    )


def _prompt(origin: Origin, fields: _Fields) -> Event:
    raw = fields.get("prompt")
    if not isinstance(raw, str):
        return Unreadable(origin, "prompt is no text")
    text = values.text(raw)
    emptied = bool(raw.strip()) and not text.strip() and "private" in raw.lower()
    notified = text.lstrip().startswith(NOTIFICATION)
    return PromptSubmitted(
        origin,
        text=text,
        kind="notification" if notified else "user",
        private=fields.get("cmem_private") is True or emptied,
    )


def _tool(origin: Origin, fields: _Fields) -> Event:
    return _tool_used(origin, fields, fields.get("tool_response"), outcome="ok")


def _tool_failure(origin: Origin, fields: _Fields) -> Event:
    outcome = "interrupted" if fields.get("is_interrupt") is True else "failed"
    return _tool_used(origin, fields, {"error": fields.get("error")}, outcome=outcome)


def _tool_used(origin: Origin, fields: _Fields, response: object, *, outcome: str) -> Event:
    name = values.word(fields.get("tool_name"))
    if not name:
        return Unreadable(origin, "tool without a name")
    if isinstance(response, dict):
        dropped = _DROPPED.get(name, frozenset())
        response = {key: value for key, value in response.items() if key not in dropped}
    duration = fields.get("duration_ms")
    return ToolUsed(
        origin,
        tool_use_id=_identifier(fields.get("tool_use_id")),
        tool_name=name,
        tool_input=values.document(fields.get("tool_input")),
        tool_response=values.document(response),
        outcome=outcome,
        duration_ms=_duration(duration),
    )


def _duration(value: object) -> int | None:
    """Milliseconds in a range that an integer column and a reader can use."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value < 2**53 else None


def _stop(origin: Origin, fields: _Fields) -> Event:
    return TurnEnded(origin, message=_message(fields), outcome="stop", error="")


def _stop_failure(origin: Origin, fields: _Fields) -> Event:
    parts = [values.text(fields.get(key)) for key in ("error", "error_details")]
    error = values.cut(": ".join(part for part in parts if part), ERROR_LIMIT)
    return TurnEnded(origin, message=_message(fields), outcome="failure", error=error or "unknown")


def _subagent_stop(origin: Origin, fields: _Fields) -> Event:
    return SubagentEnded(origin, message=_message(fields))


def _compact(origin: Origin, fields: _Fields) -> Event:
    return CompactStarted(origin, trigger=values.word(fields.get("trigger")))


def _session_end(origin: Origin, fields: _Fields) -> Event:
    return SessionEnded(origin, reason=values.word(fields.get("reason")))


def _message(fields: _Fields) -> str:
    return values.text(fields.get("last_assistant_message"))


_READERS: Mapping[str, Callable[[Origin, _Fields], Event]] = {
    "SessionStart": _session_start,
    "UserPromptSubmit": _prompt,
    "PostToolUse": _tool,
    "PostToolUseFailure": _tool_failure,
    "Stop": _stop,
    "StopFailure": _stop_failure,
    "SubagentStop": _subagent_stop,
    "PreCompact": _compact,
    "SessionEnd": _session_end,
}
