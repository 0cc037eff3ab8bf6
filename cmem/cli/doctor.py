"""``cmem doctor``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cmem import settings
from cmem.cli import output, place
from cmem.doctor import finding
from cmem.doctor.examine import examine

if TYPE_CHECKING:
    from cmem.cli.output import Line
    from cmem.doctor.finding import Finding

STYLES = {finding.OK: "green", finding.WARN: "yellow", finding.ERROR: "bold red"}


def run(values: Mapping[str, Any]) -> int:
    """Print what every check says; 1 when a link is broken."""
    env = settings.environment()
    found = examine(
        os.path.abspath(place.home()),
        env=env,
        user_home=env.get("HOME") or os.path.expanduser("~"),
        cwd=place.directory(),
        now=place.now_ms(),
    )
    ok = finding.healthy(found)
    if values["json"]:
        output.write_json({"ok": ok, "findings": [one._asdict() for one in found]})
    else:
        output.write_lines(line for one in found for line in _lines(one))
    return 0 if ok else 1


def _lines(one: Finding) -> Iterator[Line]:
    level = (f"{one.level:<6}", STYLES[one.level])
    yield [level, (f"{one.name}: ", "bold"), *output.plain(one.detail)]
    if one.fix:
        yield [("       fix: ", "dim"), *output.plain(one.fix)]
