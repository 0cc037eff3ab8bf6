"""What need not be asked for again: a place where what is wanted stands already. Pure, but for a
look at the names that models were asked for by."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cmem import estimate
from cmem.observer import prices
from cmem.store import model_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    import apsw

    from cmem.settings import Settings
    from cmem.store.places import Place, Wanted


class Asks(NamedTuple):
    """Whom a run asks. ``model`` "": whichever the provider takes. ``names``: what each model of
    it has been asked for by, besides its own name."""

    provider: str
    model: str
    names: Mapping[str, frozenset[str]]

    @property
    def by(self) -> tuple[str, str]:
        return (self.provider, self.model)

    def is_model(self, told: str) -> bool:
        """Whether ``told`` is the model that is asked for: by its name, however that is spelled,
        or because it has answered to it."""
        if not self.model or prices.is_same(told, self.model):
            return True
        return self.model in self.names.get(told, ())


def asks(conn: apsw.Connection, settings: Settings) -> Asks:
    """Whom a run with these settings asks, as far as is known now."""
    names = model_names.asked_for(conn, settings.provider)
    return Asks(settings.provider, estimate.model_of(settings), names)


def is_own(place: Place, who: Asks) -> bool:
    """Has the wanted provider made what stands there, by the model that is asked for?"""
    return place.provider == who.provider and who.is_model(place.model)


def is_made(place: Place, who: Asks, wanted: Wanted) -> bool:
    """Whether it is its own. Of the past, what a person has taken back counts too, and what any
    model has made on another machine: who wants it after all names the session."""
    if is_own(place, who):
        return True
    if wanted.session or who.provider in estimate.FREE:
        return False
    return bool(place.elsewhere) or any(who.is_model(one) for one in place.undone)


def is_too_long(place: Place, wanted: Wanted) -> bool:
    """Has the model that is asked for refused it for its size, whole and in pieces? Who wants to
    try it again names the session."""
    return place.too_long and not wanted.session


def is_open(place: Place, who: Asks, wanted: Wanted) -> bool:
    """Whether it is to be asked about."""
    return not is_made(place, who, wanted) and not is_too_long(place, wanted)
