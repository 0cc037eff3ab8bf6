"""The hosts whose events can be read: one decoder each, in an explicit table.

The hook imports ``hosts.wire`` through this package, so the decoders (``json``, ``re``, the
models) are loaded only by whoever asks for them.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cmem.model import Entry, Event

    Decoder = Callable[[Entry], Event]

    DECODERS: dict[str, Decoder]


# Their hooks name neither prompts nor calls, their transcripts do.
NAMELESS = frozenset(("gemini-cli",))


def __getattr__(name: str) -> "dict[str, Decoder]":
    """``DECODERS``, made at first use."""
    if name != "DECODERS":
        raise AttributeError(name)
    from cmem.hosts import borrowed, codex, copilot_cli, cursor, gemini_cli, opencode

    table: dict[str, Decoder] = {
        "claude-code": borrowed.decode,
        "codex": codex.decode,
        "gemini-cli": gemini_cli.decode,
        "opencode": opencode.decode,
        "cursor": cursor.decode,
        "copilot-cli": copilot_cli.decode,
    }
    globals()["DECODERS"] = table
    return table
