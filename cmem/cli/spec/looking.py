"""The commands that look through the memory without a query: by kind, file, session."""

from __future__ import annotations

from cmem.cli.spec.kinds import ALL_PROJECTS, JSON, KIND, PROJECT, Arg, Command, Option

SINCE = Option(("--since",), "Not before: 2026-11-29, an ISO instant, 7d, monday.", metavar="WHEN")
UNTIL = Option(("--until",), "Not after; a day counts to its end.", metavar="WHEN")
BY = Option(("--by",), "Group by day or project.", metavar="WAY")
LIMIT = Option(("--limit", "-n"), "At most this many.", "int", default=20)

LIST = Command(
    "list",
    "List memories, the newest first, by type, concept, kind and time.",
    "Observations, unless --kind names something else. The current project is listed unless "
    "another is named.",
    (
        "cmem list",
        "cmem list --type decision --since monday",
        "cmem list --since 'last week' --by day --all-projects",
    ),
    "cmem.cli.listing:run",
    (),
    (
        KIND,
        Option(("--type",), "Only this observation type. Repeatable.", repeatable=True),
        Option(("--concept",), "Only with this concept. Repeatable.", repeatable=True),
        SINCE,
        UNTIL,
        BY,
        LIMIT,
        PROJECT,
        ALL_PROJECTS,
        JSON,
    ),
    hot=True,
)
FILE = Command(
    "file",
    "Show what is known of a file, the newest first.",
    "PATH as it is in the project, its end, or in full. Where a captured `mv` or `git mv` gave "
    "the file or its folder a name, what is known under earlier and later names is shown too. "
    "Observations and summaries, unless --kind names something else, such as the tool calls on it.",
    ("cmem file src/auth.py", "cmem file auth.py --kind tool --since 7d --json"),
    "cmem.cli.listing:run_file",
    (Arg("path", "The file."),),
    (KIND, SINCE, UNTIL, BY, LIMIT, PROJECT, ALL_PROJECTS, JSON),
    hot=True,
)
SESSION_LIST = Command(
    "session list",
    "List the sessions of the project, the one used last first.",
    "With what each was about and how much is stored of it.",
    ("cmem session list", "cmem session list --since monday --all-projects --json"),
    "cmem.cli.session:run_list",
    (),
    (
        SINCE,
        UNTIL,
        Option(("--host",), "Only from this host, for example claude-code."),
        LIMIT,
        PROJECT,
        ALL_PROJECTS,
        JSON,
    ),
    hot=True,
)
SESSION_SHOW = Command(
    "session show",
    "Show one session from its beginning to its end.",
    "Prompts, observations and summaries in time order; --kind tool shows the tool calls. "
    "`cmem get` prints one of them in full.",
    ("cmem session show N4", "cmem session show 5f7d2c1a --json"),
    "cmem.cli.session:run_show",
    (Arg("session", "N4, or the host's id or its beginning."),),
    (KIND, JSON),
    hot=True,
)

COMMANDS: tuple[Command, ...] = (LIST, FILE, SESSION_LIST, SESSION_SHOW)
