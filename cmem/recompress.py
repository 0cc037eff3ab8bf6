"""Recompress: a session that has been observed is observed again, by another provider.

One place after another (``store.replacements``): the call is on the books before it is made and
held against the daily budget, no transaction is open while the provider is asked, and the new
result takes the place of the old one in one commit. So a kill leaves each turn with one whole
result, and the next try goes on where this one ended: what the wanted provider and model have
made already is not asked for again. Nothing of this pauses the ordinary runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from cmem import breaker, budget, compress, cost, estimate, lock, paths
from cmem.errors import BusyError, CmemError
from cmem.failpoint import hit
from cmem.model import Mode, TurnUnit, Usage
from cmem.observer import modes, prices, providers
from cmem.observer.errors import MissingCredential, ProviderError, UnusableReply
from cmem.privacy import second
from cmem.store import connection, ledger, pause, replacements, units
from cmem.store.connection import transaction

if TYPE_CHECKING:
    import apsw

    from cmem.model import Observed, SummaryUnit
    from cmem.observer.providers import Provider
    from cmem.settings import Settings
    from cmem.store.replacements import Place

# Told how far a run is: places done, and places in all.
Progress = Callable[[int, int], None]


class Options(NamedTuple):
    """``limits`` stand in place of the settings' daily budget; ``max_calls`` 0 is no bound."""

    max_calls: int = 0
    limits: budget.Limits | None = None
    wait_s: float = 10.0


class Plan(NamedTuple):
    """What would be asked. ``done``: places the provider has made already; ``unsettled``: units
    that were never observed, which are for ``compress``; ``pruned``: turns without their raw
    evidence, which stay as they are. ``cost_usd`` None: nobody knows."""

    provider: str
    model: str
    places: int
    done: int
    unsettled: int
    pruned: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None


class Report(NamedTuple):
    """What a run did. ``kept``: places where nothing new was found, so that the old rows stay;
    ``unusable``: replies that could not be used, the old rows stay too; ``reason``: why the run
    ended early, "" when it did not."""

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


class _Run(NamedTuple):
    """One run's fixed parts."""

    conn: apsw.Connection
    settings: Settings
    provider: Provider
    mode: Mode
    expect: estimate.Expect
    limits: budget.Limits
    prices: prices.PriceList
    clock: Callable[[], int]


class _Call(NamedTuple):
    """A call on the books: its unit, when it began, its row (None: no call)."""

    unit_id: int
    began: int
    expected: ledger.Expected | None
    run_id: int | None


def plan(home: str, settings: Settings, session_id: int) -> Plan:
    """Weigh every place of the session. Nothing is written, nobody is asked."""
    providers.get(settings)
    conn = connection.open_reader(home)
    if conn is None:
        raise CmemError("no memories yet, so there is no session to observe again")
    try:
        known = prices.load_for(home)
        weigh = estimate.expect(settings, known)
        mode = modes.load(settings.mode, home)
        found = replacements.places(conn, session_id)
        wanted = [one for one in found if not _is_made(one, settings)]
        loaded = [_unit(conn, one, settings, mode=mode) for one in wanted]
        weights = [one for one in map(weigh, loaded) if one is not None]
        priced = [one.microusd for one in weights if one.microusd is not None]
        return Plan(
            provider=settings.provider,
            model=estimate.model_of(settings),
            places=len(wanted),
            done=len(found) - len(wanted),
            unsettled=replacements.unsettled(conn, session_id),
            pruned=replacements.pruned(conn, session_id),
            calls=len(weights),
            input_tokens=sum(one.input_tokens for one in weights),
            output_tokens=sum(one.output_tokens for one in weights),
            cost_usd=sum(priced) / 1_000_000 if len(priced) == len(weights) else None,
        )
    finally:
        conn.close()


def recompress(
    home: str,
    settings: Settings,
    session_id: int,
    *,
    options: Options,
    progress: Progress | None = None,
    clock: Callable[[], int] = compress.now_ms,
) -> Report:
    """Observe the session again. BusyError when another run holds the lock for too long."""
    fd = lock.acquire(paths.lock_file(home), wait_ms=int(options.wait_s * 1000))
    if fd is None:
        raise BusyError("a compress is running; try again when it is done")
    try:
        provider = providers.get(settings)
        mode = modes.load(settings.mode, home)
        price_list = prices.load_for(home)
        conn = connection.open_writer(home, now=clock())
        try:
            ledger.interrupt_all(conn)
            limits = options.limits
            if limits is None:
                limits = budget.limits(settings.daily_usd, settings.daily_tokens)
            run = _Run(
                conn=conn,
                settings=settings,
                provider=provider,
                mode=mode,
                expect=estimate.expect(settings, price_list),
                limits=limits,
                prices=price_list,
                clock=clock,
            )
            return _all(run, session_id, options, progress=progress)
        finally:
            conn.close()
    finally:
        lock.release(fd)


