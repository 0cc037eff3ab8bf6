"""Whether the host is told to call us: everything about registrations but running them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from cmem import config, launcher, off, paths
from cmem.doctor import others, registered
from cmem.doctor.finding import ERROR, OK, WARN, Finding
from cmem.doctor.registered import Hook, Registered, Settings
from cmem.install import claude_code
from cmem.schedule import programs

INSTALL = "cmem install"
OFF = ("CMEM_DISABLE", "CMEM_OBSERVER")


def check(home: str, found: Registered, *, env: Mapping[str, str], cwd: str) -> list[Finding]:
    """Registrations, doubles, switches, interpreter and launcher."""
    own = [hook for file in found.files for hook in file.hooks if registered.is_ours(hook, home)]
    findings = [*judge_files(found), *judge_registration(home, found)]
    findings += judge_doubles(home, found.files)
    findings += judge_recall(home, own)
    findings += judge_switches(found.files, env)
    findings += judge_off(off.reason(home, cwd=cwd), cwd=cwd)
    findings += others.judge(home, found.others)
    own += others.own_hooks(home, found.others)
    findings += judge_lines(own)
    findings += [judge_python(python, fix=fix) for python, fix in pythons(own).items()]
    if own:
        findings.append(judge_launcher(home, fix=registered.install(own[0].host)))
    elif plugins(found.files):
        findings.append(judge_plugin(home, env))
    return findings


def judge_files(found: Registered) -> Iterator[Finding]:
    """Settings that the host cannot read register nothing."""
    if found.trouble:
        yield Finding(WARN, "install record", found.trouble, INSTALL)
    for file in found.files:
        if file.trouble:
            detail = f"{file.path} is not JSON that the host can read: {file.trouble}"
            yield Finding(ERROR, "settings", detail, "correct it, then run `cmem install`")


def judge_registration(home: str, found: Registered) -> Iterator[Finding]:
    """Every event is registered for this home, in the files that hold together or in one of
    another folder. Who uses another host only needs no hook here."""
    files = found.files
    here = [file for file in files if file.scope != registered.OTHER]
    groups = [here] + [[file] for file in files if file.scope == registered.OTHER]
    said = False
    for group in groups:
        own = [one for file in group for one in file.hooks if registered.is_ours(one, home)]
        if own:
            said = True
            yield _complete(own)
    if said:
        return
    names = plugins(files)
    if names:
        detail = f"registered by the plugin {names[0]}, whose own commands are not followed here"
        yield Finding(OK, "hooks", detail)
        return
    elsewhere = _foreign(home, files)
    if elsewhere:
        detail = f"hooks write to {elsewhere[0]}, while this command reads {home}"
        fix = f"set CMEM_HOME='{elsewhere[0]}', or run `cmem install` to use {home}"
        yield Finding(ERROR, "hooks", detail, fix)
        return
    if not found.others:
        yield Finding(ERROR, "hooks", "no hook of cmem is registered with Claude Code", INSTALL)


def _complete(own: Sequence[Hook]) -> Finding:
    where = ", ".join(dict.fromkeys(hook.path for hook in own))
    missing = [event for event in claude_code.EVENTS if event not in {one.under for one in own}]
    if missing:
        detail = f"not registered in {where}: {', '.join(missing)}"
        return Finding(ERROR, "hooks", detail, INSTALL)
    return Finding(OK, "hooks", f"all {len(claude_code.EVENTS)} events are registered in {where}")


def judge_doubles(home: str, files: Sequence[Settings]) -> Iterator[Finding]:
    """Twice registered is twice started, though each event is stored once."""
    here = [file for file in files if file.scope != registered.OTHER]
    own = [one for file in here for one in file.hooks if registered.is_ours(one, home)]
    twice = sorted(event for event, times in Counter(one.under for one in own).items() if times > 1)
    if twice:
        where = ", ".join(dict.fromkeys(one.path for one in own if one.under in twice))
        detail = f"registered more than once: {', '.join(twice)} (in {where})"
        yield Finding(WARN, "double registration", detail, _undouble(own))
    names = plugins(here)
    if own and names:
        detail = f"registered in {own[0].path} and by the plugin {names[0]}"
        yield Finding(WARN, "double registration", detail, "cmem uninstall")
    elsewhere = _foreign(home, here)
    if own and elsewhere:
        detail = f"every event also goes to another data home: {', '.join(elsewhere)}"
        fix = f"CMEM_HOME='{elsewhere[0]}' cmem uninstall"
        yield Finding(WARN, "double registration", detail, fix)
    if own and not twice and not names and not elsewhere:
        yield Finding(OK, "double registration", "each event is registered once")


def judge_recall(home: str, own: Sequence[Hook]) -> Iterator[Finding]:
    """What a setting wants of the host is registered, and nothing that it does not want."""
    on = config.read(home)
    for event, setting in claude_code.OPTIONAL.items() if own else ():
        wanted = on.get(setting) is True
        if wanted == any(hook.under == event for hook in own):
            continue
        detail = (
            f"{setting} is on, but no hook runs on {event}"
            if wanted
            else f"{setting} is off, but a hook still runs on every {event}"
        )
        yield Finding(WARN, "recall", detail, INSTALL)


def _undouble(own: Sequence[Hook]) -> str:
    """Two files: one goes. One file: install leaves one hook of ours an event."""
    if len({one.path for one in own}) == 1:
        return INSTALL
    shared = any(one.scope == registered.PROJECT for one in own)
    return "cmem uninstall --scope project" if shared else INSTALL


def judge_switches(files: Sequence[Settings], env: Mapping[str, str]) -> Iterator[Finding]:
    """What turns hooks off although they are registered."""
    off = [file.path for file in files if file.disabled]
    for path in off:
        detail = f"disableAllHooks is true in {path}: no hook runs"
        yield Finding(ERROR, "hooks switched off", detail, f"remove disableAllHooks from {path}")
    for name in OFF:
        if env.get(name, "0") not in ("", "0"):
            detail = f"{name} is set here: hooks of a session started from this shell do nothing"
            yield Finding(WARN, "hooks switched off", detail, f"unset {name}")


def judge_off(why: str, *, cwd: str) -> Iterator[Finding]:
    """A person has turned memory off for the folder the command runs in."""
    if why:
        yield Finding(WARN, "hooks switched off", f"in {cwd} memory is {why}")


def judge_lines(own: Sequence[Hook]) -> Iterator[Finding]:
    """Each line is the one that cannot block the host, under the right event, unnarrowed."""
    for hook in own:
        where = f"{hook.under} in {hook.path}"
        if hook.under != hook.event:
            detail = f"the hook under {where} reports {hook.event}"
        elif hook.narrowed:
            detail = f"a matcher keeps the hook under {where} from some calls"
        elif not registered.is_exact(hook):
            detail = f"the command under {where} is not the one that `cmem install` writes"
        else:
            continue
        yield Finding(WARN, "hook command", detail, registered.install(hook.host))


def pythons(own: Sequence[Hook]) -> dict[str, str]:
    """The interpreters that the lines start, with the command that writes those anew."""
    exact = [hook for hook in reversed(own) if registered.is_exact(hook)]
    found = {registered.python_of(one.command): registered.install(one.host) for one in exact}
    return dict(reversed(found.items()))


def judge_python(python: str, *, fix: str = INSTALL) -> Finding:
    """The registered interpreter is there, is no shim, and is the one cmem runs on."""
    name = "interpreter"
    if not os.path.isfile(python) or not os.access(python, os.X_OK):
        detail = f"{python} is gone, so every event is lost in silence"
        return Finding(ERROR, name, detail, fix)
    if _is_script(python):
        detail = f"{python} is a script that looks for Python each time (a shim), not Python"
        return Finding(WARN, name, detail, fix)
    real = os.path.realpath(python)
    if real != launcher.interpreter():
        detail = f"hooks run on {python}, this command on {launcher.interpreter()}"
        return Finding(WARN, name, detail, fix)
    if real != python:
        detail = f"{python} is a link to {real} and can disappear with its environment"
        return Finding(WARN, name, detail, fix)
    return Finding(OK, name, f"hooks run on {python}")


def judge_plugin(home: str, env: Mapping[str, str]) -> Finding:
    """The plugin runs ``cmem`` itself, and the launcher only where it finds none."""
    if os.path.isfile(paths.launcher(home)):
        return judge_launcher(home)
    local = os.path.join(env.get("HOME", ""), ".local", "bin")
    program = programs.find("cmem", {"PATH": env.get("PATH", "") + os.pathsep + local})
    if program:
        detail = f"the plugin runs {program}; it makes hook.py with the next prompt"
        return Finding(OK, "launcher", detail)
    detail = f"the plugin finds neither cmem on PATH nor {paths.launcher(home)}, so every event is"
    fix = "put cmem on PATH, or run `cmem install`"
    return Finding(ERROR, "launcher", detail + " lost in silence", fix)


def judge_launcher(home: str, *, fix: str = INSTALL) -> Finding:
    """The file that hooks start is the one this version would write."""
    if launcher.is_current(home):
        return Finding(OK, "launcher", "hook.py is that of this version")
    path = os.path.join(home, "hook.py")
    if not os.path.isfile(path):
        detail = f"{path} is not there, so every event is lost in silence"
        return Finding(ERROR, "launcher", detail, fix)
    detail = f"{path} or its byte code was written by another version or installation"
    return Finding(WARN, "launcher", detail, fix)


def plugins(files: Sequence[Settings]) -> list[str]:
    """Enabled plugins of our name."""
    return [name for file in files for name in file.plugins]


def _foreign(home: str, files: Sequence[Settings]) -> list[str]:
    """Data homes other than ours that hooks write to."""
    hooks = (hook for file in files for hook in file.hooks)
    return sorted({hook.home for hook in hooks if not registered.is_ours(hook, home)})


def _is_script(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False
