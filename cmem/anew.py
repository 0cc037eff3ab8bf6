"""One place observed anew: its call on the books, the provider asked, its reply in the place of
what stands there.

No transaction is open while the provider is asked, and the new result comes in one commit: a kill
leaves the place with one whole result. A place that was forgotten, or observed by another run,
since it was looked up is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from cmem import blame, booking, budget, cost, estimate, pieces
from cmem.failpoint import hit
from cmem.model import Mode, TurnUnit, Usage
from cmem.observer import prices
from cmem.observer.errors import MissingCredential, ProviderError, UnusableReply
from cmem.observer.providers.asked import Model
from cmem.privacy import second
from cmem.store import ledger, places, replacements, units
from cmem.store.connection import transaction

if TYPE_CHECKING:
    import apsw

    from cmem.model import Observed, SummaryUnit
    from cmem.observer.providers import Provider
    from cmem.settings import Settings
    from cmem.store.places import Place

# What may be for this place alone; after other failures nobody else is asked either.
PASSING = ("transport", "overload")


class Report(NamedTuple):
    """What a run did. ``kept``: places where nothing new was found, so that the old rows stay;
    ``unusable``: replies that could not be used, the old rows stay too; ``failed``: places in
    which the provider was in trouble, and ``trouble`` the last of it; ``reason``: why the run
    ended early, "" when it did not; ``code``: that of a run that was told to end; ``too_long``:
    places that are more than the model takes, whose old rows stay; ``over``: by name, those that
    alone take more than the run's budget, which are among the ones that are ``left``."""

    provider: str
    places: int
    replaced: int
    kept: int
    unusable: int
    observations: int
    superseded: int
    calls: int
    input_tokens: int
    output_tokens: int
    microusd: int
    unpriced: int
    left: int
    reason: str
    failed: int = 0
    trouble: str = ""
    code: int = 0
    too_long: int = 0
    over: tuple[str, ...] = ()

    @property
    def answered(self) -> int:
        return self.replaced + self.kept

    @property
    def in_vain(self) -> int:
        return self.unusable + self.failed

    @property
    def spent(self) -> ledger.Spent:
        tokens = self.input_tokens + self.output_tokens
        return ledger.Spent(self.calls, tokens, self.microusd, self.unpriced)


class Run(NamedTuple):
    """One run's fixed parts. ``limits``: what the day may take; ``purse``: what the run may;
    ``lift``: what to say where the day's is used up."""

    conn: apsw.Connection
    settings: Settings
    provider: Provider
    mode: Mode
    expect: estimate.Expect
    limits: budget.Limits
    purse: budget.Limits
    lift: str
    prices: prices.PriceList
    clock: Callable[[], int]


class _Call(NamedTuple):
    """A call on the books: its unit, when it began, its row (None: no call)."""

    unit_id: int
    began: int
    expected: ledger.Expected | None
    run_id: int | None


def load(
    conn: apsw.Connection, unit_id: int, settings: Settings, *, mode: Mode
) -> TurnUnit | SummaryUnit:
    """The evidence of a unit, as it would be asked about now."""
    loaded = units.load(conn, unit_id, language=settings.language)
    return loaded._replace(mode=mode, attempts=0)


def name(unit: TurnUnit | SummaryUnit, expected: ledger.Expected) -> str:
    """A place in words, with what it would take."""
    if isinstance(unit, TurnUnit):
        what = f"turn {unit.turn_number}"
    else:
        what = f"summary of turn {unit.turns[-1].number}" if unit.turns else "summary"
    known = expected.microusd
    takes = f"{expected.input_tokens + expected.output_tokens:,} tokens"
    return f"N{unit.session_id} {what} (about {takes if known is None else budget.dollars(known)})"


def is_over(purse: budget.Limits, expected: ledger.Expected | None) -> bool:
    """Whether the call alone takes more than the run may."""
    nothing = ledger.Spent(0, 0, 0, 0)
    return expected is not None and bool(budget.refusal(purse, nothing, expected, whose=budget.RUN))


def observe(run: Run, place: Place, report: Report) -> Report:
    """Observe the place anew; the report with what came of it."""
    if not places.is_current(run.conn, place):
        return report._replace(left=report.left - 1)
    unit = load(run.conn, place.unit_id, run.settings, mode=run.mode)
    expected = run.expect(unit)
    if expected is not None and is_over(run.purse, expected):
        return report._replace(over=(*report.over, name(unit, expected)))
    if isinstance(run.provider, Model):
        run.provider.load()  # it takes a second, before the call is on the books
    call = _claim(run, place, expected, spent=report.spent)
    if isinstance(call, str):
        return report._replace(reason=call)
    unit = unit._replace(unit_id=call.unit_id)
    hit("again_before_call")
    asking = pieces.Asking(run.provider, partial(_fits, run, spent=report.spent))
    try:
        observed = asking.ask(unit)
    except (KeyboardInterrupt, SystemExit):
        if call.run_id is not None:
            ledger.interrupt(run.conn, call.run_id, now=run.clock())
        raise
    except MissingCredential as error:
        if call.run_id is not None:
            ledger.cancel(run.conn, call.run_id)
        return report._replace(reason=second.scrub(str(error)))
    except ProviderError as error:
        return _in_trouble(run, call, error, asking=asking, report=report)
    except (UnusableReply, pieces.TooLong, pieces.TooDear) as error:
        return _in_vain(run, call, error, asking=asking, unit=unit, report=report)
    hit("again_after_call")
    return _put(run, place, call, unit=unit, observed=observed, report=report)


