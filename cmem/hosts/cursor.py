"""Cursor's payloads, by what its documentation says of them; not seen from Cursor itself.

A conversation is a session and a generation a prompt with what follows. What the agent says and
the end of its turn are two events.
"""

from __future__ import annotations

from collections.abc import Mapping

from cmem import lenient
from cmem.hosts import calls, claude_code, payload, values
from cmem.hosts.payload import Fields, Reader
from cmem.model import Answered, Entry, Event, Origin, SessionStarted, SubagentEnded, TurnEnded

HOST = "cursor"


def decode(entry: Entry) -> Event:
    """The event that ``entry`` holds. Never raises."""
    return payload.decode(entry, _READERS, prompt_id="generation_id", session_id="conversation_id")


def _session_start(origin: Origin, fields: Fields) -> Event:
    model = values.word(fields.get("model"))
    return SessionStarted(origin, source="startup", model=model, title="")


def _prompt(origin: Origin, fields: Fields) -> Event:
    return payload.prompt(origin, fields)


def _tool(origin: Origin, fields: Fields) -> Event:
    response = _output(fields.get("tool_output"))
    code = response.get("exitCode") if isinstance(response, dict) else None
    failed = isinstance(code, int) and not isinstance(code, bool) and code != 0
    return _call(origin, fields, response=response, outcome="failed" if failed else "ok")


def _tool_failure(origin: Origin, fields: Fields) -> Event:
    outcome = "interrupted" if fields.get("is_interrupt") is True else "failed"
    response = {"error": fields.get("error_message"), "failure_type": fields.get("failure_type")}
    return _call(origin, fields, response=response, outcome=outcome)


def _call(origin: Origin, fields: Fields, *, response: object, outcome: str) -> Event:
    name = calls.stored_name(HOST, values.word(fields.get("tool_name")))
    named = {**fields, "tool_name": name, "duration_ms": fields.get("duration")}
    return payload.tool(origin, named, response=response, outcome=outcome)


def _output(value: object) -> object:
    """What the tool gave: the document in the text, else the text."""
    if not isinstance(value, str):
        return value
    try:
        return lenient.loads(value.encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return value


def _said(origin: Origin, fields: Fields) -> Event:
    return Answered(origin, message=values.text(fields.get("text")))


def _stop(origin: Origin, fields: Fields) -> Event:
    status = values.word(fields.get("status"))
    outcome = {"aborted": "interrupted", "error": "failure"}.get(status, "stop")
    error = values.text(fields.get("error_message")) or "unknown" if outcome == "failure" else ""
    error = values.cut(error, claude_code.ERROR_LIMIT)
    return TurnEnded(origin, message="", outcome=outcome, error=error)


def _subagent_stop(origin: Origin, fields: Fields) -> Event:
    agent = origin._replace(
        agent_id=payload.identifier(fields.get("subagent_id")),
        agent_type=values.word(fields.get("subagent_type")) or "subagent",
    )
    return SubagentEnded(agent, message=values.text(fields.get("summary")))


_READERS: Mapping[str, Reader] = {
    "sessionStart": _session_start,
    "beforeSubmitPrompt": _prompt,
    "postToolUse": _tool,
    "postToolUseFailure": _tool_failure,
    "afterAgentResponse": _said,
    "stop": _stop,
    "subagentStop": _subagent_stop,
    "preCompact": claude_code.compact,
    "sessionEnd": payload.session_end,
}
