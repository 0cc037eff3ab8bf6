"""Observe: one work unit after another becomes memory, or stays pending with a reason.

No transaction is open while a provider is asked. The attempt is counted before the call, so
a unit that kills the process is known by its count (not one that a person kills, or the system,
while it waits for the answer), and so is the call in the ledger, by its
estimate; the reply and the acknowledgement are committed together (``store.memory.commit``),
so a kill anywhere leaves either nothing or all.

What ends a unit's turn in this run (design §7):

- drafts or an explicit skip: committed, the unit is done;
- an unusable reply: the attempt counts, the unit is halved or parked, the run goes on;
- a provider in trouble: the attempt is given back, a pause is armed, the run stops asking;
  whether it is not the unit after all, and a bad reply not the provider, ``blame`` decides;
- a daily budget that is reached: nothing is claimed, the run stops asking until the next day;
- no credential, or settings no request can be made with: the attempt is given back and nothing is
  booked or armed, the next run tries at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from cmem import blame, booking, breaker, budget, cost
from cmem.failpoint import hit
from cmem.model import Mode, Observed, SummaryUnit, TurnUnit, Usage
from cmem.observer import prices, waiting
from cmem.observer.errors import MissingCredential, ProviderError, UnusableReply
from cmem.observer.providers.asked import Model
from cmem.privacy import second
from cmem.store import counts, ledger, memory, pause, units
from cmem.store.connection import transaction

if TYPE_CHECKING:
    import apsw

    from cmem.observer.providers import Provider

NO_USAGE = Usage(0, 0, 0, 0, 0.0)
NOTHING_YET = blame.Course()


class Limits(NamedTuple):
    """What bounds a run: calls (0 = no bound), one session only ("" = all)."""

    max_calls: int
    session: str


class Tally(NamedTuple):
    """What a run did so far. ``reason``: why it stopped asking, "" when it did not.
    ``unusable``: why replies could not be used, one entry each. ``notes``: what was lost or put
    right in those that could. ``warnings``: what people should know besides. ``unpriced``: calls whose price
    nobody knows, which ``microusd`` leaves out."""

    units: int = 0
    observations: int = 0
    summaries: int = 0
    skipped: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    microusd: int = 0
    unpriced: int = 0
    reason: str = ""
    unusable: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


# Told how far a run is: what it did, and how many units are left.
Progress = Callable[[Tally, int], None]


class Run(NamedTuple):
    """One run's fixed parts: where it writes, whom it asks, as whom, for how much. ``expect``
    tells what a unit's call will take, None for a unit that takes none."""

    conn: apsw.Connection
    provider: Provider
    provider_name: str
    fingerprint: str
    language: str
    mode: Mode
    expect: Callable[[TurnUnit | SummaryUnit], ledger.Expected | None]
    limits: budget.Limits
    prices: prices.PriceList
    clock: Callable[[], int]
    progress: Progress | None


class Claim(NamedTuple):
    """A unit that is being tried: since when, and its row in the ledger (None: no call)."""

    unit_id: int
    started: int
    expected: ledger.Expected | None
    run_id: int | None


def observe(run: Run, tally: Tally, *, limits: Limits, tried: set[int]) -> Tally:
    """Work through every unit that is pending and not in ``tried``; return the new tally."""
    course = blame.Course(answered=tally.units > 0)
    while not tally.reason:
        chosen = blame.choose(
            run.conn, run.fingerprint, tried=tried, session=limits.session or None, course=course
        )
        if chosen is None:
            break
        if limits.max_calls and tally.calls >= limits.max_calls:
            return tally._replace(reason=budget.most_calls(limits.max_calls))
        _tell(run, tally)
        small = chosen.unit_id == chosen.suspect and isinstance(run.provider, Model)
        if small and not course.small:
            tally = _ask_small(run, tally, chosen.suspect)
            if tally.reason:
                break
            if limits.max_calls and tally.calls >= limits.max_calls:
                return tally._replace(reason=budget.most_calls(limits.max_calls))
            course = course._replace(small=True)
        tried.add(chosen.unit_id)
        done, failures = tally.units, len(tally.unusable)
        tally = observe_unit(run, tally, chosen, course=course, small=small)
        if tally.units > done:
            course = blame.Course(True, course.goes_on or chosen.probe)
        elif len(tally.unusable) > failures:
            course = course._replace(failed=course.goes_on)
    _tell(run, tally)
    return tally


