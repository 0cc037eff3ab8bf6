"""The commands about money and time: what calls cost, and running compress by the clock."""

from __future__ import annotations

from cmem.cli.spec.kinds import DRY_RUN, JSON, Command, Option

COST = Command(
    "cost",
    "Show what calls of models took and what came of them.",
    "Counts every call, also those that failed or were cut off. Prices are an estimate by a list "
    "that has a date, not a bill; a model that is not on it has no known price until "
    "prices.toml in the data home names one. All projects are counted.",
    ("cmem cost", "cmem cost --since 30d --by model", "cmem cost --by project --json"),
    "cmem.cli.cost:run",
    (),
    (
        Option(
            ("--since",),
            "Not before: 2026-11-29, 30d, monday; all for everything.",
            default="7d",
            metavar="WHEN",
        ),
        Option(("--until",), "Not after; a day counts to its end.", metavar="WHEN"),
        Option(("--by",), "A line for each: day, project, model or provider.", default="day"),
        JSON,
    ),
)
KIND = Option(
    ("--kind",),
    "The scheduler: systemd, cron or launchd. Without it, the one this machine has.",
    metavar="KIND",
)
SCHEDULE_INSTALL = Command(
    "schedule install",
    "Run `cmem compress` by the clock.",
    "Hooks start it by themselves; a schedule also closes idle sessions and goes on after an "
    "outage while no agent runs. Running it again changes the times. What runs did is in "
    "compress.log in the data home.",
    (
        "cmem schedule install",
        "cmem schedule install --every 30m --kind cron",
        "cmem schedule install --at 03:00 --print",
    ),
    "cmem.cli.schedule:run_install",
    (),
    (
        Option(("--every",), "How often: 1m to 24h; 15m if nothing is said.", metavar="TIME"),
        Option(("--at",), "Once a day at this local time.", metavar="HH:MM"),
        KIND,
        Option(("--print",), "Print what would be written.", "flag", default=False),
        DRY_RUN,
        JSON,
    ),
)
SCHEDULE_REMOVE = Command(
    "schedule remove",
    "Take the schedule out again, and nothing else.",
    "Every schedule of this data home, or only that of --kind.",
    ("cmem schedule remove", "cmem schedule remove --kind cron --dry-run"),
    "cmem.cli.schedule:run_remove",
    (),
    (KIND, DRY_RUN, JSON),
)
SCHEDULE_STATUS = Command(
    "schedule status",
    "Show which schedules there are, and what the last background run did.",
    "One that names a Python or a cmem that has moved since is marked.",
    ("cmem schedule status", "cmem schedule status --json"),
    "cmem.cli.schedule:run_status",
    (),
    (JSON,),
)

COMMANDS: tuple[Command, ...] = (COST, SCHEDULE_INSTALL, SCHEDULE_REMOVE, SCHEDULE_STATUS)
