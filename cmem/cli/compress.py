"""``cmem compress``."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cmem import compress as core
from cmem import estimate, settings
from cmem.cli import boundary, output, place
from cmem.errors import CmemError, UsageError

if TYPE_CHECKING:
    from cmem.observe import Tally
    from cmem.settings import Settings


def run(values: Mapping[str, Any]) -> int:
    """Drain the mailbox and observe; 0 also when the provider is down: the reason is told."""
    core.end_on_signals()
    home = place.home()
    env = settings.environment()
    flags = {name: values[name] for name in ("provider", "model") if values[name] is not None}
    chosen = settings.load(home, env=env, flags=flags, trusted_env=settings.trusts_environment(env))
    options = _options(values)
    if values["dry_run"]:
        _print_estimate(estimate.estimate(home, chosen, session=options.session), values)
        return 0
    with _progress(home, chosen, options, quiet=bool(values["json"])) as progress:
        report = core.compress(home, chosen, options, progress=progress)
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
def _progress(
    home: str, chosen: Settings, options: core.Options, *, quiet: bool
) -> Iterator[Callable[[Tally, int], None]]:
    """A bar for a person at a terminal, nothing else anywhere."""
    if quiet or not sys.stderr.isatty():
        yield lambda _tally, _unit: None
        return
    from cmem.cli import terminal

    total = estimate.estimate(home, chosen, session=options.session).units
    with terminal.progress("observing", max(total, 1)) as advance:
        yield lambda tally, _unit: advance(tally.units)


def _told(report: core.Report) -> Iterator[str]:
    yield (
        f"Ingested {_n(report.ingested, 'event')}; {report.provider} made "
        f"{_n(report.observations, 'observation')} and "
        f"{_n(report.summaries, 'summary', 'summaries')} of {_n(report.units, 'unit')}"
        f" ({report.skipped} without anything to record)."
    )
    if report.calls:
        yield (
            f"{_n(report.calls, 'call')}: {report.input_tokens:,} tokens in, "
            f"{report.output_tokens:,} out, ${report.cost_usd:.4f}."
        )
    if report.reason:
        yield f"Stopped: {report.reason}"
    if report.pending or report.parked:
        yield f"Left: {report.pending} pending, {report.parked} parked."


def _print_estimate(found: estimate.Estimate, values: Mapping[str, Any]) -> None:
    if values["json"]:
        output.write_json({"dry_run": True, **found._asdict()})
        return
    lines = [
        f"{_n(found.spool, 'captured event')} to take in, {_n(found.units, 'unit')} to observe "
        f"with {found.provider}."
    ]
    if found.calls:
        lines.append(
            f"About {_n(found.calls, 'call')} with {found.input_tokens:,} tokens in, "
            f"{found.output_tokens:,} out, ${found.cost_usd:.4f}."
        )
    if found.spool:
        lines.append("What is not taken in yet is not in that estimate.")
    output.write_lines(output.plain(line) for line in lines)


def _n(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
