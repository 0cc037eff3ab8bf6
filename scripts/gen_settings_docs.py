"""Write docs/settings.md from the settings table; with --check, only compare."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cmem.setting_table import SETTINGS, Setting

if TYPE_CHECKING:
    from collections.abc import Sequence

PAGE = Path(__file__).resolve().parent.parent / "docs" / "settings.md"
HEAD = """\
# Settings

This page is generated from the table in `cmem/setting_table.py`; change it there and run `make docs`.

Each setting has one name, which is its key in `config.toml`, its environment variable (in capitals, with `CMEM_` in front) and, where a command takes it, its flag.
A flag wins over the environment, the environment over `config.toml`, and that over the default.
An environment variable that is set to nothing counts as not set.

`config.toml` lies in the data home (`cmem status` prints where that is) and holds plain lines such as `provider = "extract"`.
A key that does not exist or a value of the wrong type is named in one line, and a command that asks for settings ends with exit code 78. Commands that need none go on, as do hooks with the defaults, and `cmem compress` when it observes by rules (`extract`), which then prunes and backs up nothing.

A run that a hook or a schedule started takes no endpoint, key, program or way to the net from the environment, because a repository can set the environment of the program that runs the hook.

| setting | default | environment | what it does |
| --- | --- | --- | --- |
"""
TAIL = """
## Other variables

| variable | what it does |
| --- | --- |
| `CMEM_HOME` | Where the data home is. Hooks use the one they were installed with. |
| `CMEM_PROJECT` | The name of a project of its own, in place of the one found from the repository: never a repository of that name (see [guide](guide.md#finding-things)). |
| `CMEM_DISABLE` | Set to `1`: hooks do nothing. |
| `CMEM_OBSERVER` | Set by cmem for the programs a provider runs: hooks do nothing, and `cmem compress` refuses. |
"""


def main(argv: Sequence[str]) -> int:
    text = render()
    if "--check" not in argv:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    print("docs/settings.md is not what the settings table says: run make docs")
    return 1


def render() -> str:
    """The whole page."""
    return HEAD + "".join(_row(one) for one in SETTINGS) + TAIL


def _row(one: Setting) -> str:
    default = str(one.default).lower() if isinstance(one.default, bool) else str(one.default)
    shown = f"`{default}`" if default else "empty"
    note = " Not taken from the environment of runs started by a hook." if one.guarded else ""
    return f"| `{one.name}` | {shown} | `{one.env}` | {one.doc}{note} |\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
