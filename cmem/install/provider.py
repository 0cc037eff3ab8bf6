"""Choosing the provider, and saying plainly what the choice means: price, place, needs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from cmem import paths, settings
from cmem.errors import CmemError
from cmem.install import files, toml_edit
from cmem.observer import prices
from cmem.observer.providers import about, claude_cli


class Change(NamedTuple):
    """A config file as it is and as it is to be. ``raw`` is what lies there, None for no file."""

    path: str
    before: str
    after: str


def plan(home: str, values: Iterable[tuple[str, str | None]]) -> Change:
    """config.toml with these settings in it, or without those that are None; everything else in
    it stays."""
    path = paths.config_file(home)
    try:
        with open(path, encoding="utf-8", newline="") as file:
            before = file.read()
    except FileNotFoundError:
        before = ""
    except (OSError, ValueError) as error:
        raise CmemError(f"could not read {path}: {error}") from error
    after = before
    for name, value in values:
        if value is None:
            after = toml_edit.remove_key(after, name)
        else:
            after = toml_edit.set_key(after, name, value)
    return Change(path, before, after)


def carry_out(change: Change) -> bool:
    """Write the file, for its owner alone; False when there was nothing to do."""
    if change.after != change.before:
        files.save_private(change.path, change.after.encode())
    return change.after != change.before


def choose(home: str, name: str) -> bool:
    """config.toml names the provider from now on; False when it did already."""
    return carry_out(plan(home, with_place(name, settings.environment(), home)))


def with_place(name: str, env: Mapping[str, str], home: str) -> list[tuple[str, str | None]]:
    """The provider without a model of another one's, and for Claude Code what a background run
    could not know: which folder holds the login of the person who chooses, and a program in an
    unusual place."""
    values: list[tuple[str, str | None]] = [("provider", name)]
    if foreign_model(home, name):
        values.append(("model", None))
    if name != claude_cli.NAME or not settings.trusts_environment(env):
        return values
    document = settings.read_document(home)
    folder = env.get("CLAUDE_CONFIG_DIR", "")
    if os.path.isabs(folder) and "claude_config_dir" not in document:
        values.append(("claude_config_dir", folder))
    found = claude_cli.find("", env)
    usual = claude_cli.find("", {"CMEM_STARTED_BY": "hook"})
    if found and found != usual and "claude_path" not in document:
        values.append(("claude_path", found))
    return values


def foreign_model(home: str, name: str) -> str:
    """The model in config.toml that the provider ``name`` would not know, because it was set for
    the one before; "" where there is none. Rules ask nobody, so what is set can stay."""
    document = settings.read_document(home)
    model = str(document.get("model", ""))
    before = document.get("provider", "extract")
    if not model or name in ("extract", before):
        return ""
    if name == claude_cli.NAME:
        fits = prices.find(model) is not None or "claude" in model
    elif name == "anthropic":
        fits = model.startswith("claude-") and not document.get("base_url")
    else:
        fits = False
    return "" if fits else model


def taken_out(model: str, name: str) -> str:
    """What is told of a model that went with the provider it was set for."""
    return (
        f"Took model = {model} out of config.toml: it was set for another provider. "
        f"`cmem provider use {name} --model NAME` sets one."
    )


def explain(home: str, chosen: settings.Settings) -> list[str]:
    """What leaves the machine with these settings, and what it costs, one sentence a line."""
    if chosen.provider == "extract":
        return [
            "Provider: extract. Observations are made by rules on this machine; "
            "nothing leaves it, and it costs nothing."
        ]
    told = about.about(chosen.provider, chosen)
    lines = [
        f"Provider: {told.name}, {told.how}.",
        f"{told.where[0].upper()}{told.where[1:]}; secrets and <private> parts are taken out first.",
        f"Price: {told.price}.",
    ]
    lacks = about.lacks(chosen, settings.environment())
    if lacks:
        hint = ""
        if not chosen.api_key and chosen.provider == "anthropic":
            hint = (
                " `cmem provider use anthropic --key-from-stdin` writes it there. (CMEM_API_KEY "
                "works for commands you type, not for background runs.)"
            )
        lines.append(
            f"It still needs {lacks}, in {paths.config_file(home)}. "
            f"Until then turns are kept and wait.{hint}"
        )
    return lines


def offer(chosen: settings.Settings) -> list[str]:
    """The choice there is, one provider a line, for a person who has made none."""
    lines = ["Who is to turn your sessions into memories?"]
    for number, name in enumerate(about.NAMES, start=1):
        told = about.about(name, chosen)
        lines.append(f"  {number}  {name}: {told.how}. Price: {told.price}; {told.where}.")
    return lines


def picked(word: str) -> str:
    """The provider a person answered with: its number or its name; "" for none of them."""
    word = word.strip().lower()
    if word.isdigit() and 1 <= int(word) <= len(about.NAMES):
        return about.NAMES[int(word) - 1]
    return word if word in about.NAMES else ""


def is_chosen(home: str) -> bool:
    """Whether config.toml names a provider already."""
    return "provider" in settings.read_document(home)


def resolve(home: str, name: object) -> settings.Settings:
    """The settings a background run will have once ``name`` (or None: no change) is chosen."""
    return settings.load(home, env={}, flags={"provider": name}, trusted_env=False)
