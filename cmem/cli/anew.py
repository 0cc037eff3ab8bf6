"""What ``recompress`` and ``compress --imported`` have in common: the estimate, the question, the
bar, and what came of it."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cmem import budget
from cmem.cli import asking
from cmem.errors import CmemError

if TYPE_CHECKING:
    from cmem.anew import Report
    from cmem.estimate import Share
    from cmem.recompress import Progress
    from cmem.replan import Glance, Plan, Weighing

REDRAW_S = 0.2
NAMED = 5
SETTLED = "made on another machine or taken back"
TOO_LONG = (
    "more than the model takes, also in pieces; `cmem recompress N4` asks about a session again"
)


def planned(found: Plan, name: str) -> Iterator[str]:
    """The estimate as lines for a person."""
    places = n(found.places, "turn or summary", "turns and summaries")
    yield f"{name}: {places} to observe again with {who(found)}."
    if found.calls:
        yield f"About {weight(found)}."
        if len(found.projects) > 1:
            yield from (f"- {share.project}: {weight(share)}" for share in found.projects)
    waiting = found.left - len(found.over)
    if waiting:
        yield (
            f"Now {n(found.now, 'call')} of them; {n(waiting, 'place')} would wait: {found.reason}."
        )
    yield from over(found)
    own = found.done - found.settled
    if own:
        yield f"{own:,} more {'is' if own == 1 else 'are'} its own already."
    if found.settled:
        yield f"{n(found.settled, 'place')} {SETTLED}."
    if found.too_long:
        yield f"{n(found.too_long, 'place')} will be left out: {TOO_LONG}."
    if found.pruned:
        yield f"{n(found.pruned, 'turn')} cannot be observed again: the raw evidence is gone."
    if found.unsettled:
        yield f"{n(found.unsettled, 'unit')} not observed yet; that is for `cmem compress`."


def ask(found: Plan) -> None:
    """Let a person decide about what it costs; a script says so with ``--yes``."""
    told = f"about {weight(found)} by {who(found)}"
    if not asking.person():
        raise CmemError(f"nothing was asked: that would be {told}; add --yes to do it")
    if not asking.agrees(f"Observe again: {told}. Go on?"):
        raise CmemError("nothing was asked")


def who(found: Plan | Glance) -> str:
    return " ".join(filter(None, (found.provider, found.model)))


def weight(found: Plan | Share) -> str:
    """Calls, tokens and money in words."""
    return (
        f"{n(found.calls, 'call')} with {found.input_tokens:,} tokens in, "
        f"{found.output_tokens:,} out, {price(found.cost_usd)}"
    )


def price(cost_usd: float | None) -> str:
    return "price unknown" if cost_usd is None else budget.dollars(round(cost_usd * 1_000_000))


def told(report: Report, name: str) -> Iterator[str]:
    """What a run did that had something to do; the last line is the caller's."""
    yield (
        f"{name}: {report.provider} observed {report.replaced:,} of "
        f"{n(report.places, 'place')} anew: {n(report.observations, 'observation')} in, "
        f"{n(report.superseded, 'earlier memory', 'earlier memories')} superseded."
    )
    if report.kept or report.unusable:
        yield (
            f"Left as they were: {report.kept} in which it found nothing to record, "
            f"{report.unusable} whose reply could not be used."
        )
    if report.too_long:
        yield f"Left as they were too: {n(report.too_long, 'place')}, {TOO_LONG}."
    if report.calls:
        known = budget.dollars(report.microusd)
        cost = f"{known}, {report.unpriced} of unknown price" if report.unpriced else known
        yield (
            f"{n(report.calls, 'call')}: {report.input_tokens:,} tokens in, "
            f"{report.output_tokens:,} out, {cost}."
        )
    if report.reason:
        yield f"Stopped: {report.reason}"
    yield from over(report)
    waiting = report.left - len(report.over)
    if waiting:
        yield f"Left: {waiting:,}; the same command goes on there."


def over(found: Plan | Report) -> Iterator[str]:
    """What was passed over because the whole budget is not enough for it."""
    if found.over:
        more = f" and {len(found.over) - NAMED:,} more" if len(found.over) > NAMED else ""
        yield (
            f"Passed over, because each alone takes more than the budget: "
            f"{', '.join(found.over[:NAMED])}{more}; a greater --budget does them too."
        )


@contextlib.contextmanager
def progress(*, quiet: bool) -> Iterator[Progress | None]:
    """A bar for a person at a terminal, with rate and money; nothing anywhere else."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from cmem.cli import terminal

    began = time.monotonic()
    with terminal.work("observing again") as advance:

        def tell(report: Report) -> None:
            done = report.places - report.left
            advance(done, report.places, pace(report, time.monotonic() - began))

        yield tell


@contextlib.contextmanager
def weighing(*, quiet: bool) -> Iterator[Weighing | None]:
    """A bar while the estimate of many sessions is made."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from cmem.cli import terminal

    with terminal.work("weighing, sessions") as advance:
        yield _now_and_then(lambda done, of: advance(done, of, ""))


def _now_and_then(tell: Weighing) -> Weighing:
    shown = time.monotonic()

    def maybe(done: int, of: int) -> None:
        nonlocal shown
        if time.monotonic() > shown + REDRAW_S:
            shown = time.monotonic()
            tell(done, of)

    return maybe


def pace(report: Report, seconds: float) -> str:
    """What a run has spent so far, how fast it goes, and how long it will take."""
    spent = budget.dollars(report.microusd) if report.calls else ""
    done = report.places - report.left
    if not done or seconds < 1:
        return spent
    rate = done / seconds
    left = f"{span(report.left / rate)} left"
    return "  ".join(filter(None, (spent, f"{rate * 60:,.0f} a minute", left)))


def span(seconds: float) -> str:
    from cmem.cli import import_

    return import_.span(seconds)


def n(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"
