"""``cmem mode list|show|check``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cmem import settings
from cmem.cli import output, place
from cmem.errors import CmemError
from cmem.observer import modes, prompt

if TYPE_CHECKING:
    from cmem.cli.output import Line
    from cmem.model import Mode
    from cmem.observer.mode_file import Problem


def run_list(values: Mapping[str, Any]) -> int:
    """Print every mode, the user's own first; one that is broken says so."""
    home = place.home()
    chosen = _chosen(home)
    names = dict.fromkeys((*modes.names(home), chosen))
    found = [(name, *modes.resolve(name, home)) for name in names]
    if values["json"]:
        output.write_json({"modes": [_listed(*one, chosen=chosen, home=home) for one in found]})
        return 0
    width = max(len(name) for name, _mode, _problems in found)
    output.write_lines(_list_line(*one, chosen=chosen, width=width) for one in found)
    return 0


def run_show(values: Mapping[str, Any]) -> int:
    """Print the whole mode, its parents applied, and the text a model is given."""
    home = place.home()
    mode = modes.load(values["name"] or _chosen(home), home)
    texts = {
        "observation": prompt.observation_system(mode),
        "summary": prompt.summary_system(mode),
    }
    if values["json"]:
        output.write_json(_shown(mode) | {"prompt": texts})
    elif values["prompt"]:
        output.write_lines(
            output.paragraphs(texts["summary" if values["summary"] else "observation"])
        )
    else:
        output.write_lines([*_show_lines(mode), *_prompt_lines(texts)])
    return 0


def run_check(values: Mapping[str, Any]) -> int:
    """Print what is wrong with a mode, one line each; 1 when something is."""
    home = place.home()
    given = values["name_or_file"] or _chosen(home)
    if given.endswith(".toml") or os.sep in given:
        mode, problems = modes.resolve_file(os.path.abspath(given), home)
    else:
        mode, problems = modes.resolve(given, home)
    if not values["json"] and problems and problems[0].line == 0:
        raise CmemError(str(problems[0]))
    if values["json"]:
        told = [{"path": one.path, "line": one.line, "problem": one.what} for one in problems]
        output.write_json({"ok": mode is not None, "problems": told})
    elif mode is not None:
        version = prompt.version(mode)
        output.write_lines([output.plain(f"{mode.name}: no problem found ({version})")])
    else:
        output.write_lines([output.plain(str(one)) for one in problems])
    return 0 if mode is not None else CmemError.exit_code


def _chosen(home: str) -> str:
    """The mode of the settings."""
    env = settings.environment()
    trusted = settings.trusts_environment(env)
    return settings.load(home, env=env, flags={}, trusted_env=trusted).mode


# --- list ----------------------------------------------------------------------------


def _listed(
    name: str, mode: Mode | None, problems: tuple[Problem, ...], *, chosen: str, home: str
) -> dict[str, Any]:
    return {
        "name": name,
        "chosen": name == chosen,
        "label": mode.label if mode else name,
        "description": mode.description if mode else "",
        "origin": mode.origin if mode else os.path.join(home, "modes", f"{name}.toml"),
        "inherits": list(mode.parents) if mode else [],
        "version": prompt.version(mode) if mode else "",
        "problems": [str(one) for one in problems],
    }


def _list_line(
    name: str, mode: Mode | None, problems: tuple[Problem, ...], *, chosen: str, width: int
) -> Line:
    mark = "* " if name == chosen else "  "
    if mode is None:
        return [(mark, "bold"), (name.ljust(width), "bold"), (f"  broken: {problems[0]}", "red")]
    own = "" if mode.origin == "built in" else f"  ({_inherits(mode)}{mode.origin})"
    said = f"  {mode.description or mode.label}"
    return [(mark, "bold"), (name.ljust(width), "bold"), (said, ""), (own, "dim")]


def _inherits(mode: Mode) -> str:
    return f"inherits {' → '.join(mode.parents)}; " if mode.parents else ""


# --- show ----------------------------------------------------------------------------


def _shown(mode: Mode) -> dict[str, Any]:
    return mode._asdict() | {
        "version": prompt.version(mode),
        "types": [one._asdict() for one in mode.types],
        "concepts": [one._asdict() for one in mode.concepts],
        "fields": dict(mode.fields),
        "examples": [one._asdict() for one in mode.examples],
        "summary": dict(mode.summary),
    }


def _show_lines(mode: Mode) -> Iterator[Line]:
    yield [(mode.label, "bold"), (f"  {mode.name}, {_inherits(mode)}{mode.origin}", "dim")]
    yield from ([(line, "")] for line in filter(None, [mode.description]))
    yield [(f"prompt version: {prompt.version(mode)}", "dim")]
    yield []
    yield [("types", "bold")]
    marks = [one.mark or "·" for one in mode.types]
    keys = [one.key for one in mode.types]
    names = [one.label if one.label.lower() != one.key else "" for one in mode.types]
    yield from _table(zip(marks, keys, (one.description for one in mode.types), strict=True), names)
    yield []
    yield [("concepts", "bold")]
    rows = (("·", one.key, one.description) for one in mode.concepts)
    yield from _table(rows, [""] * len(mode.concepts))


def _table(rows: Iterable[tuple[str, str, str]], names: list[str]) -> Iterator[Line]:
    """A mark, a key and what it means; the name for people where it is another word."""
    found = list(rows)
    width = max(len(key) for _mark, key, _meaning in found)
    for (mark, key, meaning), name in zip(found, names, strict=True):
        shown = f"{name}: {meaning}" if name else meaning
        yield [(f"  {mark} ", ""), (key.ljust(width), "cyan"), (f"  {shown}", "")]


def _prompt_lines(texts: Mapping[str, str]) -> Iterator[Line]:
    for name, text in texts.items():
        yield []
        yield [(f"what a model is told for each {name}", "bold")]
        yield from ([("  " + line if line else "", "")] for line in text.split("\n"))
