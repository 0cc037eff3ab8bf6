"""What a call cost by the price list ``cmem/prices.toml``."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources
from typing import NamedTuple

from cmem.model import Usage

DATED = re.compile(r"[-@]\d{8}$")


class Price(NamedTuple):
    """US dollars per million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float


class PriceList(NamedTuple):
    date: str
    models: dict[str, Price]


@cache
def load() -> PriceList:
    """The packaged price list."""
    path = resources.files("cmem").joinpath("prices.toml")
    raw = tomllib.loads(path.read_text(encoding="utf-8"))
    return PriceList(
        date=raw["date"],
        models={name: Price(**fields) for name, fields in raw["models"].items()},
    )


def find(model: str) -> Price | None:
    """The price of a model, with or without a vendor prefix and a date; None if not listed."""
    name = model.rpartition("/")[2]
    return load().models.get(name) or load().models.get(DATED.sub("", name))


def cost(usage: Usage, price: Price) -> float:
    """US dollars for these tokens, rounded to a ten-thousandth of a cent."""
    total = (
        usage.input_tokens * price.input
        + usage.output_tokens * price.output
        + usage.cache_read_tokens * price.cache_read
        + usage.cache_write_tokens * price.cache_write
    )
    return round(total / 1_000_000, 6)