def _tell(run: Run, tally: Tally) -> None:
    if run.progress is not None:
        run.progress(tally, counts.work(run.conn).pending)


def _ask_small(run: Run, tally: Tally, suspect: int) -> Tally:
    """Ask something small before a suspect where no other unit waits; a reason tells that it was
    not answered, or may not be asked."""
    assert isinstance(run.provider, Model)
    unit = units.load(run.conn, suspect, language=run.language)
    expected = run.expect(unit._replace(mode=run.mode))
    if expected is not None:
        books = booking.Books(run.conn, run.limits, now=run.clock())
        refused = books.refusal(expected)  # of what follows; it is smaller
        if refused:
            return tally._replace(reason=_out_of_budget(run, refused, until=books.until))
    model = "" if expected is None else expected.model
    answer = booking.small(
        run.conn, run.provider, run.provider_name, model=model, known=run.prices, clock=run.clock
    )
    calls = 1 if answer.trouble is None or answer.trouble.sent else 0
    tally = _spent(tally, answer.usage, calls=calls, microusd=answer.microusd)
    if answer.trouble is None:
        return tally
    if not answer.trouble.sent:
        return tally._replace(reason=_said(answer.trouble))
    tried = blame.Try(0, suspect, well=False, fingerprint=run.fingerprint, now=run.clock())
    return tally._replace(reason=blame.of_small(run.conn, tried, answer.trouble))


def observe_unit(
    run: Run,
    tally: Tally,
    chosen: blame.Chosen,
    *,
    course: blame.Course = NOTHING_YET,
    small: bool = False,
) -> Tally:
    """Try one unit; the tally with what came of it. ``small``: something small was answered, and
    nothing else."""
    unit_id = chosen.unit_id
    well = small or blame.is_well(run.conn, unit_id, course)
    suspect = 0 if small else chosen.suspect
    unit = units.load(run.conn, unit_id, language=run.language)._replace(mode=run.mode)
    claim = _claim(run, unit)
    if isinstance(claim, str):
        return tally._replace(reason=claim)
    hit("after_claim")
    try:
        observed = _ask(run, unit)
    except (KeyboardInterrupt, SystemExit):
        # Whoever stops a run has nothing against the unit.
        _cut_off(run, claim)
        raise
    except MissingCredential as error:
        _not_asked(run, claim)
        return tally._replace(reason=_said(error))
    except ProviderError as error:
        attempt = blame.Try(unit_id, suspect, well, run.fingerprint, run.clock(), small)
        return _provider_failed(run, claim, error, tried=attempt, tally=tally)
    except UnusableReply as error:
        attempt = blame.Try(unit_id, suspect, well and not small, run.fingerprint, run.clock())
        return _unusable(run, claim, error, tried=attempt, tally=tally)
    hit("after_call")
    microusd = prices.charge(observed.usage, observed.model, run.prices, asked=_model(claim))
    done = memory.commit(
        run.conn,
        unit=unit,
        observed=observed,
        started_at=claim.started,
        now=run.clock(),
        microusd=microusd,
        run_id=claim.run_id,
    )
    hit("after_commit")
    if observed.calls:
        blame.answered(run.conn, run.fingerprint, suspect=suspect)
    tally = _spent(tally, observed.usage, calls=observed.calls, microusd=microusd)
    return _done(tally, done, observed)


def _done(tally: Tally, done: memory.Committed, observed: Observed) -> Tally:
    return tally._replace(
        units=tally.units + 1,
        observations=tally.observations + done.observations,
        summaries=tally.summaries + done.summaries,
        skipped=tally.skipped + done.skipped,
        notes=(*tally.notes, *observed.reply.notes),
    )


def _claim(run: Run, unit: TurnUnit | SummaryUnit) -> Claim | str:
    """Claim the unit for one try, or tell why its call may not be made today. The budget is
    looked at and the call written down in one transaction: two runs cannot both spend the rest."""
    now = run.clock()
    expected = run.expect(unit)
    with transaction(run.conn):
        run_id = None
        if expected is not None:
            books = booking.Books(run.conn, run.limits, now=now)
            refused = books.refusal(expected)
            if refused:
                return _out_of_budget(run, refused, until=books.until)
            run_id = books.start(unit.unit_id, expected)
        units.count_attempt(run.conn, unit.unit_id)
        hit("in_claim")
    return Claim(unit.unit_id, now, expected, run_id)


