"""The commands that set capture up, turn it off and try it out."""

from __future__ import annotations

from cmem.cli.spec.kinds import DRY_RUN, JSON, YES, Arg, Command, Option

HOSTS = "The host: claude-code, codex, gemini-cli, opencode, cursor or copilot-cli."
SCOPE = Option(("--scope",), "Whose configuration: user (the default) or project.", metavar="SCOPE")

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
INSTALL = Command(
    "install",
    "Add cmem's hooks to a host's configuration.",
    "Edits the host's own settings file in place, keeps every other byte, and can be undone "
    "exactly by `cmem uninstall`. For OpenCode, which has none for hooks, it writes a plugin. What "
    "is written for Cursor follows its documentation and was not tried with Cursor itself. At a "
    "terminal it asks before it writes, who is to make memories, and whether to bring in past "
    "sessions; with --yes it asks nothing.",
    (
        "cmem install",
        "cmem install --yes",
        "cmem install codex",
        "cmem install --scope project",
        "cmem install --print",
    ),
    "cmem.cli.install:run_install",
    (Arg("host", HOSTS, default="claude-code"),),
    (
        SCOPE,
        Option(("--provider",), "Who observes (`cmem provider list`).", metavar="NAME"),
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
DOCTOR = Command(
    "doctor",
    "Try out every link from hook to search, and say what is broken.",
    "Runs the registered hook command in a bare environment with a test event, follows it into "
    "the store and the search, and takes it out again. Nothing else is changed; what repairs a "
    "fault is named. Exits 1 when a link is broken, 0 when there are only warnings. --repair saves "
    "what can be read of a damaged memory into a new one, tells what is lost, and keeps the "
    "damaged files in `quarantine`; hooks go on meanwhile.",
    ("cmem doctor", "cmem doctor --json", "cmem doctor --repair"),
    "cmem.cli.doctor:run",
    (),
    (
        Option(("--repair",), "Repair a damaged memory first.", "flag", default=False),
        JSON,
    ),
)
MODE_LIST = Command(
    "mode list",
    "List the modes; a star marks the chosen one.",
    "Your own modes are the files in the folder `modes` of the data home. The setting `mode` "
    "chooses.",
    ("cmem mode list", "cmem mode list --json"),
    "cmem.cli.mode:run_list",
    (),
    (JSON,),
)
MODE_SHOW = Command(
    "mode show",
    "Show a mode with its parents applied, and what a model is told.",
    "Types with their marks, concepts, and the texts that stand before every request.",
    ("cmem mode show", "cmem mode show research", "cmem mode show writing --prompt"),
    "cmem.cli.mode:run_show",
    (Arg("name", "A mode; without one, the chosen one.", default=""),),
    (
        Option(("--prompt",), "Only the text for observations, to copy.", "flag", default=False),
        Option(("--summary",), "With --prompt: the one for summaries.", "flag", default=False),
        JSON,
    ),
)
MODE_CHECK = Command(
    "mode check",
    "Say what is wrong in a mode, with file and line.",
    "Exit code 1 if anything is. A file may lie anywhere; what it inherits is looked for as if it "
    "lay in the data home.",
    ("cmem mode check mine", "cmem mode check drafts/mine.toml"),
    "cmem.cli.mode:run_check",
    (Arg("name_or_file", "A mode or a file; without one, the chosen mode.", default=""),),
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

COMMANDS: tuple[Command, ...] = (
    OFF,
    ON,
    INSTALL,
    UNINSTALL,
    DOCTOR,
    MODE_LIST,
    MODE_SHOW,
    MODE_CHECK,
    HOOK,
)
