"""Claude Code's events, told from those of other hosts that run hooks made for Claude Code.

Copilot CLI runs the hooks in a trusted project's ``.claude/settings.json``, and Cursor can be told
to. Each is captured by hooks of its own, where there are any; here its events would only come a
second time, under another host's name.
"""

from __future__ import annotations

from cmem.hosts import claude_code, payload
from cmem.model import Entry, Event, Unreadable

OTHERS = "unknown event: another host's"


def decode(entry: Entry) -> Event:
    """The event that ``entry`` holds. Never raises."""
    if b'"cursor_version"' not in entry.payload and b'"timestamp"' not in entry.payload:
        return claude_code.decode(entry)
    fields = payload.parse(entry.payload) or {}
    if "cursor_version" in fields or _is_copilots(fields):
        # No session of the store's, so that not even a stub is kept.
        return Unreadable(claude_code.decode(entry).origin._replace(session=""), OTHERS)
    return claude_code.decode(entry)


def _is_copilots(fields: payload.Fields) -> bool:
    """Its payloads hold the time, which Claude Code's do not; and no transcript, which all of
    Claude Code's name, or one that lies among its own."""
    transcript = fields.get("transcript_path")
    own = not isinstance(transcript, str) or transcript.endswith("/events.jsonl")
    return own and isinstance(fields.get("timestamp"), str)
