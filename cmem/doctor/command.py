"""Whether an agent finds ``cmem``: the block of a session names commands, and they run in a shell
with the PATH of the host. That is not known here; this shell's is what comes nearest to it,
without an environment that is active in this shell alone.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence

from cmem.doctor.finding import OK, WARN, Finding
from cmem.schedule import programs

NAME = "command"
PROGRAM = "cmem"
PIPX = "`pipx install .` in a clone of cmem"
EXPORT = 'add the line export PATH="$HOME/.local/bin:$PATH" to ~/.profile and log in anew'


def check(env: Mapping[str, str], *, user_home: str) -> Finding:
    """``cmem`` on this PATH, and how to put it there."""
    own = os.path.join(sys.prefix, "bin", PROGRAM)
    return judge(env, user_home=user_home, own=own if os.access(own, os.X_OK) else "")


def judge(env: Mapping[str, str], *, user_home: str, own: str) -> Finding:
    """``own``: the program of the environment that runs this, "" where there is none."""
    folders = [one for one in env.get("PATH", "").split(os.pathsep) if os.path.isabs(one)]
    active = [os.path.join(one, "bin") for one in _active(env)]
    lasting = [one for one in folders if os.path.normpath(one) not in active]
    found = programs.find(PROGRAM, {"PATH": os.pathsep.join(lasting)})
    if found:
        return Finding(OK, NAME, f"{found} is on PATH, where an agent finds it")
    inside = programs.find(PROGRAM, env)
    seen = f"on PATH only while {os.path.dirname(inside)} is active" if inside else "not on PATH"
    detail = f"cmem is {seen}: an agent that is told to run it does not find it"
    return Finding(WARN, NAME, detail, _fix(lasting, user_home=user_home, own=own))


def _active(env: Mapping[str, str]) -> list[str]:
    """The environments that this shell has been told to use."""
    found = [env.get("VIRTUAL_ENV", "")]
    if env.get("CONDA_DEFAULT_ENV", "base") != "base":  # that one is active in every shell
        found.append(env.get("CONDA_PREFIX", ""))
    return [os.path.normpath(one) for one in found if one]


def _fix(folders: Sequence[str], *, user_home: str, own: str) -> str:
    """What to type, to the letter."""
    local = os.path.join(user_home, ".local", "bin")
    if os.access(os.path.join(local, PROGRAM), os.X_OK):
        return EXPORT
    if not own:
        return PIPX
    known = [os.path.normpath(one) for one in folders]
    usual = (local, os.path.join(user_home, "bin"), "/usr/local/bin")
    place = next((one for one in usual if one in known and _takes(one)), local)
    made = "" if os.path.isdir(place) else f"mkdir -p {shlex.quote(place)} && "
    link = os.path.join(place, PROGRAM)
    force = "-sf" if os.path.islink(link) else "-s"
    typed = f"{made}ln {force} {shlex.quote(own)} {shlex.quote(link)}"
    return typed if place in known else f"{typed}; then {EXPORT}"


def _takes(folder: str) -> bool:
    return not os.path.exists(folder) or os.access(folder, os.W_OK | os.X_OK)
