"""What observing again would take, told before anybody is asked: to the last place, or by a sample
of what was imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from cmem import anew, budget, compress, estimate, made
from cmem.errors import CmemError
from cmem.observer import modes, prices, providers
from cmem.recompress import Options, demand_price, limits_of, paused
from cmem.store import connection, ledger, places

if TYPE_CHECKING:
    import apsw

    from cmem.estimate import Share
    from cmem.model import SummaryUnit, TurnUnit
    from cmem.settings import Settings
    from cmem.store.ledger import Expected
    from cmem.store.places import Place, Wanted

SAMPLE = 20
# Told how far an estimate is: sessions done, and sessions in all.
Weighing = Callable[[int, int], None]


class Plan(NamedTuple):
    """What would be asked. ``done``: places the provider has made already, or (``settled``) that
    were taken back from it or made on another machine; ``unsettled``: units
    that were never observed, which are for ``compress``; ``pruned``: turns without their raw
    evidence, which stay as they are. ``cost_usd`` None: nobody knows. ``sessions``: those with
    such places; ``now``: the calls that the budget and ``max_calls`` leave room for, ``left``: the
    places that would wait, with the ``reason``; ``over``, by name: those of them that alone take more
    than the budget. ``too_long``: places that the model does not take."""

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
    sessions: int
    projects: tuple[Share, ...]
    now: int
    left: int
    reason: str
    settled: int = 0
    too_long: int = 0
    over: tuple[str, ...] = ()

    def document(self) -> dict[str, object]:
        """As it is told to a program."""
        return {**self._asdict(), "projects": [share._asdict() for share in self.projects]}


class Glance(NamedTuple):
    """What all of the past would take, by a sample of it."""

    provider: str
    model: str
    calls: int
    input_tokens: int
    cost_usd: float | None


def plan(
    home: str,
    settings: Settings,
    wanted: Wanted,
    *,
    options: Options,
    progress: Weighing | None = None,
) -> Plan:
    """Weigh every place. Nothing is written, nobody is asked."""
    providers.get(settings)
    conn = connection.open_reader(home)
    if conn is None:
        raise CmemError("no memories yet, so there is nothing to observe again")
    try:
        known = prices.load_for(home)
        demand_price(settings, options.purse, known)
        sums = _Sums(conn, settings, options, now=compress.now_ms())
        weigh = estimate.expect(settings, known)
        mode = modes.load(settings.mode, home)
        sessions = places.sessions(conn, wanted)
        for number, session_id in enumerate(sessions):
            if progress is not None:
                progress(number, len(sessions))
            for one in _of(conn, session_id, wanted, settings=settings, sums=sums):
                unit = anew.load(conn, one.unit_id, settings, mode=mode)
                sums.add(unit, weigh(unit))
        return sums.plan()
    finally:
        conn.close()


def glance(home: str, settings: Settings) -> Glance | None:
    """What all that was imported and no model has seen would take; None where there is nothing,
    or nobody who asks a model."""
    conn = None if settings.provider in estimate.FREE else connection.open_reader(home)
    if conn is None:
        return None
    try:
        providers.get(settings)
        found = places.by_nobody(conn)
        weigh = estimate.expect(settings, prices.load_for(home))
        mode = modes.load(settings.mode, home)
        sample = found[:: -(-len(found) // SAMPLE) or 1]
        weights = [weigh(anew.load(conn, one, settings, mode=mode)) for one in sample]
    finally:
        conn.close()
    share = estimate.share("", weights)
    if not share.calls:
        return None
    scale = len(found) / len(sample)
    return Glance(
        provider=settings.provider,
        model=estimate.model_of(settings),
        calls=len(found),
        input_tokens=round(share.input_tokens * scale),
        cost_usd=None if share.cost_usd is None else share.cost_usd * scale,
    )


class _Sums:
    """A plan while it is made: it grows by sums, so that the past may be of any size."""

    def __init__(
        self, conn: apsw.Connection, settings: Settings, options: Options, *, now: int
    ) -> None:
        self._settings, self._options = settings, options
        self._limits = limits_of(settings, options)
        began, ends = budget.day(now)
        self._day = ledger.spent(conn, since=began, until=ends)
        self._own = ledger.Spent(0, 0, 0, 0)
        is_free = settings.provider in estimate.FREE
        self._reason = "" if is_free else paused(conn, settings, now=now)
        self._shares: dict[str, Share] = {}
        self.done = self.settled = self.too_long = self.unsettled = self.pruned = self.sessions = 0
        self._over: list[str] = []
        self._now = self._left = 0

    def add(self, unit: TurnUnit | SummaryUnit, weight: Expected | None) -> None:
        """One more place."""
        project = unit.project
        more = estimate.share(project, [weight])
        self._shares[project] = estimate.both(self._shares.get(project), more)
        if weight is not None and anew.is_over(self._options.purse, weight):
            self._over.append(anew.name(unit, weight))
            self._left += 1
            return
        if not self._reason and weight is not None:
            self._reason = self._refusal(weight)
        if self._reason:
            self._left += 1
        elif weight is not None:
            self._now += 1
            self._day = budget.with_call(self._day, weight)
            self._own = budget.with_call(self._own, weight)

    def _refusal(self, weight: Expected) -> str:
        most = self._options.max_calls
        if most and self._now >= most:
            return budget.most_calls(most)
        own = budget.refusal(self._options.purse, self._own, weight, whose=budget.RUN)
        return own or budget.refusal(self._limits, self._day, weight, planned=self._now)

    def plan(self) -> Plan:
        shares = sorted(self._shares.values(), key=lambda one: (-one.input_tokens, one.project))
        whole = estimate.both(None, *shares)
        return Plan(
            provider=self._settings.provider,
            model=estimate.model_of(self._settings),
            places=whole.units,
            done=self.done,
            unsettled=self.unsettled,
            pruned=self.pruned,
            calls=whole.calls,
            input_tokens=whole.input_tokens,
            output_tokens=whole.output_tokens,
            cost_usd=whole.cost_usd,
            sessions=self.sessions,
            projects=tuple(shares),
            now=self._now,
            left=self._left,
            reason=self._reason,
            settled=self.settled,
            too_long=self.too_long,
            over=tuple(self._over),
        )


def _of(
    conn: apsw.Connection, session_id: int, wanted: Wanted, *, settings: Settings, sums: _Sums
) -> list[Place]:
    """The places of a session that would be asked about; what else there is of it is counted."""
    who = made.asks(conn, settings)
    found = places.listed(conn, session_id, wanted, by=who.by)
    missing = [one for one in found if not made.is_made(one, who, wanted)]
    asked = [one for one in missing if not made.is_too_long(one, wanted)]
    sums.done += len(found) - len(missing)
    sums.settled += sum(not made.is_own(one, who) for one in found) - len(missing)
    sums.too_long += len(missing) - len(asked)
    sums.sessions += bool(asked)
    sums.unsettled += places.unsettled(conn, session_id, wanted)
    sums.pruned += places.pruned(conn, session_id, wanted)
    return asked
