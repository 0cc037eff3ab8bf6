"""Gemini CLI's payloads, which name neither prompts nor tool calls.

A tool call has no id of the host's, so its event's identity stands for it: the hash of the whole
payload, which holds session and time. What a session-start hook had injected comes back inside
the first prompt and is cut off again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from cmem.hosts import calls, claude_code, payload, values
from cmem.hosts.payload import Fields, Reader
from cmem.model import Entry, Event, Origin, TurnEnded

_OPEN, _CLOSE = "<hook_context>", "</hook_context>"
# The lines with which the shell tool's answer ends; further up a program may have printed them.
_ENDED = re.compile(
    r"\nExit Code: (\d{1,3})\n(?:Signal: [^\n]{0,40}\n|Background PIDs: [^\n]{0,400}\n)*"
    r"(?:Process Group PGID: \d{1,12}\n?)?(?:</untrusted_context>)?\s*\Z"
)
_TAIL = 1_000

# What an edit shows besides its diff: both whole files.
_COPIES = frozenset({"originalContent", "newContent"})


def decode(entry: Entry) -> Event:
    """The event that ``entry`` holds. Never raises."""
    return payload.decode(entry, _READERS)


def without_injected(prompt: str) -> str:
    """The prompt without the ``<hook_context>`` blocks before and after it."""
    text = prompt.strip()
    while text.startswith(_OPEN) and (end := text.find(_CLOSE)) >= 0:
        text = text[end + len(_CLOSE) :].lstrip()
    while text.endswith(_CLOSE) and (start := text.rfind(_OPEN)) >= 0:
        text = text[:start].rstrip()
    return prompt if text == prompt.strip() else text


def _prompt(origin: Origin, fields: Fields) -> Event:
    return payload.prompt(origin, fields, own=without_injected)


def _tool(origin: Origin, fields: Fields) -> Event:
    response = fields.get("tool_response")
    if isinstance(response, dict):
        shown = payload.without(response.get("returnDisplay"), _COPIES)
        response = response | ({"returnDisplay": shown} if "returnDisplay" in response else {})
    name = calls.stored_name("gemini-cli", values.word(fields.get("tool_name")))
    named = {**fields, "tool_name": name}
    return payload.tool(origin, named, response=response, outcome=_outcome(response))


def _outcome(response: object) -> str:
    if not isinstance(response, dict):
        return "ok"
    if response.get("error"):
        return "failed"
    text = response.get("llmContent")
    ended = _ENDED.search(text[-_TAIL:]) if isinstance(text, str) else None
    return "failed" if ended and int(ended[1]) else "ok"


def _after_agent(origin: Origin, fields: Fields) -> Event:
    message = values.text(fields.get("prompt_response"))
    return TurnEnded(origin, message=message, outcome="stop", error="")


_READERS: Mapping[str, Reader] = {
    "SessionStart": claude_code.session_start,
    "BeforeAgent": _prompt,
    "AfterTool": _tool,
    "AfterAgent": _after_agent,
    "SessionEnd": payload.session_end,
}
