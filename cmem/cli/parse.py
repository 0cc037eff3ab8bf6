"""The light parser: a command line to values, by the tables of ``spec``.

Understands what typer's parser does: ``--name value``, ``--name=value``, ``-n 5``, ``-n5``,
options among arguments, and ``--`` before words that look like options. It has no messages of
its own: a line it cannot read goes to typer, which has.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cmem.cli.spec import Command, Option

    Values = dict[str, Any]


class ParseError(ValueError):
    """The line is not understood."""


def parse(command: Command, argv: list[str]) -> Values:
    """Every argument and option of the command by name; ParseError for anything odd."""
    values = defaults(command)
    by_name = {name: option for option in command.options for name in option.names}
    words: list[str] = []
    at = 0
    while at < len(argv):
        item = argv[at]
        at += 1
        if item == "--":
            words += argv[at:]
            break
        if item[:1] != "-" or item == "-":
            words.append(item)
            continue
        option, value = _option(by_name, item)
        if value is None and option.kind != "flag":
            if at == len(argv):
                raise ParseError(item)
            value = argv[at]
            at += 1
        _take(values, option, value)
    _fill(values, command, words)
    return values


def defaults(command: Command) -> Values:
    """What the command gets when nothing is given."""
    values: Values = {}
    for option in command.options:
        values[option.key] = [] if option.repeatable else option.default
    for arg in command.args:
        values[arg.name] = [] if arg.many else arg.default
    return values


def _option(by_name: dict[str, Option], item: str) -> tuple[Option, str | None]:
    """The option that ``item`` names, and the value written together with it."""
    if item.startswith("--"):
        name, equals, value = item.partition("=")
        given = value if equals else None
    else:
        name, given = item[:2], item[2:] or None
    option = by_name.get(name)
    if option is None or (option.kind == "flag" and given is not None):
        raise ParseError(item)
    return option, given


def _take(values: Values, option: Option, value: str | None) -> None:
    if option.kind == "flag":
        values[option.key] = True
    elif option.kind == "int":
        values[option.key] = _whole(str(value))
    elif option.repeatable:
        values[option.key].append(value)
    else:
        values[option.key] = value


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise ParseError(text) from error


def _fill(values: Values, command: Command, words: list[str]) -> None:
    """Words to positional arguments, the last of which may take many."""
    for arg in command.args:
        if arg.many:
            if not words and arg.default is None:
                raise ParseError(arg.name)
            values[arg.name], words = words, []
        elif words:
            values[arg.name], words = words[0], words[1:]
        elif arg.default is None:
            raise ParseError(arg.name)
    if words:
        raise ParseError(words[0])
