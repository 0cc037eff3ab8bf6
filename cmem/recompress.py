"""Recompress: what has been observed is observed again, by another provider: a session, or all
that imports of transcripts have brought.

One place after another (``anew``), the newest session first, held against a budget; what failed in
an earlier run comes last. The next run goes on where this one ended: what the wanted provider and
model have made already is not asked for again. Nothing of this pauses the ordinary runs, and a
long run holds them up for one call at most: it gives way between places, and does what hooks
would have started meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from cmem import anew, breaker, budget, compress, estimate, fitness, ingest, made, off, spooled
from cmem.anew import Report
from cmem.errors import BusyError, CmemError, UsageError
from cmem.held import Held
from cmem.observer import modes, prices, providers
from cmem.store import connection, ledger, pause, places, replacements
from cmem.store.places import Place, Wanted

if TYPE_CHECKING:
    import apsw

    from cmem.settings import Settings

IN_A_ROW = 3  # places that give nothing, and the run ends
DRAIN_S = 10.0
_OFF = f"memory is {off.EVERYWHERE}"
# Told how far a run is: what it did so far.
Progress = Callable[[Report], None]


class Options(NamedTuple):
    """``limits`` stand in place of the settings' daily budget, ``purse`` is what the run itself may
    take, whatever the day has taken; ``max_calls`` 0 is no bound. ``lift``: what to say where the
    day's budget is used up."""

    max_calls: int = 0
    limits: budget.Limits | None = None
    purse: budget.Limits = budget.NO_LIMITS
    wait_s: float = 10.0
    lift: str = "`cmem recompress … --budget none` goes on now"


def recompress(
    home: str,
    settings: Settings,
    wanted: Wanted,
    *,
    options: Options,
    progress: Progress | None = None,
    clock: Callable[[], int] = compress.now_ms,
) -> Report:
    """Observe it again. BusyError when another run holds the lock for too long; CmemError where
    memory is off everywhere, for then nothing of it is sent to anybody."""
    fitness.demand(home)
    if _is_off(home, settings):
        raise CmemError(f"nothing was asked: {_OFF}")
    held = Held(home, wait_s=options.wait_s)
    try:
        provider = providers.get(settings)
        mode = modes.load(settings.mode, home)
        price_list = prices.load_for(home)
        demand_price(settings, options.purse, price_list)
        conn = connection.open_writer(home, now=clock())
        try:
            ledger.interrupt_all(conn)
            run = anew.Run(
                conn=conn,
                settings=settings,
                provider=provider,
                mode=mode,
                expect=estimate.expect(settings, price_list),
                limits=limits_of(settings, options),
                purse=options.purse,
                lift=options.lift,
                prices=price_list,
                clock=clock,
            )
            return _Job(home, run, wanted, options=options).go(held, progress)
        finally:
            conn.close()
    finally:
        held.release()


def undo(home: str, session_id: int, *, wait_s: float, now: int) -> tuple[int, int]:
    """Take the newest replacement of each place back; return (places, rows that came back)."""
    held = Held(home, wait_s=wait_s)
    try:
        conn = connection.open_writer(home, now=now)
        try:
            return replacements.undo(conn, session_id, now=now)
        finally:
            conn.close()
    finally:
        held.release()


# --- what is asked for ---------------------------------------------------------------


def _is_off(home: str, settings: Settings) -> bool:
    return settings.provider not in estimate.FREE and off.is_everywhere(home)


def limits_of(settings: Settings, options: Options) -> budget.Limits:
    """What the day may take."""
    if options.limits is not None:
        return options.limits
    return budget.limits(settings.daily_usd, settings.daily_tokens)


def demand_price(settings: Settings, purse: budget.Limits, known: prices.PriceList) -> None:
    """A budget of money holds only where the price is known."""
    model = estimate.model_of(settings)
    if not purse.microusd or settings.provider in estimate.FREE or prices.find(model, known):
        return
    whose = f"of {model}" if model else "of its model"
    raise UsageError(
        f"nobody knows the price {whose}, so --budget {budget.dollars(purse.microusd)} cannot hold: "
        "name it in prices.toml, or give tokens (500k, 3M) or none"
    )


