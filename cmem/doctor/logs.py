"""What hooks and background runs have noted about themselves in the last day."""

from __future__ import annotations

from collections import Counter

from cmem import paths, runlog
from cmem.doctor.finding import OK, WARN, Finding
from cmem.privacy.sanitise import clean

DAY_MS = 86_400_000
SHOWN = 3
# What hooks call a trouble → what it is.
WORDS = {
    "BusyError": "spool.db was locked for too long",
    "CantOpenError": "spool.db could not be opened",
    "FullError": "the disk is full",
    "IOError": "the disk could not be read or written",
    "ImportError": "cmem's own files are gone or were being replaced",
    "ModuleNotFoundError": "cmem's own files are gone or were being replaced",
    "NotADirectoryError": "a file is in the place of a folder",
    "OSError:EDQUOT": "the quota of the disk is used up",
    "OSError:EIO": "the disk could not be read or written",
    "OSError:ENOSPC": "the disk is full",
    "OSError:EROFS": "the disk is read-only",
    "PermissionError": "the data home may not be written to, or is not yours alone",
    "ReadOnlyError": "spool.db is read-only",
    "TimeoutError": "it took too long",
    "too-large": "more than the mailbox takes",
}


def check(home: str, *, now: int) -> list[Finding]:
    """Both logs."""
    log = runlog.path(home)
    return [
        judge_hooks("".join(_hook_logs(home)), now=now),
        judge_runs(runlog.tail(log + ".1") + runlog.tail(log), now=now),
    ]


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
        f"{number} × {in_words(kind)}" + (f" ({outcome})" if outcome else "")
        for (kind, outcome), number in seen.most_common()
    )
    detail = clean(f"in the last day: {told}", one_line=True)
    lost = any(outcome == "dropped" for _, outcome in seen)
    fix = "make room and check the data home" if lost else "cmem compress takes spilled events in"
    return Finding(WARN, "hook log", detail, fix)


def judge_runs(text: str, *, now: int) -> Finding:
    """The last failure of a background run, if it is of the last day and no run since did well."""
    told = [runlog.entry(line) for line in text.split("\n")]
    at, kind, reason = next((one for one in reversed(told) if one[1]), (0, "", ""))
    if kind != runlog.FAILED or abs(now - at) > DAY_MS:
        detail = "no failure in the last day"
        if any(one[1] == runlog.FAILED and abs(now - one[0]) <= DAY_MS for one in told):
            detail = "the last one did well; failures before it are in compress.log"
        return Finding(OK, "background runs", detail)
    reason = clean(reason, one_line=True)
    return Finding(WARN, "background runs", f"the last failure: {reason}", "cmem compress")


def why_dropped(home: str) -> str:
    """The kinds of trouble by which events were lost, as far as the log reaches; "" if unknown."""
    seen: Counter[str] = Counter()
    for text in _hook_logs(home):
        for line in text.split("\n"):
            words = line.split(" ")
            if len(words) == 5 and words[4] == "dropped":
                seen[words[2]] += 1
    told = [f"{number} × {in_words(kind)}" for kind, number in seen.most_common(SHOWN)]
    return clean(", ".join(told), one_line=True)


def in_words(kind: str) -> str:
    """A kind of trouble as a person says it, with its own name."""
    words = WORDS.get(kind, "")
    return f"{words} ({kind})" if words else kind


def _hook_logs(home: str) -> tuple[str, str]:
    log = paths.hook_log(home)
    return runlog.tail(log + ".1"), runlog.tail(log)


def _is_recent(at: str, now: int) -> bool:
    return at.isascii() and at.isdigit() and abs(now - int(at[:18])) <= DAY_MS
