"""What would become of one event, step by step and why. Nothing is written, no secret told.

The steps are those of the hook and of ``ingest``, taken by their own functions, in the order
in which an event meets them; the first that ends its way is the last one told.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cmem import filters, here, hosts, intake, lenient, malformed, off, repo
from cmem.hosts import calls, values
from cmem.hosts.wire import HOSTS
from cmem.model import Entry, Event, PromptSubmitted, Repo, ToolUsed, Unreadable
from cmem.plural import counted
from cmem.privacy import project_name, report, scrub, second, sources
from cmem.store import connection, evidence, projects

if TYPE_CHECKING:
    from cmem.project import Identity

PASS, CUT, STOP = "pass", "cut", "stop"
SWITCHES = ("CMEM_DISABLE", "CMEM_OBSERVER")
MADE_UP = "rules-test"
KINDS = {
    "SessionStarted": "start of a session",
    "TurnEnded": "end of a turn",
    "SubagentEnded": "end of a subagent",
    "CompactStarted": "compaction",
    "SessionEnded": "end of a session",
}
PROJECTS = {
    "environment": "CMEM_PROJECT names it",
    "git-remote": "by the remote of its repository",
    "path": "by its folder",
    "unsorted": "no repository, and a folder that is nobody's project",
}


class Step(NamedTuple):
    """``result``: pass | cut (something is taken from it) | stop (it is not kept)."""

    name: str
    result: str
    detail: str
    cuts: tuple[report.Cut, ...] = ()


class Explained(NamedTuple):
    host: str
    event: str
    steps: tuple[Step, ...]
    stored: bool
    outcome: str


class Asked(NamedTuple):
    """The event that is asked about, and where. ``env`` is what the hook would have."""

    home: str
    host: str
    event: str
    raw: bytes
    env: Mapping[str, str]
    now: int


class _StopError(Exception):
    """The event's way ends with this step."""


def made_up(host: str, *, given: Mapping[str, str], cwd: str) -> bytes:
    """A tool call as the host would tell it, of ``tool``, ``command``, ``path``, ``agent``."""
    names = calls.HOSTS[host]
    _prompt, tool_input, command, _results = HOSTS[host].shape
    tool = given.get("tool") or (names.runner if given.get("command") else names.reader)
    arguments = {command: given.get("command", ""), names.files[0]: given.get("path", "")}
    agent = given.get("agent", "")
    where = HOSTS[host].paths
    document: dict[str, Any] = {
        **calls.placed(where[0], MADE_UP),
        **calls.placed(where[5], cwd),
        "tool_name": tool,
        tool_input: {name: text for name, text in arguments.items() if text},
    }
    if agent:
        document |= {"agent_id": MADE_UP, "agent_type": agent}
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")


def default_event(host: str) -> str:
    """The event by which the host tells of a tool call."""
    return next(event for event, kind in HOSTS[host].kinds.items() if kind == "tool")


def explain(asked: Asked) -> Explained:
    """Every step of the event's way."""
    steps: list[Step] = []
    try:
        outcome = _walk(asked, steps)
    except _StopError:
        last = steps[-1]
        outcome = f"not stored: {last.detail}"
    stopped = steps[-1].result == STOP
    return Explained(asked.host, asked.event, tuple(steps), not stopped, outcome)


def _walk(asked: Asked, steps: list[Step]) -> str:
    _add(steps, _known(asked))
    wire = HOSTS[asked.host]
    reduced = intake.reduce(asked.raw, wire=wire, event=asked.event)
    taken = intake.identify(asked.host, asked.event, reduced, captured_at=asked.now)
    _add(steps, _switched(asked, reduced, taken))
    if taken is None:
        own = "it is of cmem's own observer, whose work is no memory"
        _add(steps, Step("own events", STOP, own))
        raise _StopError
    _add(steps, Step("own events", PASS, "not of cmem's own observer"))
    _add(steps, _filtered(asked, taken.payload))
    _add(steps, *_scrubbed(asked, reduced), _sized(asked, taken.payload))
    known, event = _second(asked, taken)
    return _stored(asked, taken, steps, known=known, event=event)


def _add(steps: list[Step], *more: Step) -> None:
    for step in more:
        steps.append(step)
        if step.result == STOP:
            raise _StopError


# --- whether it is wanted ------------------------------------------------------------


def _known(asked: Asked) -> Step:
    kinds = HOSTS[asked.host].kinds
    if asked.event not in kinds:
        known = ", ".join(kinds)
        return Step(
            "event", STOP, f"{asked.host} {asked.event} is not captured; these are: {known}"
        )
    if not asked.raw.strip():
        return Step("event", STOP, "there is nothing on stdin")
    return Step("event", PASS, f"{asked.host} {asked.event}, {len(asked.raw)} bytes")


def _switched(asked: Asked, reduced: bytes, taken: intake.Taken | None) -> Step:
    name = "switches"
    for variable in SWITCHES:
        if asked.env.get(variable, "0") not in ("", "0"):
            return Step(name, STOP, f"off by {variable} in this environment")
    if taken is None:
        cwd, found, session, beside = malformed.place(reduced, HOSTS[asked.host])
    else:
        cwd, found, session, beside = taken.cwd, taken.repo, taken.session, taken.beside
    globs = asked.env.get("CMEM_EXCLUDE", "")
    why = off.reason(asked.home, cwd=cwd, repo=found, session=session, exclude=globs, beside=beside)
    return (
        Step(name, STOP, why)
        if why
        else Step(name, PASS, f"memory is on in {cwd or 'this folder'}")
    )


