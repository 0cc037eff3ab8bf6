"""A mode: the vocabulary and guidance of observation.

Modes are TOML files: those of the package, and the user's own in ``HOME/modes/NAME.toml``, which
come first. A file with ``inherits`` says only what differs from its parent:

- a text or a list replaces the parent's; ``more_record`` and ``more_skip`` add to it;
- ``[[types]]`` and ``[[concepts]]`` of a known key change what they name and keep the rest of
  that entry, new keys are added at the end; ``drop_types`` and ``drop_concepts`` take out;
- ``[fields]`` and ``[summary]`` change what they name; ``[[examples]]`` are added, unless
  ``drop_examples`` takes the parent's out first;
- ``default_type`` becomes the first type, which is what a record without a type is.

A user's file that has the name of a built-in mode and inherits that name changes it everywhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from cmem import regular
from cmem.errors import ConfigError
from cmem.model import Mode, ModeConcept, ModeExample, ModeType
from cmem.observer import mode_file
from cmem.observer.mode_file import File, Problem

BUILT_IN = ("code", "research", "writing")
MAX_CHARACTERS = 24_000
MAX_PARENTS = 8
NAME_RULE = "the name of a mode has lower-case letters, digits, - and _ only"


class Source(NamedTuple):
    """A mode file found: ``origin`` is "built in" or its path."""

    name: str
    origin: str
    file: File


def load(name: str = "code", home: str = "") -> Mode:
    """The mode of that name, whole. Raises ConfigError with the first thing that is wrong."""
    mode, problems = resolve(name, home)
    if mode is None:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        help_is = "" if problems[0].line == 0 else f"{more}; see `cmem mode check {name}`"
        raise ConfigError(f"{problems[0]}{help_is}")
    return mode


def resolve(name: str, home: str) -> tuple[Mode | None, tuple[Problem, ...]]:
    """The mode with its parents applied; None together with every problem found."""
    return _joined(name, _find(name, home), home)


def resolve_file(path: str, home: str) -> tuple[Mode | None, tuple[Problem, ...]]:
    """The mode of a file anywhere, which inherits as if it lay in the home."""
    name = os.path.basename(path).removesuffix(".toml")
    if not mode_file.KEY.fullmatch(name):
        return None, (Problem(path, 1, f"rename the file: {NAME_RULE}"),)
    return _joined(name, Source(name, path, _read_user(path)), home)


def names(home: str) -> tuple[str, ...]:
    """Every mode there is: the user's own first, then the others of the package."""
    try:
        found = sorted(os.listdir(os.path.join(home, "modes"))) if home else []
    except OSError:
        found = []
    own = [one.removesuffix(".toml") for one in found if one.endswith(".toml") and one[0] != "."]
    return tuple(dict.fromkeys((*own, *BUILT_IN)))


# --- finding -------------------------------------------------------------------------


def _find(name: str, home: str, *, own: bool = True) -> Source | None:
    """The user's file, else the package's; None when there is neither. ``own`` False: only
    the package's."""
    if not mode_file.KEY.fullmatch(name):
        return None
    if own and home:
        path = os.path.join(home, "modes", f"{name}.toml")
        if os.path.lexists(path):
            return Source(name, path, _read_user(path))
    if name not in BUILT_IN:
        return None
    return Source(name, "built in", _packaged(name))


@cache
def _packaged(name: str) -> File:
    inside = resources.files("cmem").joinpath("modes", f"{name}.toml")
    return mode_file.read(f"{name}.toml", inside.read_text(encoding="utf-8"))


def _read_user(path: str) -> File:
    try:
        raw = regular.read(path, mode_file.MAX_BYTES + 4)
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return File(path, "", {}, (Problem(path, line, "is not UTF-8"),))
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        return File(path, "", {}, (Problem(path, 1, reason),))
    return mode_file.read(path, text)


def _joined(name: str, source: Source | None, home: str) -> tuple[Mode | None, tuple[Problem, ...]]:
    if source is None:
        return None, (Problem("mode", 0, _no_such(name, home)),)
    chain, problems = _chain(source, home)
    if problems:
        return None, problems
    values: dict[str, Any] = {}
    found: list[Problem] = []
    for one in reversed(chain):
        values = _merged(values, one.file, found)
    found += _lacks(values, source.file)
    if found:
        return None, tuple(found)
    return _built(values, source, tuple(one.name for one in chain[1:])), ()


def _no_such(name: str, home: str) -> str:
    known = names(home)
    if name in known and not mode_file.KEY.fullmatch(name):
        return f"mode {name[:40]} cannot be used: {NAME_RULE}"
    return mode_file.unknown(f"mode: {name[:40]}", name, known)


def _chain(source: Source, home: str) -> tuple[list[Source], tuple[Problem, ...]]:
    """The file and its parents, nearest first; or what is wrong with one of them."""
    chain = [source]
    while True:
        current = chain[-1]
        if current.file.problems:
            return chain, current.file.problems
        parent = current.file.values.get("inherits")
        if parent is None:
            return chain, ()
        found = _find(parent, home, own=parent != current.name)
        complaint = _unfit(parent, found, chain, home=home)
        if found is None or complaint:
            where = mode_file.line_of(current.file.text, ("", 0, "inherits"))
            return chain, (Problem(current.file.path, where, complaint),)
        chain.append(found)


