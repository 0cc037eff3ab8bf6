"""The commands that bring memories in from elsewhere and take them along."""

from __future__ import annotations

from cmem.cli.spec.kinds import DRY_RUN, JSON, PROJECT, Arg, Command, Option

EXPORT = Command(
    "export",
    "Write the memory to a file, complete, for another machine or a backup.",
    "One JSON object a line, projects first, then session by session; the same memory gives the "
    "same bytes. With .gz or .zst at the end of its name the file is compressed; - is standard "
    "output. `cmem import FILE` brings it into another memory. With --md it writes a folder of "
    "Markdown instead, one file for each session, and touches only files that changed.",
    (
        "cmem export memory.jsonl.gz",
        "cmem export - --project calculator --since 30d | head",
        "cmem export shared.jsonl --redacted --project calculator",
        "cmem export --md ~/notes/memory",
    ),
    "cmem.cli.export:run",
    (Arg("file", "The file to write, - for standard output.", default=""),),
    (
        PROJECT._replace(help="Only this project, by name, number or key."),
        Option(("--since",), "Only sessions with an event since: a date, monday, 7d."),
        Option(
            ("--redacted",),
            "For somebody else: without prompts, tool payloads, last messages, folders, and what "
            "extract quotes of them (of its memories only the files are left); scrubbed once more.",
            "flag",
            default=False,
        ),
        Option(("--md",), "Write Markdown into this folder.", metavar="DIR"),
        JSON,
    ),
)
IMPORT_FILE = Command(
    "import file",
    "Bring in what `cmem export` has written, here or elsewhere.",
    "`cmem import FILE` is short for it. What is known already stays as it is, so a second run adds "
    "nothing and one that was interrupted is completed. Every text goes through the rules for "
    "secrets again. What was forgotten there is forgotten here too (--undo brings it back within "
    "a day), and what was forgotten here stays away. A line that cannot be read is named, the "
    "others go in.",
    (
        "cmem import file memory.jsonl.gz",
        "cmem import file memory.jsonl --dry-run",
        "cmem import file - --json < memory.jsonl",
    ),
    "cmem.cli.import_file:run",
    (Arg("file", "The file, - for standard input."),),
    (DRY_RUN, JSON),
)
IMPORT_CLAUDE_MEM = Command(
    "import claude-mem",
    "Bring in the memories of claude-mem.",
    "Reads a private copy of its database, also while it runs, and changes nothing there. "
    "Observations, summaries, prompts, tool uses and sessions come in with their times and "
    "projects; a second run adds only what is new. Without DB it is ~/.claude-mem/claude-mem.db.",
    (
        "cmem import claude-mem --dry-run",
        "cmem import claude-mem",
        "cmem import claude-mem ~/backup/claude-mem.db --json",
    ),
    "cmem.cli.import_claude_mem:run",
    (Arg("db", "Its database.", default=""),),
    (DRY_RUN, JSON),
)

COMMANDS: tuple[Command, ...] = (EXPORT, IMPORT_FILE, IMPORT_CLAUDE_MEM)
