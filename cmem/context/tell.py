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
    resumed = taken.source == "resume"
    if resumed or recalls:
        from cmem.context import shown

        known = shown.read(home, taken.session) if resumed else known
    out = inject.session_start(
        home,
        source=taken.source,
        cwd=taken.cwd,
        repo=taken.repo,
        project_env=project_env,
        budget=budget if isinstance(budget, int) else 2000,
        session=taken.session,
        answer=wire.answer,
        activation=settings.get("activation") is True,
        told=told,
        ending=True,
        oldest=taken.oldest[0] if taken.oldest else None,
        known=known,
    )
    if recalls and not resumed:
        shown.begin(home, taken.session, told)
    elif told and resumed:
        shown.claim(home, taken.session, told)
    return out
