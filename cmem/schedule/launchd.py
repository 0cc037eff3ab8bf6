"""A property list in the user's LaunchAgents, loaded by ``launchctl``."""

from __future__ import annotations

import os
import plistlib
from typing import Any

from cmem.schedule.job import Job


def folder(user_home: str) -> str:
    return os.path.join(user_home, "Library", "LaunchAgents")


def files(job: Job) -> dict[str, str]:
    """File name → text."""
    return {f"{job.name}.plist": _plist(job)}


def enable(path: str, user: int) -> list[list[str]]:
    """Arguments of ``launchctl`` that load the file."""
    return [["bootstrap", f"gui/{user}", path]]


def disable(job_name: str, user: int) -> list[list[str]]:
    """Arguments of ``launchctl`` that unload it."""
    return [["bootout", f"gui/{user}/{job_name}"]]


def _plist(job: Job) -> str:
    content: dict[str, Any] = {
        "Label": job.name,
        "ProgramArguments": list(job.argv),
        "ProcessType": "Background",
        "LowPriorityIO": True,
        "Nice": 10,
    }
    if job.when.every:
        content["StartInterval"] = job.when.every * 60
    else:
        content["StartCalendarInterval"] = {"Hour": job.when.hour, "Minute": job.when.minute}
    return plistlib.dumps(content, sort_keys=False).decode()
