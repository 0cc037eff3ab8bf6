"""A user timer of systemd: two unit files, enabled by ``systemctl --user``."""

from __future__ import annotations

import os
from collections.abc import Mapping

from cmem.schedule.job import Job

DOES = "Take in captured events and turn closed turns into memories (cmem)"


def folder(env: Mapping[str, str], user_home: str) -> str:
    """Where a user's own units lie."""
    config = env.get("XDG_CONFIG_HOME", "")
    base = config if os.path.isabs(config) else os.path.join(user_home, ".config")
    return os.path.join(base, "systemd", "user")


def files(job: Job) -> dict[str, str]:
    """File name → text."""
    return {f"{job.name}.service": _service(job), f"{job.name}.timer": _timer(job)}


def enable(job_name: str) -> list[list[str]]:
    """What makes systemd take the units up: arguments of ``systemctl``. A timer that runs
    already keeps its old times until it is started again."""
    return [
        ["--user", "daemon-reload"],
        ["--user", "enable", f"{job_name}.timer"],
        ["--user", "restart", f"{job_name}.timer"],
    ]


def disable(job_name: str) -> list[list[str]]:
    """What must be said before the files go."""
    return [["--user", "disable", "--now", f"{job_name}.timer"]]


def forget() -> list[list[str]]:
    """What must be said once they are gone."""
    return [["--user", "daemon-reload"]]


def _service(job: Job) -> str:
    # Where the program is, no variable is put in; in its arguments, one would be.
    program, *arguments = job.argv
    command = " ".join([quoted(program), *(quoted(one).replace("$", "$$") for one in arguments)])
    return f"""[Unit]
Description={DOES}

[Service]
Type=oneshot
ExecStart={command}
Nice=10
"""


def _timer(job: Job) -> str:
    if job.when.every:
        # The first run counts from the timer's own start, the others from the run before.
        times = f"OnActiveSec=1min\nOnUnitActiveSec={job.when.every}min"
    else:
        times = f"OnCalendar=*-*-* {job.when.clock}:00\nPersistent=true"
    return f"""[Unit]
Description={DOES}, {job.when.words}

[Timer]
{times}

[Install]
WantedBy=timers.target
"""


def quoted(word: str) -> str:
    """A word of a command line as systemd reads it: percent signs begin specifiers."""
    safe = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{safe}"'
