"""Sync with other machines: whether its folder is there, and when it was used last."""

from __future__ import annotations

from collections.abc import Iterator

from cmem.doctor.finding import OK, WARN, Finding, age
from cmem.errors import CmemError
from cmem.plural import counted
from cmem.settings import Settings
from cmem.sync import run
from cmem.sync.last import Last, last

LONG_MS = 7 * 86_400_000


def check(home: str, chosen: Settings | None, *, now: int) -> Iterator[Finding]:
    """Nothing where nobody syncs."""
    folder = run.named(chosen.sync_dir) if chosen is not None else ""
    before = last(home)
    if not folder and before is None:
        return
    folder = folder or (before.folder if before else "")
    try:
        run.check(folder, home)
    except CmemError as error:
        yield Finding(WARN, "sync", str(error), "cmem sync DIR, or correct sync_dir in config.toml")
        return
    yield judge(before, now=now)


def judge(before: Last | None, *, now: int) -> Finding:
    """Whether the last sync is so long ago that memories may have gone different ways."""
    if before is None:
        return Finding(WARN, "sync", "never yet with the folder of the settings", "cmem sync")
    ago = age(max(now - before.at, 0))
    detail = f"{ago} ago, {counted(before.machines, 'other machine')} in {before.folder}"
    if now - before.at > LONG_MS:
        return Finding(WARN, "sync", detail, "cmem sync; sync_auto = true does so by itself")
    return Finding(OK, "sync", detail)
