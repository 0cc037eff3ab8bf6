"""The command that keeps several machines alike."""

from __future__ import annotations

from cmem.cli.spec.kinds import DRY_RUN, JSON, Arg, Command

SYNC = Command(
    "sync",
    "Keep the memory alike on several machines, over a shared folder.",
    "DIR is a folder that Syncthing, Dropbox, iCloud, a network drive or the like keeps alike; "
    "without it, the setting sync_dir. Each machine appends to a file of its own there and reads "
    "the others'; the database itself never lies in it. Memories, edits, pins, what stands for "
    "what, open work, merged projects, what was forgotten and what was brought back travel; of "
    "two changes of one thing the later one holds, on all machines the same. What is told comes "
    "through the rules for secrets again. The files are as readable as the folder is.",
    ("cmem sync ~/Sync/cmem", "cmem sync --dry-run", "cmem sync --json"),
    "cmem.cli.sync:run",
    (Arg("folder", "The folder.", default=""),),
    (DRY_RUN, JSON),
)

COMMANDS: tuple[Command, ...] = (SYNC,)
