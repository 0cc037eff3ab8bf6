"""All checks in the order of the chain: the place, the hooks, the test event, what is kept.

Whatever is damaged, every check has its say: one that fails itself is a finding too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from cmem.doctor import (
    command,
    filtering,
    folder,
    hooks,
    logs,
    mailbox,
    memory,
    place,
    provider,
    registered,
    sharing,
    trial,
)
from cmem.doctor.finding import ERROR, Finding, healthy
from cmem.privacy.sanitise import clean
from cmem.settings import Settings
from cmem.store import check as store

Found = TypeVar("Found")


def examine(
    home: str, *, env: Mapping[str, str], user_home: str, cwd: str, now: int
) -> list[Finding]:
    """What every check says about this data home, this user and this folder."""
    failed: list[Finding] = []

    def seen(name: str, look: Callable[[], Found], instead: Found) -> Found:
        try:
            return look()
        except Exception as error:  # noqa: BLE001 - told, and the other checks go on
            failed.append(_failed(name, error))
            return instead

    def told(name: str, check: Callable[[], Iterable[Finding]]) -> list[Finding]:
        return seen(name, lambda: list(check()), [])

    nothing = registered.Registered((), (), "")
    found = seen(
        "hooks", lambda: registered.look(home, env=env, user_home=user_home, cwd=cwd), nothing
    )
    state = seen("store", lambda: memory.look(home), None)
    unknown: tuple[Settings | None, list[Finding]] = (None, [])
    chosen, about_settings = seen("settings file", lambda: provider.check(home, env), unknown)
    about_place = told("data home", lambda: place.check(home))
    # Where hooks refuse to write, the test event has nothing to add.
    others = [file for other in found.others for file in other.files]
    hooked = (*found.files, *others) if healthy(about_place) else ()
    usable = memory.is_usable(state)
    findings = [
        *about_place,
        memory.judge_sqlite(store.sqlite_version()),
        *told("hooks", lambda: hooks.check(home, found, env=env, cwd=cwd)),
        *told("command", lambda: [command.check(env, user_home=user_home)]),
        *told("spool", lambda: mailbox.check(home, now=now)),
        *told("store", lambda: memory.judge(state)),
        *told("capture", lambda: trial.check(home, hooked, use_store=usable, now=now)),
        *told("work", lambda: memory.check_work(home, chosen, now=now)),
        *about_settings,
        *told("project file", lambda: folder.check(cwd)),
        *told("filters", lambda: filtering.check(home)),
        *(told("sync", lambda: sharing.check(home, chosen, now=now)) if usable else ()),
        *told("logs", lambda: logs.check(home, now=now)),
    ]
    return findings + failed


def _failed(name: str, error: Exception) -> Finding:
    said = clean(str(error), one_line=True)[:200]
    kind = type(error).__name__
    detail = f"could not be checked: {kind}: {said}" if said else f"could not be checked: {kind}"
    return Finding(ERROR, name, detail)
