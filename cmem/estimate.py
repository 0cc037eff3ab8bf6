"""What calls will take, told before any is made: of one unit for the budget and the ledger, of
all that waits for ``compress --dry-run``."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from cmem import breaker, budget, configured, spooled, tokens, unread
from cmem.model import Mode, SummaryUnit, TurnUnit, Usage
from cmem.observer import modes, prices, prompt
from cmem.observer.providers import anthropic, claude_cli
from cmem.store import connection, counts, ledger, pause, units
from cmem.store.ledger import Expected

if TYPE_CHECKING:
    import apsw

    from cmem.settings import Settings

# A reply of a few observations; only an order of magnitude can be known before the call.
REPLY_TOKENS = 600
# Where the project of what was captured stands.
UNREAD = "(not taken in yet)"
# Providers that ask no model, so that nothing is spent.
FREE = ("extract",)
MODELS = {"anthropic": anthropic.MODEL, "claude-cli": claude_cli.MODEL}

Expect = Callable[[TurnUnit | SummaryUnit], Expected | None]


class Share(NamedTuple):
    """One project's part. ``cost_usd`` None: nobody knows the price of the model."""

    project: str
    units: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None


class Estimate(NamedTuple):
    """``spool``: events not taken in yet; the turns of them that have ended count by the size of
    what was captured, as a project without a name. Tokens of the others are estimated
    from the very requests that would be sent, none of them cached. ``now``: the calls that
    today's budget and ``--max-calls`` leave room for; ``left``: the units that would wait, with
    the ``reason``."""

    provider: str
    model: str
    spool: int
    units: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    projects: tuple[Share, ...]
    now: int
    left: int
    reason: str


def model_of(settings: Settings) -> str:
    """The model the provider will be asked for, "" where that is for it to say."""
    if settings.provider in FREE:
        return ""
    return settings.model or MODELS.get(settings.provider, "")


def expect(settings: Settings, known: prices.PriceList) -> Expect:
    """A function from a unit to what its call will take; None where no model is asked."""
    if settings.provider in FREE:
        return lambda _unit: None
    model = model_of(settings)
    price = prices.find(model, known)
    usual = modes.load()

    def weigh(unit: TurnUnit | SummaryUnit) -> Expected:
        mode = unit.mode or usual
        request = (
            prompt.observation_request(unit, mode)
            if isinstance(unit, TurnUnit)
            else prompt.summary_request(unit, mode)
        )
        size = tokens.count(request.system + request.user)
        usage = Usage(size, REPLY_TOKENS, 0, 0, 0.0)
        microusd = None if price is None else prices.microusd(usage, price)
        return Expected(settings.provider, model, size, REPLY_TOKENS, microusd)

    return weigh


