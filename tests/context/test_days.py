"""The headings of days, where a clock is put forward and back."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from cmem.context import render

ZONES = {
    "without": "UTC0",
    "a quarter of an hour": "<+0545>-5:45",
    "by one hour": "CET-1CEST,M3.5.0,M10.5.0/3",
    "by half an hour": "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
    "by two hours": "<+00>0<+02>-2,M3.5.0/1,M10.5.0/3",
    "at midnight": "AST4ADT,M10.1.0/0,M3.1.0/0",
    "by three hours, at three": "<+07>-7<+10>-10,M4.1.0/3,M10.1.0/3",
}
YEAR = range(1_735_000_000_000, 1_735_000_000_000 + 370 * 86_400_000, 17 * 60_000)


@pytest.fixture(params=ZONES)
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TZ", ZONES[request.param])
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("zone")
def test_each_memory_stands_under_the_day_on_which_it_was_made() -> None:
    rows = [(ref, at, *[""] * 11) for ref, at in enumerate(YEAR)]
    told = {ref: [f"{ref}"] for ref, *_rest in rows}
    wanted: list[str] = []
    for ref, at, *_rest in reversed(rows):
        heading = f"On {render.day(at)}:"
        if heading not in wanted[-200:]:
            wanted.append(heading)
        wanted.append(f"{ref}")
    assert render.timeline(rows, told, "On") == wanted  # type: ignore[arg-type]  # as rows are
