"""All checks in the order of the chain: the place, the hooks, the test event, what is kept."""

from __future__ import annotations

from collections.abc import Mapping

from cmem.doctor import filtering, hooks, logs, mailbox, memory, place, provider, registered, trial
from cmem.doctor.finding import Finding, healthy
from cmem.store import check as store


def examine(
    home: str, *, env: Mapping[str, str], user_home: str, cwd: str, now: int
) -> list[Finding]:
    """What every check says about this data home, this user and this folder."""
    found = registered.look(home, env=env, user_home=user_home, cwd=cwd)
    state = memory.look(home)
    chosen, about_settings = provider.check(home, env)
    about_place = place.check(home)
    # Where hooks refuse to write, the test event has nothing to add.
    others = [file for other in found.others for file in other.files]
    hooked = (*found.files, *others) if healthy(about_place) else ()
    return [
        *about_place,
        memory.judge_sqlite(store.sqlite_version()),
        *hooks.check(home, found, env=env, cwd=cwd),
        *mailbox.check(home, now=now),
        *memory.judge(state),
        *trial.check(home, hooked, use_store=memory.is_usable(state), now=now),
        *memory.check_work(home, chosen, now=now),
        *about_settings,
        *filtering.check(home),
        *logs.check(home, now=now),
    ]
