"""Secrets that the environment gives away: the values of variables that are named like one.

A command sets the environment that counts (``use``); its values are cut wherever they stand,
whatever stands in front of them. Until then there are none.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# What a hook hands on to the run it starts: ``NAME=value``, joined.
HANDED_ON = "CMEM_KNOWN"
JOINT = "\x1f"
MIN_LENGTH = 8
MAX_VALUES = 64
MARK = "[REDACTED:known-value]"

_IN_URL = r"://[^\s/:@]{0,64}:([^\s/@]{8,128})@"


class _Used:
    """The environment that was set, and its values once they are asked for."""

    env: Mapping[str, str] | None = None
    values: tuple[str, ...] | None = ()


_used = _Used()


def use(env: Mapping[str, str]) -> None:
    """From now on cut what this environment gives away."""
    _used.env, _used.values = env, None


def without(text: str) -> str:
    """The text without secrets of the environment."""
    if _used.values is None:
        _used.values = values(_used.env or {})
    for value in _used.values:
        if value in text:
            text = text.replace(value, MARK)
    return text


def values(env: Mapping[str, str]) -> tuple[str, ...]:
    """The values to be cut, each also as a URL spells it, the longest first.

    A value that may as well be a word (``DB_PASSWORD=postgres``) stays: it would be cut from
    every text about the thing itself."""
    import re
    from urllib.parse import quote

    handed_on = (pair.partition("=") for pair in env.get(HANDED_ON, "").split(JOINT))
    pairs = [*env.items(), *((name, value) for name, _, value in handed_on)]
    found: dict[str, None] = {}
    for name, value in pairs:
        if name != HANDED_ON and _is_secret(name, value):
            found[value] = None
        found.update(dict.fromkeys(filter(_is_odd, re.findall(_IN_URL, value))))
    spelled = {spelling for value in found for spelling in (value, quote(value, safe=""))}
    fit = (value for value in spelled if value not in MARK and "[REDACTED:" not in value)
    return tuple(sorted(fit, key=lambda value: (-len(value), value))[:MAX_VALUES])


def _is_secret(name: str, value: str) -> bool:
    from cmem.privacy import assignments, secret_names

    kind = secret_names.kind(name)
    if kind == secret_names.KEY:
        return assignments.is_variable_key(name, value)
    if kind not in (secret_names.PASSWORD, secret_names.SECRET, secret_names.TOKEN):
        return False
    return assignments.is_given(kind, value) and _is_odd(value)


def _is_odd(value: str) -> bool:
    """Whether nobody writes the value without meaning it."""
    from cmem.privacy import entropy

    if len(value) < MIN_LENGTH or entropy.is_phrase(value) or entropy.is_harmless(value):
        return False
    return entropy.classes(value) >= 2 and (entropy.has_digit(value) or len(value) >= 16)
