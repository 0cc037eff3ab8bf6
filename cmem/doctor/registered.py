"""Which of our hooks stand in which of the host's settings files.

The user's own file is trusted: the host runs what is in it all the time. A project's file may
have come with a repository, so its commands are judged before anything runs them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cmem import launcher, paths
from cmem.errors import CmemError
from cmem.install import claude_code, record

USER = "user"
PROJECT = "project"
OTHER = "other"  # a file that an install into this home has edited, of another folder
PLUGIN = "cmem"
MAX_BYTES = 16 * 1024 * 1024


class Hook(NamedTuple):
    """One hook of ours. ``under`` is the event it stands under, ``event`` the one it names;
    ``narrowed``: a matcher keeps it from some calls."""

    path: str
    scope: str
    under: str
    event: str
    command: str
    launcher: str
    home: str
    narrowed: bool


class Settings(NamedTuple):
    """One settings file. ``trouble`` says why it could not be read, "" when it could."""

    path: str
    scope: str
    hooks: tuple[Hook, ...] = ()
    disabled: bool = False
    plugins: tuple[str, ...] = ()
    trouble: str = ""


class Registered(NamedTuple):
    """Every settings file that exists, and other hosts' files by the install record."""

    files: tuple[Settings, ...]
    others: tuple[tuple[str, str], ...]  # (host, path)
    trouble: str


def look(home: str, *, env: Mapping[str, str], user_home: str, cwd: str) -> Registered:
    """The files that count here, the user's first, each once."""
    user = claude_code.settings_path(env=env, user_home=user_home, scope="user", cwd=cwd)
    shared = claude_code.settings_path(env=env, user_home=user_home, scope="project", cwd=cwd)
    local = os.path.join(os.path.dirname(shared), "settings.local.json")
    named = [(user, USER), (shared, PROJECT), (local, PROJECT)]
    records, trouble = _records(home)
    named += [(one.path, OTHER) for one in records if one.host == claude_code.HOST]
    files: dict[str, Settings] = {}
    for path, scope in named:
        real = os.path.realpath(path)
        found = None if real in files else read(path, scope)
        if found is not None:
            files[real] = found
    others = tuple((one.host, one.path) for one in records if one.host != claude_code.HOST)
    return Registered(tuple(files.values()), others, trouble)


def read(path: str, scope: str) -> Settings | None:
    """The file's hooks; None when there is no file."""
    try:
        with open(path, "rb") as file:
            raw = file.read(MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return Settings(path, scope, trouble=(error.strerror or "cannot be read").lower())
    try:
        return parse(raw.decode("utf-8-sig"), path=path, scope=scope)
    except UnicodeDecodeError:
        return Settings(path, scope, trouble="not UTF-8")


def parse(text: str, *, path: str, scope: str) -> Settings:
    """What the text of a settings file registers. Pure."""
    try:
        value = json.loads(text) if text.strip() else {}
    except json.JSONDecodeError as error:
        return Settings(path, scope, trouble=f"line {error.lineno}: {error.msg.lower()}")
    except (ValueError, RecursionError):
        return Settings(path, scope, trouble="nested too deeply, or a number too long")
    if not isinstance(value, dict):
        return Settings(path, scope, trouble="not a JSON object")
    return Settings(
        path,
        scope,
        hooks=tuple(_hooks(value.get("hooks"), path, scope)),
        disabled=value.get("disableAllHooks") is True,
        plugins=tuple(_plugins(value.get("enabledPlugins"))),
    )


def is_ours(hook: Hook, home: str) -> bool:
    """Whether the hook serves this data home."""
    script = os.path.realpath(paths.launcher(home))
    same_home = os.path.realpath(hook.home) == os.path.realpath(home)
    return same_home and os.path.realpath(hook.launcher) == script


def python_of(command: str) -> str:
    """The interpreter a hook command starts with; "" when it has no such form."""
    import shlex

    try:
        words = shlex.split(command)
    except ValueError:
        return ""
    return words[0] if words else ""


def is_exact(hook: Hook) -> bool:
    """Whether the command is, to the byte, one that ``cmem install`` writes."""
    python = python_of(hook.command)
    wanted = launcher.command(python, hook.home, host=claude_code.HOST, event=hook.event)
    return bool(python) and hook.command == wanted


def may_run(hook: Hook, files: tuple[Settings, ...]) -> bool:
    """Whether running the command runs nothing but what the user has chosen already."""
    if hook.scope == USER:
        return True
    known = {python_of(one.command) for file in files if file.scope == USER for one in file.hooks}
    return is_exact(hook) and python_of(hook.command) in known | {launcher.interpreter()}


def _records(home: str) -> tuple[list[record.Record], str]:
    try:
        return list(record.load(home).values()), ""
    except CmemError as error:
        return [], str(error)


def _hooks(value: object, path: str, scope: str) -> Iterator[Hook]:
    for under, groups in value.items() if isinstance(value, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            entries = group.get("hooks") if isinstance(group, dict) else None
            for entry in entries if isinstance(entries, list) else ():
                command = entry.get("command") if isinstance(entry, dict) else None
                found = claude_code.parse_command(command)
                if found is not None and isinstance(command, str):
                    yield Hook(
                        path=path,
                        scope=scope,
                        under=str(under),
                        event=found.event,
                        command=command,
                        launcher=found.launcher,
                        home=found.home,
                        narrowed=group.get("matcher") not in (None, "", "*"),
                    )


def _plugins(value: object) -> Iterator[str]:
    for name, enabled in value.items() if isinstance(value, dict) else ():
        if enabled is not False and str(name).partition("@")[0] == PLUGIN:
            yield str(name)
