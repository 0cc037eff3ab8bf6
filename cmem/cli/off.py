"""``cmem off`` and ``cmem on``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cmem import off, repo, settings, switch
from cmem.cli import output, place
from cmem.errors import CmemError, UsageError
from cmem.store import read


def run_off(values: Mapping[str, Any]) -> int:
    """Turn memory off where the options say."""
    return _run(values, on=False)


def run_on(values: Mapping[str, Any]) -> int:
    """Turn memory on again where the options say; what still keeps it off is told."""
    return _run(values, on=True)


def why(session: str = "") -> str:
    """Why nothing is stored or shown for the working directory; "" when memory is on."""
    env = settings.environment()
    for name in ("CMEM_DISABLE", "CMEM_OBSERVER"):
        if env.get(name, "0") not in ("", "0"):
            return f"off by {name} in this environment"
    cwd = place.directory()
    return off.reason(
        place.home(),
        cwd=cwd,
        repo=repo.read_repo(cwd),
        session=session,
        exclude=env.get("CMEM_EXCLUDE", ""),
    )


def _run(values: Mapping[str, Any], *, on: bool) -> int:
    scopes = ("everywhere", "session", "here")
    chosen = [name for name in scopes if values[name] not in (None, False)] or ["here"]
    if len(chosen) > 1:
        raise UsageError("choose one of --here, --session and --global")
    session = ""
    if chosen[0] == "everywhere":
        what, changed = "everywhere", switch.everywhere(place.home(), on=on)
    elif chosen[0] == "session":
        session = _host_session(str(values["session"]))
        what = f"for session {session}"
        changed = switch.for_session(place.home(), session, on=on)
    else:
        folder = switch.project_folder(place.own_directory(), settings.environment())
        what, changed = f"in {off.shown(folder)} and below", switch.in_folder(folder, on=on)
    reason = why(session)
    if values["json"]:
        output.write_json(
            {"scope": chosen[0], "what": what, "changed": changed, "off": reason or None}
        )
        return 0
    state = "on" if on else "off"
    lines = [f"Memory is {state if changed else f'already {state}'} {what}."]
    if on and reason:
        lines.append(f"Still {reason}.")
    elif not on:
        flag = {"everywhere": "--global", "session": f"--session {session}", "here": "--here"}
        lines.append(f"`cmem on {flag[chosen[0]]}` turns it on again.")
    output.write_lines([output.plain(line) for line in lines])
    return 0


def _host_session(text: str) -> str:
    """The host's id of a session: a running one may not be known yet, so any text will do
    unless it has the form of our own numbers."""
    word = text.strip()
    if not word or word.startswith("-"):
        raise UsageError(
            "say which session: `cmem session list` shows them, `--session N4` takes one of them"
        )
    ref = place.parse_id(word)
    if ref is None or ref[0] != "N":
        return word
    conn = place.store()
    try:
        found = None if conn is None else read.record(conn, ref)
    finally:
        if conn is not None:
            conn.close()
    if found is None:
        raise CmemError(place.no_such_session(text))
    return str(found["host_session"])
