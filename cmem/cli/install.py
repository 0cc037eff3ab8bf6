"""``cmem install`` and ``cmem uninstall``: edit the host's settings, say what was done."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from cmem import config, data_home, launcher, paths, settings
from cmem.cli import asking, consent
from cmem.cli.place import directory
from cmem.doctor import command
from cmem.errors import CmemError, UsageError
from cmem.install import (
    claude_code,
    codex,
    copilot_cli,
    cursor,
    gemini_cli,
    opencode,
    provider,
    purge,
    ready,
    register,
)
from cmem.install.host import RefusedError
from cmem.observer import providers
from cmem.schedule import place as schedules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cmem.install.host import Host

HOSTS: Mapping[str, Host] = {
    one.HOST: one for one in (claude_code, codex, gemini_cli, opencode, cursor, copilot_cli)
}
REFUSAL = """\
cmem: will not edit {path}: {reason}
The file was not changed. {what}
"""


class Place(NamedTuple):
    """Where an install works: the host, the data home, and the host's settings file."""

    host: Host
    home: str
    scope: str
    path: str


def run_install(options: Mapping[str, object]) -> int:
    """Register the hooks; 1 with the snippet to add by hand when the file cannot be edited.
    The launcher is there in both cases, so that the snippet works once it is pasted."""
    place = _place(options)
    wanted = place.host.hooks(lambda event: _command(place, event))
    if place.host is claude_code:
        on = [name for name, value in config.read(place.home).items() if value is True]
        wanted |= claude_code.optional(lambda event: _command(place, event), on)
    if options.get("print"):
        ready.prepare(place.home)
        print(place.host.snippet(wanted))
        ready.take_in(place.home)
        return 0
    try:
        return _install(place, wanted, options)
    except RefusedError as error:
        if not options.get("dry_run"):
            ready.prepare(place.home)
        what = "Correct it, or add this by hand:\n" + place.host.snippet(wanted)
        sys.stderr.write(REFUSAL.format(path=place.path, reason=error, what=what))
        return error.exit_code


def run_uninstall(options: Mapping[str, object]) -> int:
    """Take the hooks out again; with ``purge`` the memories too."""
    place = _place(options)
    env = settings.environment()
    if options.get("purge"):
        purge.check(place.home, user_home=_user_home(env))
        question = f"Delete {place.home} and every memory in it?"
        if not options.get("yes") and not options.get("dry_run") and not asking.agrees(question):
            raise CmemError("nothing was changed; say yes, or use --yes")
    try:
        return _uninstall(place, options)
    except RefusedError as error:
        what = f"Correct it, or take out the hooks that run {paths.launcher(place.home)} by hand."
        sys.stderr.write(REFUSAL.format(path=place.path, reason=error, what=what))
        return error.exit_code


def _install(
    place: Place, wanted: Mapping[str, dict[str, object]], options: Mapping[str, object]
) -> int:
    name = options.get("provider")
    chosen = provider.resolve(place.home, name)
    if name is not None:
        providers.get(chosen)  # an unknown name ends here, before anything is written
    plan = register.plan_install(place.home, place.path, wanted, host=place.host)
    if options.get("dry_run"):
        return _show_plans([plan], as_json=bool(options.get("json")))
    if consent.there(options):
        line, choosing = _line(place), name is None and not provider.is_chosen(place.home)
        consent.to_write(plan, wanted, title=place.host.TITLE, line=line, choosing=choosing)
        if choosing:
            name = consent.to_observe(chosen)
            chosen = provider.resolve(place.home, name)
    script = ready.prepare(place.home)
    with register.locked(place.home):
        foreign = ""
        if isinstance(name, str):
            foreign = provider.foreign_model(place.home, name)
            provider.choose(place.home, name)
            chosen = provider.resolve(place.home, name)
        done = register.install(place.home, place.path, wanted, now=_now(), host=place.host)
    ready.take_in(place.home)
    notice = [place.host.NOTICE] if place.host.NOTICE and done.plan.changes else []
    warnings = [*done.plan.warnings, *_scope_warnings(place), *notice]
    warnings += [provider.taken_out(foreign, chosen.provider)] if foreign else []
    warnings += _unfound()
    report = {
        "host": place.host.HOST,
        "scope": place.scope,
        "settings": place.path,
        "changed": done.plan.changes,
        "events": list(wanted),
        "home": place.home,
        "launcher": script,
        "backup": done.backup or None,
        "provider": chosen.provider,
        "warnings": warnings,
    }
    if options.get("json"):
        print(json.dumps(report))
        return 0
    for line in warnings:
        sys.stderr.write(f"cmem: warning: {line}\n")
    print("\n".join(_installed(place, done, chosen, count=len(wanted))))
    _offer_past(place, ask=consent.there(options))
    return 0


def _offer_past(place: Place, *, ask: bool) -> None:
    """Say what could be brought in of the time before; a person at a terminal is asked. Nothing
    that goes wrong there undoes the install."""
    from cmem.cli import offer

    env = settings.environment()
    host = place.host.HOST
    try:
        told = offer.peer(place.home, env)
        if told:
            print(told)
        past = offer.found(place.home, host, env=env, user_home=_user_home(env))
        if past is None:
            return
        print(offer.told(host, past))
        if ask and asking.agrees("Bring them in now?"):
            offer.accept(host)
    except CmemError as error:
        sys.stderr.write(f"cmem: warning: {error}; `cmem import {host}` tries again\n")


