"""Whether any host calls this data home, for ``status``: of all that the doctor asks of
registrations, what keeps every event of a host from coming. It reads the hosts' files and runs
nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from cmem import paths
from cmem.doctor import registered
from cmem.doctor.registered import Registered, Settings
from cmem.install import claude_code

NOBODY = "nothing is captured: no hook of cmem is registered; run `cmem install`"
# The launcher is there: perhaps something calls it that stands in no file that was looked at.
UNSEEN = (
    "no hook of cmem is registered, as far as can be seen from here: run `cmem install` if nothing "
    "arrives"
)


class Heard(NamedTuple):
    """The hosts whose events come, and why those of others do not."""

    hosts: tuple[str, ...]
    stopped: tuple[str, ...]


def trouble(home: str, *, env: Mapping[str, str], user_home: str, cwd: str) -> tuple[str, str]:
    """(why nothing at all is captured, what is not captured although another host is): "" each
    where there is nothing to say."""
    found = registered.look(home, env=env, user_home=user_home, cwd=cwd)
    hosts, stopped = judge(home, found)
    told = "; ".join(stopped)
    if hosts:
        return "", told
    if told:
        return f"nothing is captured: {told} (`cmem doctor` says what to do)", ""
    return (UNSEEN if os.path.exists(paths.launcher(home)) else NOBODY), ""


def judge(home: str, found: Registered) -> Heard:
    """Each host by its files: those that hold together, and each one of another folder."""
    hosts: list[str] = []
    stopped: list[str] = []
    named = [(claude_code.HOST, found.files), *((one.host, one.files) for one in found.others)]
    for host, files in named:
        whys = [why for group in _groups(files) if (why := _why(home, group)) is not None]
        if "" in whys:
            hosts.append(host)
        stopped += [why for why in whys if why]
    for other in found.others:
        known = other.host in registered.OTHERS
        if known and other.host not in hosts and not any(_calls(home, one) for one in other.files):
            gone = [f"{path} does not name {home} any more" for path in other.recorded]
            stopped += gone
    if not hosts and not stopped:
        stopped += _elsewhere(home, found.files)
    return Heard(tuple(hosts), tuple(dict.fromkeys(stopped)))


def _groups(files: Sequence[Settings]) -> Iterator[Sequence[Settings]]:
    yield [one for one in files if one.scope != registered.OTHER]
    yield from ([one] for one in files if one.scope == registered.OTHER)


def _why(home: str, files: Sequence[Settings]) -> str | None:
    """Why no hook of these files brings an event; "" if one does, None if there is none."""
    broken = [f"{one.path} cannot be read: {one.trouble}" for one in files if one.trouble]
    if not any(_calls(home, one) for one in files):
        return broken[0] if broken else None
    off = [
        f"{one.disabled} in {one.path} keeps all hooks from running"
        for one in files
        if one.disabled
    ]
    if off:
        return off[0]
    own = [hook for one in files for hook in one.hooks if registered.is_ours(hook, home)]
    if any(one.plugins for one in files):
        return ""  # which looks for its own way
    script = paths.launcher(home)
    if not os.path.isfile(script):
        return f"{script}, which the hooks start, is not there"
    pythons = list(dict.fromkeys(registered.python_of(hook.command) for hook in own))
    gone = [one for one in pythons if os.path.isabs(one) and not os.access(one, os.X_OK)]
    return f"{gone[0]}, which the hooks start, is gone" if gone and gone == pythons else ""


def _calls(home: str, file: Settings) -> bool:
    return bool(file.plugins) or any(registered.is_ours(hook, home) for hook in file.hooks)


def _elsewhere(home: str, files: Sequence[Settings]) -> Iterator[str]:
    homes = {hook.home for file in files for hook in file.hooks}
    if homes:
        yield f"hooks write to {min(homes)}, while this command reads {home}"
