"""The typer application, made from the tables of ``spec``: help, messages and completion.

Only lines that a person types, or that need a message, come here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from cmem import __version__
from cmem.cli import boundary, complaint, spec
from cmem.errors import UsageError

NAME = complaint.NAME
SUMMARY = "Memory for coding agents that survives sessions, without a daemon."
_TYPES: dict[str, type] = {"flag": bool, "int": int, "text": str}


def run(argv: list[str]) -> int:
    """Run a command line; its exit code. No words at all print the help."""
    command = typer.main.get_command(build())
    _hide_types(command)
    argv = _completed([*argv[1:], "--help"] if argv[:1] == ["help"] else argv)
    try:
        code = command.main(args=argv or ["--help"], prog_name=NAME, standalone_mode=False)
    except typer.Abort:
        return boundary.INTERRUPTED
    except Exception as error:
        # Only typer's own errors have a message for the user; anything else is a bug.
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        boundary.complain(complaint.told(argv, message()))
        return UsageError.exit_code
    return code if isinstance(code, int) else 0


def _completed(argv: list[str]) -> list[str]:
    """``cmem import FILE`` and ``cmem backup [FILE]`` in full: what follows and is no command of
    the group is a file, or an option."""
    if argv == ["backup"]:
        return ["backup", "create"]
    meant = {"import": "file", "backup": "create"}.get(argv[0]) if argv[1:] else None
    if meant is None:
        return argv
    known = [name.partition(" ")[2] for name in spec.BY_NAME if name.startswith(f"{argv[0]} ")]
    return argv if argv[1] in (*known, "--help", "-h") else [argv[0], meant, *argv[1:]]


def build() -> typer.Typer:
    """The application with every command of the table."""
    app = _typer(NAME, SUMMARY)
    app.callback()(_root)
    groups: dict[str, typer.Typer] = {}
    for command in spec.COMMANDS:
        first, _, second = command.name.partition(" ")
        if second and first not in groups:
            groups[first] = _typer(first, spec.GROUPS[first])
            app.add_typer(groups[first])
        (groups[first] if second else app).command(
            second or first,
            help=f"{command.summary}\n\n{command.detail}",
            short_help=command.summary,
            epilog=_epilog(command),
        )(_function(command))
    return app


def _hide_types(command: Any) -> None:
    """Help without ``<list[str]>`` behind the names: they and their examples say what they take."""
    for param in command.params:
        param.display_type_rich = lambda **_context: ""
    for inner in getattr(command, "commands", {}).values():
        _hide_types(inner)


def _typer(name: str, summary: str) -> typer.Typer:
    return typer.Typer(
        name=name,
        help=summary,
        short_help=summary,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )


def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True)
    ] = False,
) -> None:
    if version:
        typer.echo(f"{NAME} {__version__}")
        raise typer.Exit


def _epilog(command: spec.Command) -> str:
    """The examples, each on a line of its own; \\b keeps typer from joining them."""
    return "\b\nExamples:\n" + "\n".join("  " + one for one in command.examples)


def _function(command: spec.Command) -> Callable[..., None]:
    """A function with the command's own signature, which is what typer reads."""

    def call(**values: Any) -> None:
        raise typer.Exit(boundary.guard(command, _plain(command, values)))

    parameters = [_argument(arg) for arg in command.args]
    parameters += [_option(option) for option in command.options]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    call.__name__ = command.name.replace(" ", "_")
    return call


def _plain(command: spec.Command, values: dict[str, Any]) -> dict[str, Any]:
    """What the light parser would have returned: lists where nothing was given, too."""
    many = {arg.name for arg in command.args if arg.many}
    many |= {option.key for option in command.options if option.repeatable}
    return {key: list(value or []) if key in many else value for key, value in values.items()}


def _argument(arg: spec.Arg) -> inspect.Parameter:
    kind: Any = list[str] if arg.many else str
    annotation = Annotated[kind, typer.Argument(help=arg.help, metavar=arg.name.upper())]
    default: Any = inspect.Parameter.empty
    if arg.default is not None:
        default = [] if arg.many else arg.default
    return _parameter(arg.name, annotation, default)


def _option(option: spec.Option) -> inspect.Parameter:
    kind: Any = _TYPES[option.kind]
    if option.repeatable:
        kind = list[kind]
    elif option.default is None:
        kind = kind | None
    annotation = Annotated[
        kind,
        typer.Option(
            *option.names,
            help=option.help,
            metavar=None if option.kind == "flag" else spec.metavar(option),
            show_default=_shown(option),
        ),
    ]
    return _parameter(option.key, annotation, [] if option.repeatable else option.default)


def _shown(option: spec.Option) -> bool:
    return option.kind != "flag" and option.default is not None and not option.repeatable


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )
