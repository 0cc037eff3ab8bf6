"""Giving units away in a batch. What was sent, and what becomes of it: ``batch``, ``batch_collect``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from cmem import batch, batch_collect, blame, booking
from cmem.failpoint import hit
from cmem.observer import prompt
from cmem.observer.errors import MissingCredential, ProviderError, UnusableReply
from cmem.observer.providers import anthropic_batches
from cmem.privacy import second
from cmem.store import batch_notes, batches, units
from cmem.store.connection import transaction

if TYPE_CHECKING:
    from cmem.observe import Limits, Run, Tally
    from cmem.observer.providers.anthropic_client import Anthropic

MOST = 200  # so that all results fit into one answer


class _Part(NamedTuple):
    """One unit of a batch that is about to be sent."""

    name: str
    request: prompt.Request


def exchange(run: Run, who: Anthropic | None, tally: Tally, *, give: bool, limits: Limits) -> Tally:
    """Collect what has come back and, where that is wanted, ``give`` away what waits."""
    if not tally.reason:
        tally = batch_collect.collect(run, who, tally)
    if who is None or not give or tally.reason:
        return tally
    most = min(limits.max_calls or MOST, MOST)
    return send(run, who, tally, session=limits.session, most=most)


def send(run: Run, who: Anthropic, tally: Tally, *, session: str, most: int = MOST) -> Tally:
    """Give the units that wait away, as many as today's budget allows."""
    if not who.api_key:
        return tally._replace(
            reason="no api_key for provider anthropic: set api_key or CMEM_API_KEY"
        )
    only = 0
    if blame.in_doubt(run.conn, run.fingerprint):
        # Nobody pays for many before one is answered.
        if batches.waiting(run.conn, batch.origin(who)).here:
            return tally._replace(reason=_told(run, who))
        chosen = blame.choose(run.conn, run.fingerprint, tried=(), session=session or None)
        only, most = (0 if chosen is None else chosen.unit_id), 1
    while True:
        batch_id, parts, refused = _pack(run, who, session=session, most=most, only=only)
        if not parts:
            return tally._replace(reason=refused or tally.reason or _told(run, who))
        hit("batch_before_send")
        try:
            remote = anthropic_batches.submit(who, [(one.name, one.request) for one in parts])
        except ProviderError as error:
            if not error.served:  # else it may have arrived, and is looked for
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
            return tally._replace(reason=refused or _told(run, who))


def _told(run: Run, who: Anthropic) -> str:
    return "; ".join(batch.said(batches.waiting(run.conn, batch.origin(who))))


def _pack(
    run: Run, who: Anthropic, *, session: str, most: int, only: int
) -> tuple[int, list[_Part], str]:
    """(batch, its parts, why it has no more), committed before anything is sent. ``only``: of this
    unit alone."""
    token = os.urandom(8).hex()
    now = run.clock()
    parts: list[_Part] = []
    refused = ""
    with transaction(run.conn):
        batch_id = batches.begin(run.conn, token, now=now)
        note = batch_notes.Note(batch.origin(who), run.fingerprint)
        batch_notes.put(run.conn, batch_id, note)
        books = booking.Books(run.conn, run.limits, now=now)
        while len(parts) < most:
            unit_id = only or units.next_pending(run.conn, session=session or None)
            if unit_id is None:
                break
            unit = units.load(run.conn, unit_id, language=run.language)._replace(mode=run.mode)
            expected = run.expect(unit)
            assert expected is not None
            expected = expected._replace(microusd=batch.half(expected.microusd))
            refused = books.refusal(expected)
            if refused:
                break
            run_id = books.start(unit_id, expected)
            request = batch.request(unit)
            sent = batches.Sent(batch.digest(unit), request.version)
            batches.add(run.conn, batch_id, unit_id, run_id=run_id, sent=sent)
            parts.append(_Part(f"{token}-{unit_id}", request))
        if not parts:
            batches.end(run.conn, batch_id, now=now)
    return batch_id, parts, refused
