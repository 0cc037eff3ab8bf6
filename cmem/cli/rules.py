"""``cmem rules test|list``."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cmem import explain, filters, intake, off, setting_text, settings
from cmem.cli import filtering, output, place
from cmem.cli import off as switches
from cmem.errors import CmemError, UsageError
from cmem.hosts import payload
from cmem.hosts.wire import HOSTS
from cmem.plural import counted
from cmem.privacy import report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cmem.cli.output import Line
    from cmem.explain import Step

MADE_UP = ("tool", "command", "path", "agent")
STYLES = {explain.PASS: "green", explain.CUT: "yellow", explain.STOP: "bold red"}


def run_test(values: Mapping[str, Any]) -> int:
    """Print what would become of the event, step by step; 0 whatever it is."""
    host = str(values["host"])
    if host not in HOSTS:
        raise UsageError(f"no such host: {host}; known: {', '.join(HOSTS)}")
    raw = _raw(host, values)
    event = values["event"] or payload.event_name(raw) or explain.default_event(host)
    found = explain.explain(
        explain.Asked(place.home(), host, str(event), raw, settings.environment(), place.now_ms())
    )
    if values["json"]:
        steps = [one._asdict() | {"cuts": _cuts(one)} for one in found.steps]
        output.write_json(found._asdict() | {"steps": steps})
    else:
        output.write_lines(_lines(found))
    return 0


def _raw(host: str, values: Mapping[str, Any]) -> bytes:
    """The payload: made of the options, or read from the file or standard input."""
    given = {name: str(values[name]) for name in MADE_UP if values[name]}
    cwd = os.path.abspath(values["cwd"]) if values["cwd"] else ""
    if given and values["file"]:
        raise UsageError("give a FILE, or --tool, --command, --path and --agent, not both")
    if given:
        return explain.made_up(host, given=given, cwd=cwd or place.directory())
    if values["file"] in ("", "-") and sys.stdin.isatty():
        raise UsageError(
            "give the payload as FILE or on standard input, or say --tool, --command or --path"
        )
    raw = _read(values["file"] or "-")
    return payload.with_cwd(raw, host, cwd) if cwd else raw


def _read(name: str) -> bytes:
    try:
        if name == "-":
            return sys.stdin.buffer.read(intake.MAX_STDIN + 1)
        with open(name, "rb") as file:
            return file.read(intake.MAX_STDIN + 1)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "not a file name").lower()
        raise CmemError(f"could not read {name}: {reason}") from error


def _cuts(step: Step) -> list[dict[str, Any]]:
    return [one._asdict() for one in step.cuts]


def _lines(found: explain.Explained) -> Iterator[Line]:
    for step in found.steps:
        yield [(f"{step.result:<5}", STYLES[step.result]), *_named(step.name, step.detail)]
        for cut in step.cuts:
            rules = ", ".join(f"{count} × {name}" for name, count in cut.rules.items())
            yield [("       " + output.plain(f"{cut.field}: {rules}")[0][0], "dim")]
    style = STYLES[explain.PASS if found.stored else explain.STOP]
    yield [("=>   ", style), (output.plain(found.outcome)[0][0], style)]


def _named(name: str, detail: str) -> Line:
    return [(f"{name}: ", "bold"), *output.plain(detail)]


# --- rules list ----------------------------------------------------------------------


def run_list(values: Mapping[str, Any]) -> int:
    """Print every rule that decides what is kept, and where it comes from."""
    env, home = settings.environment(), place.home()
    document = {
        "filters": _filters(home, env),
        "unreadable": list(filters.load(off.config_text(home), env).unreadable),
        "exclude": _excluded(home, env),
        "off": switches.why() or None,
        "off_sessions": [one for one in off.sessions(home) if one.isprintable()],
        "scrub": {"hook": report.hook_rules(), "ingest": report.ingest_rules()},
    }
    if values["json"]:
        output.write_json(document)
    else:
        output.write_lines(_listed(document))
    return 0


def _filters(home: str, env: Mapping[str, str]) -> list[dict[str, Any]]:
    """The filters that are set, with what each has left out; then counts of earlier ones."""
    raw = off.config_text(home)
    told = filtering.document(home, env)
    counted = {(one["setting"], one["rule"]): one for one in told["filtered"]}
    rules = [
        (setting, str(rule))
        for setting, met in told["active"].items()
        for rule in (met if isinstance(met, list) else [met])
    ]
    rows = []
    for rule in dict.fromkeys([*rules, *counted]):
        one = counted.get(rule, {"count": 0, "since": None})
        origin = explain.origin(raw, rule) if rule in rules else None
        row = {"setting": rule[0], "rule": rule[1], "origin": origin}
        rows.append(row | {"count": one["count"], "since": one["since"]})
    return rows


def _excluded(home: str, env: Mapping[str, str]) -> list[dict[str, str]]:
    texts = {
        "config.toml": setting_text.line_of(off.config_text(home), "exclude"),
        "CMEM_EXCLUDE in this environment": env.get("CMEM_EXCLUDE", ""),
    }
    return [
        {"glob": glob, "origin": origin}
        for origin, text in texts.items()
        for glob in filter(None, map(str.strip, (text or "").split(":")))
    ]


def _listed(document: Mapping[str, Any]) -> Iterator[Line]:
    if document["off"]:
        yield _named("memory here", document["off"])
    for name in document["unreadable"]:
        yield _named(name, "cannot be read; `cmem doctor` says what to do")
    for one in document["filters"]:
        left = f"{one['count']} left out"
        since = f" since {output.when(one['since'])}" if one["since"] else ""
        where = one["origin"] or "not set any more"
        yield _named(one["setting"], f"{one['rule']} ({where}; {left}{since})")
    if not document["filters"]:
        yield _named(
            "filters", "none set (skip_tools, skip_agents, skip_paths, skip_commands, skip_small)"
        )
    for one in document["exclude"]:
        yield _named("exclude", f"{one['glob']} ({one['origin']})")
    for session in document["off_sessions"]:
        yield _named("session off", session)
    for tier, where in (("hook", "cut in the hook"), ("ingest", "cut at ingest")):
        names = document["scrub"][tier]
        yield _named(where, f"{counted(len(names), 'rule')}: {', '.join(names)}")