def paused(conn: apsw.Connection, settings: Settings, *, now: int) -> str:
    """Why the provider is not asked now, "" when it is."""
    current = pause.get(conn)
    key = breaker.fingerprint(settings)
    if current is None or not breaker.holds(current, fingerprint=key, now=now):
        return ""
    return f"paused: {current.reason}"


# --- one place after another ---------------------------------------------------------


class _Job:
    """A run at work."""

    def __init__(self, home: str, run: anew.Run, wanted: Wanted, *, options: Options) -> None:
        self._home, self._run, self._wanted, self._options = home, run, wanted, options
        found = ((one, len(self._asked(one))) for one in places.sessions(run.conn, wanted))
        self._sessions = [(session_id, count) for session_id, count in found if count]
        self._elsewhere = 0
        self._drain_at = time.monotonic() + DRAIN_S

    def go(self, held: Held, progress: Progress | None) -> Report:
        count = sum(count for _session_id, count in self._sessions)
        report = Report(self._run.settings.provider, count, *(0,) * 10, left=count, reason="")
        report = report._replace(reason=self._pause())
        in_a_row = 0
        try:
            for place in self._places():
                report = self._up_to_date(report)
                report = report._replace(reason=report.reason or self._ends(report, in_a_row))
                if report.reason:
                    break
                if progress is not None:
                    progress(report)
                before = report
                report = anew.observe(self._run, place, report)
                if report.answered > before.answered:
                    in_a_row = 0
                elif report.in_vain > before.in_vain:
                    in_a_row += 1
                if report.left and not report.reason and self._give_way(held):
                    report = report._replace(reason=self._pause())
        except (KeyboardInterrupt, SystemExit) as end:
            code = end.code if isinstance(end, SystemExit) else 130
            ended = "it was told to end"
            return report._replace(reason=ended, code=code if isinstance(code, int) else 1)
        except BusyError as error:
            return report._replace(reason=str(error))
        if report.failed and not report.reason:
            report = report._replace(reason=report.trouble)
        return self._up_to_date(report)

    def _up_to_date(self, report: Report) -> Report:
        """The report without what others have done, or forgotten, since the places were counted."""
        left = max(report.left - self._elsewhere, 0)
        self._elsewhere = 0
        return report._replace(left=left)

    def _ends(self, report: Report, in_a_row: int) -> str:
        if _is_off(self._home, self._run.settings):
            return _OFF
        if self._options.max_calls and report.calls >= self._options.max_calls:
            return budget.most_calls(self._options.max_calls)
        if in_a_row >= IN_A_ROW:
            return f"{in_a_row} in a row gave nothing; the last: {report.trouble}"
        return ""

    def _pause(self) -> str:
        return paused(self._run.conn, self._run.settings, now=self._run.clock())

    def _asked(self, session_id: int) -> list[Place]:
        run = self._run
        who = made.asks(run.conn, run.settings)
        found = places.listed(run.conn, session_id, self._wanted, by=who.by)
        return [one for one in found if made.is_open(one, who, self._wanted)]

    def _places(self) -> Iterator[Place]:
        """Everything that is asked for, looked up a session at a time. What failed in an earlier
        run comes last, so that it holds up nothing."""
        late: list[tuple[int, set[tuple[object, ...]]]] = []
        for session_id, count in self._sessions:
            asked = self._asked(session_id)
            self._elsewhere += count - len(asked)
            failed = {one.key for one in asked if one.failed}
            if failed:
                late.append((session_id, {*failed}))
            yield from (one for one in asked if not one.failed)
        for session_id, keys in late:
            asked = [one for one in self._asked(session_id) if one.key in keys]
            self._elsewhere += len(keys) - len(asked)
            yield from asked

    def _give_way(self, held: Held) -> bool:
        """Let others to the store, and take in what hooks have captured: they start nothing while
        the lock is held."""
        if not held.give_way():
            return False
        if time.monotonic() >= self._drain_at:
            pending, spilled, _dropped = spooled.counts(self._home)
            if (pending or spilled) and self._run.settings.auto_compress:
                compress.usual(self._home)
            elif pending or spilled:
                ingest.ingest(self._home, self._run.conn, now=self._run.clock())
            self._drain_at = time.monotonic() + DRAIN_S
        return True
