"""Where schedules go on this machine: files, the crontab, and whom to tell of a change."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from cmem.errors import CmemError, UsageError
from cmem.install import files as disk
from cmem.schedule import cron, launchd, programs, systemd
from cmem.schedule.job import Job, When, job, name, read

KINDS = ("systemd", "cron", "launchd")
PROGRAMS = {"systemd": "systemctl", "cron": "crontab", "launchd": "launchctl"}


class Place(NamedTuple):
    """The user's variables and home folder."""

    env: Mapping[str, str]
    user_home: str


class Found(NamedTuple):
    """A schedule that is there. ``when`` None: somebody has rewritten it. ``current``: it is what
    install would write; else Python or cmem has moved since."""

    kind: str
    where: str
    when: When | None
    current: bool


def here(env: Mapping[str, str]) -> Place:
    """The place of the user whose variables these are."""
    user_home = env.get("HOME", "")
    return Place(env, user_home if os.path.isabs(user_home) else os.path.expanduser("~"))


def choose(place: Place, kind: str | None) -> str:
    """The kind that was named, else the one this machine has; CmemError where it has none."""
    if kind is not None:
        if kind not in KINDS:
            raise UsageError(f"no such kind: {kind}; known: {', '.join(KINDS)}")
        return kind
    if sys.platform == "darwin":
        return "launchd"
    systemctl = programs.find("systemctl", place.env)
    if systemctl and not programs.ask([systemctl, "--user", "show-environment"]).code:
        return "systemd"
    if programs.find("crontab", place.env):
        return "cron"
    raise CmemError(
        "there is neither a systemd of yours nor a crontab here: "
        "`cmem schedule install --print` shows what to add by hand"
    )


def text(kind: str, what: Job) -> dict[str, str]:
    """What install would write: file name or "crontab" → text."""
    if kind == "cron":
        return {"crontab": cron.block(what)}
    return systemd.files(what) if kind == "systemd" else launchd.files(what)


def folder(kind: str, place: Place) -> str:
    """Where the files of the kind lie, "" for cron."""
    if kind == "cron":
        return ""
    if kind == "systemd":
        return systemd.folder(place.env, place.user_home)
    return launchd.folder(place.user_home)


def look(home: str, place: Place, kinds: Sequence[str] = KINDS) -> list[Found]:
    """Every schedule of this home."""
    found = []
    for kind in kinds:
        there = _there(kind, home, place)
        if not there:
            continue
        when = read("\n".join(there.values())) if kind != "launchd" else _launchd_when(there)
        current = when is not None and _would_be(kind, home, when) == there
        where = (
            os.path.join(folder(kind, place), next(iter(there))) if kind != "cron" else "crontab"
        )
        found.append(Found(kind, where, when, current))
    return found


def install(kind: str, what: Job, place: Place) -> bool:
    """The schedule is there and runs; False when it did already."""
    if kind == "cron":
        return _edit_crontab(place, lambda old: cron.add(old, what))
    program = _program(kind, place)
    new = text(kind, what)
    before = _there(kind, what.home, place)
    if before == new and _runs(kind, program, what.name):
        return False
    target = folder(kind, place)
    disk.make_folder(target)
    _write(target, new)
    try:
        _tell_installed(kind, program, what, target=target)
    except CmemError:
        _restore(target, new, before)
        raise
    return True


def remove(kind: str, home: str, place: Place) -> None:
    """The schedule is gone, and nothing else."""
    if kind == "cron":
        _edit_crontab(place, lambda old: cron.remove(old, name(home)))
        return
    program = programs.find(PROGRAMS[kind], place.env)
    if kind == "systemd":
        before, after = systemd.disable(name(home)), systemd.forget()
    else:
        before, after = launchd.disable(name(home), os.getuid()), []
    # One that is not loaded cannot be unloaded, which is as well.
    for words in before if program else ():
        programs.ask([program, *words])
    for file in _there(kind, home, place):
        os.unlink(os.path.join(folder(kind, place), file))
    for words in after if program else ():
        programs.ask([program, *words])


