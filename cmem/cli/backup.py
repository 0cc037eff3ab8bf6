"""``cmem backup``: a copy of the memory, the list of them, and one put back."""

from __future__ import annotations

import errno
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from cmem import backup, restore
from cmem.cli import asking, boundary, output, place
from cmem.cli.prune import amount
from cmem.cli.writing import locked, writer
from cmem.errors import CmemError, UsageError
from cmem.plural import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cmem.backup import Backup
    from cmem.cli.output import Line
    from cmem.restore import Restored


def run(values: Mapping[str, Any]) -> int:
    """Take in what waits and copy the memory; where the data home cannot be written to, which is
    when a copy is needed most, as it is."""
    if values["file"] == "-":
        raise UsageError("a copy is a file: name one, for example ./memory.db")
    with _taken_in(values["file"]):
        made = backup.take(place.home(), values["file"], now=place.now_ms())
    if values["json"]:
        output.write_json(made._asdict())
    else:
        told = f"Copied {counted(made.observations, 'observation')} ({amount(made.bytes)}) to {made.path}"
        output.write_lines([output.plain(told)])
    return 0


@contextmanager
def _taken_in(target: str) -> Iterator[None]:
    with ExitStack() as held:
        try:
            held.enter_context(writer(take_in=True))
        except OSError as error:
            if not target or error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
                raise
            boundary.complain(
                "the data home cannot be written to, so what waits to be taken in is not in the copy"
            )
        yield


def run_list(values: Mapping[str, Any]) -> int:
    """Print every copy among the backups, the newest first."""
    found = backup.listed(place.home())
    if values["json"]:
        output.write_json({"backups": [one._asdict() for one in found]})
        return 0
    output.write_lines([_line(one) for one in found])
    if not found:
        boundary.complain("no backups yet; `cmem backup` makes one, `cmem compress` one a day")
    return 0


def run_restore(values: Mapping[str, Any]) -> int:
    """Put a copy in the place of the memory."""
    home = place.home()
    source = backup.find(home, values["backup"])
    if not (values["dry_run"] or values["yes"]):
        _ask(source)
    with locked():
        done = restore.restore(home, source, now=place.now_ms(), dry_run=values["dry_run"])
    if values["json"]:
        output.write_json(done._asdict() | {"dry_run": bool(values["dry_run"])})
    else:
        output.write_lines(output.plain(line) for line in _told(done, dry_run=values["dry_run"]))
    return 0


def _ask(source: str) -> None:
    if not asking.person():
        raise UsageError("add --yes to put the copy in the place of the memory, or --dry-run")
    if not asking.agrees(f"Put {source} in the place of the memory?"):
        raise CmemError("nothing was restored")


def _line(one: Backup) -> Line:
    told = f"{counted(one.observations, 'observation')}, schema {one.schema}, {amount(one.bytes)}"
    if one.damage:
        told = f"cannot be used: {one.damage}"
    return [
        (one.name, "bold"),
        (f"  {output.when(one.created_at)}  {one.kind}: ", "dim"),
        (told, ""),
    ]


def _told(done: Restored, *, dry_run: bool) -> list[str]:
    verb = "Would restore" if dry_run else "Restored"
    lines = [f"{verb} {counted(done.observations, 'observation')} from {done.source}"]
    left = [(done.erased, "forgotten"), (done.hidden, "hidden"), (done.reworded, "edited")]
    told = [f"{number} {word}" for number, word in left if number]
    if told:
        lines.append(f"As in the memory now, rows stay {', '.join(told)} since.")
    if done.unread:
        lines.append("The memory is damaged, so what was forgotten after the copy is not known.")
    if done.aside:
        lines.append(f"What was there is kept in {done.aside}")
    return lines
