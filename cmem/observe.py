"""Observe: one work unit after another becomes memory, or stays pending with a reason.

No transaction is open while a provider is asked. The attempt is counted before the call, so
a unit that kills the process is known by its count; the reply and the acknowledgement are
committed together (``store.memory.commit``), so a kill anywhere leaves either nothing or all.

What ends a unit's turn in this run (design §7):

- drafts or an explicit skip: committed, the unit is done;
- an unusable reply: the attempt counts, the unit is halved or parked, the run goes on;
- a provider in trouble: the attempt is given back, a pause is armed, the run stops asking;
- no credential: the attempt is given back and nothing is armed, the next run tries at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from cmem.failpoint import hit
from cmem.model import Observed, SummaryUnit, TurnUnit, Usage
from cmem.observer.errors import MissingCredential, ProviderError, UnusableReply
from cmem.privacy import second
from cmem.store import memory, pause, units

if TYPE_CHECKING:
    import apsw

    from cmem.observer.providers import Provider

NO_USAGE = Usage(0, 0, 0, 0, 0.0)
FIRST_PAUSE_MS = 10_000
LONGEST_PAUSE_MS = 3_600_000


class Limits(NamedTuple):
    """What bounds a run: calls (0 = no bound), one session only ("" = all)."""

    max_calls: int
    session: str


class Tally(NamedTuple):
    """What a run did so far. ``reason``: why it stopped asking, "" when it did not.
    ``unusable``: why replies could not be used, one entry each."""

    units: int = 0
    observations: int = 0
    summaries: int = 0
    skipped: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    reason: str = ""
    unusable: tuple[str, ...] = ()


class Run(NamedTuple):
    """One run's fixed parts: where it writes, whom it asks, as whom."""

    conn: apsw.Connection
    provider: Provider
    provider_name: str
    model: str
    fingerprint: str
    language: str
    clock: Callable[[], int]
    progress: Callable[[Tally, int], None]


def observe(run: Run, tally: Tally, *, limits: Limits, tried: set[int]) -> Tally:
    """Work through every unit that is pending and not in ``tried``; return the new tally."""
    while not tally.reason:
        if limits.max_calls and tally.calls >= limits.max_calls:
            break
        unit_id = units.next_pending(run.conn, exclude=tried, session=limits.session or None)
        if unit_id is None:
            break
        tried.add(unit_id)
        tally = _observe_unit(run, tally, unit_id)
        run.progress(tally, unit_id)
    return tally


def _observe_unit(run: Run, tally: Tally, unit_id: int) -> Tally:
    started = run.clock()
    unit = units.load(run.conn, unit_id, language=run.language)
    units.count_attempt(run.conn, unit_id)
    hit("after_claim")
    try:
        observed = _ask(run.provider, unit)
    except (KeyboardInterrupt, SystemExit):
        # Whoever stops a run has nothing against the unit.
        units.give_back(run.conn, unit_id)
        raise
    except MissingCredential as error:
        units.give_back(run.conn, unit_id)
        return tally._replace(reason=_said(error))
    except ProviderError as error:
        _provider_failed(run, unit_id, error, started=started)
        calls = tally.calls + 1
        return tally._replace(calls=calls, reason=_said(error))
    except UnusableReply as error:
        _record(
            run,
            unit_id,
            f"unusable: {error.reason}",
            usage=error.usage,
            calls=error.calls,
            started=started,
        )
        units.fail(run.conn, unit_id, error=f"unusable: {error.reason}", now=run.clock())
        tally = tally._replace(unusable=(*tally.unusable, error.reason))
        return _spent(tally, error.usage, error.calls)
    hit("after_call")
    done = memory.commit(
        run.conn, unit=unit, observed=observed, started_at=started, now=run.clock()
    )
    hit("after_commit")
    if observed.calls:
        pause.clear(run.conn)
    tally = _spent(tally, observed.usage, observed.calls)
    return tally._replace(
        units=tally.units + 1,
        observations=tally.observations + done.observations,
        summaries=tally.summaries + done.summaries,
        skipped=tally.skipped + done.skipped,
    )


def _ask(provider: Provider, unit: TurnUnit | SummaryUnit) -> Observed:
    hit("before_call")
    if isinstance(unit, TurnUnit):
        return provider.observe(unit)
    return provider.summarise(unit)


def _spent(tally: Tally, usage: Usage, calls: int) -> Tally:
    return tally._replace(
        calls=tally.calls + calls,
        input_tokens=tally.input_tokens
        + usage.input_tokens
        + usage.cache_read_tokens
        + usage.cache_write_tokens,
        output_tokens=tally.output_tokens + usage.output_tokens,
        cost_usd=tally.cost_usd + usage.cost_usd,
    )


def _record(run: Run, unit_id: int, error: str, *, usage: Usage, calls: int, started: int) -> None:
    memory.record_failure(
        run.conn,
        unit_id=unit_id,
        provider=run.provider_name,
        model=run.model,
        error=error,
        usage=usage,
        calls=calls,
        started_at=started,
        now=run.clock(),
    )


def _provider_failed(run: Run, unit_id: int, error: ProviderError, *, started: int) -> None:
    units.give_back(run.conn, unit_id)
    _record(run, unit_id, _said(error), usage=NO_USAGE, calls=1, started=started)
    now = run.clock()
    step = next_step(pause.get(run.conn), run.fingerprint)
    pause.arm(
        run.conn,
        reason=_said(error),
        until=now + pause_ms(step, error.retry_after_s),
        step=step,
        fingerprint=run.fingerprint,
    )


def _said(error: ProviderError | MissingCredential) -> str:
    """The error as it may be shown and kept: addresses can hold a password."""
    told = second.scrub(str(error))
    return f"{error.kind}: {told}" if isinstance(error, ProviderError) else told


def next_step(current: pause.Pause | None, fingerprint: str) -> int:
    """The step of the next pause: one more than the last one of the same settings, else 0."""
    if current is None or current.fingerprint != fingerprint:
        return 0
    return current.step + 1


def pause_ms(step: int, retry_after_s: float | None) -> int:
    """How long to leave a provider alone: 10 s doubled each time, one hour at most; what the
    provider itself asks for wins, within the same hour."""
    if retry_after_s is not None and retry_after_s > 0:
        return min(int(retry_after_s * 1000), LONGEST_PAUSE_MS)
    return min(FIRST_PAUSE_MS << min(step, 20), LONGEST_PAUSE_MS)


def paused(current: pause.Pause | None, *, fingerprint: str, now: int) -> bool:
    """Does a pause still hold? Not for other settings than it was armed under, not past its
    time, and not more than an hour ahead of now (then the clock has jumped)."""
    if current is None or current.fingerprint != fingerprint:
        return False
    return now < current.until <= now + LONGEST_PAUSE_MS
