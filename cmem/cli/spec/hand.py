"""The commands by which a person writes, corrects and removes memories."""

from __future__ import annotations

from cmem.cli.spec.kinds import ALL_PROJECTS, DRY_RUN, JSON, PROJECT, Arg, Command, Option

NOTE = Command(
    "note",
    "Remember something, in your own words.",
    "The note is found by search and shown to the next sessions of this project, with --global "
    "to those of every project. Its first line is its title unless --title names one. Secrets "
    "are cut out of it as they are out of everything. The same note twice is one, counted twice.",
    (
        "cmem note 'Releases are cut from the branch stable, never from main.'",
        "cmem note --type decision --file src/retry.py --pin 'Retries end after 3.'",
        "cmem note - --title 'Why the cache went' < reasons.txt",
        "cmem note --global 'Answer in English; code comments too.'",
    ),
    "cmem.cli.note:run",
    (Arg("text", "What to remember; - is standard input.", many=True, default=""),),
    (
        Option(("--type",), "The type, for example decision or gotcha.", default="note"),
        Option(("--title",), "The title, instead of the first line."),
        Option(("--concept",), "A concept it belongs to. Repeatable.", repeatable=True),
        Option(("--file",), "A file it is about. Repeatable.", repeatable=True, metavar="PATH"),
        Option(("--pin",), "Show it in every session.", "flag", default=False),
        PROJECT,
        Option(("--everywhere", "--global"), "It holds in every project.", "flag", default=False),
        JSON,
    ),
)
EDIT = Command(
    "edit",
    "Change what an observation or note says.",
    "With options, these parts are replaced; --fact, --concept and --file replace all there "
    "were. Without, a terminal opens $EDITOR. Where it came from and when stays, what it said "
    "before is gone from every file, backups included, and does not come back. The prompts and "
    "tool calls behind it stay; `cmem forget` removes those too.",
    (
        "cmem edit O12",
        "cmem edit O12 --title 'Retries end after 4' --type decision",
        "cmem edit O12 --text - < corrected.txt",
    ),
    "cmem.cli.edit:run",
    (Arg("id", "The observation: O12."),),
    (
        Option(("--title",), "Another title."),
        Option(("--subtitle",), "Another subtitle.", metavar="TEXT"),
        Option(("--text",), "Another text; - is standard input."),
        Option(("--type",), "Another type."),
        Option(("--fact",), "A fact. Repeatable.", repeatable=True, metavar="TEXT"),
        Option(("--concept",), "A concept. Repeatable.", repeatable=True),
        Option(("--file",), "A file it is about. Repeatable.", repeatable=True, metavar="PATH"),
        DRY_RUN,
        JSON,
    ),
)
IDS = Arg("ids", "Observations: O12, O14.", many=True)
PIN = Command(
    "pin",
    "Show observations or notes at the start of every session of their project.",
    "Pinned ones stand first, within the budget of the block, and are never pruned.",
    ("cmem pin O12", "cmem pin O12 O14 --json"),
    "cmem.cli.pin:run_pin",
    (IDS,),
    (JSON,),
)
UNPIN = Command(
    "unpin",
    "Take the pin of observations or notes.",
    "They stay what they were, and are shown when they are recent enough.",
    ("cmem unpin O12",),
    "cmem.cli.pin:run_unpin",
    (IDS,),
    (JSON,),
)
SUPERSEDE = Command(
    "supersede",
    "Let a newer observation stand for an older one.",
    "The older one is neither found nor shown any more; `cmem get` still prints it and names "
    "the newer one. Nothing is removed, and --undo takes it back.",
    ("cmem supersede O12 O20", "cmem supersede O12 --undo"),
    "cmem.cli.supersede:run",
    (
        Arg("old", "The observation that holds no more."),
        Arg("new", "The one that stands for it.", default=""),
    ),
    (Option(("--undo",), "Let OLD stand for itself again.", "flag", default=False), JSON),
)
STATE_ADD = Command(
    "state add",
    "Say what is still to be done in this project.",
    "One line; the next sessions are told until it is done. Secrets are cut out of it. Numbers "
    "have gaps, because each change to an item takes one too.",
    (
        "cmem state add 'Move the retry limit into the settings'",
        "cmem state add --project calculator 'Release 1.2'",
    ),
    "cmem.cli.state:run_add",
    (Arg("text", "What is to be done; - is standard input.", many=True, default=""),),
    (PROJECT, JSON),
)
STATE_LIST = Command(
    "state list",
    "List what is still to be done, the newest first.",
    "Of the current project, unless another is named; with --done also what is done.",
    ("cmem state list", "cmem state list --done --all-projects --json"),
    "cmem.cli.state:run_list",
    (),
    (
        Option(("--done",), "What is done, too.", "flag", default=False),
        PROJECT,
        ALL_PROJECTS,
        JSON,
    ),
)
STATE_DONE = Command(
    "state done",
    "Say that something is done.",
    "Nothing is removed: --undo opens it again, `cmem forget W3` takes it away.",
    ("cmem state done W3", "cmem state done W3 W4", "cmem state done W3 --undo"),
    "cmem.cli.state:run_done",
    (Arg("ids", "Items: W3, W4.", many=True),),
    (Option(("--undo",), "Open them again.", "flag", default=False), JSON),
)
DEDUP = Command(
    "dedup",
    "Show memories that may be one, side by side, and join them.",
    "Compares the titles of the newest 2,000 of the project, weighing rare words most; a version "
    "or a rare word that differs keeps two apart. To join lets the older one stand for the newer "
    "one, counted once more; --undo takes that back. With the setting dedup, `cmem compress` "
    "joins what has the same title and a text that agrees, and nothing else.",
    (
        "cmem dedup",
        "cmem dedup --apply O40 --apply O41",
        "cmem dedup --apply all",
        "cmem dedup --undo O40",
    ),
    "cmem.cli.dedup:run",
    (),
    (
        Option(
            ("--apply",),
            "Join this one to the older one; all: every pair that is the same. Repeatable.",
            repeatable=True,
            metavar="ID",
        ),
        Option(
            ("--keep",), "They are two; show no more. Repeatable.", repeatable=True, metavar="ID"
        ),
        Option(("--undo",), "Take a join back. Repeatable.", repeatable=True, metavar="ID"),
        PROJECT,
        ALL_PROJECTS,
        JSON,
    ),
)

COMMANDS: tuple[Command, ...] = (
    *(NOTE, EDIT, PIN, UNPIN, SUPERSEDE),
    *(STATE_ADD, STATE_LIST, STATE_DONE),
    DEDUP,
)
