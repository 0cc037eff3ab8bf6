"""What a call cost: the packaged price list ``cmem/prices.toml``, and the user's own.

``prices.toml`` in the data home has the same form and wins, model by model. Prices are data
with a date: an estimate, not a bill. A model on neither list has no known price, which is not
the same as being free.
"""

from __future__ import annotations

import os
import re
import tomllib
from datetime import date
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from cmem import regular
from cmem.errors import ConfigError
from cmem.model import Usage

# What vendors add to a name: a date, a version of their own, a word for the newest.
ADDED = re.compile(r"(?:[-@](?:\d{8}|\d{4}-\d\d-\d\d))?(?:-v\d+(?::\d+)?)?(?:-latest)?$")
WINDOW = re.compile(r"\[\w+\]$")
FAMILY = "claude-"
FILE = "prices.toml"
FIELDS = ("input", "output", "cache_read", "cache_write")
# Usual multiples of the input price where a list does not say.
CACHE_READ, CACHE_WRITE = 0.1, 1.25


class Price(NamedTuple):
    """US dollars per million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float


class PriceList(NamedTuple):
    """``date``: when the packaged list was made. ``own``: models the user has priced.
    ``aliases``: short names and what they stand for."""

    date: str
    models: dict[str, Price]
    aliases: dict[str, str]
    own: frozenset[str] = frozenset()


@cache
def load() -> PriceList:
    """The packaged price list."""
    path = resources.files("cmem").joinpath(FILE)
    raw = tomllib.loads(path.read_text(encoding="utf-8"))
    models = {_plain(name): Price(**fields) for name, fields in raw["models"].items()}
    return PriceList(raw["date"], models, raw["aliases"])


def load_for(home: str) -> PriceList:
    """The packaged list with the data home's own prices; ConfigError names what is wrong there."""
    path = os.path.join(home, FILE)
    try:
        raw = tomllib.loads(regular.read(path).decode("utf-8"))
    except FileNotFoundError:
        return load()
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"could not read {path}: {str(reason).lower()}") from error
    models = raw.get("models")
    if not isinstance(models, dict):
        raise ConfigError(f'{path}: no table [models."NAME"] with input and output in it')
    own = {_plain(name): _price(path, name, fields) for name, fields in models.items()}
    listed = load()
    return listed._replace(models=listed.models | own, own=frozenset(own))


def find(model: str, known: PriceList | None = None) -> Price | None:
    """The price of a model, however a vendor spells it; None if it is not listed."""
    return (known or load()).models.get(_listed(model, known or load()))


def is_same(one: str, other: str) -> bool:
    """Whether two names are of one model, as far as the packaged list knows."""
    return _listed(one, load()) == _listed(other, load())


def is_own(model: str, known: PriceList) -> bool:
    """Whether the user has priced the model."""
    return _listed(model, known) in known.own


def cost(usage: Usage, price: Price) -> float:
    """US dollars for these tokens, rounded to a ten-thousandth of a cent."""
    return microusd(usage, price) / 1_000_000


def microusd(usage: Usage, price: Price) -> int:
    """Millionths of a dollar for these tokens."""
    return round(
        usage.input_tokens * price.input
        + usage.output_tokens * price.output
        + usage.cache_read_tokens * price.cache_read
        + usage.cache_write_tokens * price.cache_write
    )


def charge(usage: Usage, model: str, known: PriceList, *, asked: str = "") -> int | None:
    """What a call cost in micro-dollars: by the user's own price, else as the provider told it,
    else by the list; None where nobody knows. ``asked``: the model that was asked for, whose price
    counts where the answer names one that nobody has a price of."""
    price = find(model, known)
    if price is None and asked:
        model, price = asked, find(asked, known)
    if price is not None and is_own(model, known):
        return microusd(usage, price)
    if usage.cost_usd > 0:
        return round(usage.cost_usd * 1_000_000)
    if price is not None:
        return microusd(usage, price)
    return None if any(usage[:4]) else 0


def age_days(known: PriceList, today: date) -> int:
    """How many days ago the packaged prices were looked up."""
    return max((today - date.fromisoformat(known.date)).days, 0)


def _listed(model: str, known: PriceList) -> str:
    """The name under which a model is listed, by what it is called: with what a vendor adds, a
    window behind it (``sonnet[1m]``), with or without the family's name in front."""
    name = _plain(model)
    plain = ADDED.sub("", WINDOW.sub("", name))
    bare = plain.removeprefix(FAMILY)
    for one in (name, plain, FAMILY + bare, known.aliases.get(bare, "")):
        if one in known.models:
            return one
    return plain


def _plain(model: str) -> str:
    """A name without a vendor in front, versions with hyphens: ``claude-haiku-4-5``."""
    name = model.rpartition("/")[2].lower()
    return name.rpartition("anthropic.")[2].replace(".", "-")


def _price(path: str, name: str, fields: Any) -> Price:
    given = fields if isinstance(fields, dict) else {}
    numbers = {key: given[key] for key in FIELDS if key in given}
    known = set(given) <= set(FIELDS) and {"input", "output"} <= set(given)
    if not known or not all(_is_price(one) for one in numbers.values()):
        raise ConfigError(
            f"{path}: {name}: give input and output, and if you like cache_read and cache_write, "
            "in US dollars per million tokens"
        )
    first = float(numbers["input"])
    return Price(
        input=first,
        output=float(numbers["output"]),
        cache_read=float(numbers.get("cache_read", first * CACHE_READ)),
        cache_write=float(numbers.get("cache_write", first * CACHE_WRITE)),
    )


def _is_price(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e6
