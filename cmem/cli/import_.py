"""``cmem import claude-code|codex|gemini-cli``."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cmem import compress, configured, replan, settings
from cmem.cli import anew, boundary, output, place
from cmem.errors import CmemError
from cmem.importers import run as core
from cmem.importers.wanted import Limits
from cmem.plural import counted
from cmem.privacy.sanitise import clean
from cmem.search import when

if TYPE_CHECKING:
    from cmem.importers.past import Count
    from cmem.importers.told import Problem

MEGA = 1_000_000
REDRAW_S = 0.2


def run_claude_code(values: Mapping[str, Any]) -> int:
    """Bring in what Claude Code has written down."""
    return run("claude-code", values)


def run_codex(values: Mapping[str, Any]) -> int:
    """Bring in what Codex CLI has written down."""
    return run("codex", values)


def run_gemini_cli(values: Mapping[str, Any]) -> int:
    """Bring in what Gemini CLI has written down."""
    return run("gemini-cli", values)


def run(host: str, values: Mapping[str, Any]) -> int:
    """Bring in what a host has written down, and say what came of it."""
    compress.end_on_signals()
    home = place.home()
    env = settings.environment()
    if settings.inside_observer(env):
        raise CmemError("this runs inside cmem's own observer (CMEM_OBSERVER): nothing was done")
    importer = core.IMPORTERS[host]
    root = _root(values["path"], importer.folder(env, os.path.expanduser("~")))
    limits = _limits(values)
    found = core.find(importer, root)
    if not found.groups and not os.path.isdir(root):
        raise CmemError(f"no transcript of {importer.TITLE}: {clean(root, one_line=True)}")
    if not found.groups and not found.problems:
        raise CmemError(f"no transcripts of {importer.TITLE} in {clean(root, one_line=True)}")
    if values["dry_run"]:
        report = core.look(home, importer, found, limits=limits, now=place.now_ms())
    else:
        # Nobody is asked about the past, whoever is chosen.
        flags = {"provider": configured.FREE}
        trusted = settings.trusts_environment(env)
        chosen, _faults = configured.load(home, env=env, flags=flags, trusted_env=trusted)
        with _progress(quiet=bool(values["json"])) as progress:
            report = core.run(
                home,
                importer,
                found,
                settings=chosen,
                limits=limits,
                clock=place.now_ms,
                progress=progress,
            )
    for problem in report.problems:
        boundary.complain(_problem(problem))
    if values["json"]:
        problems = [problem._asdict() for problem in report.problems]
        output.write_json(report._asdict() | {"problems": problems})
    else:
        lines = list(told(report))
        if not report.dry_run and report.sessions + report.prompts + report.tool_uses:
            lines.append(later(home, env))
        output.write_lines(output.plain(line) for line in lines)
    return 0


def later(home: str, env: Mapping[str, str]) -> str:
    """How to have a model look at it, and what that takes, where one is chosen."""
    unknown = (
        "To have a model look at them too: `cmem compress --imported --provider NAME --dry-run` "
        "tells the price first."
    )
    try:
        trusted = settings.trusts_environment(env)
        found = replan.glance(home, settings.load(home, env=env, flags={}, trusted_env=trusted))
    except CmemError:
        return unknown  # the settings are not what was asked for
    if found is None:
        return unknown
    size = f"{counted(found.calls, 'call')} with {found.input_tokens:,} tokens in"
    cost = "" if found.cost_usd is None else f", {anew.price(found.cost_usd)}"
    return (
        f"To have {anew.who(found)} look at them too, in about {size}{cost}: "
        "`cmem compress --imported`."
    )


def _root(given: str, usual: str) -> str:
    root = os.path.abspath(os.path.expanduser(given)) if given else usual
    if not os.path.exists(root):
        hint = "" if given else "; name the folder it is in, if it is elsewhere"
        raise CmemError(f"no transcripts: {clean(root, one_line=True)} does not exist{hint}")
    return root


def _limits(values: Mapping[str, Any]) -> Limits:
    since = 0 if values["since"] is None else when.parse_since(values["since"], place.now_ms())
    project = str(values["project"]) if place.is_project_given(values) else ""
    folder = os.path.expanduser(project)
    if os.sep in folder or folder in (".", ".."):
        project = os.path.abspath(folder)
    return Limits(since, project)


def _problem(problem: Problem) -> str:
    where = clean(problem.path, one_line=True)
    line = f": line {problem.line}" if problem.line else ""
    return f"{where}{line}: {clean(problem.detail, one_line=True)}"


@contextlib.contextmanager
def _progress(*, quiet: bool) -> Iterator[core.Progress | None]:
    """A bar for a person at a terminal, nothing anywhere else."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from cmem.cli import terminal

    began = time.monotonic()
    with terminal.work("importing", numbers=False) as advance:
        shown = began

        def tell(done: int, total: int, count: Count) -> None:
            nonlocal shown
            if time.monotonic() < shown + REDRAW_S and done < total:
                return
            shown = time.monotonic()
            note = pace(done, total, time.monotonic() - began)
            size = f"{done / MEGA:.1f}/{total / MEGA:.1f} MB"
            words = f"{size}  {counted(count.prompts, 'prompt')}  {note}"
            advance(done, total, words.rstrip())

        yield tell


def pace(done: int, total: int, seconds: float) -> str:
    """How fast it goes, and how long it will take."""
    if done <= 0 or seconds < 1:
        return ""
    rate = done / seconds
    return f"{rate / MEGA:.1f} MB/s  {span((total - done) / rate)} left"


def span(seconds: float) -> str:
    """A time in words, rounded up to what a person waits for."""
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    if seconds < 5_400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3_600:.1f} h"


def told(report: core.Report) -> Iterator[str]:
    """The report as lines for a person."""
    what = (
        f"{counted(report.sessions, 'session')}, {counted(report.prompts, 'prompt')} and "
        f"{counted(report.tool_uses, 'tool use')}"
    )
    where = f"{counted(report.files, 'file')} ({report.bytes / MEGA:.1f} MB)"
    folder = clean(report.folder, one_line=True)
    new = report.sessions + report.prompts + report.tool_uses
    if not new:
        yield f"Nothing new in {folder}." + (" Nothing was written." if report.dry_run else "")
    elif report.dry_run:
        took = span(core.seconds(report.bytes, report.sessions))
        yield f"{what} in {where} of {folder}; an import takes about {took}. Nothing was written."
    else:
        yield (
            f"Imported {what} from {where} of {folder}; extract made "
            f"{counted(report.observations, 'observation')} and "
            f"{counted(report.summaries, 'summary', 'summaries')}."
        )
    if report.unchanged:
        yield f"Unchanged since the last import: {counted(report.unchanged, 'session')}."
    if report.held:
        yield f"Known already: {counted(report.held, 'event')}."
    if report.faulty:
        yield (
            f"Could not be taken in, by a fault of cmem's: {counted(report.faulty, 'event')}; "
            "`cmem doctor` names it."
        )
    if report.withheld:
        yield f"Left out, as filters and switches say: {counted(report.withheld, 'event')}."
