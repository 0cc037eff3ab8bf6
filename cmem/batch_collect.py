"""Collecting batches: what has come back becomes memory, a failed try, or a unit that waits again.

A batch's trouble is its own: it is left alone for a while, longer each time, and everybody else is
asked meanwhile. What is known to be gone, or has not been found after the time for which a
provider keeps results, is given up, and said so; its calls stay on the books by their estimate.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from cmem import batch, blame, breaker, cost
from cmem.failpoint import hit
from cmem.model import Observed, TurnUnit
from cmem.observe import NO_USAGE, Run, Tally
from cmem.observer import borrowed, modes, parser, prices, reach
from cmem.observer.errors import ProviderError, UnusableReply
from cmem.observer.providers import anthropic, anthropic_batches, asked
from cmem.privacy import second
from cmem.store import batch_notes, batches, ledger, memory, units
from cmem.store.connection import transaction

if TYPE_CHECKING:
    from cmem.observer.providers.anthropic_batches import Remote, Result
    from cmem.observer.providers.anthropic_client import Anthropic
    from cmem.store.batches import Batch

DAY_MS = 86_400_000
KEPT_MS = 29 * DAY_MS  # so long the provider keeps results
MADE_MS = DAY_MS  # by then it has answered a batch, or never will


class _Call(NamedTuple):
    """One request of a batch: its unit, its row in the ledger, and with what settings it was sent."""

    unit_id: int
    run_id: int
    batch_id: int
    sent_at: int
    mark: str


def collect(run: Run, who: Anthropic | None, tally: Tally) -> Tally:
    """Store what has come back; what has not stays for a later run. ``who`` None: nobody who is
    asked now takes batches."""
    notes = batch_notes.all_of(run.conn)
    here = batch.origin(who)
    for one in batches.open_ones(run.conn):
        note = notes.get(one.id, batch_notes.Note(here))
        if who is None or not who.api_key or note.origin != here:
            if run.clock() - one.sent_at > KEPT_MS:
                tally = _give_up(run, one, tally, why="nobody has collected it in 29 days")
        elif not _rests(note, now=run.clock()):
            tally = _try(run, who, one, note=note, tally=tally)
    return tally


def _rests(note: batch_notes.Note, *, now: int) -> bool:
    return now < note.until <= now + breaker.LONGEST_PAUSE_MS


def _try(run: Run, who: Anthropic, one: Batch, *, note: batch_notes.Note, tally: Tally) -> Tally:
    age = run.clock() - one.sent_at
    try:
        tally = _collect(run, who, one, note=note, tally=tally)
    except anthropic_batches.UnknownBatchError:
        if one.remote:
            return _give_up(run, one, tally, why="the provider knows it no longer")
        if age > MADE_MS:
            return _give_up(run, one, tally, why="this server lists no batches")
        return _leave(run, one, note, tally=tally, why="this server lists no batches")
    except (ProviderError, UnusableReply) as error:
        why = second.scrub(str(error))
        if age > KEPT_MS:
            return _give_up(run, one, tally, why=why)
        wait = error.retry_after_s if isinstance(error, ProviderError) else None
        return _leave(run, one, note, tally=tally, why=why, retry_after_s=wait)
    if note.reason:
        batch_notes.put(run.conn, one.id, note._replace(reason="", step=0, until=0))
    return tally


def _leave(
    run: Run,
    one: Batch,
    note: batch_notes.Note,
    *,
    tally: Tally,
    why: str,
    retry_after_s: float | None = None,
) -> Tally:
    """Nothing is known of it yet: look again later, less and less often."""
    until = run.clock() + breaker.pause_ms(note.step, retry_after_s)
    with transaction(run.conn):
        kept = note._replace(reason=why, step=note.step + 1, until=until)
        batch_notes.put(run.conn, one.id, kept)
    at = time.strftime("%H:%M", time.localtime(until / 1000))
    said = f"a batch of {one.size} could not be collected: {why}; looked for again from {at} on"
    return tally._replace(warnings=(*tally.warnings, said))


def _give_up(run: Run, one: Batch, tally: Tally, *, why: str) -> Tally:
    """Its units are asked anew. It may have been answered, so the estimate stays on the books."""
    count = batches.end(run.conn, one.id, now=run.clock(), charged=True)
    said = (
        f"a batch of {one.size} is given up: {why}; {count} of them wait again, and what they may "
        "have cost counts by its estimate"
    )
    return tally._replace(warnings=(*tally.warnings, said))


def _collect(
    run: Run, who: Anthropic, one: Batch, *, note: batch_notes.Note, tally: Tally
) -> Tally:
    if one.state == batches.SENDING:
        found = _find(run, who, one)
        if not found:
            return tally
        batches.sent(run.conn, one.id, found)
        one = one._replace(remote=found)
    remote = anthropic_batches.look(who, one.remote)
    if not remote.ended:
        return tally
    if remote.gone:
        return _give_up(run, one, tally, why="its results are kept no longer")
    results = anthropic_batches.results(who, one.remote)
    left = batches.units_of(run.conn, one.id)
    for found_one in results:
        unit_id = _unit_of(found_one.name, one)
        if unit_id in left:
            call = _Call(unit_id, left.pop(unit_id), one.id, one.sent_at, note.mark)
            tally = _settle(run, found_one, call, tally=tally)
            hit("batch_after_result")
    batches.end(run.conn, one.id, now=run.clock(), charged=True)
    return tally


def _unit_of(name: str, one: Batch) -> int:
    token, _, number = name.partition("-")
    return int(number) if token == one.token and number.isdigit() else 0


def _find(run: Run, who: Anthropic, batch_: Batch) -> str:
    """The provider's id of a batch that may have arrived. "" when that is not known yet, or when
    it has not arrived, in which case it is ended here."""
    listed = anthropic_batches.newest(who)
    known = batches.known(run.conn)
    possible = [one for one in listed if _may_be(one, batch_) and one.id not in known]
    unread = False
    for one in (one for one in possible if one.ended):
        if one.gone:
            unread = True
        elif any(_unit_of(each.name, batch_) for each in anthropic_batches.results(who, one.id)):
            return one.id
    undecided = [one for one in possible if not one.ended]
    # A full list may not reach back far enough.
    seen_all = len(listed) < anthropic_batches.LISTED or any(
        one.made_at < batch_.sent_at - batch.SLACK_MS for one in listed
    )
    if not undecided and seen_all and run.clock() > batch_.sent_at + batch.SLACK_MS:
        batches.end(run.conn, batch_.id, now=run.clock(), charged=unread)
    return ""


def _may_be(one: Remote, batch_: Batch) -> bool:
    return one.size == batch_.size and one.made_at >= batch_.sent_at - batch.SLACK_MS


def _settle(run: Run, one: Result, call: _Call, *, tally: Tally) -> Tally:
    """One result becomes memory, a failed try, or a unit that waits again."""
    if one.kind in ("canceled", "expired") or (one.asked is None and one.kind != "errored"):
        batches.take_back(run.conn, call.unit_id, call.run_id, now=run.clock())
        return tally
    unit = units.load(run.conn, call.unit_id, language=run.language)._replace(mode=run.mode)
    sent = batches.sent_as(run.conn, call.batch_id, call.unit_id)
    if batch.digest(unit) != sent.digest:
        return _outdated(run, one, call, tally=tally)
    try:
        observed = _read(unit, one)._replace(prompt_version=sent.version)
    except UnusableReply as error:
        return _unusable(run, call, error, tally=tally)
    except ProviderError as error:
        return _refused(run, call, error, tally=tally)
    microusd = batch.half(prices.charge(observed.usage, observed.model, run.prices))
    with transaction(run.conn):
        batches.set_state(run.conn, call.unit_id, "pending")
        done = memory.commit(
            run.conn,
            unit=unit,
            observed=observed,
            started_at=call.sent_at,
            now=run.clock(),
            microusd=microusd,
            run_id=call.run_id,
        )
    blame.answered(run.conn, call.mark or run.fingerprint)
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


def _outdated(run: Run, one: Result, call: _Call, *, tally: Tally) -> Tally:
    """A reply to what is not there any more as it was sent, forgotten or private by now: paid
    for, never stored. The unit waits again, unless it is private."""
    usage = NO_USAGE if one.asked is None else one.asked.usage
    model = "" if one.asked is None else one.asked.model
    microusd = batch.half(prices.charge(usage, model, run.prices))
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
        ledger.end(
            run.conn, call.unit_id, result, started_at=call.sent_at, now=now, run_id=call.run_id
        )
        state = "skipped" if batches.is_private(run.conn, call.unit_id) else "pending"
        batches.set_state(run.conn, call.unit_id, state)
    return tally._replace(calls=tally.calls + 1, microusd=tally.microusd + (microusd or 0))


def _read(unit: batch.Unit, one: Result) -> Observed:
    reply = one.asked
    if reply is None:
        raise UnusableReply(f"the request failed in its batch: {one.error}")
    reply = asked.counted(reply, batch.request(unit))
    mode = unit.mode or modes.load()
    if isinstance(unit, TurnUnit):
        turn = unit
        found = asked.read(reply, lambda text: parser.parse_observation(text, turn, mode))
        found = borrowed.bounded(reach.bounded(found, turn), turn)
    else:
        span = unit
        found = asked.read(reply, lambda text: parser.parse_summary(text, span))
    return found._replace(provider=anthropic.NAME)


def _unusable(run: Run, call: _Call, error: UnusableReply, *, tally: Tally) -> Tally:
    """A try that failed; where the run has stopped already, because all fail alike, it is none."""
    with transaction(run.conn):
        microusd = _end(run, call, error)
        stops = tally.reason
        if not stops:
            units.count_attempt(run.conn, call.unit_id)
            stops = blame.of_reply(run.conn, _tried(run, call, tally), error.reason)
    return tally._replace(
        calls=tally.calls + 1,
        microusd=tally.microusd + (microusd or 0),
        unusable=(*tally.unusable, error.reason),
        reason=_of_now(run, call, stops=stops, tally=tally),
    )


def _refused(run: Run, call: _Call, error: ProviderError, *, tally: Tally) -> Tally:
    """The provider's trouble stands where a reply should: the unit waits again."""
    with transaction(run.conn):
        _end(run, call, error)
        stops = tally.reason
        if not stops:
            units.count_attempt(run.conn, call.unit_id)
            stops, _against = blame.of_provider(run.conn, _tried(run, call, tally), error)
    return tally._replace(
        calls=tally.calls + 1, reason=_of_now(run, call, stops=stops, tally=tally)
    )


def _of_now(run: Run, call: _Call, *, stops: str, tally: Tally) -> str:
    """What was sent with other settings says nothing about those of now."""
    return stops if call.mark in ("", run.fingerprint) else tally.reason


def _tried(run: Run, call: _Call, tally: Tally) -> blame.Try:
    well = blame.is_well(run.conn, call.unit_id, blame.Course(answered=tally.units > 0))
    return blame.Try(call.unit_id, 0, well, call.mark or run.fingerprint, run.clock())


def _end(run: Run, call: _Call, error: UnusableReply | ProviderError) -> int | None:
    """The call that gave nothing on the books, for what it cost, and its unit out of the batch."""
    expected = run.expect(units.load(run.conn, call.unit_id, language=run.language))
    usage, microusd = cost.of_failure(error, expected, run.prices)
    microusd = batch.half(microusd)
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
        microusd=microusd,
        error=f"{kind}: {said}",
    )
    ledger.end(
        run.conn,
        call.unit_id,
        result,
        started_at=call.sent_at,
        now=run.clock(),
        run_id=call.run_id,
    )
    batches.set_state(run.conn, call.unit_id, "pending")
    return microusd