def _unfit(name: str, found: Source | None, chain: list[Source], *, home: str) -> str:
    """Why a file cannot be the next parent of a chain; "" when it can."""
    origins = [(one.name, one.origin) for one in chain]
    itself = (found.name, found.origin) in origins if found else name == chain[-1].name
    if itself:
        return "inherits from itself: " + " → ".join([*(one.name for one in chain), name])
    if found is None:
        return f"inherits: {_no_such(name, home)}"
    return f"inherits over more than {MAX_PARENTS} steps" if len(chain) > MAX_PARENTS else ""


# --- joining -------------------------------------------------------------------------


def _merged(parent: dict[str, Any], file: File, problems: list[Problem]) -> dict[str, Any]:
    """The parent's values with the file's applied; ``problems`` gets what does not apply."""
    child = file.values
    values = dict(parent)
    values.update({key: child[key] for key in (*mode_file.TEXTS, "revision") if key in child})
    for name in ("record", "skip"):
        own = child.get(name, parent.get(name, []))
        values[name] = [*own, *child.get(f"more_{name}", [])]
    for name in ("types", "concepts"):
        values[name] = _dropped(parent.get(name, {}), name, file=file, problems=problems)
        for entry in child.get(name, []):
            values[name][entry["key"]] = values[name].get(entry["key"], {}) | entry
    for name in mode_file.TABLES:
        values[name] = parent.get(name, {}) | child.get(name, {})
    kept = [] if child.get("drop_examples") else parent.get("examples", [])
    kept = [one for one in kept if one.get("type", "") in ("", *values["types"])]
    values["examples"] = [*kept, *child.get("examples", [])]
    problems += _foreign(values, file)
    return values


def _dropped(
    entries: dict[str, Any], name: str, *, file: File, problems: list[Problem]
) -> dict[str, Any]:
    drop = file.values.get(f"drop_{name}", [])
    line = mode_file.line_of(file.text, ("", 0, f"drop_{name}"))
    for key in drop:
        if key not in entries:
            what = mode_file.unknown(f"key in drop_{name}: {key}", key, tuple(entries))
            problems.append(Problem(file.path, line, what))
    return {key: entry for key, entry in entries.items() if key not in drop}


def _foreign(values: dict[str, Any], file: File) -> Iterable[Problem]:
    """What the file names that the mode does not have."""
    types, concepts = tuple(values["types"]), tuple(values["concepts"])
    given = file.values.get("default_type")
    if given is not None and given not in types:
        line = mode_file.line_of(file.text, ("", 0, "default_type"))
        yield Problem(file.path, line, mode_file.unknown(f"default_type: {given}", given, types))
    for index, example in enumerate(file.values.get("examples", [])):
        for key, word, known in (
            ("type", example.get("type"), types),
            *(("concepts", one, concepts) for one in example.get("concepts", [])),
        ):
            if word is not None and word not in known:
                line = mode_file.line_of(file.text, ("examples", index, key))
                what = mode_file.unknown(f"{key} in examples: {word}", word, known)
                yield Problem(file.path, line, what)


def _lacks(values: dict[str, Any], file: File) -> Iterable[Problem]:
    """What a whole mode must have and this one does not."""
    inherits = "" if "inherits" in file.values else ', or inherit it: inherits = "code"'
    needed = ("identity", "record", "types", "concepts")
    for name in (one for one in needed if not values.get(one)):
        yield Problem(file.path, 1, f"{name} is missing: add it{inherits}")
    for name in ("types", "concepts"):
        for key, entry in values[name].items():
            if not entry.get("description"):
                own = [one["key"] for one in file.values.get(name, [])]
                index = own.index(key) if key in own else 0
                line = mode_file.line_of(file.text, (name, index, "key"))
                yield Problem(file.path, line, f"{name}: {key} needs a description")
    for name, keys in (("fields", mode_file.FIELDS), ("summary", mode_file.SUMMARY)):
        missing = [key for key in keys if not values[name].get(key)]
        if missing:
            line = mode_file.line_of(file.text, (name, 0, ""))
            yield Problem(file.path, line, f"[{name}] lacks {', '.join(missing)}{inherits}")
    size = len(repr(values))
    if size > MAX_CHARACTERS:
        what = f"the whole mode has {size:,} characters, {MAX_CHARACTERS:,} are allowed"
        yield Problem(file.path, 1, what)


def _built(values: dict[str, Any], source: Source, parents: tuple[str, ...]) -> Mode:
    first = values.get("default_type", "")
    types = sorted(values["types"].values(), key=lambda one: one["key"] != first)
    return Mode(
        name=source.name,
        label=source.file.values.get("label", source.name),
        description=source.file.values.get("description", ""),
        origin=source.origin,
        parents=parents,
        revision=source.file.values.get("revision", 1),
        identity=" ".join(values["identity"].split()),
        record=tuple(values["record"]),
        skip=tuple(values["skip"]),
        types=tuple(
            ModeType(one["key"], one.get("label", ""), one.get("mark", ""), one["description"])
            for one in types
        ),
        concepts=tuple(
            ModeConcept(one["key"], one["description"]) for one in values["concepts"].values()
        ),
        fields=tuple((name, values["fields"][name]) for name in mode_file.FIELDS),
        examples=tuple(_example(one) for one in values["examples"]),
        summary=tuple(
            (name, values["summary"].get(name, "")) for name in ("guidance", *mode_file.SUMMARY)
        ),
    )


def _example(one: dict[str, Any]) -> ModeExample:
    return ModeExample(
        situation=one.get("situation", ""),
        type=one.get("type", ""),
        title=one["title"],
        subtitle=one.get("subtitle", ""),
        facts=tuple(one.get("facts", [])),
        narrative=one.get("narrative", ""),
        concepts=tuple(one.get("concepts", [])),
    )
