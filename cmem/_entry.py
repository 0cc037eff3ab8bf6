"""Where the program starts: the cheapest way that understands the line wins.

A hook goes to the hook. A reading command whose output is for a program (``--json``, or into a
pipe) is parsed by the light parser and never imports typer or rich. Everything else, and every
line the light parser does not understand, goes to typer, which has the help and the messages.
"""

from __future__ import annotations

import sys

HOT = ("context", "get", "raw", "search", "status", "timeline")


def main() -> int:
    """Run the command line of this process; its exit code."""
    argv = [_text(word) for word in sys.argv[1:]]
    if argv[:1] == ["hook"] and not {"--help", "-h"} & set(argv):
        from cmem.cli import hook

        return hook.run_words(argv[1:])
    if argv == ["--version"]:
        from cmem import __version__

        sys.stdout.write(f"cmem {__version__}\n")
        return 0
    if argv[:1] and argv[0] in HOT:
        code = _light(argv[0], argv[1:])
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
    from cmem.cli import boundary, parse, spec

    command = spec.BY_NAME[name]
    try:
        values = parse.parse(command, words)
    except parse.ParseError:
        return None
    return boundary.guard(command, values)
