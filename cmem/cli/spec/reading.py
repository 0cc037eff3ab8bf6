"""The commands that read the memory."""

from __future__ import annotations

from cmem.cli.spec.kinds import ALL_PROJECTS, JSON, KIND, PROJECT, SESSION, Arg, Command, Option

SEARCH = Command(
    "search",
    "Find memories: observations, summaries, prompts and tool calls.",
    "Any text is a legal query, in any script. All words are looked for first, then any of "
    "them, then words like those nothing holds. "
    '"quoted words" must stand together; a word after a minus is left out (put the '
    "query in quotes, or after --). Filters may stand among the words: type:decision, "
    "file:auth.ts, kind:, concept:, project:, branch:, host:, agent:, session:, since:monday, "
    "until:; with a minus in front they leave out. Without a query, at least one filter lists the newest. "
    "The current project is searched unless another is named.",
    (
        "cmem search auth timeout",
        "cmem search --type bugfix --since 7d",
        "cmem search retries file:client.py since:monday",
        'cmem search --json -- "connection refused" -redis',
    ),
    "cmem.cli.search:run",
    (Arg("query", "Words to look for.", many=True, default=""),),
    (
        KIND,
        Option(("--type",), "Only this observation type. Repeatable.", repeatable=True),
        Option(("--concept",), "Only with this concept. Repeatable.", repeatable=True),
        Option(("--file",), "Only what concerns this file.", metavar="PATH"),
        PROJECT,
        ALL_PROJECTS,
        SESSION,
        Option(("--host",), "Only from this host, for example claude-code."),
        Option(("--branch",), "Only what happened on this git branch.", metavar="NAME"),
        Option(("--agent",), "Only from subagents of this type.", metavar="TYPE"),
        Option(("--since",), "Not before: 2026-11-29, an ISO instant, 7d, monday.", metavar="WHEN"),
        Option(("--until",), "Not after; a day counts to its end.", metavar="WHEN"),
        Option(("--limit", "-n"), "At most this many.", "int", default=20),
        JSON,
    ),
    hot=True,
)
TIMELINE = Command(
    "timeline",
    "Show what happened around a memory, in time order.",
    "The anchor is an id, or words whose best match is taken; without one it is the newest "
    "memory of the project. With --since or --until and no anchor it is everything of that time "
    "instead, the newest --limit of it.",
    (
        "cmem timeline O12",
        "cmem timeline --before 10 --after 0",
        "cmem timeline auth timeout",
        "cmem timeline --since 'last week' --by day",
    ),
    "cmem.cli.timeline:run",
    (Arg("anchor", "An id (O12, S3, P7, T9, N4) or words.", many=True, default=""),),
    (
        Option(("--before",), "How many before the anchor.", "int", default=5),
        Option(("--after",), "How many after it.", "int", default=5),
        Option(("--since",), "Not before: 2026-11-29, an ISO instant, 7d, monday.", metavar="WHEN"),
        Option(("--until",), "Not after; a day counts to its end.", metavar="WHEN"),
        Option(("--by",), "Group by day or project.", metavar="WAY"),
        Option(("--limit", "-n"), "With --since: at most this many.", "int", default=200),
        KIND,
        SESSION,
        PROJECT,
        ALL_PROJECTS,
        JSON,
    ),
    hot=True,
)
GET = Command(
    "get",
    "Print everything stored about memories.",
    "Takes ids of every kind: O12 observation, S3 summary, P7 prompt, T9 tool call, N4 session "
    "(or the host's session id), W2 open work. A bare number is an observation.",
    ("cmem get O12", "cmem get 12 S3 P7 --json"),
    "cmem.cli.get:run",
    (Arg("ids", "Ids to print.", many=True),),
    (JSON,),
    hot=True,
)
RAW = Command(
    "raw",
    "Print original tool input and output.",
    "T9 is one tool call; for an observation, prompt, summary or session it is the tool calls "
    "behind it, as they were captured; of those that `cmem prune` has been at, what is left.",
    ("cmem raw T9", "cmem raw O12 --json"),
    "cmem.cli.raw:run",
    (Arg("ids", "Ids whose tool calls to print.", many=True),),
    (JSON,),
    hot=True,
)
CONTEXT = Command(
    "context",
    "Print the block that the next session starts with.",
    "The same choice and the same bytes as the session-start hook. With --explain each "
    "memory's reason follows, with the numbers of its score. --write puts the block between two "
    "marks into a file that an agent without hooks reads by itself; --remove takes it out.",
    (
        "cmem context",
        "cmem context --explain --budget 1000",
        "cmem context --source compact --session N4",
        "cmem context --source fork --session N4",
        "cmem context --write AGENTS.md",
    ),
    "cmem.cli.context:run",
    (),
    (
        Option(("--budget",), "Token limit (setting context_budget).", "int", metavar="TOKENS"),
        Option(("--explain",), "Say why each memory is there.", "flag", default=False),
        PROJECT,
        Option(
            ("--source",),
            "As at this kind of session start: startup, clear, compact, resume, fork.",
            default="startup",
            metavar="SOURCE",
        ),
        Option(
            ("--session",),
            "The session that goes on, for compact and resume, or is forked: N4 or the host's id.",
            metavar="ID",
        ),
        Option(("--write",), "Put the block into this file, or renew it there.", metavar="FILE"),
        Option(("--remove",), "Take the block out of this file.", metavar="FILE"),
        Option(("--dry-run",), "Only say what would become of the file.", "flag", default=False),
        JSON,
    ),
    hot=True,
)
STATUS = Command(
    "status",
    "Show what is captured, waiting and stored.",
    "Exits 1 when events arrive but nothing has been stored or observed for a day; the health "
    "line says what to do.",
    ("cmem status", "cmem status --json"),
    "cmem.cli.status:run",
    (),
    (JSON,),
    hot=True,
)
STATUSLINE = Command(
    "statusline",
    "Print one line for a host's status bar.",
    "The project, how many memories it has, what is still to be done and what waits to be stored. "
    "The directory is taken from the JSON that Claude Code gives a status line, else it is the "
    "current one.",
    ("cmem statusline", "cmem statusline --json"),
    "cmem.cli.statusline:run",
    (),
    (JSON,),
    hot=True,
)

COMMANDS: tuple[Command, ...] = (SEARCH, TIMELINE, GET, RAW, CONTEXT, STATUS, STATUSLINE)
