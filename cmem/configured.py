"""What the user's own files say of a run: settings, mode, prices.

``extract`` asks nobody, so it needs none of them: a fault in one is told, and memory goes on. For
a model every fault ends the run, because it could cost money or say something else than wanted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmem import settings
from cmem.errors import ConfigError
from cmem.observer import modes, prices

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cmem.model import Mode
    from cmem.observer.prices import PriceList
    from cmem.settings import Settings

FREE = "extract"
UNTOUCHED = "until it is corrected nothing is pruned or backed up"


def load(
    home: str, *, env: Mapping[str, str], flags: Mapping[str, object], trusted_env: bool
) -> tuple[Settings, tuple[str, ...]]:
    """The settings of a run, and the fault in config.toml in spite of which there are any."""
    given = {"env": env, "flags": flags, "trusted_env": trusted_env}
    try:
        return settings.load(home, **given), ()  # type: ignore[arg-type]  # as above
    except ConfigError as error:
        document, fault = settings.salvage(home)
        if not fault:
            raise  # a flag or a variable is wrong
        chosen = settings.load(home, **given, document=document)  # type: ignore[arg-type]
        if chosen.provider != FREE:
            raise
        return chosen, (f"{error}; {UNTOUCHED}",)


def mode_and_prices(home: str, chosen: Settings) -> tuple[Mode, PriceList, tuple[str, ...]]:
    """The mode and the price list, and what is wrong with them where they do not matter."""
    faults: tuple[str, ...] = ()
    try:
        mode = modes.load(chosen.mode, home)
    except ConfigError as error:
        if chosen.provider != FREE:
            raise
        mode, faults = modes.load(), (str(error),)
    try:
        return mode, prices.load_for(home), faults
    except ConfigError as error:
        if chosen.provider != FREE:
            raise
        return mode, prices.load(), (*faults, str(error))
