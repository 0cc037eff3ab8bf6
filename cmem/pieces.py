"""A turn that is too long for the model, asked about in pieces, as one.

What ordinary runs do with halves that are units of their own is done at once here, because the
result takes the place of another one: all of it comes, or nothing. Only a refusal for its size
makes pieces of a turn; a piece as large as one that was refused is not sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cmem import blame
from cmem.model import Reply, TurnUnit, Usage
from cmem.observer.errors import NO_USAGE, ProviderError, UnusableReply

if TYPE_CHECKING:
    from cmem.model import Observed, SummaryUnit
    from cmem.observer.providers import Provider

CUT = "cut at the token limit"  # the reply was, and the request went in


class TooLong(Exception):  # noqa: N818 - of the unit
    """The model does not take it, and there are no smaller pieces of it. ``reason``: its words."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class TooDear(Exception):  # noqa: N818 - of the unit
    """In pieces it takes more than may be spent."""


class Asking:
    """One unit asked about. ``usage`` and ``calls``: what the calls took that are over, whatever
    became of them. ``fits``: whether the pieces may be asked about, beside what was taken."""

    def __init__(
        self, provider: Provider, fits: Callable[[Usage, Sequence[TurnUnit]], bool]
    ) -> None:
        self._provider, self._fits = provider, fits
        self.usage, self.calls = NO_USAGE, 0

    def ask(self, unit: TurnUnit | SummaryUnit) -> Observed:
        """The answer about the whole. Raises what the provider raises, TooLong and TooDear."""
        if not isinstance(unit, TurnUnit):
            try:
                return self._counted(self._provider.summarise(unit))
            except UnusableReply as error:
                self._count(error.usage, error.calls)
                raise _named(error) from None
        waiting = [unit]
        found: list[Observed] = []
        while waiting:
            piece = waiting.pop(0)
            try:
                observed = self._counted(self._provider.observe(piece))
            except UnusableReply as error:
                self._count(error.usage, error.calls)
                waiting = self._smaller(piece, waiting, error)
                continue
            except ProviderError as error:
                self._count(error.usage, int(error.sent))
                raise
            if not found and not waiting:
                return observed
            found.append(_of(observed, piece))
            waiting = [*_rest(observed, piece), *waiting]
        return _joined(found)._replace(usage=self.usage, calls=self.calls)

    def _smaller(
        self, piece: TurnUnit, waiting: list[TurnUnit], error: UnusableReply
    ) -> list[TurnUnit]:
        """What is to be asked now that a piece gave nothing."""
        if blame.SIZE.search(error.reason) is None:
            raise error
        if len(piece.evidence) < 2:
            raise _named(error)
        most = len(piece.evidence) - 1
        made = [half for one in (piece, *waiting) for half in _within(one, most)]
        if not self._fits(self.usage, made):
            raise TooDear
        return made

    def _counted(self, observed: Observed) -> Observed:
        self._count(observed.usage, observed.calls)
        return observed

    def _count(self, usage: Usage, calls: int) -> None:
        was = self.usage
        self.usage = Usage(
            was.input_tokens + usage.input_tokens,
            was.output_tokens + usage.output_tokens,
            was.cache_read_tokens + usage.cache_read_tokens,
            was.cache_write_tokens + usage.cache_write_tokens,
            was.cost_usd + usage.cost_usd,
        )
        self.calls += calls


def _named(error: UnusableReply) -> Exception:
    """A refusal for its size is the unit's for good, others may be gone the next time."""
    is_size = blame.SIZE.search(error.reason) is not None and CUT not in error.reason
    return TooLong(error.reason) if is_size else error


def _within(unit: TurnUnit, most: int) -> list[TurnUnit]:
    """The unit in halves, or halves of them, of so many tool uses at most."""
    if len(unit.evidence) <= most:
        return [unit]
    middle = len(unit.evidence) // 2
    halves = (unit.evidence[:middle], unit.evidence[middle:])
    return [one for half in halves for one in _within(unit._replace(evidence=half), most)]


def _of(observed: Observed, piece: TurnUnit) -> Observed:
    """What rests on the whole piece rests on its tool uses, and not on those of the turn."""
    ids = tuple(one.id for one in piece.evidence)
    drafts = tuple(
        one._replace(sources=ids) if one.sources is None else one
        for one in observed.reply.observations
    )
    return observed._replace(reply=observed.reply._replace(observations=drafts))


def _rest(observed: Observed, piece: TurnUnit) -> list[TurnUnit]:
    """What a reply that was cut had not come to."""
    told = {ref for one in observed.reply.observations for ref in one.sources or ()}
    last = max((n for n, one in enumerate(piece.evidence) if one.id in told), default=-1)
    left = piece.evidence[last + 1 :]
    return [piece._replace(evidence=left)] if observed.cut and left and last >= 0 else []


def _joined(found: Sequence[Observed]) -> Observed:
    drafts = tuple(draft for one in found for draft in one.reply.observations)
    skipped = next((one.reply.skipped for one in found if one.reply.skipped), None)
    reply = Reply(
        observations=drafts,
        summary=None,
        skipped=None if drafts else skipped,
        notes=tuple(note for one in found for note in one.reply.notes),
    )
    mended = tuple(dict.fromkeys(one for each in found for one in each.mended))
    return found[-1]._replace(reply=reply, cut=False, mended=mended)
