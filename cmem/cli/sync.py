"""``cmem sync``: keep the memory alike on several machines, over a folder they share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cmem import compress, settings
from cmem.cli import boundary, output, place
from cmem.cli.bringing import NAMES
from cmem.cli.writing import trying
from cmem.errors import CmemError
from cmem.plural import counted
from cmem.privacy.sanitise import clean
from cmem.sync import run as core

if TYPE_CHECKING:
    from cmem.sync.folder import Trouble

DECISIONS = {
    "gone": ("thing forgotten or brought back", "things forgotten or brought back"),
    "mark": ("other decision", "other decisions"),
}


def run(values: Mapping[str, Any]) -> int:
    """Tell the others what is new here, and take in what is new there."""
    compress.end_on_signals()
    env = settings.environment()
    chosen = settings.load(
        place.home(), env=env, flags={}, trusted_env=settings.trusts_environment(env)
    )
    folder = core.named(values["folder"] or chosen.sync_dir)
    if not folder:
        raise CmemError("name the folder: `cmem sync DIR`, or sync_dir in config.toml")
    with (
        _progress(quiet=bool(values["json"])) as progress,
        trying(dry_run=values["dry_run"]) as conn,
    ):
        done = core.sync(
            place.home(),
            conn,
            folder,
            now=place.now_ms(),
            dry_run=values["dry_run"],
            progress=progress,
        )
    for one in (*done.warnings, *map(_trouble, done.troubles)):
        boundary.complain(one)
    if values["json"]:
        troubles = [one._asdict() for one in done.troubles]
        output.write_json(done._asdict() | {"troubles": troubles})
    else:
        output.write_lines(output.plain(line) for line in told(done))
    return 0


def told(done: core.Report) -> Iterator[str]:
    """The report as lines for a person."""
    verb = ("Would tell", "would take in") if done.dry_run else ("Told", "took in")
    news = done.changed if done.dry_run else done.told
    names = {**NAMES, **DECISIONS}
    taken = [counted(count, *names[kind]) for kind, count in done.taken.items()]
    machines = counted(done.machines, "other machine")
    yield f"{verb[0]} {news:,} news, {verb[1]} {', '.join(taken) or 'none'} of {machines}."
    if done.waiting:
        waiting = counted(done.waiting, "record")
        yield f"Waiting for what is not in the folder yet: {waiting}; a later sync takes it in."
    if done.bad:
        yield f"Could not be read: {counted(done.bad, 'line')}; tried again next time."


def _trouble(one: Trouble) -> str:
    line = f": line {one.line}" if one.line else ""
    return f"{clean(one.path, one_line=True)}{line}: {clean(one.reason, one_line=True)}"


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Callable[[str, int], None] | None]:
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from cmem.cli import terminal

    with terminal.work("syncing") as tell:
        yield lambda step, done: tell(done, max(done, 1), step)