def _installed(
    place: Place, done: register.Done, chosen: settings.Settings, *, count: int
) -> list[str]:
    title = place.host.TITLE
    if done.plan.changes:
        backup = f" The file as it was: {done.backup}" if done.backup else ""
        first = f"Registered {count} hooks for {title} in {place.path}.{backup}"
    else:
        first = f"All {count} hooks for {title} are registered in {place.path} already."
    return [
        first,
        f"Memories are kept in {place.home}, readable by you alone.",
        *provider.explain(place.home, chosen),
        f"Next: start a session of {title}; `cmem status` shows what arrives, "
        f"`{_undo(place)}` takes this out again.",
    ]


def _line(place: Place) -> str:
    """The command that was typed, as far as it says where to write."""
    named = "" if place.host is claude_code else " " + place.host.HOST
    scope = "" if place.scope == "user" else f" --scope {place.scope}"
    return f"cmem install{named}{scope}"


def _undo(place: Place) -> str:
    named = "" if place.host is claude_code else " " + place.host.HOST
    return "cmem uninstall" + named


def _uninstall(place: Place, options: Mapping[str, object]) -> int:
    files = _files(place, options)
    plans = [register.plan_uninstall(place.home, path, host=host) for path, host in files.items()]
    if options.get("dry_run"):
        return _show_plans(plans, as_json=bool(options.get("json")))
    was_there = os.path.isdir(place.home)
    changed = _carry_out(place, files) if was_there or _any(plans) else []
    told = _told(place.home) if options.get("purge") else ""
    left = purge.purge(place.home) if options.get("purge") else []
    report = {
        "host": place.host.HOST,
        "settings": changed,
        "changed": bool(changed),
        "home": place.home,
        "purged": bool(options.get("purge")),
        "left": left,
        "synced": told,
    }
    if options.get("json"):
        print(json.dumps(report))
    else:
        deleted = f"Deleted {place.home}." if was_there else f"There was no {place.home} to delete."
        told_of_home = deleted if options.get("purge") else ""
        print("\n".join(_uninstalled(place, changed, left, deleted=told_of_home)))
        if told:
            print(f"What other machines were told stays in {told}; delete it if it should go too.")
    return 0


def _files(place: Place, options: Mapping[str, object]) -> dict[str, Host]:
    """The files to take the hooks out of. Without a scope: wherever the host's were put; with
    the memory every host's hooks go, for they would have nothing left to start."""
    found = {os.path.realpath(place.path): place.host}
    purged = options.get("purge")
    for name, path in register.everywhere(place.home):
        if name in HOSTS and (purged or (name == place.host.HOST and not options.get("scope"))):
            found[path] = HOSTS[name]
    return found


def _carry_out(place: Place, files: Mapping[str, Host]) -> list[str]:
    """Uninstall from each file; returns those that changed. The launcher goes with the last."""
    ready.make_home(place.home)
    with register.locked(place.home):
        done = [
            register.uninstall(place.home, path, now=_now(), host=host)
            for path, host in files.items()
        ]
        if not register.everywhere(place.home):
            schedules.remove_all(place.home, schedules.here(settings.environment()))
            purge.remove_launcher(place.home)
    return [one.plan.target.named for one in done if one.plan.changes]


def _told(home: str) -> str:
    """The file in a sync folder that the memory leaves behind; "" for none."""
    from cmem.sync import last  # here, because it is asked for once

    return last.own_file(home)


def _uninstalled(place: Place, changed: list[str], left: list[str], *, deleted: str) -> list[str]:
    lines = [f"Took the hooks out of {path}." for path in changed]
    if not changed:
        lines.append(f"No hook of this data home was registered with {place.host.TITLE}.")
    if left:
        lines.append(f"Left in {place.home}, because cmem did not make it: {', '.join(left)}")
    elif deleted:
        lines.append(deleted)
    elif os.path.isdir(place.home):
        lines.append(f"Your memories stay in {place.home}; `cmem uninstall --purge` deletes them.")
    return lines


def _show_plans(plans: list[register.Plan], *, as_json: bool) -> int:
    text = "".join(register.diff(plan) for plan in plans)
    changes = _any(plans)
    if as_json:
        print(json.dumps({"dry_run": True, "changed": changes, "diff": text}))
    else:
        print(text if changes else "Nothing would change.", end="" if changes else "\n")
    return 0


def _any(plans: list[register.Plan]) -> bool:
    return any(plan.changes for plan in plans)


def _place(options: Mapping[str, object]) -> Place:
    name = str(options.get("host") or claude_code.HOST)
    if name not in HOSTS:
        raise UsageError(f"no such host: {name}; known: {', '.join(HOSTS)}")
    scope = str(options.get("scope") or "user")
    if scope not in ("user", "project"):
        raise UsageError(f"no such scope: {scope}; known: user, project")
    env = settings.environment()
    path = HOSTS[name].settings_path(
        env=env, user_home=_user_home(env), scope=scope, cwd=directory()
    )
    return Place(HOSTS[name], os.path.abspath(data_home.find(env)), scope, path)


def _unfound() -> list[str]:
    """That an agent does not find the command it is told to run, and what helps."""
    env = settings.environment()
    found = command.check(env, user_home=_user_home(env))
    return [f"{found.detail}; to help it: {found.fix}"] if found.fix else []


def _scope_warnings(place: Place) -> list[str]:
    if place.scope != "project":
        return []
    told = (
        f"{place.path} now names paths of this machine; whoever shares this repository gets "
        "them too"
    )
    return [". ".join(filter(None, (told, place.host.OWN_SCOPE)))]


def _command(place: Place, event: str) -> str:
    python = launcher.interpreter()
    return launcher.command(python, place.home, host=place.host.HOST, event=event)


def _user_home(env: Mapping[str, str]) -> str:
    return env.get("HOME") or os.path.expanduser("~")


def _now() -> int:
    return time.time_ns() // 1_000_000
