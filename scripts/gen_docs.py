"""Write docs/cli.md from the command tables; with ``--check``, fail when it is stale."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from cmem.cli import spec  # noqa: E402 - the package of this very tree, not an installed one

TARGET = ROOT / "docs" / "cli.md"
HEAD = """\
# Commands

Generated from `cmem/cli/spec/` by `python scripts/gen_docs.py`; do not edit.

Ids: observation `O12`, summary `S3`, prompt `P7`, tool use `T9`, session `N4` or the host's own
session id. A bare number is an observation.

Exit codes: 0 done, 1 expected failure with one line that says what to do, 2 usage, 3 bug,
75 busy (try again), 78 configuration, 130 interrupted. `cmem hook` always exits 0.

With `--json` a command prints one document; times are integer milliseconds UTC.
Results go to stdout, everything else to stderr. `cmem --version` prints the version, `cmem help
COMMAND` what `cmem COMMAND --help` does.
"""


def main() -> int:
    """Write the page, or compare it."""
    text = render()
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    if TARGET.is_file() and TARGET.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write("docs/cli.md is stale: run python scripts/gen_docs.py\n")
    return 1


def render() -> str:
    """The whole page."""
    return HEAD + "".join(_section(command) for command in spec.COMMANDS)


def _section(command: spec.Command) -> str:
    lines = ["", f"## cmem {command.name}", "", command.summary, "", command.detail, ""]
    lines += ["```", f"cmem {command.name} {_usage(command)}".rstrip(), "```", ""]
    rows = [(f"`{arg.name.upper()}`", arg.help) for arg in command.args]
    rows += [(_names(option), _told(option)) for option in command.options]
    if rows:
        lines += ["| | |", "| --- | --- |"]
        lines += [f"| {_cell(left)} | {_cell(right)} |" for left, right in rows]
        lines += [""]
    lines += ["```", *command.examples, "```"]
    return "\n".join(lines) + "\n"


def _usage(command: spec.Command) -> str:
    words = []
    for arg in command.args:
        word = arg.name.upper() + ("…" if arg.many else "")
        words.append(word if arg.default is None else f"[{word}]")
    return " ".join([*words, "[OPTIONS]"] if command.options else words)


def _names(option: spec.Option) -> str:
    metavar = "" if option.kind == "flag" else " " + spec.metavar(option)
    return ", ".join(f"`{name}{metavar}`" for name in option.names)


def _told(option: spec.Option) -> str:
    if option.kind == "flag" or option.default is None:
        return option.help
    return f"{option.help} Default: {option.default}."


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
