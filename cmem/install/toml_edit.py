"""Setting one top-level key of a TOML text; comments, order and everything else stay. Pure."""

from __future__ import annotations

import re
import tomllib

from cmem.errors import ConfigError

# A text with escapes or without, a list in one line, or a bare word.
_VALUE = r"""("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|\[[^\]\n]*\]|[^\s#"'\[]+)"""
_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)


def set_key(text: str, key: str, value: str) -> str:
    """``text`` with ``key = "value"``: in place of the old line, else before the first table."""
    before = _load(text)
    line = f"{key} = {_quoted(value)}"
    pattern = rf"^([ \t]*){key}[ \t]*=[ \t]*{_VALUE}"
    found = re.search(pattern, text, re.MULTILINE)
    table = _TABLE.search(text)
    if found is not None and (table is None or found.start() < table.start()):
        new = text[: found.start()] + found.group(1) + line + text[found.end() :]
    else:
        at = table.start() if table is not None else len(text)
        lead = "\n" if text[:at] and not text[:at].endswith("\n") else ""
        new = text[:at] + lead + line + "\n" + text[at:]
    # The pattern does not know all of TOML (a line inside a long string looks like a key), so
    # the result counts only if it says what was meant and nothing else.
    if _load(new) != {**before, key: value}:
        raise ConfigError(f"could not set {key} in config.toml; write this line by hand: {line}")
    return new


def remove_key(text: str, key: str) -> str:
    """``text`` without the line of the key; what is behind it on the line goes too."""
    before = _load(text)
    if key not in before:
        return text
    pattern = rf"^[ \t]*{key}[ \t]*=[ \t]*{_VALUE}[^\n]*(?:\n|\Z)"
    new = re.sub(pattern, "", text, count=1, flags=re.MULTILINE)
    if _loaded_or_none(new) != {name: value for name, value in before.items() if name != key}:
        raise ConfigError(f"could not take {key} out of config.toml; delete its line by hand")
    return new


def _loaded_or_none(text: str) -> dict[str, object] | None:
    try:
        return _load(text)
    except ConfigError:
        return None


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _load(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason = str(error)[:1].lower() + str(error)[1:]
        raise ConfigError(f"could not read settings: config.toml: {reason}") from error