def undo(home: str, session_id: int, *, wait_s: float, now: int) -> tuple[int, int]:
    """Take the newest replacement of each place back; return (places, rows that came back)."""
    fd = lock.acquire(paths.lock_file(home), wait_ms=int(wait_s * 1000))
    if fd is None:
        raise BusyError("a compress is running; try again when it is done")
    try:
        conn = connection.open_writer(home, now=now)
        try:
            return replacements.undo(conn, session_id, now=now)
        finally:
            conn.close()
    finally:
        lock.release(fd)


# --- one place after another ---------------------------------------------------------


def _all(run: _Run, session_id: int, options: Options, *, progress: Progress | None) -> Report:
    found = replacements.places(run.conn, session_id)
    wanted = [one for one in found if not _is_made(one, run.settings)]
    report = Report(run.settings.provider, len(wanted), *(0,) * 10, left=len(wanted), reason="")
    report = report._replace(reason=_pause_reason(run))
    for number, one in enumerate(wanted):
        if report.reason:
            break
        if options.max_calls and report.calls >= options.max_calls:
            report = report._replace(reason=budget.most_calls(options.max_calls))
            break
        if progress is not None:
            progress(number, len(wanted))
        report = _again(run, one, report)
    return report


def _is_made(place: Place, settings: Settings) -> bool:
    """Has the wanted provider made what stands there, by the model that is asked for?"""
    model = estimate.model_of(settings)
    same = not model or place.model == model or place.model.startswith(model + "-")
    return place.provider == settings.provider and same


def _pause_reason(run: _Run) -> str:
    current = pause.get(run.conn)
    key = breaker.fingerprint(run.settings)
    if current is None or not breaker.holds(current, fingerprint=key, now=run.clock()):
        return ""
    return f"paused: {current.reason}"


def _unit(
    conn: apsw.Connection, place: Place, settings: Settings, *, mode: Mode
) -> TurnUnit | SummaryUnit:
    loaded = units.load(conn, place.unit_id, language=settings.language)
    return loaded._replace(mode=mode, attempts=0)


def _again(run: _Run, place: Place, report: Report) -> Report:
    unit = _unit(run.conn, place, run.settings, mode=run.mode)
    call = _claim(run, place, unit)
    if isinstance(call, str):
        return report._replace(reason=call)
    unit = unit._replace(unit_id=call.unit_id)
    hit("again_before_call")
    try:
        observed = _ask(run.provider, unit)
    except (KeyboardInterrupt, SystemExit):
        if call.run_id is not None:
            ledger.interrupt(run.conn, call.run_id, now=run.clock())
        raise
    except MissingCredential as error:
        if call.run_id is not None:
            ledger.cancel(run.conn, call.run_id)
        return report._replace(reason=second.scrub(str(error)))
    except ProviderError as error:
        told = f"{error.kind}: {second.scrub(str(error))}"
        usage, microusd = cost.of_failure(error, call.expected, run.prices)
        _failed(run, call, told, usage=usage, microusd=microusd)
        return _spent(report._replace(reason=told), usage, calls=1, microusd=microusd)
    except UnusableReply as error:
        usage, microusd = cost.of_failure(error, call.expected, run.prices)
        _failed(run, call, f"unusable: {error.reason}", usage=usage, microusd=microusd)
        report = report._replace(unusable=report.unusable + 1, left=report.left - 1)
        return _spent(report, usage, calls=error.calls, microusd=microusd)
    hit("again_after_call")
    return _put(run, place, call, unit=unit, observed=observed, report=report)


def _put(
    run: _Run,
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


def _ask(provider: Provider, unit: TurnUnit | SummaryUnit) -> Observed:
    return provider.observe(unit) if isinstance(unit, TurnUnit) else provider.summarise(unit)


def _claim(run: _Run, place: Place, unit: TurnUnit | SummaryUnit) -> _Call | str:
    """The unit to try with and its call on the books, or why the budget does not allow it."""
    now = run.clock()
    expected = run.expect(unit)
    with transaction(run.conn):
        if expected is None:
            return _Call(replacements.open_unit(run.conn, place, now=now), now, None, None)
        began, ends = budget.day(now)
        spent = ledger.spent(run.conn, since=began, until=ends)
        refused = budget.refusal(run.limits, spent, expected)
        if refused:
            return f"{refused}; `cmem recompress … --budget none` goes on now"
        unit_id = replacements.open_unit(run.conn, place, now=now)
        run_id = ledger.start(run.conn, unit_id, expected, now=now)
    return _Call(unit_id, now, expected, run_id)


def _failed(run: _Run, call: _Call, error: str, *, usage: Usage, microusd: int | None) -> None:
    """A call that gave nothing is on the books like any other."""
    result = ledger.Result(
        provider=run.settings.provider,
        model=call.expected.model if call.expected is not None else "",
        prompt_version="",
        outcome=error.partition(":")[0],
        calls=1,
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
