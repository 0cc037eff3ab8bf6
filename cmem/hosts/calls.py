"""What filters must know of a tool call on a host's wire: names only. HOT when a filter is set.

A call is read from the payload by SQL paths, as the hook reads its columns (``wire``), so that
judging one loads neither ``json`` nor ``re``.
"""

from cmem.hosts.wire import HOSTS as WIRES

# name, subagent's id, subagent's type, command, result, cwd; after these the files.
HEAD = 6


class Calls:
    """One host's tools. ``files``: the arguments that name files; ``readers``: the tools that
    only read; ``own``: all of the host's own tools where a foreign one's name does not tell;
    ``runner`` and ``reader``: the tool that runs a command and the one that reads a file."""

    __slots__ = ("files", "own", "reader", "readers", "runner")

    def __init__(
        self,
        *,
        files: tuple[str, ...],
        readers: tuple[str, ...],
        runner: str,
        own: frozenset[str] = frozenset(),
    ) -> None:
        self.files = files
        self.readers = readers
        self.own = own
        self.runner = runner
        self.reader = readers[0] if readers else runner


HOSTS = {
    "claude-code": Calls(
        files=("file_path", "notebook_path", "path"),
        readers=(
            *("Read", "Grep", "Glob", "LS", "NotebookRead", "WebFetch", "WebSearch"),
            *("ToolSearch", "ListMcpResourcesTool", "ReadMcpResourceTool"),
        ),
        runner="Bash",
    ),
    # It reads by shell commands.
    "codex": Calls(files=("path",), readers=(), runner="Bash"),
    "gemini-cli": Calls(
        files=("file_path", "absolute_path", "path", "dir_path", "paths", "include"),
        readers=(
            *("read_file", "read_many_files", "list_directory", "glob", "search_file_content"),
            *("grep_search", "web_fetch", "google_web_search"),
        ),
        runner="run_shell_command",
        own=frozenset({
            "run_shell_command", "read_file", "read_many_files", "write_file", "replace",
            "list_directory", "glob", "search_file_content", "grep_search", "web_fetch",
            "google_web_search", "save_memory", "write_todos", "ask_user", "activate_skill",
            "enter_plan_mode", "exit_plan_mode", "update_topic", "invoke_agent", "complete_task",
            "list_background_processes", "read_background_output", "get_internal_docs",
            "tracker_create_task", "tracker_update_task", "tracker_get_task",
            "tracker_list_tasks", "tracker_add_dependency", "tracker_visualize",
        }),
    ),
    "opencode": Calls(
        files=("filePath", "path"),
        readers=(
            *("read", "list", "glob", "grep", "webfetch", "websearch", "codesearch"),
            *("todoread", "lsp"),
        ),
        runner="bash",
        own=frozenset({
            "bash", "read", "write", "edit", "multiedit", "patch", "apply_patch", "list", "glob",
            "grep", "webfetch", "websearch", "codesearch", "todowrite", "todoread", "task",
            "question", "skill", "lsp", "batch", "plan_enter", "plan_exit", "invalid",
        }),
    ),
    # Its names of tools are Claude Code's where there is one; a foreign one's begins with "MCP:".
    "cursor": Calls(
        files=("file_path", "path"),
        readers=("Read", "Grep", "Glob", "LS", "SemanticSearch", "WebSearch", "WebFetch"),
        runner="Shell",
    ),
    # Claude Code's names where there is one, else its own; "SERVER-TOOL" is a foreign one.
    "copilot-cli": Calls(
        files=("path", "paths"),
        readers=(
            *("Read", "Grep", "Glob", "WebFetch", "WebSearch", "web_fetch", "web_search"),
            *("fetch_copilot_cli_documentation", "session_store_sql", "show_file", "lsp"),
        ),
        runner="Bash",
        own=frozenset({
            "Bash", "Read", "Write", "Edit", "MultiEdit", "Grep", "Glob", "LS", "Agent", "Task",
            "WebFetch", "WebSearch", "TodoWrite", "AskUserQuestion", "Skill", "ExitPlanMode",
            "read_bash", "write_bash", "stop_bash", "list_bash", "powershell", "read_powershell",
            "write_powershell", "stop_powershell", "list_powershell", "apply_patch", "show_file",
            "skill", "sql", "session_store_sql", "read_agent", "list_agents", "write_agent",
            "web_fetch", "web_search", "ask_user", "exit_plan_mode", "report_intent", "lsp",
            "store_memory", "vote_memory", "update_todo", "task_complete",
            "fetch_copilot_cli_documentation",
        }),
    ),
}  # fmt: skip


def paths(host: str) -> tuple[str, ...]:
    """Where the payload has what ``HEAD`` says, and the files."""
    _prompt, given, command, results = WIRES[host].shape
    return (
        *("$.tool_name", "$.agent_id", "$.agent_type", f"$.{given}.{command}"),
        *(f"$.{results[0]}", WIRES[host].paths[5]),
        *(f"$.{given}.{name}" for name in HOSTS[host].files),
    )


def placed(path: str, text: str) -> dict[str, object]:
    """The part of a payload in which the text stands at a path of the wire."""
    name = path.removeprefix("$.")
    bare = name.removesuffix("[0]")
    return {bare: text if bare == name else [text]}


def stored_name(host: str, name: str) -> str:
    """The tool's name; an outside server's carries ``mcp__`` in front on every host, so that
    what it answers is not taken for the project's own."""
    if name.startswith("MCP:"):
        return "mcp__" + name.removeprefix("MCP:")
    own = HOSTS[host].own
    if not name or not own or name in own or name.startswith("mcp__"):
        return name
    return "mcp__" + name.removeprefix("mcp_")
