"""A mode: the vocabulary and guidance of observation, read from ``cmem/modes/NAME.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from cmem.errors import ConfigError

NAMES = ("code",)


class Mode(NamedTuple):
    """``types`` and ``concepts`` are (name, meaning); the first type is the neutral one.
    ``fields`` is the guidance for each field of an observation."""

    name: str
    version: str
    role: str
    record: tuple[str, ...]
    skip: tuple[str, ...]
    types: tuple[tuple[str, str], ...]
    concepts: tuple[tuple[str, str], ...]
    fields: tuple[tuple[str, str], ...]


def parse(text: str) -> Mode:
    """The mode a TOML text describes. Raises KeyError or TOMLDecodeError if it is none."""
    raw: dict[str, Any] = tomllib.loads(text)
    return Mode(
        name=raw["name"],
        version=raw["version"],
        role=raw["role"].strip(),
        record=tuple(raw["record"]),
        skip=tuple(raw["skip"]),
        types=tuple((one["name"], one["meaning"]) for one in raw["types"]),
        concepts=tuple((one["name"], one["meaning"]) for one in raw["concepts"]),
        fields=tuple(raw["fields"].items()),
    )


@cache
def load(name: str = "code") -> Mode:
    """The mode of that name. Raises ConfigError naming the known ones."""
    if name not in NAMES:
        raise ConfigError(f"unknown mode: {name}; known: {', '.join(NAMES)}")
    path = resources.files("cmem").joinpath("modes", f"{name}.toml")
    return parse(path.read_text(encoding="utf-8"))
