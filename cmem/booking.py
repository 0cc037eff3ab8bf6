"""Calls on the books before they are made.

Whether a call may be made, and its row in the ledger: ``Books``, for whoever asks about units of
work. And the small question, with what it took: ``cmem provider test`` asks it, and a run that
wants to know whether a provider is well at all.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, NamedTuple

from cmem import budget, configured, estimate, paths, tokens
from cmem.model import Usage
from cmem.observer import prices, trial
from cmem.observer.errors import NO_USAGE, MissingCredential, ProviderError, UnusableReply
from cmem.observer.providers import about, sentences
from cmem.observer.providers.asked import counted
from cmem.store import connection, ledger, trials

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import apsw

    from cmem.observer.providers.asked import Model
    from cmem.observer.trial import Answer
    from cmem.settings import Settings

REPLY_TOKENS = 20  # one word
EMPTY = ProviderError("transport", "an empty reply", served=False)


class Books:
    """The day's books, read once, for one transaction or one look. Who asks for the budget and
    writes the call down in the same transaction shares no rest of it with another run."""

    def __init__(self, conn: apsw.Connection, limits: budget.Limits, *, now: int) -> None:
        began, self.until = budget.day(now)
        self._conn, self._limits, self._now = conn, limits, now
        self._spent = ledger.spent(conn, since=began, until=self.until)

    def refusal(self, expected: ledger.Expected) -> str:
        """Why the call may not be made today, "" when it may."""
        return budget.refusal(self._limits, self._spent, expected)

    def start(self, unit_id: int, expected: ledger.Expected) -> int:
        """Write the call down; return its row. Part of the caller's transaction."""
        self._spent = budget.with_call(self._spent, expected)
        return ledger.start(self._conn, unit_id, expected, now=self._now)


@contextlib.contextmanager
def booked(
    home: str, chosen: Settings, *, env: Mapping[str, str], now: int
) -> Iterator[Callable[[Answer], None]]:
    """Give the function that writes down the answer. Nothing is booked where nobody can be asked;
    a call that is cut off stays on the books by what it was expected to take."""
    if chosen.provider == configured.FREE or about.lacks(chosen, env):
        yield lambda _answer: None
        return
    free = chosen._replace(provider=configured.FREE)  # wrong prices stop no question
    _mode, known, _faults = configured.mode_and_prices(home, free)
    expected = _expected(chosen, known, now=now)
    paths.ensure_home(home)
    conn = connection.open_writer(home, now=now)
    try:
        trials.begin(conn, expected)
        yield (
            lambda answer: (
                trials.end(conn, expected, _took(expected, answer, known))
                if answer.asked
                else trials.cancel(conn, expected)
            )
        )
    finally:
        conn.close()


def _expected(chosen: Settings, known: prices.PriceList, *, now: int) -> trials.Trial:
    size = tokens.count(trial.QUESTION.system + trial.QUESTION.user)
    model = estimate.model_of(chosen)
    cost = prices.charge(Usage(size, REPLY_TOKENS, 0, 0, 0.0), model, known)
    return trials.Trial(now, chosen.provider, model, ledger.STARTED, size, REPLY_TOKENS, cost)


def _took(expected: trials.Trial, answer: Answer, known: prices.PriceList) -> trials.Trial:
    model = answer.model or expected.model
    usage = Usage(answer.input_tokens, answer.output_tokens, 0, 0, answer.cost_usd or 0.0)
    return expected._replace(
        model=model,
        outcome="done" if answer.ok else answer.kind,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        microusd=prices.charge(usage, model, known),
    )


class Small(NamedTuple):
    """How the small question went. ``trouble`` None: it was answered."""

    trouble: ProviderError | None
    usage: Usage
    microusd: int | None


def small(
    conn: apsw.Connection,
    who: Model,
    name: str,
    *,
    model: str,
    known: prices.PriceList,
    clock: Callable[[], int],
) -> Small:
    """Ask the small question, in a run that holds the store already."""
    size = tokens.count(trial.QUESTION.system + trial.QUESTION.user)
    cost = prices.charge(Usage(size, REPLY_TOKENS, 0, 0, 0.0), model, known)
    expected = trials.Trial(clock(), name, model, ledger.STARTED, size, REPLY_TOKENS, cost)
    trials.begin(conn, expected)
    try:
        reply = counted(who.ask(trial.QUESTION), trial.QUESTION)
    except (ProviderError, UnusableReply, MissingCredential) as error:
        trouble = error if isinstance(error, ProviderError) else _no_answer(error)
        if not trouble.sent:
            trials.cancel(conn, expected)
            return Small(trouble, NO_USAGE, 0)
        took = expected._replace(outcome=trouble.kind)
        if not trouble.served:
            took = took._replace(input_tokens=0, output_tokens=0, microusd=0)
        trials.end(conn, expected, took)
        usage = NO_USAGE._replace(input_tokens=took.input_tokens, output_tokens=took.output_tokens)
        return Small(trouble, usage, took.microusd)
    usage = reply.usage
    cost = prices.charge(usage, reply.model, known, asked=model)
    took = expected._replace(
        model=reply.model,
        outcome="done",
        input_tokens=usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
        output_tokens=usage.output_tokens,
        microusd=cost,
    )
    trials.end(conn, expected, took)
    said = sentences.of_trouble(reply.text, now=time.time()) if reply.text.strip() else EMPTY
    return Small(said, usage, cost)


def _no_answer(error: UnusableReply | MissingCredential) -> ProviderError:
    sent = isinstance(error, UnusableReply)
    return ProviderError("transport", str(error), served=False, sent=sent)
