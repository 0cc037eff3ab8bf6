"""A block of two marks and one line in the user's crontab; every other byte stays."""

from __future__ import annotations

import re

from cmem.errors import CmemError
from cmem.schedule.job import Job, When

PLAIN = re.compile(r"[A-Za-z0-9_/.,:@+=-]+")
DIVISORS = "1, 2, 3, 4, 5, 6, 10, 12, 15, 20 or 30 minutes; 1, 2, 3, 4, 6, 8 or 12 hours; or 24h"


def block(job: Job) -> str:
    """The lines of the job, with the marks by which they are found again."""
    command = " ".join(_quoted(word) for word in job.argv)
    line = f"{_times(job.when)} {command} >/dev/null 2>&1"
    return f"{_begin(job.name)}\n# {job.when.words}\n{line}\n{_end(job.name)}\n"


def add(text: str, job: Job) -> str:
    """The crontab with the job in it, in the place it had, else at the end."""
    found = _find(text, job.name)
    if found is not None:
        return text[: found[0]] + block(job) + text[found[1] :]
    # cron takes no last line without its end.
    return text + ("\n" if text and not text.endswith("\n") else "") + block(job)


def remove(text: str, job_name: str) -> str:
    """The crontab without the job, else as it was."""
    found = _find(text, job_name)
    return text if found is None else text[: found[0]] + text[found[1] :]


def installed(text: str, job_name: str) -> str:
    """The block there, "" for none."""
    found = _find(text, job_name)
    return "" if found is None else text[found[0] : found[1]]


def _find(text: str, job_name: str) -> tuple[int, int] | None:
    """Where the block begins and ends; CmemError for one that somebody has torn."""
    lines = text.splitlines(keepends=True)
    bare = [line.rstrip("\r\n") for line in lines]
    begins = [at for at, line in enumerate(bare) if line == _begin(job_name)]
    ends = [at for at, line in enumerate(bare) if line == _end(job_name)]
    if not begins and not ends:
        return None
    if len(begins) != 1 or len(ends) != 1 or begins[0] > ends[0]:
        raise CmemError(
            f"will not edit the crontab: the marks of {job_name} in it are not one pair; "
            "run `crontab -e` and delete those lines"
        )
    return len("".join(lines[: begins[0]])), len("".join(lines[: ends[0] + 1]))


def _begin(job_name: str) -> str:
    return f"# >>> {job_name}: written by `cmem schedule`, which overwrites changes >>>"


def _end(job_name: str) -> str:
    return f"# <<< {job_name} <<<"


def _times(when: When) -> str:
    if not when.every:
        return f"{when.minute} {when.hour} * * *"
    if when.every == 1:
        return "* * * * *"
    if when.every < 60 and 60 % when.every == 0:
        return f"*/{when.every} * * * *"
    hours, rest = divmod(when.every, 60)
    if rest or 24 % hours:
        raise CmemError(
            f"cron cannot run something every {when.every} minutes: choose {DIVISORS}, or "
            "--kind systemd"
        )
    return f"0 {'*' if hours == 1 else '0' if hours == 24 else f'*/{hours}'} * * *"


def _quoted(word: str) -> str:
    """A word as cron hands it to sh: a percent sign would end the command, and what becomes of
    a backslash depends on the cron."""
    if "\\" in word:
        raise CmemError(f"cron cannot hold the backslash in {word}: use --kind systemd")
    if PLAIN.fullmatch(word):
        return word
    return "'" + word.replace("'", "'\"'\"'").replace("%", "\\%") + "'"