def remove_all(home: str, place: Place) -> None:
    """No schedule of this home is left, as far as the schedulers let us: what it would start is
    about to go."""
    for kind in KINDS:
        with contextlib.suppress(CmemError):
            for one in look(home, place, (kind,)):
                remove(one.kind, home, place)


def _tell_installed(kind: str, program: str, what: Job, *, target: str) -> None:
    if kind == "systemd":
        for words in systemd.enable(what.name):
            programs.demand([program, *words])
        return
    for words in launchd.disable(what.name, os.getuid()):
        programs.ask([program, *words])  # one loaded earlier would keep its times
    for words in launchd.enable(os.path.join(target, f"{what.name}.plist"), os.getuid()):
        programs.demand([program, *words])


def _runs(kind: str, program: str, job_name: str) -> bool:
    if kind == "systemd":
        return not programs.ask([program, "--user", "is-active", "-q", f"{job_name}.timer"]).code
    return not programs.ask([program, "print", f"gui/{os.getuid()}/{job_name}"]).code


def _program(kind: str, place: Place) -> str:
    found = programs.find(PROGRAMS[kind], place.env)
    if not found:
        raise CmemError(
            f"there is no {PROGRAMS[kind]} on PATH: `cmem schedule install --kind {kind} --print` "
            "shows what to add by hand"
        )
    return found


def _there(kind: str, home: str, place: Place) -> dict[str, str]:
    """What is installed: file name or "crontab" → text; {} for nothing."""
    if kind == "cron":
        program = programs.find("crontab", place.env)
        block = cron.installed(_crontab(program), name(home)) if program else ""
        return {"crontab": block} if block else {}
    found = {}
    for file in text(kind, job(home, When(1, 0, 0))):
        path = os.path.join(folder(kind, place), file)
        with contextlib.suppress(OSError, ValueError), open(path, encoding="utf-8") as handle:
            found[file] = handle.read()
    return found


def _would_be(kind: str, home: str, when: When) -> dict[str, str]:
    try:
        return text(kind, job(home, when))
    except CmemError:
        return {}


def _launchd_when(there: dict[str, str]) -> When | None:
    import plistlib

    try:
        content = plistlib.loads("".join(there.values()).encode())
        if "StartInterval" in content:
            return When(int(content["StartInterval"]) // 60, 0, 0)
        at = content["StartCalendarInterval"]
        return When(0, int(at["Hour"]), int(at["Minute"]))
    except (ValueError, KeyError, TypeError, plistlib.InvalidFileException):
        return None


def _write(target: str, new: Mapping[str, str]) -> None:
    for file, content in new.items():
        disk.save_private(os.path.join(target, file), content.encode("utf-8", "surrogateescape"))


def _restore(target: str, new: Mapping[str, str], before: Mapping[str, str]) -> None:
    for file in new:
        if file not in before:
            os.unlink(os.path.join(target, file))
    _write(target, before)


# --- the crontab ---------------------------------------------------------------------


def _crontab(program: str) -> str:
    """The user's crontab; "" where there is none, which cron tells by failing."""
    said = programs.ask([program, "-l"])
    if not said.code:
        return said.out
    if "no crontab" in said.err.lower() or not said.err:
        return ""
    raise CmemError(f"could not read the crontab: {said.err}")


def _edit_crontab(place: Place, edit: Callable[[str], str]) -> bool:
    """The crontab as ``edit`` makes it; False when that is what it was."""
    program = _program("cron", place)
    old = _crontab(program)
    new = edit(old)
    if new == old:
        return False
    if new:
        programs.demand([program, "-"], given=new)
    else:
        programs.demand([program, "-r"])
    if _crontab(program) != new:
        raise CmemError("the crontab is not what was written: look at it with `crontab -l`")
    return True
