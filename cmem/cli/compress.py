"""``cmem compress``."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cmem import budget, configured, estimate, runlog, settings
from cmem import compress as core
from cmem.cli import boundary, output, place
from cmem.errors import CmemError, UsageError
from cmem.plural import counted

if TYPE_CHECKING:
    from cmem.observe import Progress, Tally

ALONE = ("project", "since", "yes")


def run(values: Mapping[str, Any]) -> int:
    """Drain the mailbox and observe; 0 also when the provider is down: the reason is told."""
    core.end_on_signals()
    home = place.home()
    env = settings.environment()
    if settings.inside_observer(env):
        raise CmemError("this runs inside cmem's own observer (CMEM_OBSERVER): nothing was done")
    if values["imported"]:
        from cmem.cli import imported

        return imported.run(values)
    for name in ALONE:
        if values[name] not in (None, False):
            raise UsageError(f"--{name} goes with --imported")
    flags = {name: values[name] for name in ("provider", "model") if values[name] is not None}
    trusted = settings.trusts_environment(env)
    chosen, faults = configured.load(home, env=env, flags=flags, trusted_env=trusted)
    options = _options(values)._replace(faults=faults)
    if values["dry_run"]:
        limits = options.limits
        if limits is None:
            limits = budget.limits(chosen.daily_usd, chosen.daily_tokens)
        found = estimate.estimate(
            home,
            chosen,
            session=options.session,
            limits=limits,
            max_calls=options.max_calls or chosen.max_calls,
        )
        _print_estimate(found, values)
        return 0
    with _progress(quiet=bool(values["json"])) as progress:
        report = core.compress(home, chosen, options, progress=progress)
    runlog.did(home, core.line(report), batch=options.batch, always=options.batch)
    for warning in report.warnings:
        boundary.complain(warning)
    if values["json"]:
        output.write_json(report._asdict())
    else:
        output.write_lines(output.plain(line) for line in _told(report))
    return 0


def _options(values: Mapping[str, Any]) -> core.Options:
    max_calls = values["max_calls"]
    if max_calls is not None and max_calls < 1:
        raise UsageError("--max-calls must be at least 1")
    return core.Options(
        session=_session(values["session"]),
        close_open=bool(values["open"]),
        max_calls=max_calls or 0,
        wait_s=max(0, values["wait"]),
        batch=bool(values["batch"]),
        limits=None if values["budget"] is None else budget.parse(values["budget"]),
    )


def _session(given: str | None) -> str:
    """The session as a row number; the host's id where the store does not know it yet."""
    if not given:
        return ""
    conn = place.store()
    if conn is None:
        return given
    try:
        found = place.session(conn, given)
    except CmemError:
        if place.parse_id(given) is not None:
            raise
        return given  # the host's id of a session that is still in the mailbox
    finally:
        conn.close()
    return given if found is None else f"N{found}"


@contextlib.contextmanager
def _progress(*, quiet: bool) -> Iterator[Progress | None]:
    """A bar for a person at a terminal, nothing anywhere else."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from cmem.cli import terminal

    began = time.monotonic()
    with terminal.work("observing") as advance:

        def tell(tally: Tally, left: int) -> None:
            advance(tally.units, tally.units + left, _pace(tally, time.monotonic() - began))

        yield tell


def _pace(tally: Tally, seconds: float) -> str:
    """What a run has spent so far, and how fast it goes."""
    rate = f"{tally.units * 60 / max(seconds, 0.001):,.0f} a minute" if tally.units else ""
    spent = budget.dollars(tally.microusd) if tally.calls else ""
    return "  ".join(part for part in (spent, rate) if part)


def _told(report: core.Report) -> Iterator[str]:
    yield (
        f"Ingested {counted(report.ingested, 'event')}; {report.provider} made "
        f"{counted(report.observations, 'observation')} and "
        f"{counted(report.summaries, 'summary', 'summaries')} of {counted(report.units, 'unit')}"
        f" ({report.skipped} without anything to record)."
    )
    if report.calls:
        yield (
            f"{counted(report.calls, 'call')}: {report.input_tokens:,} tokens in, "
            f"{report.output_tokens:,} out, {_price(report)}."
        )
    if report.mended:
        yield f"In the replies: {', '.join(report.mended)}."
    if report.reason:
        yield f"Stopped: {report.reason}"
    if report.pending or report.parked:
        yield f"Left: {report.pending} pending, {report.parked} parked."


def _price(report: core.Report) -> str:
    """What the calls cost, and of how many nobody knows it."""
    known = budget.dollars(round(report.cost_usd * 1_000_000))
    if not report.unpriced:
        return known
    if report.unpriced >= report.calls:
        return "price unknown (`cmem cost` says how to name one)"
    return f"{known} and {counted(report.unpriced, 'call')} of unknown price"


def _print_estimate(found: estimate.Estimate, values: Mapping[str, Any]) -> None:
    if values["json"]:
        projects = [share._asdict() for share in found.projects]
        output.write_json({"dry_run": True, **found._asdict(), "projects": projects})
        return
    output.write_lines(output.plain(line) for line in _expected(found))


def _expected(found: estimate.Estimate) -> Iterator[str]:
    yield (
        f"{counted(found.spool, 'captured event')} to take in, {counted(found.units, 'unit')} to observe "
        f"with {' '.join(filter(None, (found.provider, found.model)))}."
    )
    if found.calls:
        yield f"About {_weight(found)}."
        if len(found.projects) > 1:
            yield from (f"- {share.project}: {_weight(share)}" for share in found.projects)
    if found.left:
        yield (
            f"Today {counted(found.now, 'call')} of them; {counted(found.left, 'unit')} would wait: "
            f"{found.reason}."
        )
    if found.spool:
        yield ("What is not taken in yet is in it by its size; turns that have not ended are not.")


def _weight(part: estimate.Estimate | estimate.Share) -> str:
    cost = part.cost_usd
    price = "price unknown" if cost is None else budget.dollars(round(cost * 1_000_000))
    return (
        f"{counted(part.calls, 'call')} with {part.input_tokens:,} tokens in, "
        f"{part.output_tokens:,} out, {price}"
    )
