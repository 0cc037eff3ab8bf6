"""Every command as data: the one table behind parsing, help and docs/cli.md.

The light parser (``parse``) and the typer application (``app``) are both made from it, so an
agent's call that skips typer and a person's call that does not understand the same language.
"""

from __future__ import annotations

from typing import NamedTuple


class Arg(NamedTuple):
    """A positional argument. ``many``: takes all that follow; ``default`` None: required."""

    name: str
    help: str
    many: bool = False
    default: str | None = None


class Option(NamedTuple):
    """A named option. ``names``: long first, then aliases. ``kind``: flag | text | int."""

    names: tuple[str, ...]
    help: str
    kind: str = "text"
    default: str | int | bool | None = None
    repeatable: bool = False
    metavar: str = ""

    @property
    def key(self) -> str:
        """The name its value goes by: ``--dry-run`` is ``dry_run``."""
        return self.names[0].lstrip("-").replace("-", "_")


class Command(NamedTuple):
    """One command. ``target``: "module:function", imported when it runs."""

    name: str
    summary: str
    detail: str
    examples: tuple[str, ...]
    target: str
    args: tuple[Arg, ...] = ()
    options: tuple[Option, ...] = ()
    hot: bool = False


def metavar(option: Option) -> str:
    """What stands for the option's value in help and docs."""
    return option.metavar or ("N" if option.kind == "int" else option.key.upper())


JSON = Option(("--json",), "Print one JSON document.", "flag", default=False)
YES = Option(("--yes", "-y"), "Do not ask.", "flag", default=False)
DRY_RUN = Option(("--dry-run",), "Show what would happen, change nothing.", "flag", default=False)
KIND = Option(
    ("--kind",),
    "Only this kind: observation, summary, prompt, tool (or O, S, P, T). Repeatable.",
    repeatable=True,
    metavar="KIND",
)
PROJECT = Option(("--project",), "A project by name instead of the current one.", metavar="NAME")
ALL_PROJECTS = Option(("--all-projects", "--all"), "Search every project.", "flag", default=False)
SESSION = Option(("--session",), "Only this session: N4 or the host's id.", metavar="ID")
SCOPE = Option(("--scope",), "Whose configuration: user (the default) or project.", metavar="SCOPE")

SEARCH = Command(
    "search",
    "Find memories: observations, summaries, prompts and tool calls.",
    "Any text is a legal query, in any script. All words are looked for first, then any of "
    'them. "quoted words" must stand together; a word after a minus is left out (put the '
    "query in quotes, or after --). Without a query, at least one filter lists the newest. "
    "The current project is searched unless another is named.",
    (
        "cmem search auth timeout",
        "cmem search --type bugfix --since 7d",
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
    "memory of the project.",
    ("cmem timeline O12", "cmem timeline --before 10 --after 0", "cmem timeline auth timeout"),
    "cmem.cli.timeline:run",
    (Arg("anchor", "An id (O12, S3, P7, T9, N4) or words.", many=True, default=""),),
    (
        Option(("--before",), "How many before the anchor.", "int", default=5),
        Option(("--after",), "How many after it.", "int", default=5),
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
    "(or the host's session id). A bare number is an observation.",
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
    "behind it, as they were captured.",
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
    "memory's reason follows.",
    ("cmem context", "cmem context --explain --budget 1000"),
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
FORGET = Command(
    "forget",
    "Forget memories and what was derived from them.",
    "Hides them at once; within a day --undo brings them back, then they can be removed for "
    "good. --hard removes them now, to the last byte. Counts are shown first.",
    ("cmem forget O12", "cmem forget P7 T9 --hard --yes", "cmem forget O12 --undo"),
    "cmem.cli.forget:run",
    (Arg("ids", "Ids to forget.", many=True, default=""),),
    (
        Option(("--session",), "Everything of this session. Repeatable.", repeatable=True),
        Option(("--hard",), "Remove for good, now.", "flag", default=False),
        Option(("--undo",), "Bring hidden ones back.", "flag", default=False),
        YES,
        DRY_RUN,
        JSON,
    ),
)
COMPRESS = Command(
    "compress",
    "Take in captured events and turn closed turns into observations.",
    "Hooks start it in the background by themselves. Exits 0 also when the provider is down; "
    "the reason is printed, and nothing is lost. Exits 75 when another run does not end in "
    "time.",
    ("cmem compress", "cmem compress --all --provider extract", "cmem compress --dry-run"),
    "cmem.cli.compress:run",
    (),
    (
        Option(("--provider",), "Who observes: extract or anthropic.", metavar="NAME"),
        Option(("--model",), "The model to ask.", metavar="NAME"),
        SESSION,
        Option(("--open", "--all"), "Close and observe open turns too.", "flag", default=False),
        Option(("--max-calls",), "At most this many model calls.", "int", metavar="N"),
        Option(("--wait",), "Seconds to wait for another run.", "int", default=10, metavar="S"),
        DRY_RUN,
        JSON,
    ),
)
INSTALL = Command(
    "install",
    "Add cmem's hooks to a host's configuration.",
    "Edits the host's own settings file in place, keeps every other byte, and can be undone "
    "exactly by `cmem uninstall`.",
    ("cmem install", "cmem install claude-code --scope project", "cmem install --print"),
    "cmem.cli.install:run_install",
    (Arg("host", "The host.", default="claude-code"),),
    (
        SCOPE,
        Option(("--provider",), "Who observes: extract or anthropic.", metavar="NAME"),
        Option(("--print",), "Print the snippet to add by hand.", "flag", default=False),
        YES,
        DRY_RUN,
        JSON,
    ),
)
UNINSTALL = Command(
    "uninstall",
    "Take cmem's hooks out of a host's configuration again.",
    "What is remembered stays, unless --purge is given.",
    ("cmem uninstall", "cmem uninstall --purge --yes"),
    "cmem.cli.install:run_uninstall",
    (Arg("host", "The host.", default="claude-code"),),
    (
        SCOPE,
        Option(("--purge",), "Delete the memory too.", "flag", default=False),
        YES,
        DRY_RUN,
        JSON,
    ),
)
HOOK = Command(
    "hook",
    "Capture one event of a host (called by hosts, not by people).",
    "Reads one JSON document from stdin and exits 0 whatever happens.",
    ("cmem hook claude-code Stop < payload.json",),
    "cmem.cli.hook:run",
    (
        Arg("host", "The host's name."),
        Arg("event", "The event, as the host spells it."),
        Arg("home", "The data home.", default=""),
    ),
)

COMMANDS: tuple[Command, ...] = (
    SEARCH,
    TIMELINE,
    GET,
    RAW,
    CONTEXT,
    STATUS,
    COMPRESS,
    FORGET,
    INSTALL,
    UNINSTALL,
    HOOK,
)
BY_NAME: dict[str, Command] = {command.name: command for command in COMMANDS}
