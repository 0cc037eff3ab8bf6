"""Batches: units are given to the Messages API in one run and their results stored in a later one.

Exactly once, whatever is killed when. The batch with its units and calls is committed before it
is sent; each result is stored in one transaction with the end of its unit. What a kill (or a lost
answer) between sending and noting the provider's id leaves is a batch of which nobody knows
whether it arrived: it is looked for among the provider's newest batches by the names of its
requests, and only when it is certainly not there do its units wait again.
"""

from __future__ import annotations

import hashlib
import os
import time
from typing import TYPE_CHECKING, NamedTuple

from cmem import blame, booking, cost
from cmem.errors import ConfigError
from cmem.failpoint import hit
from cmem.model import Observed, SummaryUnit, TurnUnit
from cmem.observe import NO_USAGE, Limits, Run, Tally
from cmem.observer import modes, parser, prices, prompt, reach
from cmem.observer.errors import MissingCredential, ProviderError, UnusableReply
from cmem.observer.providers import anthropic, anthropic_batches, asked
from cmem.privacy import second
from cmem.store import batches, ledger, memory, units
from cmem.store.connection import transaction

if TYPE_CHECKING:
    from cmem.observer.providers.anthropic_batches import Remote, Result
    from cmem.observer.providers.anthropic_client import Anthropic
    from cmem.settings import Settings
    from cmem.store.batches import Batch

MOST = 200  # so that all results fit into one answer
# How much a provider's clock may differ, and how long a new batch may be missing from its list.
SLACK_MS = 600_000
Unit = TurnUnit | SummaryUnit


class _Part(NamedTuple):
    """One unit of a batch that is about to be sent."""

    name: str
    request: prompt.Request


def half(microusd: int | None) -> int | None:
    """The price of a call in a batch."""
    return None if microusd is None else (microusd + 1) // 2


def taker(settings: Settings, *, wanted: bool) -> Anthropic | None:
    """Who takes batches, None where the provider does not. ConfigError when one is wanted."""
    if settings.provider == anthropic.NAME:
        return anthropic.settle(settings)
    if wanted:
        raise ConfigError(f"provider {settings.provider} takes no batches; --batch needs anthropic")
    return None


def exchange(run: Run, who: Anthropic, tally: Tally, *, give: bool, limits: Limits) -> Tally:
    """Collect what has come back and, where that is wanted, ``give`` away what waits."""
    if not tally.reason:
        tally = collect(run, who, tally)
    if not give or tally.reason:
        return tally
    most = min(limits.max_calls or MOST, MOST)
    return send(run, who, tally, session=limits.session, most=most)


# --- sending -------------------------------------------------------------------------


def send(run: Run, who: Anthropic, tally: Tally, *, session: str, most: int = MOST) -> Tally:
    """Give the units that wait away, as many as today's budget allows."""
    if not who.api_key:
        return tally._replace(
            reason="no api_key for provider anthropic: set api_key or CMEM_API_KEY"
        )
    only = 0
    if blame.in_doubt(run.conn, run.fingerprint):
        # Nobody pays for many before one is answered.
        if batches.waiting(run.conn)[0]:
            return tally._replace(reason=told(run))
        chosen = blame.choose(run.conn, run.fingerprint, tried=(), session=session or None)
        only, most = (0 if chosen is None else chosen.unit_id), 1
    while True:
        batch_id, parts, refused = _pack(run, session=session, most=most, only=only)
        if not parts:
            return tally._replace(reason=refused or tally.reason or told(run))
        hit("batch_before_send")
        try:
            remote = anthropic_batches.submit(who, [(one.name, one.request) for one in parts])
        except ProviderError as error:
            if error.kind != "transport":  # else it may have arrived
                batches.end(run.conn, batch_id, now=run.clock())
            return tally._replace(reason=f"{error.kind}: {second.scrub(str(error))}")
        except (UnusableReply, MissingCredential, anthropic_batches.UnknownBatchError) as error:
            batches.end(run.conn, batch_id, now=run.clock())
            why = second.scrub(str(error)) or "this server takes no batches"
            return tally._replace(reason=f"the batch was refused: {why}")
        hit("batch_after_send")
        batches.sent(run.conn, batch_id, remote.id)
        hit("batch_after_note")
        if refused or most < MOST:
            return tally._replace(reason=refused or told(run))


