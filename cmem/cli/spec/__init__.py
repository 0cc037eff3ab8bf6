"""Every command as data: the one table behind parsing, help and docs/cli.md.

The light parser (``parse``) and the typer application (``app``) are both made from it, so an
agent's call that skips typer and a person's call that does not understand the same language.
A command stands in the module of its group, in the order of the page.
"""

from __future__ import annotations

from cmem.cli.spec import (
    clock,
    hand,
    keeping,
    looking,
    past,
    projects,
    providers,
    reading,
    setup,
    sharing,
    travel,
    upkeep,
)
from cmem.cli.spec.kinds import Arg, Command, Option, metavar

__all__ = ["BY_NAME", "COMMANDS", "GROUPS", "Arg", "Command", "Option", "metavar"]

COMMANDS: tuple[Command, ...] = (
    *reading.COMMANDS,
    *looking.COMMANDS,
    *hand.COMMANDS,
    *upkeep.COMMANDS,
    *clock.COMMANDS,
    *keeping.COMMANDS,
    *past.COMMANDS,
    *projects.COMMANDS,
    *travel.COMMANDS,
    *sharing.COMMANDS,
    *providers.COMMANDS,
    *setup.COMMANDS,
)
# Commands whose names have two words, and what the first one is about.
GROUPS: dict[str, str] = {
    "backup": "Copy the memory, see the copies, put one back.",
    "import": "Bring in memories from elsewhere: past sessions, an export, another tool.",
    "mode": "See and check what is worth remembering, and under which types.",
    "project": "See which projects there are, and say what belongs together.",
    "provider": "See who can observe and at what price, try one out, choose one.",
    "queue": "See what waits to be observed, and decide about what could not be.",
    "schedule": "Run compress by the clock: systemd, cron or launchd.",
    "session": "See which sessions there were, and what was in one.",
    "state": "See and say what is still to be done in a project.",
    "rules": "See what decides what is captured, and try it out.",
}
BY_NAME: dict[str, Command] = {command.name: command for command in COMMANDS}
