"""Where the program starts: the cheapest way that understands the line wins.

A hook goes to the hook. A reading command whose output is for a program (``--json``, or into a
pipe) is parsed by the light parser and never imports typer or rich. Everything else, and every
line the light parser does not understand, goes to typer, which has the help and the messages.
"""

from __future__ import annotations

import os
import sys

HOT = (
    "context",
    "file",
    "get",
    "list",
    "project list",
    "project show",
    "raw",
    "search",
    "session list",
    "session show",
    "status",
    "statusline",
    "timeline",
)


def main() -> int:
    """Run the command line of this process; its exit code. A reader of stdout that is not there
    or has gone is no failure."""
    _speak_utf8()
    _open_closed_streams()
    _write_utf8()
    try:
        code = _run()
        sys.stdout.flush()
    except OSError as error:
        return _unwritten(error)
    except SystemExit as end:
        # What typer makes of a broken pipe while it prints help.
        if isinstance(end.__context__, BrokenPipeError):
            return _unwritten(end.__context__)
        raise
    return code


def _speak_utf8() -> None:
    """Begin again where the locale has another encoding: the paths that hosts tell, and those
    in the store, are UTF-8 whatever the locale says."""
    if sys.getfilesystemencoding() == "utf-8" or sys.flags.utf8_mode:
        return
    from cmem import paths

    python = paths.interpreter()
    if python:
        os.execv(python, [python, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606


def _open_closed_streams() -> None:
    """The null device where a standard descriptor is closed: nothing has to ask for None, and no
    file of ours gets the number of one."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _write_utf8() -> None:
    """What is written is UTF-8 whatever PYTHONIOENCODING says, and no character ends a command."""
    for stream, errors in (
        (sys.stdin, "replace"),
        (sys.stdout, "backslashreplace"),
        (sys.stderr, "backslashreplace"),
    ):
        change = getattr(stream, "reconfigure", None)
        if change is not None:
            change(encoding="utf-8", errors=errors)


def _unwritten(error: OSError) -> int:
    """The exit code when stdout took no more; the interpreter's own flush would make it 120."""
    from cmem.cli import boundary

    boundary.let_go_of(1)
    return 0 if isinstance(error, BrokenPipeError) else boundary.end("cmem", error)


def _run() -> int:
    argv = [_text(word) for word in sys.argv[1:]]
    if argv[:1] == ["hook"] and not {"--help", "-h"} & set(argv):
        from cmem.cli import hook

        return hook.run_words(argv[1:])
    if argv == ["--version"]:
        from cmem import __version__

        sys.stdout.write(f"cmem {__version__}\n")
        return 0
    for length in (1, 2):
        name = " ".join(argv[:length])
        code = _light(name, argv[length:]) if name in HOT else None
        if code is not None:
            return code
    from cmem.cli import app

    return app.run(argv)


def _text(word: str) -> str:
    """An argument as text: bytes that are no UTF-8 become U+FFFD, as nothing could store them."""
    return (
        word
        if word.isascii()
        else word.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    )


def _light(name: str, words: list[str]) -> int | None:
    """The command's exit code; None when typer must take over."""
    if {"--help", "-h"} & set(words) or (sys.stdout.isatty() and "--json" not in words):
        return None
    from cmem import driver

    driver.load()
    from cmem.cli import boundary, parse, spec

    command = spec.BY_NAME[name]
    try:
        values = parse.parse(command, words)
    except parse.ParseError:
        return None
    return boundary.guard(command, values)