def _pack(run: Run, *, session: str, most: int, only: int = 0) -> tuple[int, list[_Part], str]:
    """(batch, its parts, why it has no more), committed before anything is sent. ``only``: of this
    unit alone."""
    token = os.urandom(8).hex()
    now = run.clock()
    parts: list[_Part] = []
    refused = ""
    with transaction(run.conn):
        batch_id = batches.begin(run.conn, token, now=now)
        books = booking.Books(run.conn, run.limits, now=now)
        while len(parts) < most:
            unit_id = only or units.next_pending(run.conn, session=session or None)
            if unit_id is None:
                break
            unit = units.load(run.conn, unit_id, language=run.language)._replace(mode=run.mode)
            expected = run.expect(unit)
            assert expected is not None
            expected = expected._replace(microusd=half(expected.microusd))
            refused = books.refusal(expected)
            if refused:
                break
            run_id = books.start(unit_id, expected)
            request = _request(unit)
            digest = _digest(request)
            batches.add(run.conn, batch_id, unit_id, run_id=run_id, digest=digest)
            parts.append(_Part(f"{token}-{unit_id}", request))
        if not parts:
            batches.end(run.conn, batch_id, now=now)
    return batch_id, parts, refused


def _digest(request: prompt.Request) -> str:
    text = f"{request.system}\0{request.user}"
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _request(unit: Unit) -> prompt.Request:
    mode = unit.mode or modes.load()
    if isinstance(unit, TurnUnit):
        return prompt.observation_request(unit, mode)
    return prompt.summary_request(unit, mode)


def told(run: Run) -> str:
    """How much is in batches since when, "" for nothing."""
    count, since = batches.waiting(run.conn)
    return said(count, since)


def said(count: int, since: int | None, provider: str = anthropic.NAME) -> str:
    """The same for people; ``provider``: who is asked now."""
    if not count or since is None:
        return ""
    at = time.strftime("%Y-%m-%d %H:%M", time.localtime(since / 1000))
    number = "1 unit" if count == 1 else f"{count} units"
    if provider != anthropic.NAME:
        back = "`cmem queue retry` with their ids takes them back"
        return f"{number} in a batch of anthropic since {at}, which {provider} does not collect; {back}"
    return f"{number} in a batch since {at}; a later run collects the results"


# --- collecting ----------------------------------------------------------------------


def collect(run: Run, who: Anthropic, tally: Tally) -> Tally:
    """Store what has come back; what has not stays for a later run."""
    if not who.api_key:
        return tally
    for batch in batches.open_ones(run.conn):
        try:
            tally = _collect(run, who, batch, tally=tally)
        except (ProviderError, UnusableReply, MissingCredential) as error:
            return tally._replace(
                reason=f"a batch could not be collected: {second.scrub(str(error))}"
            )
    return tally


def _collect(run: Run, who: Anthropic, batch: Batch, *, tally: Tally) -> Tally:
    if batch.state == batches.SENDING:
        found = _find(run, who, batch)
        if not found:
            return tally
        batches.sent(run.conn, batch.id, found)
        batch = batch._replace(remote=found)
    try:
        if not anthropic_batches.look(who, batch.remote).ended:
            return tally
        results = anthropic_batches.results(who, batch.remote)
    except anthropic_batches.UnknownBatchError:
        batches.end(run.conn, batch.id, now=run.clock())  # kept no longer: asked anew
        return tally
    left = batches.units_of(run.conn, batch.id)
    for one in results:
        unit_id = _unit_of(one.name, batch)
        if unit_id in left:
            tally = _settle(run, one, unit_id, run_id=left.pop(unit_id), batch=batch, tally=tally)
            hit("batch_after_result")
    batches.end(run.conn, batch.id, now=run.clock())
    return tally


