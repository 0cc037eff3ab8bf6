"""The commands about which projects there are."""

from __future__ import annotations

from cmem.cli.spec.kinds import DRY_RUN, JSON, Arg, Command, Option

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
    "use `cmem project merge`. A folder that is yet to come is given as a path (./name); --remove "
    "takes away all that a folder was recognised by.",
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

COMMANDS: tuple[Command, ...] = (
    PROJECT_LIST,
    PROJECT_SHOW,
    PROJECT_ALIAS,
    PROJECT_MERGE,
    PROJECT_UNMERGE,
    PROJECT_RENAME,
)