def _fits(run: Run, usage: Usage, parts: Sequence[TurnUnit], *, spent: ledger.Spent) -> bool:
    """Whether the run may ask about all the parts, beside what the calls before took."""
    took = prices.charge(usage, estimate.model_of(run.settings), run.prices)
    tokens, microusd = sum(usage[:4]), took or 0
    for one in parts:
        expected = run.expect(one)
        if expected is None:
            return True
        tokens += expected.input_tokens + expected.output_tokens
        microusd += expected.microusd or 0
    whole = ledger.Expected("", "", tokens, 0, microusd)
    return not budget.refusal(run.purse, spent, whole, whose=budget.RUN)


def _in_vain(
    run: Run,
    call: _Call,
    error: UnusableReply | pieces.TooLong | pieces.TooDear,
    *,
    asking: pieces.Asking,
    unit: TurnUnit | SummaryUnit,
    report: Report,
) -> Report:
    """The calls gave nothing that could be used, for whatever reason: the old rows stay."""
    usage, microusd = _took(run, call, error, asking=asking)
    if isinstance(error, pieces.TooDear):
        told = "too dear: in pieces it takes more than the budget"
    elif isinstance(error, pieces.TooLong):
        told = f"{places.TOO_LONG}: {second.scrub(error.reason)}"
    else:
        told = f"unusable: {second.scrub(error.reason)}"
    _failed(run, call, told, usage=usage, calls=asking.calls, microusd=microusd)
    report = _spent(report, usage, calls=asking.calls, microusd=microusd)
    if isinstance(error, pieces.TooDear) and call.expected is not None:
        return report._replace(over=(*report.over, name(unit, call.expected)))
    report = report._replace(left=report.left - 1)
    if isinstance(error, pieces.TooLong):
        return report._replace(too_long=report.too_long + 1)
    return report._replace(unusable=report.unusable + 1, trouble=told)


def _took(
    run: Run, call: _Call, error: Exception, *, asking: pieces.Asking
) -> tuple[Usage, int | None]:
    """What calls took that gave nothing: what was told of them, or what the last one may have."""
    model = call.expected.model if call.expected is not None else ""
    if asking.calls > 1 or not isinstance(error, (ProviderError, UnusableReply)):
        return asking.usage, prices.charge(asking.usage, model, run.prices)
    return cost.of_failure(error, call.expected, run.prices)


def _in_trouble(
    run: Run, call: _Call, error: ProviderError, *, asking: pieces.Asking, report: Report
) -> Report:
    told = f"{error.kind}: {second.scrub(str(error))}"
    if not error.sent:
        if call.run_id is not None:
            ledger.cancel(run.conn, call.run_id)
        return report._replace(trouble=told, reason=told)
    usage, microusd = _took(run, call, error, asking=asking)
    _failed(run, call, told, usage=usage, calls=asking.calls, microusd=microusd)
    goes_on = error.kind in PASSING and not blame.is_busy(error)
    reason = "" if goes_on else told
    report = report._replace(failed=report.failed + 1, trouble=told, reason=reason)
    return _spent(report, usage, calls=asking.calls, microusd=microusd)


def _put(
    run: Run,
    place: Place,
    call: _Call,
    *,
    unit: TurnUnit | SummaryUnit,
    observed: Observed,
    report: Report,
) -> Report:
    wanted = call.expected.model if call.expected is not None else ""
    microusd = prices.charge(observed.usage, observed.model, run.prices, asked=wanted)
    done = replacements.commit(
        run.conn,
        place,
        unit=unit,
        observed=observed,
        started_at=call.began,
        now=run.clock(),
        microusd=microusd,
        run_id=call.run_id,
    )
    hit("again_after_commit")
    report = report._replace(
        replaced=report.replaced + (done.outcome == "done"),
        kept=report.kept + (done.outcome == "skipped"),
        observations=report.observations + (done.made if place.kind == "turn" else 0),
        superseded=report.superseded + done.replaced,
        left=report.left - (done.outcome != "stale"),
    )
    return _spent(report, observed.usage, calls=observed.calls, microusd=microusd)


def _claim(
    run: Run, place: Place, expected: ledger.Expected | None, *, spent: ledger.Spent
) -> _Call | str:
    """The unit to try with and its call on the books, or why a budget does not allow it."""
    now = run.clock()
    with transaction(run.conn):
        if expected is None:
            return _Call(replacements.open_unit(run.conn, place, now=now), now, None, None)
        refused = budget.refusal(run.purse, spent, expected, whose=budget.RUN)
        if refused:
            return refused
        books = booking.Books(run.conn, run.limits, now=now)
        refused = books.refusal(expected)
        if refused:
            return f"{refused}; {run.lift}"
        unit_id = replacements.open_unit(run.conn, place, now=now)
        run_id = books.start(unit_id, expected)
    return _Call(unit_id, now, expected, run_id)


def _failed(
    run: Run, call: _Call, error: str, *, usage: Usage, calls: int, microusd: int | None
) -> None:
    """A call that gave nothing is on the books like any other."""
    result = ledger.Result(
        provider=run.settings.provider,
        model=call.expected.model if call.expected is not None else "",
        prompt_version="",
        outcome=error.partition(":")[0],
        calls=calls,
        usage=usage,
        microusd=microusd,
        error=error,
    )
    now = run.clock()
    ledger.end(run.conn, call.unit_id, result, started_at=call.began, now=now, run_id=call.run_id)


def _spent(report: Report, usage: Usage, *, calls: int, microusd: int | None) -> Report:
    went_in = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return report._replace(
        calls=report.calls + calls,
        input_tokens=report.input_tokens + went_in,
        output_tokens=report.output_tokens + usage.output_tokens,
        microusd=report.microusd + (microusd or 0),
        unpriced=report.unpriced + (calls if microusd is None else 0),
    )