def _unit_of(name: str, batch: Batch) -> int:
    token, _, number = name.partition("-")
    return int(number) if token == batch.token and number.isdigit() else 0


def _find(run: Run, who: Anthropic, batch: Batch) -> str:
    """The provider's id of a batch that may have arrived. "" when that is not known yet, or when
    it has not arrived, in which case it is ended here."""
    listed = anthropic_batches.newest(who)
    known = batches.known(run.conn)
    possible = [one for one in listed if _may_be(one, batch) and one.id not in known]
    for one in possible:
        if one.ended and any(
            _unit_of(found.name, batch) for found in anthropic_batches.results(who, one.id)
        ):
            return one.id
    undecided = [one for one in possible if not one.ended]
    # A full list may not reach back far enough.
    seen_all = len(listed) < anthropic_batches.LISTED or any(
        one.made_at < batch.sent_at - SLACK_MS for one in listed
    )
    if not undecided and seen_all and run.clock() > batch.sent_at + SLACK_MS:
        batches.end(run.conn, batch.id, now=run.clock())
    return ""


def _may_be(one: Remote, batch: Batch) -> bool:
    return one.size == batch.size and one.made_at >= batch.sent_at - SLACK_MS


def _settle(
    run: Run, one: Result, unit_id: int, *, run_id: int, batch: Batch, tally: Tally
) -> Tally:
    """One result becomes memory, a failed try, or a unit that waits again."""
    sent_at = batch.sent_at
    if one.kind in ("canceled", "expired") or (one.asked is None and one.kind != "errored"):
        batches.take_back(run.conn, unit_id, run_id, now=run.clock())
        return tally
    unit = units.load(run.conn, unit_id, language=run.language)._replace(mode=run.mode)
    if _digest(_request(unit)) != batches.digest_of(run.conn, batch.id, unit_id):
        return _outdated(run, one, unit_id, run_id=run_id, sent_at=sent_at, tally=tally)
    try:
        observed = _read(unit, one)
    except UnusableReply as error:
        return _unusable(run, unit_id, error, run_id=run_id, sent_at=sent_at, tally=tally)
    except ProviderError as error:
        return _refused(run, unit_id, error, run_id=run_id, sent_at=sent_at, tally=tally)
    microusd = half(prices.charge(observed.usage, observed.model, run.prices))
    with transaction(run.conn):
        batches.set_state(run.conn, unit_id, "pending")
        done = memory.commit(
            run.conn,
            unit=unit,
            observed=observed,
            started_at=sent_at,
            now=run.clock(),
            microusd=microusd,
            run_id=run_id,
        )
    blame.answered(run.conn, run.fingerprint)
    usage = observed.usage
    return tally._replace(
        units=tally.units + 1,
        observations=tally.observations + done.observations,
        summaries=tally.summaries + done.summaries,
        skipped=tally.skipped + done.skipped,
        calls=tally.calls + 1,
        input_tokens=tally.input_tokens + sum((usage[0], usage[2], usage[3])),
        output_tokens=tally.output_tokens + usage.output_tokens,
        microusd=tally.microusd + (microusd or 0),
        unpriced=tally.unpriced + (microusd is None),
        notes=(*tally.notes, *observed.reply.notes),
    )


