"""Compress: ingest → observe → maintain, one run at a time.

Single flight by an OS lock held for the process's life; no clock and no pid decides who may
run. What a killed run left is simply still there: spool rows not deleted, units pending.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from cmem import (
    backup,
    batch,
    batch_send,
    blame,
    breaker,
    budget,
    configured,
    dedup,
    estimate,
    fitness,
    ingest,
    lock,
    observe,
    paths,
    runlog,
    spooled,
)
from cmem.context import shown
from cmem.errors import BusyError, CmemError, ConfigError
from cmem.failpoint import hit
from cmem.forget import purge
from cmem.observer import mended, providers
from cmem.privacy import environment
from cmem.settings import environment as process_environment
from cmem.store import (
    connection,
    counts,
    erase,
    forget,
    imports,
    last_run,
    ledger,
    maintain,
    pause,
    retention,
)
from cmem.sync import auto

if TYPE_CHECKING:
    import apsw

    from cmem.model import Mode
    from cmem.observer import prices
    from cmem.settings import Settings

MERGE_BUDGET_MS = 200
PRUNE_BUDGET_MS = 500
MAX_ROUNDS = 100


class Options(NamedTuple):
    """What a run is asked for. ``wait_s``: how long to wait for another run to end.
    ``max_calls`` and ``limits`` (a daily budget) stand in place of the settings' own; 0 and
    None are no choice. ``batch``: give away what waits, at half the price, and do not wait.
    ``faults``: of a config.toml that cannot be read; what it could have switched is not done."""

    session: str = ""
    close_open: bool = False
    max_calls: int = 0
    wait_s: float = 10.0
    limits: budget.Limits | None = None
    batch: bool = False
    faults: tuple[str, ...] = ()


class Report(NamedTuple):
    """The counts of design §13, plus why the run stopped asking (``reason``, may be ""), and the
    calls whose price nobody knows (``unpriced``), which ``cost_usd`` leaves out. ``mended``: what
    was lost or put right in replies, each with its number."""

    ingested: int
    units: int
    observations: int
    summaries: int
    skipped: int
    pending: int
    parked: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    unpriced: int
    provider: str
    reason: str
    warnings: tuple[str, ...]
    mended: tuple[str, ...] = ()


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def compress(
    home: str,
    settings: Settings,
    options: Options,
    *,
    progress: observe.Progress | None = None,
    clock: Callable[[], int] = now_ms,
) -> Report:
    """One run for a person: waits for the lock, does everything there is to do.

    Raises BusyError when another run holds the lock for longer than ``wait_s``."""
    fitness.demand(home)
    fd = lock.acquire(paths.lock_file(home), wait_ms=int(options.wait_s * 1000))
    if fd is None:
        raise BusyError("another compress is running; try again when it is done")
    try:
        return _locked(home, settings, options, progress=progress, clock=clock)
    finally:
        lock.release(fd)


def _locked(
    home: str,
    settings: Settings,
    options: Options,
    *,
    progress: observe.Progress | None = None,
    clock: Callable[[], int] = now_ms,
) -> Report:
    try:
        providers.get(settings)
        found = configured.mode_and_prices(home, settings)
    except ConfigError as error:
        ingest_only(home, str(error))
        raise
    conn = connection.open_writer(home, now=clock())
    try:
        hit("after_lock")
        ledger.interrupt_all(conn)
        run = _run(conn, settings, found, clock=clock)._replace(
            limits=options.limits or budget.limits(settings.daily_usd, settings.daily_tokens),
            progress=progress,
        )
        observe_imported(home, conn, settings, clock=clock)
        options = options._replace(max_calls=options.max_calls or settings.max_calls)
        ingested, warnings, tally = _rounds(home, run, options, settings=settings)
        hit("before_maintain")
        switched = None if options.faults else settings
        warnings += _maintain(home, conn, now=clock(), settings=switched)
        hit("after_maintain")
        reason = tally.reason or _unusable(tally)
        last_run.put(conn, last_run.LastRun(clock(), reason, settings.provider))
        work = counts.work(conn)
        return _report(tally, work)._replace(
            ingested=ingested,
            provider=settings.provider,
            reason=reason,
            warnings=(*options.faults, *found[2], *warnings),
        )
    finally:
        conn.close()


def _run(
    conn: apsw.Connection,
    settings: Settings,
    found: tuple[Mode, prices.PriceList, tuple[str, ...]],
    *,
    clock: Callable[[], int],
) -> observe.Run:
    """A run of the provider that the settings name, without a budget."""
    mode, price_list, _ = found
    return observe.Run(
        conn=conn,
        provider=providers.get(settings),
        provider_name=settings.provider,
        fingerprint=breaker.fingerprint(settings),
        language=settings.language,
        mode=mode,
        expect=estimate.expect(settings, price_list),
        limits=budget.limits(0, 0),
        prices=price_list,
        clock=clock,
        progress=None,
    )


def observe_imported(
    home: str, conn: apsw.Connection, settings: Settings, *, clock: Callable[[], int]
) -> observe.Tally:
    """What an import has put into the store becomes memory without a model, whoever is chosen for
    what is captured: nobody pays for the past unasked."""
    tally = observe.Tally()
    waiting = imports.pending(conn)
    if not waiting:
        return tally
    settings = settings._replace(provider=configured.FREE)
    run = _run(conn, settings, configured.mode_and_prices(home, settings), clock=clock)
    for unit_id in waiting:
        tally = observe.observe_unit(run, tally, blame.Chosen(unit_id))
    return tally


def _report(tally: observe.Tally, work: counts.Work) -> Report:
    return Report(
        ingested=0,
        units=tally.units,
        observations=tally.observations,
        summaries=tally.summaries,
        skipped=tally.skipped,
        pending=work.pending,
        parked=work.parked,
        calls=tally.calls,
        input_tokens=tally.input_tokens,
        output_tokens=tally.output_tokens,
        cost_usd=tally.microusd / 1_000_000,
        unpriced=tally.unpriced,
        provider="",
        reason=tally.reason,
        warnings=(),
        mended=mended.counted(tally.notes),
    )


def ingest_only(home: str, reason: str) -> None:
    """What a run can do that knows no provider: take in what was captured, and say why
    nothing more was done."""
    conn = connection.open_writer(home, now=now_ms())
    try:
        ingest.ingest(home, conn, now=now_ms())
        ingest.sweep(conn, now=now_ms(), close_open=False, session=None)
        _maintain(home, conn, now=now_ms())
        last_run.put(conn, last_run.LastRun(now_ms(), reason))
    finally:
        conn.close()


def _unusable(tally: observe.Tally) -> str:
    """Why work was left although the provider answered, "" when it was not."""
    if not tally.unusable:
        return ""
    count = len(tally.unusable)
    replies = "1 reply" if count == 1 else f"{count} replies"
    return f"{replies} could not be used ({tally.unusable[-1]}); the work stays pending"


def _rounds(
    home: str, run: observe.Run, options: Options, *, settings: Settings
) -> tuple[int, tuple[str, ...], observe.Tally]:
    """Ingest and observe until neither finds anything new: what arrived while the provider
    was thinking is taken along, so a run leaves no tail."""
    who = batch.taker(settings, wanted=options.batch)
    tally = observe.Tally(reason=_pause_reason(run))
    limits = observe.Limits(max_calls=options.max_calls, session=options.session)
    tried: set[int] = set()
    ingested = 0
    warnings: tuple[str, ...] = ()
    for _ in range(MAX_ROUNDS):
        taken = ingest.ingest(home, run.conn, now=run.clock())
        ingested += taken.events
        warnings += (taken.trouble,) if taken.trouble else ()
        closed = ingest.sweep(
            run.conn,
            now=run.clock(),
            close_open=options.close_open,
            session=options.session or None,
        )
        before = tally
        tally = batch_send.exchange(run, who, tally, give=options.batch, limits=limits)
        if options.batch:
            break
        tally = observe.observe(run, tally, limits=limits, tried=tried)
        if not taken.events and not closed and tally == before:
            break
    return ingested, warnings + tally.warnings, tally


def _pause_reason(run: observe.Run) -> str:
    current = pause.get(run.conn)
    if breaker.holds(current, fingerprint=run.fingerprint, now=run.clock()):
        assert current is not None
        return f"paused: {current.reason}"
    return ""


def _maintain(
    home: str, conn: apsw.Connection, *, now: int, settings: Settings | None = None
) -> tuple[str, ...]:
    """The upkeep after the work; without settings nothing that a person could have switched.
    Returns what the user should know."""
    warnings: tuple[str, ...] = ()
    if settings is not None:
        if settings.dedup:
            dedup.sweep(conn, now=now)
        retention.prune_slice(
            conn, keep_days=settings.keep_raw_days, now=now, budget_ms=PRUNE_BUDGET_MS
        )
    forgotten = forget.due(conn, now=now)
    try:
        if any(forgotten):
            removed = purge(home, conn, forgotten, now=now)
            warnings += tuple(f"{path} went with what was forgotten" for path in removed)
        erase.finish(conn)
    except BusyError:
        pass  # a reader keeps the log from being cut; the next run does the rest
    except CmemError as error:
        warnings += (str(error),)
    maintain.expire_seen(conn, now=now)
    maintain.merge_index(conn, budget_ms=MERGE_BUDGET_MS)
    maintain.return_space(conn)
    maintain.truncate_wal(conn)
    shown.sweep(home)
    if settings is not None:
        warnings += backup.daily(home, conn, keep=settings.backups, now=now)
        warnings += auto.after_run(home, conn, settings, now=now)
    return warnings


def end_on_signals() -> None:
    """A run told to end gives back what it holds: SIGTERM and SIGHUP become SystemExit with
    the shell's code (143, 129)."""

    def end(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    for one in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, end)