def estimate(
    home: str,
    settings: Settings,
    *,
    session: str = "",
    limits: budget.Limits = budget.NO_LIMITS,
    max_calls: int = 0,
) -> Estimate:
    """Read the store and weigh every pending unit. Nothing is written, nobody is asked."""
    pending, spilled, _dropped = spooled.counts(home)
    mode, known, _faults = configured.mode_and_prices(home, settings)
    weigh = expect(settings, known)
    found: list[tuple[str, Expected | None]] = []
    spent = ledger.Spent(0, 0, 0, 0)
    paused = ""
    conn = connection.open_reader(home)
    if conn is not None:
        try:
            found = _weighed(conn, weigh, settings=settings, session=session, mode=mode)
            began, ends = budget.day(time.time_ns() // 1_000_000)
            spent = ledger.spent(conn, since=began, until=ends)
            paused = _paused(conn, settings)
        finally:
            conn.close()
    if not session:
        found += _captured(home, weigh, settings=settings, mode=mode, known=known)
    room, reason = _room([one for _, one in found], spent, limits=limits, max_calls=max_calls)
    if paused and room:
        room, reason = 0, paused
    whole = share("", [one for _, one in found])
    return Estimate(
        provider=settings.provider,
        model=model_of(settings),
        spool=pending + spilled,
        units=whole.units,
        calls=whole.calls,
        input_tokens=whole.input_tokens,
        output_tokens=whole.output_tokens,
        cost_usd=whole.cost_usd,
        projects=_shares(found),
        now=room if whole.calls else 0,
        left=len(found) - room,
        reason=reason,
    )


def _paused(conn: apsw.Connection, settings: Settings) -> str:
    """Why nobody would be asked now, "" where somebody would."""
    current = pause.get(conn)
    now = time.time_ns() // 1_000_000
    if settings.provider in FREE or current is None:
        return ""
    holds = breaker.holds(current, fingerprint=breaker.fingerprint(settings), now=now)
    return f"paused: {current.reason}" if holds else ""


def _captured(
    home: str, weigh: Expect, *, settings: Settings, mode: Mode, known: prices.PriceList
) -> list[tuple[str, Expected | None]]:
    """The weight of what has been captured and not taken in: each turn that has ended, and each
    session, whose summary is asked for. Only its order of magnitude is known before."""
    nothing = TurnUnit(
        *(0, 0, "", "", settings.language, 1, None, "", 0, (), "", "stop", "", 0, 0), mode=mode
    )
    base = weigh(nothing)
    found: list[tuple[str, Expected | None]] = []
    for size in unread.turns(home, now=time.time_ns() // 1_000_000):
        if base is None:
            found.append((UNREAD, None))
            continue
        whole = base.input_tokens + size
        cost = prices.charge(Usage(whole, REPLY_TOKENS, 0, 0, 0.0), base.model, known)
        found.append((UNREAD, base._replace(input_tokens=whole, microusd=cost)))
    return found


def _weighed(
    conn: apsw.Connection, weigh: Expect, *, settings: Settings, session: str, mode: Mode
) -> list[tuple[str, Expected | None]]:
    """Every pending unit's project and weight, in the order of their turn."""
    found = []
    for unit_id in counts.pending_units(conn, session=session or None):
        unit = units.load(conn, unit_id, language=settings.language)._replace(mode=mode)
        found.append((unit.project, weigh(unit)))
    return found


def _room(
    weights: list[Expected | None], spent: ledger.Spent, *, limits: budget.Limits, max_calls: int
) -> tuple[int, str]:
    """How many of the units can be done now, and why not more."""
    calls = 0
    for done, one in enumerate(weights):
        if one is None:
            continue
        if max_calls and calls >= max_calls:
            return done, budget.most_calls(max_calls)
        refused = budget.refusal(limits, spent, one, planned=calls)
        if refused:
            return done, refused
        calls += 1
        spent = budget.with_call(spent, one)
    return len(weights), ""


def _shares(found: list[tuple[str, Expected | None]]) -> tuple[Share, ...]:
    """Each project's part, the largest first."""
    names = dict.fromkeys(project for project, _ in found)
    shares = [share(name, [one for project, one in found if project == name]) for name in names]
    return tuple(sorted(shares, key=lambda one: (-one.input_tokens, -one.units, one.project)))


def both(first: Share | None, *others: Share) -> Share:
    """The sum of shares, under the name of the first."""
    found = [one for one in (first, *others) if one is not None]
    prices_known = [one.cost_usd for one in found if one.cost_usd is not None]
    return Share(
        project=found[0].project if found else "",
        units=sum(one.units for one in found),
        calls=sum(one.calls for one in found),
        input_tokens=sum(one.input_tokens for one in found),
        output_tokens=sum(one.output_tokens for one in found),
        cost_usd=sum(prices_known) if len(prices_known) == len(found) else None,
    )


def share(project: str, weights: list[Expected | None]) -> Share:
    """What calls of these weights take in all."""
    asked = [one for one in weights if one is not None]
    known = [one.microusd for one in asked if one.microusd is not None]
    return Share(
        project=project,
        units=len(weights),
        calls=len(asked),
        input_tokens=sum(one.input_tokens for one in asked),
        output_tokens=sum(one.output_tokens for one in asked),
        cost_usd=sum(known) / 1_000_000 if len(known) == len(asked) else None,
    )
