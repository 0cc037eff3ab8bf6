"""``cmem doctor``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cmem import repair, settings, spool_repair
from cmem.cli import output, place
from cmem.cli.writing import locked
from cmem.doctor import finding
from cmem.doctor.examine import examine
from cmem.errors import BusyError, CmemError
from cmem.plural import counted
from cmem.privacy.sanitise import clean
from cmem.store.connection import ENVIRONMENT_ERRORS
from cmem.store.lost_pages import UNKNOWN

if TYPE_CHECKING:
    from cmem.cli.output import Line
    from cmem.doctor.finding import Finding
    from cmem.repair import Repaired

FORGOTTEN_UNKNOWN = "what was removed for good before may be unknown now: an import or an old copy can bring it back"
STYLES = {finding.OK: "green", finding.WARN: "yellow", finding.ERROR: "bold red"}


def run(values: Mapping[str, Any]) -> int:
    """Print what every check says; 1 when a link is broken. ``--repair`` comes first."""
    repaired, unrepaired = _repaired(values) if values["repair"] else (None, [])
    env = settings.environment()
    found = examine(
        os.path.abspath(place.home()),
        env=env,
        user_home=env.get("HOME") or os.path.expanduser("~"),
        cwd=place.directory(),
        now=place.now_ms(),
    )
    found += unrepaired
    ok = finding.healthy(found)
    if values["json"]:
        document: dict[str, Any] = {"ok": ok, "findings": [one._asdict() for one in found]}
        output.write_json(document | ({"repair": repaired._asdict()} if repaired else {}))
    else:
        if repaired is not None:
            output.write_lines([(line, "")] for line in _told(repaired))
        output.write_lines(line for one in found for line in _lines(one))
    return 0 if ok else 1


def _lines(one: Finding) -> Iterator[Line]:
    level = (f"{one.level:<6}", STYLES[one.level])
    yield [level, (f"{one.name}: ", "bold"), *output.plain(one.detail)]
    if one.fix:
        yield [("       fix: ", "dim"), *output.plain(one.fix)]


def _repaired(values: Mapping[str, Any]) -> tuple[Repaired | None, list[Finding]]:
    """What was repaired, or, in a document that has the findings anyway, why nothing could be."""
    try:
        return _repair(), []
    except (*ENVIRONMENT_ERRORS, CmemError) as error:
        if isinstance(error, BusyError) or not values["json"]:
            raise
        detail = f"could not be done: {error or type(error).__name__}"
        return None, [finding.Finding(finding.ERROR, "repair", clean(detail, one_line=True))]


def _repair() -> Repaired:
    """Repair the mailbox and the memory while no compress is at work."""
    with locked() as home:
        conn, told = spool_repair.open_drain(home)
        if conn is not None:
            conn.close()
        done = repair.repair(home, now=place.now_ms())
    return done._replace(done=f"{done.done}; {told}") if told else done


def _told(done: Repaired) -> Iterator[str]:
    yield f"Repair: {done.done}."
    if done.rows:
        yield f"  saved: {_counts(done.rows)}"
    if done.from_backup:
        yield f"  from {done.copy}: {_counts(done.from_backup)}"
    if done.rows:
        yield f"  lost: {'; '.join(_lost(done)) or 'no row that another one names'}"
        yield f"  pages that were empty or unreadable: {done.bad_pages}"
    if done.forgotten_unknown:
        yield f"  {FORGOTTEN_UNKNOWN}"
    if done.forgotten:
        yield f"  taken out, because it was forgotten: {counted(done.forgotten, 'row')}"
    if done.kept:
        yield f"  the files as they were are kept in {done.kept}"


def _lost(done: Repaired) -> Iterator[str]:
    if any(done.lost.values()):
        yield _counts(done.lost)
    if done.uncounted:
        pages = ", ".join(
            f"{counted(count, 'page')} of {table.replace('_', ' ') if table != UNKNOWN else 'a table nobody knows'}"
            for table, count in done.uncounted.items()
        )
        yield f"nobody knows how many rows, on {pages}"


def _counts(found: Mapping[str, int]) -> str:
    return ", ".join(
        f"{table.replace('_', ' ')} {count}" for table, count in found.items() if count
    )
