"""What the hook must know of a host's wire to store an event: names only, no meaning.

Everything else about a payload is decided later, by ``hosts/<host>.py``. The order of
``PATHS`` is the order of the columns the hook reads.
"""

# session, prompt id, tool use id, prompt, source, cwd
Fields = tuple[str, str, str, str, str, str]


class Wire:
    """One host's names. ``kinds`` maps each handled event to prompt | tool | other."""

    __slots__ = ("always_drain", "injects", "kinds", "paths", "recurring", "shape")

    def __init__(
        self,
        *,
        kinds: dict[str, str],
        paths: tuple[str, ...],
        injects: tuple[str, ...],
        recurring: dict[str, tuple[str, ...]],
        always_drain: tuple[str, ...],
        shape: tuple[str, str, str, tuple[str, ...]],
    ) -> None:
        self.kinds = kinds
        self.paths = paths
        self.injects = injects
        # Events whose equal bytes can be two events: name → the sources it holds for, () = all.
        self.recurring = recurring
        self.always_drain = always_drain
        # (prompt, tool input, command in it, tool results): the fields scrubbing has to tell apart.
        self.shape = shape


HOSTS = {
    "claude-code": Wire(
        kinds={
            "SessionStart": "other",
            "UserPromptSubmit": "prompt",
            "PostToolUse": "tool",
            "PostToolUseFailure": "tool",
            "Stop": "other",
            "StopFailure": "other",
            "SubagentStop": "other",
            "PreCompact": "other",
            "SessionEnd": "other",
        },
        paths=("$.session_id", "$.prompt_id", "$.tool_use_id", "$.prompt", "$.source", "$.cwd"),
        # Output of any other event is an instruction to the host: a Stop hook's would force
        # another turn, a PreCompact hook's would steer the compaction.
        injects=("SessionStart",),
        recurring={"SessionStart": ("resume", "compact"), "SessionEnd": (), "PreCompact": ()},
        always_drain=("SessionStart", "Stop", "StopFailure", "PreCompact", "SessionEnd"),
        shape=("prompt", "tool_input", "command", ("tool_response", "error")),
    ),
}
