"""The commands that keep the memory safe: copies of it, and putting one back."""

from __future__ import annotations

from cmem.cli.spec.kinds import DRY_RUN, JSON, YES, Arg, Command

CREATE = Command(
    "backup create",
    "Copy the memory to a file (short: `cmem backup [FILE]`).",
    "What hooks have captured is taken in first, so that the one file is the whole memory; "
    "whoever writes meanwhile does not wait. Without FILE it goes to the folder `backups` of the "
    "data home, from which `cmem forget` and `cmem edit` take what they take from the memory; "
    "they know nothing of a file that lies elsewhere. `cmem compress` makes a copy a day by "
    "itself and keeps the newest three (setting `backups`).",
    ("cmem backup create", "cmem backup create /mnt/usb/memory.db", "cmem backup create --json"),
    "cmem.cli.backup:run",
    (Arg("file", "The file to make; it must not be there.", default=""),),
    (JSON,),
)
LIST = Command(
    "backup list",
    "List the copies in the folder `backups`, the newest first.",
    "By hand, daily, before a restore, before an upgrade: only daily ones are deleted by cmem.",
    ("cmem backup list", "cmem backup list --json"),
    "cmem.cli.backup:run_list",
    (),
    (JSON,),
)
RESTORE = Command(
    "backup restore",
    "Put a copy in the place of the memory.",
    "BACKUP is a name from `cmem backup list`, a path, or `latest`. The memory that is there is "
    "kept among the backups, or in `quarantine` if it is damaged. What was forgotten since the "
    "copy stays forgotten, and what was edited keeps its new words. In a script --yes is needed.",
    (
        "cmem backup restore latest --dry-run",
        "cmem backup restore daily-20261129.db",
        "cmem backup restore /mnt/usb/memory.db --yes",
    ),
    "cmem.cli.backup:run_restore",
    (Arg("backup", "A name, a path, or latest."),),
    (YES, DRY_RUN, JSON),
)

COMMANDS: tuple[Command, ...] = (CREATE, LIST, RESTORE)