def _filtered(asked: Asked, payload: bytes) -> Step:
    name = "filters"
    if HOSTS[asked.host].kinds[asked.event] != "tool":
        return Step(name, PASS, "only tool calls are filtered")
    raw = off.config_text(asked.home)
    found = filters.load(raw, asked.env)
    if not found:
        return Step(name, PASS, "none is set")
    rule = filters.rule_of(found, asked.host, payload)
    if rule is None:
        return Step(name, PASS, "none of those that are set")
    return Step(name, STOP, f"{rule[0]} {rule[1]} ({origin(raw, rule)})")


def origin(raw: bytes, rule: tuple[str, str]) -> str:
    """Where a rule of the filters was set."""
    mine = filters.load(raw, {})
    setting, met = rule
    known = (str(mine.small),) if setting == filters.SMALL else mine.globs.get(setting, ())
    if met in known or setting in mine.unreadable:
        return "config.toml"
    return f"CMEM_{setting.upper()} in this environment"


# --- what is taken from it -----------------------------------------------------------


def _scrubbed(asked: Asked, reduced: bytes) -> list[Step]:
    """What the hook cuts by the form of a secret, and what it knows to be a secret's source."""
    name, source = "secrets, in the hook", "secret sources"
    before = _parsed(asked.raw)
    if not isinstance(before, dict) or _stub(reduced):
        return [Step(name, PASS, "not looked for: nothing of the text is kept")]
    _prompt, tool_input, command, results = HOSTS[asked.host].shape
    kept = sources.without_content(before, tool_input=tool_input, command=command, results=results)
    cuts = report.compare(kept, _parsed(scrub.scrub_payload(lenient.dumps(kept))))
    if kept is before:
        about = Step(source, PASS, "it names none")
    else:
        about = Step(source, CUT, "it names one: the fact is kept, what it reads or writes is not")
    return [about, _told(name, cuts)]


def _told(name: str, cuts: Sequence[report.Cut]) -> Step:
    if not cuts:
        return Step(name, PASS, "none found")
    total = sum(sum(cut.rules.values()) for cut in cuts)
    return Step(name, CUT, f"{total} cut in {counted(len(cuts), 'field')}", tuple(cuts))


def _sized(asked: Asked, payload: bytes) -> Step:
    name, size, was = "size", len(payload), len(asked.raw.strip())
    stub = _stub(payload)
    if stub:
        return Step(name, CUT, f"{stub}: only that it happened is kept, and its size")
    if size > intake.MAX_EVENT:
        return Step(name, PASS, f"{size} bytes: too large for the spool, so it waits as a file")
    if was > intake.MAX_EVENT:
        return Step(name, CUT, f"long texts cut in the middle: {size} of {was} bytes are kept")
    return Step(name, PASS, f"{size} bytes are kept")


def _second(asked: Asked, taken: intake.Taken) -> tuple[Step, Event]:
    """What ingest cuts besides, and the event that it reads."""
    payload = values.without_known(taken.payload)
    before, after = _parsed(taken.payload), second.scrub_document(_parsed(payload))
    entry = Entry(
        0,
        taken.eid,
        asked.host,
        asked.event,
        asked.now,
        taken.cwd,
        Repo(*taken.repo),
        project_name(asked.env.get("CMEM_PROJECT", "")),
        payload,
    )
    event = hosts.DECODERS[asked.host](entry)
    return _told("secrets, at ingest", report.compare(before, after)), event


def _stub(payload: bytes) -> str:
    """Why only a stub is kept, "" where it is none."""
    value = _parsed(payload) if payload.startswith(b'{"cmem_stub"') else None
    return str(value.get("cmem_stub")) if isinstance(value, dict) else ""


def _parsed(payload: bytes) -> object:
    try:
        return lenient.loads(payload.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        return None


# --- what it becomes -----------------------------------------------------------------


def _stored(
    asked: Asked, taken: intake.Taken, steps: list[Step], *, known: Step, event: Event
) -> str:
    conn = connection.open_reader(asked.home)
    try:
        seen = conn is not None and evidence.seen(conn, taken.eid)
        identity = here.locate(
            taken.cwd,
            taken.repo,
            remote=repo.read_remote(taken.repo[1]) if taken.repo[1] else "",
            project_env=project_name(asked.env.get("CMEM_PROJECT", "")),
            user_home=os.path.expanduser("~"),
            temp_dir=tempfile.gettempdir(),
        )
        name = _project_name(conn, identity) or identity[2]
    finally:
        if conn is not None:
            conn.close()
    if seen:
        _add(steps, Step("identity", STOP, f"{taken.eid} is in the store already"))
    why = f"{name} ({PROJECTS.get(identity[1], identity[1])})"
    _add(steps, Step("identity", PASS, taken.eid), Step("project", PASS, why), known)
    kind = _kind(event)
    if isinstance(event, Unreadable) and HOSTS[asked.host].kinds[asked.event] != "tool":
        _add(steps, Step("meaning", STOP, f"it cannot be read: {event.reason}"))
    return f"stored as {kind}, in project {name}"


def _project_name(conn: Any, identity: Identity) -> str:
    """What the store calls the project, "" where it knows none; aliases and merges count."""
    from cmem.model import ProjectIdentity

    if conn is None:
        return ""
    found = projects.find_by_identity(conn, ProjectIdentity(*identity))
    return dict(projects.names(conn)).get(found, "") if found is not None else ""


def _kind(event: Event) -> str:
    if isinstance(event, ToolUsed):
        return f"tool call {event.tool_name} ({event.outcome})"
    if isinstance(event, PromptSubmitted):
        hidden = "; it is private, so the tool calls of its turn are hidden"
        return ("notification" if event.kind != "user" else "prompt") + hidden * event.private
    if isinstance(event, Unreadable):
        return f"tool call that could not be read ({event.reason})"
    return KINDS[type(event).__name__]