def _out_of_budget(run: Run, reason: str, *, until: int) -> str:
    pause.arm(
        run.conn,
        reason=f"{reason}; {budget.LIFT}",
        until=until,
        step=0,
        fingerprint=breaker.budget_key(run.limits),
        key=pause.BUDGET,
    )
    at = time.strftime("%H:%M", time.localtime(until / 1000))
    return f"{reason}; goes on at {at}, {budget.LIFT}"


def _cut_off(run: Run, claim: Claim) -> None:
    units.give_back(run.conn, claim.unit_id)
    if claim.run_id is not None:
        ledger.interrupt(run.conn, claim.run_id, now=run.clock())


def _not_asked(run: Run, claim: Claim) -> None:
    units.give_back(run.conn, claim.unit_id)
    if claim.run_id is not None:
        ledger.cancel(run.conn, claim.run_id)


def _unusable(
    run: Run, claim: Claim, error: UnusableReply, *, tried: blame.Try, tally: Tally
) -> Tally:
    usage, microusd = cost.of_failure(error, claim.expected, run.prices)
    _failed(
        run,
        claim,
        f"unusable: {error.reason}",
        usage=usage,
        calls=error.calls,
        microusd=microusd,
    )
    stops = blame.of_reply(run.conn, tried, error.reason)
    tally = tally._replace(unusable=(*tally.unusable, error.reason), reason=stops)
    return _spent(tally, usage, calls=error.calls, microusd=microusd)


def _provider_failed(
    run: Run, claim: Claim, error: ProviderError, *, tried: blame.Try, tally: Tally
) -> Tally:
    if not error.sent:
        _not_asked(run, claim)
        return tally._replace(reason=_said(error))
    usage, microusd = cost.of_failure(error, claim.expected, run.prices)
    _failed(run, claim, _said(error), usage=usage, calls=1, microusd=microusd)
    stops, against = blame.of_provider(run.conn, tried, error)
    if against:
        tally = tally._replace(unusable=(*tally.unusable, against))
    return _spent(tally._replace(reason=stops), usage, calls=1, microusd=microusd)


def _ask(run: Run, unit: TurnUnit | SummaryUnit) -> Observed:
    """The provider's answer. While nothing is done but wait for it, an end of the run says nothing
    against the unit."""
    hit("before_call")
    with waiting.tell(
        lambda: units.give_back(run.conn, unit.unit_id),
        lambda: units.count_attempt(run.conn, unit.unit_id),
    ):
        if isinstance(unit, TurnUnit):
            return run.provider.observe(unit)
        return run.provider.summarise(unit)


def _spent(tally: Tally, usage: Usage, *, calls: int, microusd: int | None) -> Tally:
    return tally._replace(
        calls=tally.calls + calls,
        input_tokens=tally.input_tokens
        + usage.input_tokens
        + usage.cache_read_tokens
        + usage.cache_write_tokens,
        output_tokens=tally.output_tokens + usage.output_tokens,
        microusd=tally.microusd + (microusd or 0),
        unpriced=tally.unpriced + (calls if microusd is None else 0),
    )


def _failed(
    run: Run, claim: Claim, error: str, *, usage: Usage, calls: int, microusd: int | None
) -> None:
    """The call that gave nothing, on the books like any other; its outcome is what ``error``
    starts with, up to the colon."""
    result = ledger.Result(
        provider=run.provider_name,
        model=_model(claim),
        prompt_version="",
        outcome=error.partition(":")[0],
        calls=calls,
        usage=usage,
        microusd=microusd,
        error=error,
    )
    ledger.end(
        run.conn,
        claim.unit_id,
        result,
        started_at=claim.started,
        now=run.clock(),
        run_id=claim.run_id,
    )


def _model(claim: Claim) -> str:
    return claim.expected.model if claim.expected is not None else ""


def _said(error: ProviderError | MissingCredential) -> str:
    """The error as it may be shown and kept: addresses can hold a password."""
    told = second.scrub(str(error))
    return f"{error.kind}: {told}" if isinstance(error, ProviderError) else told
