"""What the payloads of all hosts have in common: one JSON object with a session's id.

Total: whatever the bytes are, ``decode`` gives an event; what is none is ``Unreadable`` with
its reason. A host's decoder brings its readers, one for each event it knows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from cmem import lenient
from cmem.eid import safe_id
from cmem.hosts import calls, values
from cmem.hosts.wire import HOSTS
from cmem.model import Entry, Event, Origin, PromptSubmitted, SessionEnded, ToolUsed, Unreadable

PRIVATE_MARK = "[private]"

Fields = Mapping[str, Any]
Reader = Callable[[Origin, Fields], Event]


def decode(
    entry: Entry,
    readers: Mapping[str, Reader],
    *,
    prompt_id: str = "prompt_id",
    session_id: str = "session_id",
) -> Event:
    """The event that ``entry`` holds. ``prompt_id`` and ``session_id``: how the host names the
    ids of a prompt and of a session."""
    fields = parse(entry.payload)
    if fields is None:
        return Unreadable(_origin(entry, {}, prompt_id), "not a JSON object")
    if session_id in fields:
        fields = {**fields, "session_id": fields[session_id]}
    origin = _origin(entry, fields, prompt_id)
    if fields.get("cmem_stub") is not None:
        return Unreadable(origin, _stub_reason(fields))
    if not origin.session:
        return Unreadable(origin, "no session id")
    reader = readers.get(entry.event)
    if reader is None:
        return Unreadable(origin, "unknown event " + values.word(entry.event))
    return reader(origin, fields)


def event_name(document: bytes) -> str:
    """The event as the host has named it in the payload, "" where it has not."""
    fields = parse(document.strip())
    name = (fields or {}).get("hook_event_name")
    return name if isinstance(name, str) else ""


def with_cwd(document: bytes, host: str, cwd: str) -> bytes:
    """The payload with another working directory; as it was when it is no JSON object."""
    fields = parse(document.strip())
    place = calls.placed(HOSTS[host].paths[5], cwd)
    return document if fields is None else lenient.dumps({**fields, **place})


def parse(payload: bytes) -> dict[str, Any] | None:
    """The JSON object that the bytes are, as strictly or loosely as hosts write; None for none."""
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


def _stub_reason(fields: Fields) -> str:
    size = fields.get("bytes")
    known = isinstance(size, int) and not isinstance(size, bool)
    reason = values.word(fields.get("cmem_stub")) or "stub"
    return f"{reason}: {size} bytes" if known else reason


def _origin(entry: Entry, fields: Fields, prompt_id: str) -> Origin:
    cwd = fields.get("cwd")
    return Origin(
        eid=entry.eid,
        host=entry.host,
        event=entry.event,
        session=identifier(fields.get("session_id")),
        at=entry.captured_at,
        cwd=values.path(cwd if isinstance(cwd, str) else entry.cwd),
        repo=entry.repo,
        project_env=entry.project_env,
        prompt_id=identifier(fields.get(prompt_id)),
        agent_id=identifier(fields.get("agent_id")),
        agent_type=values.word(fields.get("agent_type")),
    )


def identifier(value: object) -> str:
    """An id as the store keeps it: itself when plain, a hash when odd, "" when none."""
    return safe_id(value) if isinstance(value, str) and value else ""


def prompt(
    origin: Origin,
    fields: Fields,
    *,
    own: Callable[[str], str] = str,
    kind: Callable[[str], str] = lambda _text: "user",
) -> Event:
    """The prompt in ``fields``. ``own`` cuts off what the host has put around the user's words,
    ``kind`` tells from the words whose they are."""
    raw = fields.get("prompt")
    if not isinstance(raw, str):
        return Unreadable(origin, "prompt is no text")
    bare = own(raw)
    text = values.text(bare)
    if bare != raw and not text.replace(PRIVATE_MARK, "").strip():
        text = ""  # what the host had put around kept the mark from being cut
    emptied = bool(raw.strip()) and not text.strip() and "private" in raw.lower()
    private = fields.get("cmem_private") is True or emptied
    return PromptSubmitted(origin, text=text, kind=kind(text), private=private)


def tool(origin: Origin, fields: Fields, *, response: object, outcome: str) -> Event:
    """The tool call in ``fields`` with the response that is worth keeping."""
    name = values.word(fields.get("tool_name"))
    if not name:
        return Unreadable(origin, "tool without a name")
    return ToolUsed(
        origin,
        tool_use_id=identifier(fields.get("tool_use_id")),
        tool_name=name,
        tool_input=values.document(fields.get("tool_input")),
        tool_response=values.document(response),
        outcome=outcome,
        duration_ms=_duration(fields.get("duration_ms")),
    )


def without(response: object, dropped: frozenset[str]) -> object:
    """The response without the named keys."""
    if not isinstance(response, dict) or not dropped:
        return response
    return {key: value for key, value in response.items() if key not in dropped}


def _duration(value: object) -> int | None:
    """Milliseconds in a range that an integer column and a reader can use."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value < 2**53 else None


def session_end(origin: Origin, fields: Fields) -> Event:
    return SessionEnded(origin, reason=values.word(fields.get("reason")))
