"""What the hook must know of a host's wire to store an event: names only, no meaning.

Everything else about a payload is decided later, by ``hosts/<host>.py``. The order of
``PATHS`` is the order of the columns the hook reads.
"""

# How the prompt begins with which Claude Code tells the agent of a task that has ended.
NOTIFICATION = "<task-notification>"
# session, prompt id, tool use id, prompt, source, cwd
Fields = tuple[str, str, str, str, str, str]
# Where the payload names the session's file; how the lines of a prompt and of an answer begin
# there, and what stands in an answer that goes on with calls of tools.
Transcript = tuple[str, bytes, bytes, bytes]


class Wire:
    """One host's names. ``kinds`` maps each handled event to prompt | tool | other."""

    __slots__ = (
        *("always_drain", "answer", "injects", "kinds", "paths", "recalls", "recurring"),
        *("rested", "roots", "shape", "transcripts"),
    )

    def __init__(
        self,
        *,
        kinds: dict[str, str],
        paths: tuple[str, ...],
        injects: tuple[str, ...],
        recurring: dict[str, tuple[str, ...]],
        always_drain: tuple[str, ...],
        shape: tuple[str, str, str, tuple[str, ...]],
        answer: str = "",
        transcripts: "dict[str, Transcript] | None" = None,
        roots: str = "",
        recalls: "dict[str, tuple[str, tuple[str, ...]]] | None" = None,
        rested: str = "",
    ) -> None:
        self.kinds = kinds
        self.paths = paths
        self.injects = injects
        # Events whose equal bytes can be two events: name → the sources it holds for, () = all.
        self.recurring = recurring
        self.always_drain = always_drain
        # (prompt, tool input, command in it, tool results): the fields scrubbing has to tell apart.
        self.shape = shape
        # The key under which the host takes what is injected; "" where it is Claude Code's form.
        self.answer = answer
        # Where a payload lists all folders of a workspace of several.
        self.roots = roots
        # Events that tell of an answer without its words → where those stand.
        self.transcripts = transcripts or {}
        # Event → the setting by which it is answered with what it concerns, and where the payload
        # has what that is: all of the paths, or the first that is there of a file's. An event that
        # is in here and not in ``kinds`` is never stored.
        self.recalls = recalls or {}
        # Where the start of a session that goes on, or was forked, says how many seconds ago it
        # was last answered; "" where none does.
        self.rested = rested


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
        # The last two are of hosts that run hooks made for this one (``hosts/borrowed.py``).
        shape=(
            *("prompt", "tool_input", "command"),
            ("tool_response", "error", "tool_result", "tool_output"),
        ),
        recalls={
            "UserPromptSubmit": ("recall_prompts", ("$.prompt",)),
            "PreToolUse": (
                "recall_files",
                ("$.tool_input.file_path", "$.tool_input.notebook_path"),
            ),
            "PostToolUseFailure": ("recall_failures", ("$.tool_input.command", "$.error")),
        },
        rested="$.seconds_since_last_response",
    ),
    "codex": Wire(
        kinds={
            "SessionStart": "other",
            "UserPromptSubmit": "prompt",
            "PostToolUse": "tool",
            "Stop": "other",
            "StopFailure": "other",
            "Interrupt": "other",
            "SubagentStop": "other",
            "PreCompact": "other",
            "SessionEnd": "other",
        },
        paths=("$.session_id", "$.turn_id", "$.tool_use_id", "$.prompt", "$.source", "$.cwd"),
        injects=("SessionStart",),
        recurring={"SessionStart": ("resume", "compact"), "SessionEnd": (), "PreCompact": ()},
        always_drain=(
            *("SessionStart", "Stop", "StopFailure", "Interrupt", "PreCompact", "SessionEnd"),
        ),
        shape=("prompt", "tool_input", "command", ("tool_response", "error")),
        recalls={"UserPromptSubmit": ("recall_prompts", ("$.prompt",))},
    ),
    "gemini-cli": Wire(
        # PreCompress comes before every model call, whether or not anything is compressed.
        kinds={
            "SessionStart": "other",
            "BeforeAgent": "prompt",
            "AfterTool": "tool",
            "AfterAgent": "other",
            "SessionEnd": "other",
        },
        # It sends no ids of prompts and tool calls; what it would call them is not known.
        paths=("$.session_id", "$.prompt_id", "$.tool_use_id", "$.prompt", "$.source", "$.cwd"),
        injects=("SessionStart",),
        # Every payload holds the time, so equal bytes are one event.
        recurring={},
        always_drain=("SessionStart", "AfterAgent", "SessionEnd"),
        shape=("prompt", "tool_input", "command", ("tool_response",)),
        recalls={"BeforeAgent": ("recall_prompts", ("$.prompt",))},
    ),
    "opencode": Wire(
        kinds={
            "SessionStart": "other",
            "ChatMessage": "prompt",
            "ToolExecuted": "tool",
            "SessionIdle": "other",
            "SessionCompacting": "other",
            "SessionEnd": "other",
        },
        paths=("$.session_id", "$.prompt_id", "$.tool_use_id", "$.prompt", "$.source", "$.cwd"),
        injects=("SessionStart",),
        recurring={"SessionStart": (), "SessionEnd": (), "SessionCompacting": ()},
        always_drain=("SessionStart", "SessionIdle", "SessionCompacting", "SessionEnd"),
        shape=("prompt", "tool_input", "command", ("tool_response",)),
    ),
    "cursor": Wire(
        # Its events for single kinds of tools repeat what the two for all tools say.
        kinds={
            "sessionStart": "other",
            "beforeSubmitPrompt": "prompt",
            "postToolUse": "tool",
            "postToolUseFailure": "tool",
            "afterAgentResponse": "other",
            "stop": "other",
            "subagentStop": "other",
            "preCompact": "other",
            "sessionEnd": "other",
        },
        # Only tool calls name a folder of their own; the workspace is the session's.
        paths=(
            *("$.conversation_id", "$.generation_id", "$.tool_use_id", "$.prompt"),
            *("$.source", "$.workspace_roots[0]"),
        ),
        injects=("sessionStart",),
        recurring={"sessionStart": (), "preCompact": (), "sessionEnd": ()},
        always_drain=("sessionStart", "stop", "preCompact", "sessionEnd"),
        shape=("prompt", "tool_input", "command", ("tool_output", "error_message")),
        answer="additional_context",
        roots="$.workspace_roots",
    ),
    "copilot-cli": Wire(
        # No errorOccurred: it comes for each failed call, whether or not the call is repeated.
        kinds={
            "SessionStart": "other",
            "UserPromptSubmit": "prompt",
            "PostToolUse": "tool",
            "PostToolUseFailure": "tool",
            "Stop": "other",
            "SubagentStop": "other",
            "PreCompact": "other",
            "SessionEnd": "other",
        },
        # It sends no ids of prompts and tool calls; what it would call them is not known.
        paths=("$.session_id", "$.prompt_id", "$.tool_use_id", "$.prompt", "$.source", "$.cwd"),
        injects=("SessionStart",),
        # Every payload holds the time, so equal bytes are one event.
        recurring={},
        always_drain=("SessionStart", "Stop", "PreCompact", "SessionEnd"),
        shape=("prompt", "tool_input", "command", ("tool_result", "error")),
        answer="additionalContext",
        transcripts={
            "Stop": (
                "$.transcript_path",
                b'{"type":"user.message",',
                b'{"type":"assistant.message",',
                b'"toolRequests":[{',
            )
        },
    ),
}
