"""Whether the other hosts are told to call us: what ``hooks`` asks of Claude Code, of each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence

from cmem.doctor import registered
from cmem.doctor.finding import ERROR, OK, WARN, Finding
from cmem.doctor.registered import Hook, Other, Settings
from cmem.install import codex, cursor

# Host → what is to be known of its hooks although they are well.
ASIDE = {cursor.HOST: cursor.UNTRIED, codex.HOST: codex.UNSEEN}


def own_hooks(home: str, others: Sequence[Other]) -> list[Hook]:
    """The hooks of all other hosts that serve this data home."""
    return [one for other in others for one in _own(home, other.files)]


def judge(home: str, others: Sequence[Other]) -> Iterator[Finding]:
    """Files that can be read, every event in them, each once, and nothing that is off."""
    for other in others:
        name, fix = f"hooks of {other.host}", registered.install(other.host)
        for file in other.files:
            if file.trouble:
                detail = f"{file.path} is not JSON that the host can read: {file.trouble}"
                yield Finding(ERROR, name, detail, f"correct it, then run `{fix}`")
            if file.disabled:
                detail = f"{file.disabled} in {file.path} is set so that no hook runs"
                yield Finding(ERROR, name, detail, f"remove {file.disabled} from {file.path}")
        if other.host in registered.OTHERS:
            yield from _judge_events(home, other)
        else:  # of a cmem that knew another host
            yield from _judge_names(home, other)


def _judge_events(home: str, other: Other) -> Iterator[Finding]:
    """The files that hold together, and each one of another folder, register every event."""
    name, fix = f"hooks of {other.host}", registered.install(other.host)
    here = [file for file in other.files if file.scope != registered.OTHER]
    groups = [_own(home, here)]
    groups += [_own(home, [file]) for file in other.files if file.scope == registered.OTHER]
    found = [own for own in groups if own]
    for own in found:
        yield _complete(other.host, own)
    told = {os.path.realpath(one.path) for own in found for one in own}
    told |= {os.path.realpath(file.path) for file in other.files if file.trouble}
    bare = [path for path in other.recorded if os.path.realpath(path) not in told]
    for path in bare:
        detail = f"{path} does not name {home} any more, so nothing of {other.host} is kept"
        wanted = f"{fix}, or `cmem uninstall {other.host}` where it is not wanted"
        yield Finding(WARN if found else ERROR, name, detail, wanted)
    yield from _judge_doubles(other.host, groups[0], home=home, here=here)


def _complete(host: str, own: Sequence[Hook]) -> Finding:
    where = ", ".join(dict.fromkeys(hook.path for hook in own))
    events = registered.OTHERS[host].EVENTS
    missing = [event for event in events if event not in {one.under for one in own}]
    if missing:
        detail = f"not registered in {where}: {', '.join(missing)}"
        return Finding(ERROR, f"hooks of {host}", detail, registered.install(host))
    detail = f"all {len(events)} events are registered in {where}"
    detail = ". ".join(filter(None, (detail, ASIDE.get(host, ""))))
    return Finding(OK, f"hooks of {host}", detail)


def _judge_doubles(
    host: str, own: Sequence[Hook], *, home: str, here: Sequence[Settings]
) -> Iterator[Finding]:
    """Twice registered is twice started, though each event is stored once."""
    name = f"double registration of {host}"
    twice = sorted(event for event, times in Counter(one.under for one in own).items() if times > 1)
    if twice:
        where = ", ".join(dict.fromkeys(one.path for one in own if one.under in twice))
        detail = f"registered more than once: {', '.join(twice)} (in {where})"
        shared = {one.scope for one in own} == {registered.USER, registered.PROJECT}
        fix = f"cmem uninstall {host} --scope project" if shared else registered.install(host)
        yield Finding(WARN, name, detail, fix)
    hooks = [one for file in here for one in file.hooks if not registered.is_ours(one, home)]
    elsewhere = sorted({one.home for one in hooks})
    if own and elsewhere:
        detail = f"every event also goes to another data home: {', '.join(elsewhere)}"
        yield Finding(WARN, name, detail, f"CMEM_HOME='{elsewhere[0]}' cmem uninstall {host}")


def _judge_names(home: str, other: Other) -> Iterator[Finding]:
    for path in other.recorded:
        try:
            with open(path, "rb") as file:
                named = os.fsencode(home) in file.read(registered.MAX_BYTES)
        except OSError:
            named = False
        if named:
            yield Finding(OK, f"hooks of {other.host}", f"registered in {path}")
        else:
            detail = f"{path} does not name {home} any more"
            yield Finding(WARN, f"hooks of {other.host}", detail, registered.install(other.host))


def _own(home: str, files: Sequence[Settings]) -> list[Hook]:
    return [one for file in files for one in file.hooks if registered.is_ours(one, home)]