def _outdated(
    run: Run, one: Result, unit_id: int, *, run_id: int, sent_at: int, tally: Tally
) -> Tally:
    """A reply to what is not there any more as it was sent, forgotten or private by now: paid
    for, never stored. The unit waits again, unless it is private."""
    usage = NO_USAGE if one.asked is None else one.asked.usage
    model = "" if one.asked is None else one.asked.model
    microusd = half(prices.charge(usage, model, run.prices))
    result = ledger.Result(
        provider=run.provider_name,
        model=model,
        prompt_version="",
        outcome="stale",
        calls=1,
        usage=usage,
        microusd=microusd,
        error="",
    )
    with transaction(run.conn):
        now = run.clock()
        ledger.end(run.conn, unit_id, result, started_at=sent_at, now=now, run_id=run_id)
        state = "skipped" if batches.is_private(run.conn, unit_id) else "pending"
        batches.set_state(run.conn, unit_id, state)
    return tally._replace(calls=tally.calls + 1, microusd=tally.microusd + (microusd or 0))


def _read(unit: Unit, one: Result) -> Observed:
    reply = one.asked
    if reply is None:
        raise UnusableReply(f"the request failed in its batch: {one.error}")
    reply = asked.counted(reply, _request(unit))
    mode = unit.mode or modes.load()
    if isinstance(unit, TurnUnit):
        turn = unit
        found = asked.read(reply, lambda text: parser.parse_observation(text, turn, mode))
        found = reach.bounded(found, turn)
    else:
        span = unit
        found = asked.read(reply, lambda text: parser.parse_summary(text, span))
    return found._replace(provider=anthropic.NAME, prompt_version=_request(unit).version)


def _unusable(
    run: Run, unit_id: int, error: UnusableReply, *, run_id: int, sent_at: int, tally: Tally
) -> Tally:
    """A try that failed; where the run has stopped already, because all fail alike, it is none."""
    expected = run.expect(units.load(run.conn, unit_id, language=run.language))
    microusd = half(cost.of_failure(error, expected, run.prices)[1])
    with transaction(run.conn):
        _end(run, unit_id, expected, error=error, run_id=run_id, sent_at=sent_at)
        stops = tally.reason
        if not stops:
            units.count_attempt(run.conn, unit_id)
            tried = _tried(run, unit_id, tally)
            stops = blame.of_reply(run.conn, tried, error.reason)
    return tally._replace(
        calls=tally.calls + 1,
        microusd=tally.microusd + (microusd or 0),
        unusable=(*tally.unusable, error.reason),
        reason=stops,
    )


def _refused(
    run: Run, unit_id: int, error: ProviderError, *, run_id: int, sent_at: int, tally: Tally
) -> Tally:
    """The provider's trouble stands where a reply should: the unit waits again."""
    expected = run.expect(units.load(run.conn, unit_id, language=run.language))
    with transaction(run.conn):
        _end(run, unit_id, expected, error=error, run_id=run_id, sent_at=sent_at)
        stops = tally.reason
        if not stops:
            units.count_attempt(run.conn, unit_id)
            tried = _tried(run, unit_id, tally)
            stops, _against = blame.of_provider(run.conn, tried, error)
    return tally._replace(calls=tally.calls + 1, reason=stops)


def _tried(run: Run, unit_id: int, tally: Tally) -> blame.Try:
    well = blame.is_well(run.conn, unit_id, blame.Course(answered=tally.units > 0))
    return blame.Try(unit_id, 0, well, fingerprint=run.fingerprint, now=run.clock())


def _end(
    run: Run,
    unit_id: int,
    expected: ledger.Expected | None,
    *,
    error: UnusableReply | ProviderError,
    run_id: int,
    sent_at: int,
) -> None:
    """The call that gave nothing on the books, and its unit out of the batch."""
    usage, microusd = cost.of_failure(error, expected, run.prices)
    kind, said = (
        ("unusable", error.reason)
        if isinstance(error, UnusableReply)
        else (error.kind, second.scrub(str(error)))
    )
    result = ledger.Result(
        provider=run.provider_name,
        model="" if expected is None else expected.model,
        prompt_version="",
        outcome=kind,
        calls=1,
        usage=usage,
        microusd=half(microusd),
        error=f"{kind}: {said}",
    )
    ledger.end(run.conn, unit_id, result, started_at=sent_at, now=run.clock(), run_id=run_id)
    batches.set_state(run.conn, unit_id, "pending")
