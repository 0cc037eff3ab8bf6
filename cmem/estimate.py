"""What a run would do and cost, without doing any of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cmem import spool, tokens
from cmem.model import TurnUnit, Usage
from cmem.observer import modes, prices, prompt
from cmem.observer.providers import anthropic
from cmem.store import connection, counts, units

if TYPE_CHECKING:
    from cmem.settings import Settings

# A reply of a few observations; only an order of magnitude can be known before the call.
REPLY_TOKENS = 600


class Estimate(NamedTuple):
    """``spool``: events not taken in yet, which the other figures leave out. ``units``:
    pending ones. Tokens are estimated from the very requests that would be sent."""

    provider: str
    spool: int
    units: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float


def estimate(home: str, settings: Settings, *, session: str = "") -> Estimate:
    """Read the store and weigh every pending unit. Nothing is written, nobody is asked."""
    pending, spilled, _dropped = spool.counts(home)
    conn = connection.open_reader(home)
    if conn is None:
        return Estimate(settings.provider, pending + spilled, 0, 0, 0, 0, 0.0)
    try:
        ids = counts.pending_units(conn, session=session or None)
        if settings.provider == "extract":
            return Estimate(settings.provider, pending + spilled, len(ids), 0, 0, 0, 0.0)
        mode = modes.load()
        sizes = []
        for unit_id in ids:
            unit = units.load(conn, unit_id, language=settings.language)
            request = (
                prompt.observation_request(unit, mode)
                if isinstance(unit, TurnUnit)
                else prompt.summary_request(unit, mode)
            )
            sizes.append(tokens.count(request.system + request.user))
    finally:
        conn.close()
    usage = Usage(sum(sizes), REPLY_TOKENS * len(sizes), 0, 0, 0.0)
    price = prices.find(settings.model or anthropic.MODEL)
    return Estimate(
        provider=settings.provider,
        spool=pending + spilled,
        units=len(ids),
        calls=len(sizes),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_usd=prices.cost(usage, price) if price else 0.0,
    )
