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
    """One command. ``target``: "module:function", imported when it runs. A ``name`` of two
    words is a sub-command of the group of ``GROUPS`` that the first one names."""

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
HOSTS = "The host: claude-code, codex, gemini-cli or opencode."
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
    "Hides them at once; within a day --undo brings them back, then they are removed for good. "
    "--hard removes them now, to the last byte. An observation takes along the evidence it was "
    "made of. --dry-run tells what would go; a terminal is asked, and in a script a whole "
    "session needs --yes.",
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
    "exactly by `cmem uninstall`. For OpenCode, which has none for hooks, it writes a plugin.",
    ("cmem install", "cmem install codex", "cmem install --scope project", "cmem install --print"),
    "cmem.cli.install:run_install",
    (Arg("host", HOSTS, default="claude-code"),),
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
    (Arg("host", HOSTS, default="claude-code"),),
    (
        SCOPE,
        Option(("--purge",), "Delete the memory too.", "flag", default=False),
        YES,
        DRY_RUN,
        JSON,
    ),
)
PROJECT_NAME = "A project: its name, number, key, folder or remote."
PROJECT_LIST = Command(
    "project list",
    "List every project that has memories, the one used last first.",
    "Counts are each project's own; what was merged into another says so. A project whose "
    "folder is gone is marked, with the project it may have become.",
    ("cmem project list", "cmem project list --json"),
    "cmem.cli.project:run_list",
    (),
    (JSON,),
    hot=True,
)
PROJECT_SHOW = Command(
    "project show",
    "Show what a project is recognised by, what is in it, its last sessions.",
    "Without a name it is the project of this folder. Counts are those of the project and of "
    "all that was merged into it.",
    ("cmem project show", "cmem project show calculator --json"),
    "cmem.cli.project:run_show",
    (Arg("project", PROJECT_NAME, default=""),),
    (JSON,),
    hot=True,
)
PROJECT_ALIAS = Command(
    "project alias",
    "Say that a folder or a remote belongs to a project too.",
    "For a folder that was moved or renamed, or a remote that now has another address: what "
    "happens there from now on counts to the project. Has the other one memories already, "
    "use `cmem project merge`.",
    (
        "cmem project alias calculator ~/src/calculator-2",
        "cmem project alias calculator git@example.org:team/calculator.git",
        "cmem project alias calculator ~/src/calculator-2 --remove",
    ),
    "cmem.cli.project:run_alias",
    (
        Arg("project", PROJECT_NAME),
        Arg("path_or_remote", "The folder or the remote's address."),
    ),
    (Option(("--remove",), "Take it away again.", "flag", default=False), DRY_RUN, JSON),
)
PROJECT_MERGE = Command(
    "project merge",
    "Make two projects one: the first counts to the second from now on.",
    "Nothing is rewritten, so `cmem project unmerge` takes it back exactly.",
    ("cmem project merge old-calculator calculator --dry-run", "cmem project merge 7 2"),
    "cmem.cli.project:run_merge",
    (
        Arg("source", "The project that is to be part of the other one."),
        Arg("into", "The project that stays."),
    ),
    (DRY_RUN, JSON),
)
PROJECT_UNMERGE = Command(
    "project unmerge",
    "Make a merged project one of its own again.",
    "It takes back everything it had, and what came to it since.",
    ("cmem project unmerge old-calculator",),
    "cmem.cli.project:run_unmerge",
    (Arg("project", PROJECT_NAME),),
    (DRY_RUN, JSON),
)
PROJECT_RENAME = Command(
    "project rename",
    "Give a project another name.",
    "Only the name that is shown and searched for changes, not what the project is recognised by.",
    ("cmem project rename calc calculator",),
    "cmem.cli.project:run_rename",
    (Arg("project", PROJECT_NAME), Arg("name", "The new name.")),
    (DRY_RUN, JSON),
)
QUEUE_LIST = Command(
    "queue list",
    "List the turns and sessions that wait to be observed, and those put aside.",
    "A unit is one turn, a half of one, or a session to summarise. It is parked after failing "
    "over and over; the reason is told. Parked ones come first, then the oldest.",
    ("cmem queue list", "cmem queue list --state parked --json"),
    "cmem.cli.queue:run_list",
    (),
    (
        Option(
            ("--state",),
            "Only these: pending, parked, or dropped, which are not listed otherwise.",
            metavar="STATE",
        ),
        Option(("--limit", "-n"), "At most this many.", "int", default=20),
        JSON,
    ),
)
UNITS = Arg("ids", "Units by their number in `cmem queue list`.", many=True, default="")
EVERY_PARKED = Option(("--all",), "Every parked unit.", "flag", default=False)
QUEUE_RETRY = Command(
    "queue retry",
    "Let parked units be tried again, as if for the first time.",
    "The next `cmem compress` tries them. A dropped unit is taken back when it is named.",
    ("cmem queue retry --all", "cmem queue retry 12 14"),
    "cmem.cli.queue:run_retry",
    (UNITS,),
    (EVERY_PARKED, JSON),
)
QUEUE_DROP = Command(
    "queue drop",
    "Give up parked units, or pending ones that are named.",
    "They become no observation or summary. Their prompts and tool calls stay, and are found "
    "as before; `cmem queue retry` with the id takes it back.",
    ("cmem queue drop 12", "cmem queue drop --all --yes"),
    "cmem.cli.queue:run_drop",
    (UNITS,),
    (EVERY_PARKED, YES, DRY_RUN, JSON),
)
_SWITCHES = (
    Option(
        ("--here",),
        "This project: a file .cmem-off in its folder (the default).",
        "flag",
        default=False,
    ),
    Option(("--session",), "One session: N4 or the host's id.", metavar="ID"),
    Option(("--everywhere", "--global"), "All projects and sessions.", "flag", default=False),
    JSON,
)
OFF = Command(
    "off",
    "Stop storing and showing memories here, for a session, or everywhere.",
    "Hooks then keep nothing, not even a line in a log, and a session starts without memories. "
    "What is stored already stays and can be searched. `cmem status` says why memory is off.",
    ("cmem off", "cmem off --session N4", "cmem off --global"),
    "cmem.cli.off:run_off",
    (),
    _SWITCHES,
)
ON = Command(
    "on",
    "Undo `cmem off`.",
    "Takes back what `cmem off` with the same option did, and says what else still keeps memory "
    "off here.",
    ("cmem on", "cmem on --session N4", "cmem on --global"),
    "cmem.cli.off:run_on",
    (),
    _SWITCHES,
)
DOCTOR = Command(
    "doctor",
    "Try out every link from hook to search, and say what is broken.",
    "Runs the registered hook command in a bare environment with a test event, follows it into "
    "the store and the search, and takes it out again. Nothing else is changed; what repairs a "
    "fault is named. Exits 1 when a link is broken, 0 when there are only warnings.",
    ("cmem doctor", "cmem doctor --json"),
    "cmem.cli.doctor:run",
    (),
    (JSON,),
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
REDACT = Command(
    "redact",
    "Show what the rules for secrets would cut from a text.",
    "Stores nothing. Each finding is named by its rule and line; with --text the text is printed "
    "as it would be stored.",
    ("cmem redact --test notes.txt", "cmem redact --test - --text < build.log"),
    "cmem.cli.redact:run",
    (),
    (
        Option(("--test",), "The text; - is standard input.", metavar="FILE"),
        Option(("--text",), "Print the text without what is cut.", "flag", default=False),
        JSON,
    ),
)
SCAN = Command(
    "scan",
    "Look for secrets in what is stored already.",
    "Reads every stored text with the rules of this version and names rows and rules, never the "
    "secret. With --fix it is cut out of these rows, of the index and of the file.",
    ("cmem scan", "cmem scan --fix", "cmem scan --json"),
    "cmem.cli.scan:run",
    (),
    (Option(("--fix",), "Cut out what is found.", "flag", default=False), JSON),
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
    REDACT,
    SCAN,
    PROJECT_LIST,
    PROJECT_SHOW,
    PROJECT_ALIAS,
    PROJECT_MERGE,
    PROJECT_UNMERGE,
    PROJECT_RENAME,
    QUEUE_LIST,
    QUEUE_RETRY,
    QUEUE_DROP,
    OFF,
    ON,
    INSTALL,
    UNINSTALL,
    DOCTOR,
    HOOK,
)
# Commands whose names have two words, and what the first one is about.
GROUPS: dict[str, str] = {
    "project": "See which projects there are, and say what belongs together.",
    "queue": "See what waits to be observed, and decide about what could not be.",
}
BY_NAME: dict[str, Command] = {command.name: command for command in COMMANDS}
