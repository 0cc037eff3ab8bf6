"""Which of our hooks stand in which of the hosts' settings files.

The user's own file is trusted: the host runs what is in it all the time. A project's file may
have come with a repository, so its commands are judged before anything runs them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cmem import launcher, paths
from cmem.errors import CmemError
from cmem.install import (
    claude_code,
    codex,
    copilot_cli,
    cursor,
    gemini_cli,
    hooks_json,
    opencode,
    record,
)

if TYPE_CHECKING:
    from cmem.install.host import Host

USER = "user"
PROJECT = "project"
OTHER = "other"  # a file that an install into this home has edited, of another folder
PLUGIN = "cmem"
MAX_BYTES = 16 * 1024 * 1024
OTHERS: Mapping[str, Host] = {
    one.HOST: one for one in (codex, gemini_cli, opencode, cursor, copilot_cli)
}
# (host, event) → the tools that its hook is for, where it is not for all.
NARROW = {(claude_code.HOST, event): tools for event, tools in claude_code.MATCHERS.items()}
# Host → the switch in its file that keeps all hooks from running, and the value that does so.
SWITCHES = {
    claude_code.HOST: ("disableAllHooks", True),
    copilot_cli.HOST: ("disableAllHooks", True),
    gemini_cli.HOST: ("hooksConfig.enabled", False),
}


class Hook(NamedTuple):
    """One hook of ours. ``under`` is the event it stands under, ``event`` the one it names;
    ``narrowed``: a matcher keeps it from some calls."""

    host: str
    path: str
    scope: str
    under: str
    event: str
    command: str
    launcher: str
    home: str
    narrowed: bool


class Settings(NamedTuple):
    """One settings file. ``disabled`` names the switch in it by which no hook runs;
    ``trouble`` says why it could not be read, "" when it could."""

    path: str
    scope: str
    hooks: tuple[Hook, ...] = ()
    disabled: str = ""
    plugins: tuple[str, ...] = ()
    trouble: str = ""


class Other(NamedTuple):
    """Another host that is told to call us: its files, and the paths that an install has edited."""

    host: str
    files: tuple[Settings, ...]
    recorded: tuple[str, ...]


class Registered(NamedTuple):
    """Every settings file of Claude Code that exists, and the other hosts."""

    files: tuple[Settings, ...]
    others: tuple[Other, ...]
    trouble: str


def look(home: str, *, env: Mapping[str, str], user_home: str, cwd: str) -> Registered:
    """The files that count here, the user's first, each once."""
    records, trouble = _records(home)

    def named(host: Host) -> list[tuple[str, str]]:
        user = host.settings_path(env=env, user_home=user_home, scope="user", cwd=cwd)
        shared = host.settings_path(env=env, user_home=user_home, scope="project", cwd=cwd)
        return [(user, USER), (shared, PROJECT)]

    def recorded(host: str) -> list[str]:
        return [one.path for one in records if one.host == host]

    own = named(claude_code)
    own.append((os.path.join(os.path.dirname(own[1][0]), "settings.local.json"), PROJECT))
    files = _read_all(claude_code.HOST, own, recorded(claude_code.HOST))
    others = []
    for name in dict.fromkeys((*OTHERS, *(one.host for one in records))):
        if name == claude_code.HOST:
            continue
        places = named(OTHERS[name]) if name in OTHERS else []
        found = Other(name, _read_all(name, places, recorded(name)), tuple(recorded(name)))
        if found.recorded or any(is_ours(one, home) for file in found.files for one in file.hooks):
            others.append(found)
    return Registered(files, tuple(others), trouble)


def _read_all(
    host: str, named: Sequence[tuple[str, str]], recorded: Sequence[str]
) -> tuple[Settings, ...]:
    """The files that exist, each once."""
    files: dict[str, Settings] = {}
    for path, scope in [*named, *((one, OTHER) for one in recorded)]:
        real = os.path.realpath(path)
        found = None if real in files else read(path, scope, host=host)
        if found is not None:
            files[real] = found
    return tuple(files.values())


def read(path: str, scope: str, *, host: str = claude_code.HOST) -> Settings | None:
    """The file's hooks; None when there is no file."""
    try:
        with open(path, "rb") as file:
            raw = file.read(MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return Settings(path, scope, trouble=(error.strerror or "cannot be read").lower())
    try:
        return parse(raw.decode("utf-8-sig"), path=path, scope=scope, host=host)
    except UnicodeDecodeError:
        return Settings(path, scope, trouble="not UTF-8")


def parse(text: str, *, path: str, scope: str, host: str = claude_code.HOST) -> Settings:
    """What the text of a host's file registers. Pure."""
    if host == opencode.HOST:
        return Settings(path, scope, hooks=tuple(_plugin_hooks(text, path, scope)))
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
        hooks=tuple(_hooks(value.get("hooks"), path=path, scope=scope, host=host)),
        disabled=_switch(value, host),
        plugins=tuple(_plugins(value.get("enabledPlugins"))),
    )


def install(host: str) -> str:
    """The command that registers a host's hooks again."""
    return "cmem install" if host == claude_code.HOST else f"cmem install {host}"


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
    event = opencode.EVENT if hook.host == opencode.HOST else hook.event
    wanted = launcher.command(python, hook.home, host=hook.host, event=event)
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


def _hooks(value: object, *, path: str, scope: str, host: str) -> Iterator[Hook]:
    for under, groups in value.items() if isinstance(value, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            flat = host in (cursor.HOST, copilot_cli.HOST)
            entries = [group] if flat else group.get("hooks") if isinstance(group, dict) else None
            for entry in entries if isinstance(entries, list) else ():
                command = _command_of(entry)
                found = hooks_json.parse_command(command, host)
                if found is not None:
                    yield Hook(
                        host=host,
                        path=path,
                        scope=scope,
                        under=str(under),
                        event=found.event,
                        command=command,
                        launcher=found.launcher,
                        home=found.home,
                        narrowed=hooks_json.is_narrowed(
                            group.get("matcher"), NARROW.get((host, str(under)))
                        ),
                    )


def _command_of(entry: object) -> str:
    command = entry.get("command") or entry.get("bash") if isinstance(entry, dict) else None
    return command if isinstance(command, str) else ""


def _plugin_hooks(text: str, path: str, scope: str) -> Iterator[Hook]:
    """OpenCode's plugin gives every event to one command."""
    command = opencode.command_in(text)
    found = hooks_json.parse_command(command.replace(opencode.EVENT, "EVENT"), opencode.HOST)
    if found is None:
        return
    for event in opencode.EVENTS:
        yield Hook(
            host=opencode.HOST,
            path=path,
            scope=scope,
            under=event,
            event=event,
            command=command,
            launcher=found.launcher,
            home=found.home,
            narrowed=False,
        )


def _switch(value: dict[str, object], host: str) -> str:
    """The switch by which the host runs no hook of this file, "" where it does."""
    name, off = SWITCHES.get(host, ("", None))
    inner: object = value
    for key in name.split(".") if name else ():
        inner = inner.get(key) if isinstance(inner, dict) else None
    return name if name and inner is off else ""


def _plugins(value: object) -> Iterator[str]:
    for name, enabled in value.items() if isinstance(value, dict) else ():
        if enabled is not False and str(name).partition("@")[0] == PLUGIN:
            yield str(name)
