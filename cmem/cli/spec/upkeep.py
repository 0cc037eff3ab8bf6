"""The commands that make memories of what was captured, and clean up among them."""

from __future__ import annotations

from cmem.cli.spec.kinds import DRY_RUN, JSON, SESSION, YES, Arg, Command, Option

FORGET = Command(
    "forget",
    "Forget memories and what was derived from them.",
    "Hides them at once; within a day --undo brings them back, then they are removed for good. "
    "--hard removes them now, to the last byte, from backups too. Rows are named by id, or by "
    "filters that must all hold: a project, sessions, a time, a text in any stored word, in all "
    "projects unless one is named. An observation takes along the evidence it was made of. "
    "--dry-run tells what would go; a terminal is asked, and in a script whatever is not named "
    "by its id needs --yes. --undo alone lists what can be brought back.",
    (
        "cmem forget O12",
        "cmem forget P7 T9 --hard --yes",
        "cmem forget O12 --undo",
        "cmem forget --match 'Project Bluebird' --dry-run",
        "cmem forget --project calculator --since monday",
    ),
    "cmem.cli.forget:run",
    (Arg("ids", "Ids to forget.", many=True, default=""),),
    (
        Option(("--session",), "Everything of this session. Repeatable.", repeatable=True),
        Option(
            ("--project",), "Everything of this project, by name, number or key.", metavar="NAME"
        ),
        Option(("--match",), "What holds this text, in any case of letters.", metavar="TEXT"),
        Option(("--since",), "Not before: 2026-11-29, an ISO instant, 7d, monday.", metavar="WHEN"),
        Option(("--until",), "Not after; a day counts to its end.", metavar="WHEN"),
        Option(("--hard",), "Remove for good, now.", "flag", default=False),
        Option(("--undo",), "Bring hidden ones back.", "flag", default=False),
        YES,
        DRY_RUN,
        JSON,
    ),
)
PRUNE = Command(
    "prune",
    "Remove input and output of old tool calls.",
    "`cmem compress` does this by itself, a little each time, for what is older than the setting "
    "keep_raw_days. Only what has been observed goes; prompts, observations and summaries stay, "
    "and so does the line that says which tool was called and when. What an observation rests on "
    "is kept three times as long, what a pinned one rests on always. What was imported has that "
    "time from the import on, unless --older names an age.",
    ("cmem prune --dry-run", "cmem prune --older 90d --yes", "cmem prune --dry-run --json"),
    "cmem.cli.prune:run",
    (),
    (
        Option(("--older",), "Older than this many days, for example 90d.", metavar="DAYS"),
        YES,
        DRY_RUN,
        JSON,
    ),
)
VACUUM = Command(
    "vacuum",
    "Give free space in the memory's file back to the disk.",
    "In small steps, so that no hook waits. `cmem compress` gives back a little by itself; after "
    "a large `cmem forget` or `cmem prune` this does the rest.",
    ("cmem vacuum", "cmem vacuum --dry-run --json"),
    "cmem.cli.prune:run_vacuum",
    (),
    (DRY_RUN, JSON),
)
COMPRESS = Command(
    "compress",
    "Take in captured events and turn closed turns into observations.",
    "Hooks start it in the background by themselves. Exits 0 also when the provider is down; "
    "the reason is printed, and nothing is lost. Exits 75 when another run does not end in "
    "time. When the daily budget is reached, what is left waits for the next day; --dry-run "
    "tells what would be asked, what it would cost, and what would be left. --imported has the "
    "provider look at what imports of transcripts have brought, which `extract` observed for "
    "nothing: newest session first; it tells what it would take and asks before it does, and the "
    "same command goes on after an end in the middle.",
    ("cmem compress", "cmem compress --all --provider extract", "cmem compress --dry-run")
    + ("cmem compress --budget 2.50",)
    + ("cmem compress --imported --provider anthropic --dry-run",)
    + ("cmem compress --imported --budget 2 --since 90d",),
    "cmem.cli.compress:run",
    (),
    (
        Option(("--provider",), "Who observes (`cmem provider list`).", metavar="NAME"),
        Option(("--model",), "The model to ask.", metavar="NAME"),
        SESSION,
        Option(("--open", "--all"), "Close and observe open turns too.", "flag", default=False),
        Option(
            ("--batch",),
            "Give what waits to the Messages API as a batch, at half the price, and leave; a later "
            "run collects the results. Only with the provider anthropic.",
            "flag",
            default=False,
        ),
        Option(
            ("--imported",),
            "Observe again what was imported from transcripts.",
            "flag",
            default=False,
        ),
        Option(
            ("--project",),
            "With --imported: only this project, by name, number or key.",
            metavar="NAME",
        ),
        Option(
            ("--since",),
            "With --imported: only turns as new: 2026-05-01, monday, 90d.",
            metavar="WHEN",
        ),
        Option(("--max-calls",), "At most this many model calls.", "int", metavar="N"),
        Option(
            ("--budget",),
            "What today may take in place of the daily budgets in the settings: dollars (2.50), "
            "tokens (500k, 3M) or none. With --imported: what this run may take, whatever else "
            "the day has taken.",
            metavar="LIMIT",
        ),
        Option(("--wait",), "Seconds to wait for another run.", "int", default=10, metavar="S"),
        Option(("--yes", "-y"), "With --imported: do not ask.", "flag", default=False),
        DRY_RUN,
        JSON,
    ),
)
RECOMPRESS = Command(
    "recompress",
    "Observe a session again with another provider.",
    "Each turn and summary of the session is asked for once more; what comes back takes the "
    "place of what is there, which stays in the store, superseded, until --undo brings it back. "
    "What you pinned or edited stays. --dry-run tells what would be asked and its price; where a "
    "model costs something, a terminal is asked first and a script needs --yes. The daily "
    "budget holds. After an end in the middle the same command goes on.",
    (
        "cmem recompress N4 --provider claude-cli --dry-run",
        "cmem recompress N4 --provider anthropic --yes",
        "cmem recompress N4 --undo",
    ),
    "cmem.cli.recompress:run",
    (Arg("session", "The session: N4, or the host's id."),),
    (
        Option(("--provider",), "Who observes (`cmem provider list`).", metavar="NAME"),
        Option(("--model",), "The model to ask.", metavar="NAME"),
        Option(("--max-calls",), "At most this many model calls.", "int", metavar="N"),
        Option(
            ("--budget",),
            "What today may take in place of the daily budgets in the settings: dollars (2.50), "
            "tokens (500k, 3M) or none.",
            metavar="LIMIT",
        ),
        Option(("--wait",), "Seconds to wait for another run.", "int", default=10, metavar="S"),
        Option(("--undo",), "Bring the earlier result back.", "flag", default=False),
        YES,
        DRY_RUN,
        JSON,
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
QUEUE_LIST = Command(
    "queue list",
    "List the turns and sessions that wait to be observed, and those put aside.",
    "A unit is one turn, a half of one, or a session to summarise. It is parked after failing "
    "over and over; the reason is told. Parked ones and those in a batch come first, then the "
    "oldest.",
    ("cmem queue list", "cmem queue list --state parked --json"),
    "cmem.cli.queue:run_list",
    (),
    (
        Option(
            ("--state",),
            "Only these: pending, parked, batched, or dropped, which are not listed otherwise.",
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
    "The next `cmem compress` tries them. A dropped unit is taken back when it is named, and so "
    "is one in a batch, whose call counts by its estimate then.",
    ("cmem queue retry --all", "cmem queue retry 12 14"),
    "cmem.cli.queue:run_retry",
    (UNITS,),
    (EVERY_PARKED, JSON),
)
QUEUE_DROP = Command(
    "queue drop",
    "Give up parked units, or pending and batched ones that are named.",
    "They become no observation or summary. Their prompts and tool calls stay, and are found "
    "as before; `cmem queue retry` with the id takes it back.",
    ("cmem queue drop 12", "cmem queue drop --all --yes"),
    "cmem.cli.queue:run_drop",
    (UNITS,),
    (EVERY_PARKED, YES, DRY_RUN, JSON),
)
RULES_TEST = Command(
    "rules test",
    "Tell what would become of an event, and why.",
    "Reads a hook's payload from FILE or standard input, or makes one of --tool, --command, "
    "--path and --agent. Goes through the off switches, filters, rules for secrets, size and "
    "project as a hook and `cmem compress` do. Stores nothing, and never prints a secret.",
    (
        "cmem rules test event.json",
        "cmem rules test --tool Bash --command 'git status'",
        "cmem rules test --path ~/diary/monday.txt --cwd ~/src/calculator",
        "cmem rules test --host codex --event Stop --json < event.json",
    ),
    "cmem.cli.rules:run_test",
    (Arg("file", "The payload; - is standard input.", default=""),),
    (
        Option(("--host",), "The host whose event it is.", default="claude-code"),
        Option(("--event",), "The event, as the host spells it. Else the payload says it."),
        Option(("--cwd",), "The folder it happens in.", metavar="PATH"),
        Option(("--tool",), "The name of a tool.", metavar="NAME"),
        Option(("--command",), "A shell command.", metavar="TEXT"),
        Option(("--path",), "The file a tool reads or edits.", metavar="PATH"),
        Option(("--agent",), "The type of a subagent.", metavar="TYPE"),
        JSON,
    ),
)
RULES_LIST = Command(
    "rules list",
    "List the rules that decide what is captured, and what they left out.",
    "Filters of tool calls with their counts, excluded folders, sessions that are off, and the "
    "names of the rules for secrets.",
    ("cmem rules list", "cmem rules list --json"),
    "cmem.cli.rules:run_list",
    (),
    (JSON,),
)
TRACE = Command(
    "trace",
    "Tell what became of one event, from the hook to the memory.",
    "Takes an event's identity or how it begins, a host's id of a tool call, or T9, P7, O12, S3. "
    "Says when and where it was captured, whether it waits, was taken in or put aside, which "
    "turn and unit of work it belongs to, what was made of it. Of what was forgotten it says "
    "only that. Exits 1 when nothing is known of it.",
    ("cmem trace T9", "cmem trace toolu_01c1663b", "cmem trace O12 --json"),
    "cmem.cli.trace:run",
    (Arg("event", "An id, or an event's identity."),),
    (JSON,),
)

COMMANDS: tuple[Command, ...] = (
    COMPRESS,
    RECOMPRESS,
    FORGET,
    PRUNE,
    VACUUM,
    REDACT,
    SCAN,
    QUEUE_LIST,
    QUEUE_RETRY,
    QUEUE_DROP,
    RULES_TEST,
    RULES_LIST,
    TRACE,
)
