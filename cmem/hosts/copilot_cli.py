"""GitHub Copilot CLI's payloads, as it sends them to hooks named as Claude Code names its own.

So named, its fields and the names of common tools are Claude Code's too; their arguments are
not. It names neither prompts nor tool calls, and the end of a turn holds no word of the answer: the
hook has looked that up. A subagent's events come under the subagent's id, the session's beside it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from cmem.hosts import calls, claude_code, payload, values
from cmem.hosts.payload import Fields, Reader
from cmem.model import Entry, Event, Origin, SubagentEnded, TurnEnded

HOST = "copilot-cli"
# The line with which the shell tool's answer ends; further up a program may have printed it. A
# failure is written down as Claude Code words it.
_ENDED = re.compile(r"\n?<shellId: [^\n<>]{1,64} completed with exit code (-?\d{1,11})>\s*\Z")
_TAIL = 200


def decode(entry: Entry) -> Event:
    """The event that ``entry`` holds. Never raises."""
    return payload.decode(entry, _READERS)


def _of_session(origin: Origin, fields: Fields) -> Origin:
    """The origin with the session's id where the payload has the subagent's in its place."""
    if origin.agent_id and origin.agent_id == origin.session:
        parent = payload.identifier(fields.get("parent_agent_id"))
        return origin._replace(session=parent or origin.session)
    return origin


def _nothing(origin: Origin) -> Event:
    """Nothing of the user's and of no turn: that the session goes on is all it tells."""
    return SubagentEnded(origin._replace(agent_type=""), message="")


def _prompt(origin: Origin, fields: Fields) -> Event:
    if origin.agent_id:  # what the agent has told a subagent stands in its own call
        return _nothing(_of_session(origin, fields))
    return payload.prompt(origin, fields)


def _tool(origin: Origin, fields: Fields) -> Event:
    result = fields.get("tool_result")
    text = result.get("text_result_for_llm") if isinstance(result, dict) else result
    if not isinstance(text, str):
        return _call(origin, fields, response=result, outcome="ok")
    ended = _ENDED.search(text, max(0, len(text) - _TAIL))
    shown = text[: ended.start()] if ended else text
    if ended and int(ended[1]):
        failure = f"Exit code {ended[1]}\n{shown}"
        return _call(origin, fields, response=failure, outcome="failed")
    return _call(origin, fields, response=shown, outcome="ok")


def _tool_failure(origin: Origin, fields: Fields) -> Event:
    return _call(origin, fields, response={"error": fields.get("error")}, outcome="failed")


def _call(origin: Origin, fields: Fields, *, response: object, outcome: str) -> Event:
    name = calls.stored_name(HOST, values.word(fields.get("tool_name")))
    named = {**fields, "tool_name": name}
    return payload.tool(_of_session(origin, fields), named, response=response, outcome=outcome)


def _stop(origin: Origin, fields: Fields) -> Event:
    if origin.agent_id:  # its answer comes with SubagentStop
        return _nothing(_of_session(origin, fields))
    return TurnEnded(origin, message=_answer(fields), outcome="stop", error="")


def _answer(fields: Fields) -> str:
    """The words that the hook found in the session's file (``cmem.answer``)."""
    line = fields.get("cmem_answer")
    told = line.get("data") if isinstance(line, dict) else None
    return values.text(told.get("content")) if isinstance(told, dict) else ""


def _subagent_stop(origin: Origin, fields: Fields) -> Event:
    return claude_code.subagent_stop(_of_session(origin, fields), fields)


_READERS: Mapping[str, Reader] = {
    "SessionStart": claude_code.session_start,
    "UserPromptSubmit": _prompt,
    "PostToolUse": _tool,
    "PostToolUseFailure": _tool_failure,
    "Stop": _stop,
    "SubagentStop": _subagent_stop,
    "PreCompact": claude_code.compact,
    "SessionEnd": payload.session_end,
}