# --- the background run ----------------------------------------------------------------


def main_background(
    home: str, lock_fd: int | None, *, env: Mapping[str, str] | None = None
) -> None:
    """What a hook or a schedule starts: holds the lock it was given (None: another run has it,
    and does the work), drains, and looks once more after letting go, because an event may have
    come between the last look and the release."""
    end_on_signals()
    environment.use(process_environment())
    fd = lock_fd
    for _ in range(MAX_ROUNDS):
        if fd is None:
            return
        try:
            if not usual(home, env=env):
                return
        finally:
            lock.release(fd)
        pending, spilled, _dropped = spooled.counts(home)
        fd = lock.acquire(paths.lock_file(home)) if pending or spilled else None


def usual(home: str, *, env: Mapping[str, str] | None = None) -> bool:
    """One run as a hook starts it, by whoever holds the lock; whether it could do its work. What
    went wrong is in the log."""
    try:
        fitness.demand(home)
        found = _background_settings(home, env or {})
        if found is None:
            return False
        report = _locked(home, found[0], Options(faults=found[1]))
        active = bool(report.ingested or report.units or report.reason)
        runlog.did(home, line(report), always=active)
        for warning in report.warnings:
            runlog.fail(home, CmemError(warning))
    except Exception as error:  # noqa: BLE001 - nobody reads a background traceback
        runlog.fail(home, error)
        return False
    return True


def line(report: Report) -> str:
    """A run in one line of the log."""
    told = (
        f"{report.provider}: {report.ingested} events in, {report.units} units done, "
        f"{report.calls} calls, ${report.cost_usd:.4f}, {report.pending} pending"
    )
    return f"{told}; {report.reason}" if report.reason else told


def _background_settings(
    home: str, env: Mapping[str, str]
) -> tuple[Settings, tuple[str, ...]] | None:
    """The settings and what is wrong with them; None, with what was captured taken in, when they
    cannot be read."""
    try:
        return configured.load(home, env=env, flags={}, trusted_env=False)
    except ConfigError as error:
        ingest_only(home, str(error))
        runlog.fail(home, error)
        return None
