"""The identity of an event: the same thing happening once has one name, however often the
host tells it.

tool     HOST:SESSION:t:TOOL_USE_ID
prompt   HOST:SESSION:p:PROMPT_ID:HASH16     of the prompt's text
other    HOST:SESSION:h:HASH32               of the whole payload
recurs   HOST:SESSION:h:HASH32~MILLISECONDS  equal hashes within 10 s are one event
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cmem.hosts.wire import Fields, Wire

WINDOW_MS = 10_000
_ID = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-")


def sha256_hex(data: bytes) -> str:
    """SHA-256 from the interpreter's own module: hashlib would load OpenSSL for it."""
    try:
        # The name that is not there would be looked for in every folder of the path.
        make = __import__("_sha2" if sys.version_info >= (3, 12) else "_sha256").sha256
    except ImportError:
        from hashlib import sha256 as make
    return str(make(data).hexdigest())


def safe_id(text: str) -> str:
    """The id itself when it is a harmless one, else a hash of it."""
    if 0 < len(text) <= 128 and _ID.issuperset(text):
        return text
    return "x" + sha256_hex(text.encode("utf-8", "replace"))[:32]


def derive(
    host: str, event: str, *, wire: "Wire", fields: "Fields", payload: bytes, captured_at: int
) -> tuple[str, str, bool]:
    """(eid, digest, window). The digest is what a window is looked up by, "" without one."""
    session, prompt_id, tool_use_id, prompt, source, _cwd = fields
    stem = f"{host}:{safe_id(session)}"
    kind = wire.kinds.get(event, "other")
    if kind == "tool" and tool_use_id:
        return f"{stem}:t:{safe_id(tool_use_id)}", "", False
    if kind == "prompt" and prompt_id:
        text = sha256_hex(prompt.encode("utf-8", "replace"))[:16]
        return f"{stem}:p:{safe_id(prompt_id)}:{text}", "", False
    digest = f"{stem}:h:{sha256_hex(payload)[:32]}"
    # Without a prompt's id an equal prompt may well be a second "yes", and an equal end of a
    # turn a second "Done."
    nameless = kind != "tool" and not prompt_id and event not in wire.recurring
    if kind == "prompt" or nameless or _recurs(wire, event, source):
        return f"{digest}~{captured_at}", digest, True
    return digest, "", False


def _recurs(wire: "Wire", event: str, source: str) -> bool:
    sources = wire.recurring.get(event)
    return sources is not None and (not sources or source in sources)
