"""What a hook says to the host. HOT.

A session that starts gets its block; with a setting of recall on, and only then, other events
get the few memories that they concern (``unasked``).
"""

import os
import time

from cmem.context import inject

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cmem.hosts.wire import Wire
    from cmem.intake import Taken

    Settings = dict[str, str | int | bool | float]

RECALL = ("recall_prompts", "recall_files", "recall_failures")
# What has rested longer tells of a wrong clock.
MOST_RESTED_S = 10 * 366 * 86_400


def speak(
    home: str,
    *,
    event: str,
    taken: "Taken",
    wire: "Wire",
    project_env: str,
    settings: "Settings",
) -> None:
    """Print what belongs to an event: all of it, waiting for a slow reader until the hook's timer
    ends the process."""
    if event in wire.injects:
        out = _start(home, taken=taken, wire=wire, project_env=project_env, settings=settings)
    else:
        from cmem.context import unasked

        out = unasked.recall(home, event=event, taken=taken, wire=wire, project_env=project_env)
    _print(out)


def _print(out: bytes) -> None:
    view = memoryview(out)
    while view:
        try:
            view = view[os.write(1, view) :]
        except BlockingIOError:
            time.sleep(0.005)


def stopped(wire: "Wire", said: str) -> None:
    """Tell the person whose session starts that memory has stopped, and why. Nothing of a host's
    that has not Claude Code's form is shown to a person."""
    if not wire.answer:
        _print(inject.document("", f"cmem: {said}"))


def _start(
    home: str,
    *,
    taken: "Taken",
    wire: "Wire",
    project_env: str,
    settings: "Settings",
) -> bytes:
    """The document for a session that starts; b"" where there is nothing to say."""
    budget = settings.get("context_budget", 2000)
    told: list[str] = []
    known: set[str] = set()
    recalls = any(settings.get(name) is True for name in RECALL)
    resumed, forked = taken.source == "resume", taken.source == "fork"
    if resumed:
        from cmem.context import shown

        known = shown.read(home, taken.session)
    out = inject.session_start(
        home,
        source=taken.source,
        cwd=taken.cwd,
        repo=taken.repo,
        project_env=project_env,
        budget=budget if isinstance(budget, int) else 2000,
        session="" if forked else taken.session,
        answer=wire.answer,
        activation=settings.get("activation") is True,
        told=told,
        ending=True,
        oldest=taken.oldest[0] if taken.oldest else None,
        known=known,
        answered=_answered(taken, wire) if resumed or forked else None,
    )
    if recalls or resumed or forked:
        _write_down(home, taken.session, told=told, known=known, anew=recalls and not resumed)
    return out


def _write_down(home: str, session: str, *, told: list[str], known: set[str], anew: bool) -> None:
    """What a session was told is not told again. Where that cannot be kept, as on a full disk, it
    may be: a start says what it has to say all the same."""
    from cmem.context import shown

    try:
        if anew:  # what a fork holds of its parent was told to it too
            shown.begin(home, session, [*told, *known])
        elif told or known:  # what is known counts from today
            shown.claim(home, session, told)
    except OSError:
        pass


def _answered(taken: "Taken", wire: "Wire") -> int | None:
    """When what a session goes on with was last answered, by this clock in ms; None where nobody
    says so in earnest."""
    if not wire.rested:
        return None
    from cmem import spool

    seconds = spool.number(taken.payload.decode("utf-8", "replace"), wire.rested)
    if seconds is None or not 0 <= seconds <= MOST_RESTED_S:
        return None
    return time.time_ns() // 1_000_000 - seconds * 1000
