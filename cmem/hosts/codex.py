"""Codex CLI's payloads: Claude Code's names with a few of its own.

A turn's id stands for the prompt's. There is no event for a failed tool: the output of a shell
command is a text without its exit code, so a command that failed is told from one that did not
only by what it printed. Only ``apply_patch`` says how it ended, and a transcript, from which an
import takes ``exit_code``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from cmem.hosts import claude_code, payload, values
from cmem.hosts.payload import Fields, Reader
from cmem.model import Entry, Event, Origin, TurnEnded

_PATCHED = re.compile(r"Exit code: (\d{1,3})\n")


def decode(entry: Entry) -> Event:
    """The event that ``entry`` holds. Never raises."""
    return payload.decode(entry, _READERS, prompt_id="turn_id")


def _prompt(origin: Origin, fields: Fields) -> Event:
    return payload.prompt(origin, fields)


def _tool(origin: Origin, fields: Fields) -> Event:
    response = fields.get("tool_response")
    code = fields.get("exit_code")
    outcome = "failed" if isinstance(code, int) and code else "ok"
    if values.word(fields.get("tool_name")) == "apply_patch" and isinstance(response, str):
        ended = _PATCHED.match(response)
        outcome = "failed" if ended and int(ended[1]) else "ok"
    return payload.tool(origin, fields, response=response, outcome=outcome)


def failed(code: int, output: str) -> str:
    """The output of a command with the exit code in front, as an import tells it."""
    return f"Exit code: {code}\n{output}"


def _interrupt(origin: Origin, fields: Fields) -> Event:
    message = claude_code.message(fields)
    return TurnEnded(origin, message=message, outcome="interrupted", error="")


_READERS: Mapping[str, Reader] = {
    "SessionStart": claude_code.session_start,
    "UserPromptSubmit": _prompt,
    "PostToolUse": _tool,
    "Stop": claude_code.stop,
    "StopFailure": claude_code.stop_failure,
    "Interrupt": _interrupt,
    "SubagentStop": claude_code.subagent_stop,
    "PreCompact": claude_code.compact,
    "SessionEnd": payload.session_end,
}
