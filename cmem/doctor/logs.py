"""What hooks and background runs have noted about themselves in the last day."""

from __future__ import annotations

import os
from collections import Counter

from cmem import paths
from cmem.doctor.finding import OK, WARN, Finding
from cmem.privacy.sanitise import clean

DAY_MS = 86_400_000
MAX_BYTES = 512 * 1024


def check(home: str, *, now: int) -> list[Finding]:
    """Both logs."""
    log = paths.hook_log(home)
    hooks = _tail(log + ".1") + _tail(log)
    return [judge_hooks(hooks, now=now), judge_runs(_tail(f"{home}/compress.log"), now=now)]


def judge_hooks(text: str, *, now: int) -> Finding:
    """The kinds of trouble that hooks met, with how often and what became of the events."""
    seen: Counter[tuple[str, str]] = Counter()
    for line in text.split("\n"):
        words = line.split(" ")
        if len(words) == 5 and _is_recent(words[0], now):
            seen[words[2], words[4]] += 1
    if not seen:
        return Finding(OK, "hook log", "no trouble in the last day")
    told = ", ".join(
        f"{number} × {kind}" + (f" ({outcome})" if outcome else "")
        for (kind, outcome), number in seen.most_common()
    )
    detail = clean(f"in the last day: {told}", one_line=True)
    lost = any(outcome == "dropped" for _, outcome in seen)
    fix = "make room and check the data home" if lost else "cmem compress takes spilled events in"
    return Finding(WARN, "hook log", detail, fix)


def judge_runs(text: str, *, now: int) -> Finding:
    """The last failure of a background run, if it is of the last day."""
    lines = [line for line in text.split("\n") if line.partition(" ")[2].startswith("compress:")]
    at, _, told = lines[-1].partition(" ") if lines else ("", "", "")
    if not _is_recent(at, now):
        return Finding(OK, "background runs", "no failure in the last day")
    reason = clean(told.removeprefix("compress: "), one_line=True)
    return Finding(WARN, "background runs", f"the last failure: {reason}", "cmem compress")


def _is_recent(at: str, now: int) -> bool:
    return at.isascii() and at.isdigit() and abs(now - int(at[:18])) <= DAY_MS


def _tail(path: str) -> str:
    """The end of a regular file of ours, "" for anything else."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with open(fd, "rb") as file:
        try:
            size = os.fstat(fd).st_size
            file.seek(max(0, size - MAX_BYTES))
            return file.read(MAX_BYTES).decode("utf-8", "replace")
        except OSError:
            return ""
