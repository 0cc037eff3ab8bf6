"""``cmem schedule install|remove|status``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from cmem import launcher, paths, runlog, settings
from cmem.cli import output
from cmem.cli import place as where
from cmem.errors import CmemError
from cmem.schedule import job as jobs
from cmem.schedule import place as core

LINGER = (
    "Timers of a user run while that user is logged in; `loginctl enable-linger` makes them run "
    "always."
)


def run_install(values: Mapping[str, Any]) -> int:
    """Put the schedule in, or print what would be put in."""
    home, place = where.home(), core.here(settings.environment())
    what = jobs.job(home, jobs.parse(values["every"], values["at"]))
    if values["print"]:
        kind = core.choose(place, values["kind"]) if values["kind"] else _printable(place)
        _print(kind, what, place, as_json=bool(values["json"]))
        return 0
    kind = core.choose(place, values["kind"])
    texts = core.text(kind, what)
    changed = False
    if not values["dry_run"]:
        paths.ensure_home(home)
        if not launcher.is_current(home):
            launcher.install(home)
        changed = core.install(kind, what, place)
    if values["json"]:
        output.write_json(
            {
                **_document(kind, what.when),
                "changed": changed,
                "dry_run": bool(values["dry_run"]),
                "files": _named(kind, texts, place),
            }
        )
        return 0
    output.write_lines(
        output.plain(line)
        for line in _told(kind, what, place, dry_run=bool(values["dry_run"]), changed=changed)
    )
    return 0


def run_remove(values: Mapping[str, Any]) -> int:
    """Take it out again; nothing to take out is no failure."""
    home, place = where.home(), core.here(settings.environment())
    if values["kind"] is not None:
        core.choose(place, values["kind"])
    found = [one for one in core.look(home, place) if values["kind"] in (None, one.kind)]
    if not values["dry_run"]:
        for one in found:
            core.remove(one.kind, home, place)
    if values["json"]:
        kinds = [one.kind for one in found]
        output.write_json({"removed": kinds, "dry_run": bool(values["dry_run"])})
        return 0
    verb = "Would remove" if values["dry_run"] else "Removed"
    lines = [f"{verb} the {one.kind} schedule: {one.where}" for one in found]
    output.write_lines(output.plain(line) for line in lines or ["There is no schedule."])
    return 0


def run_status(values: Mapping[str, Any]) -> int:
    """Print which schedules there are, and what background runs did last."""
    home = where.home()
    found = core.look(home, core.here(settings.environment()))
    last, batched = _last_run(home), _last_run(home, runlog.BATCH)
    if values["json"]:
        schedules = [
            {**_document(one.kind, one.when), "where": one.where, "current": one.current}
            for one in found
        ]
        output.write_json(
            {
                "home": home,
                "schedules": schedules,
                "last_run": _told_of(last),
                "last_batch": _told_of(batched),
            }
        )
        return 0
    lines = [_line(one) for one in found] or [
        "There is no schedule; hooks start compress by themselves. "
        "`cmem schedule install` makes one."
    ]
    if last is not None:
        lines.append(f"Last background run: {output.when(last[0])}: {last[1]}")
    if batched is not None and batched != last:
        lines.append(f"Last batch: {output.when(batched[0])}: {batched[1]}")
    output.write_lines(output.plain(line) for line in lines)
    return 0


def _told_of(found: tuple[int, str] | None) -> dict[str, Any] | None:
    return None if found is None else {"at": found[0], "text": found[1]}


def _printable(place: core.Place) -> str:
    """The kind to print where none was named and none can be asked."""
    try:
        return core.choose(place, None)
    except CmemError:
        return "cron"


def _print(kind: str, what: jobs.Job, place: core.Place, *, as_json: bool) -> None:
    texts = core.text(kind, what)
    if as_json:
        output.write_json({**_document(kind, what.when), "files": _named(kind, texts, place)})
        return
    for file, text in texts.items():
        head = "" if kind == "cron" else f"# {os.path.join(core.folder(kind, place), file)}\n"
        output.write_lines([(line, "")] for line in (head + text).rstrip("\n").split("\n"))


def _named(kind: str, texts: Mapping[str, str], place: core.Place) -> dict[str, str]:
    return {os.path.join(core.folder(kind, place), file): text for file, text in texts.items()}


def _document(kind: str, when: jobs.When | None) -> dict[str, Any]:
    return {
        "kind": kind,
        "every_minutes": (when.every or None) if when else None,
        "at": when.clock if when and not when.every else None,
    }


def _told(
    kind: str, what: jobs.Job, place: core.Place, *, dry_run: bool, changed: bool
) -> Iterator[str]:
    names = " and ".join(_named(kind, core.text(kind, what), place))
    if dry_run:
        yield f"Would run `cmem compress` {what.when.words} by {kind}: {names}"
        return
    if not changed:
        yield f"`cmem compress` runs {what.when.words} by {kind} already."
        return
    yield f"`cmem compress` runs {what.when.words} by {kind} from now on: {names}"
    yield f"What it does is in {runlog.path(what.home)}."
    if kind == "systemd":
        yield LINGER


def _line(one: core.Found) -> str:
    words = one.when.words if one.when else "at times of somebody else's making"
    stale = "" if one.current else "; it is out of date, `cmem schedule install` renews it"
    return f"{one.kind}: {words} ({one.where}){stale}"


def _last_run(home: str, kind: str = "") -> tuple[int, str] | None:
    """When a run wrote its last line, or its last one of a kind, and what."""
    line = runlog.last_line(home, kind)
    at, told, text = runlog.entry(line)
    return (at, f"{told}: {text}") if told else None
