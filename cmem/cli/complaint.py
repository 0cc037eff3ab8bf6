"""What typer says of a line it cannot read, in one line that says what to write instead."""

from __future__ import annotations

import re
import shlex

from cmem.cli import spec

NAME = "cmem"
# Arguments that are anybody's words, which may begin with a minus.
FREE = ("anchor", "query", "text")
_NUMBER = re.compile(r"invalid value for '(--[a-z-]+)'.*valid integer", re.IGNORECASE | re.DOTALL)
_OPTION = re.compile(r"no such option: (--?\S+)\Z", re.IGNORECASE)


def told(argv: list[str], message: str) -> str:
    """Typer's complaint as one line that says where the help is."""
    text = _plain(" ".join(message.split()).rstrip("."))
    names = [" ".join(argv[:count]) for count in (2, 1)]
    known = [one for one in names if one in spec.BY_NAME or one in spec.GROUPS]
    name = f"{NAME} {known[0]}" if known else NAME
    command = spec.BY_NAME.get(known[0]) if known else None
    option = text.partition("'")[2].partition("'")[0] if "requires an argument" in text else ""
    fitting = [one for one in command.examples if option in one.split()] if command else []
    example = f", for example `{fitting[0]}`" if fitting else ""
    hint = _as_words(argv, text, command) if command else ""
    see = " See" if text.endswith("?") else "; see"
    return f"{text[:1].lower()}{text[1:]}{example}{hint}{see} `{name} --help`"


def _plain(text: str) -> str:
    """The complaint without the words of a library."""
    found = _NUMBER.match(text)
    return f"{found[1]} takes a whole number" if found else text


def _as_words(argv: list[str], text: str, command: spec.Command) -> str:
    """How to have what was taken for an option as text, where text is what the command takes."""
    found = _OPTION.match(text)
    if found is None or not any(arg.name in FREE for arg in command.args):
        return ""
    words = [one for one in argv if one.startswith(found[1]) and one != "--"]
    said = shlex.quote(words[0] if words else found[1])
    return f"; text that begins with a minus comes after `--`: `{NAME} {command.name} -- {said}`"
