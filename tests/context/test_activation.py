"""Activation in place of mere age: the numbers of the formula, and what they do to the order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import samples
from context.test_block import lines_of, start

from cmem.context import activation, gather, select

TODAY = samples.NOON // samples.DAY


@pytest.mark.parametrize(
    ("made", "met", "level"),
    [
        (0, (), 1.0),
        (1, (), 1.0),
        (4, (), 0.5),
        (7, (), 0.378),
        (100, (), 0.1),
        (4, (4,), 0.5),
        (4, (4, 1), 1.5),
        (100, (25, 4), 0.8),
        (0, (-3,), 1.0),
        (9, tuple(range(9)), 3.0),
    ],
)
def test_a_level_is_the_sum_over_the_days(made: int, met: tuple[int, ...], level: float) -> None:
    at = samples.NOON - made * samples.DAY
    days = [TODAY - one for one in met]
    assert activation.level(at, days, now=samples.NOON) == pytest.approx(level, abs=0.001)


@pytest.mark.parametrize(
    ("dates", "days"),
    [
        ('["1970-01-01", "1970-01-02"]', [0, 1]),
        ('["2000-02-29","2026-05-28"]', [11_016, 20_601]),
        ("[]", []),
        ('["x", "2026-05", "2026-aa-01", 7]', []),
        ("", []),
    ],
)
def test_days_of_a_stored_list(dates: str, days: list[int]) -> None:
    assert activation.days(dates) == days


def test_what_was_met_again_comes_before_what_is_newer(home: Path) -> None:
    conn = samples.calc(home)
    day = "2026-05-2{}".format
    values: dict[str, Any] = {"type": "change", "files_modified": []}
    old = samples.observation(
        conn, 1, 1, 1, title="Met often", created_at=samples.NOON - 14 * samples.DAY,
        reinforcement_dates=json.dumps([day(n) for n in range(9)]), **values,
    )  # fmt: skip
    new = samples.observation(
        conn, 1, 1, 1, title="Met once", created_at=samples.NOON - samples.DAY, **values
    )

    def order(*, on: bool) -> list[int]:
        read = gather.for_project(conn, 1, activation=on, parts=True)
        return [row[0] for _score, row, _why in read.ranked if row[0] in (old, new)]

    assert (order(on=False), order(on=True)) == ([new, old], [old, new])
    whys = [why for _s, row, why in gather.for_project(conn, 1, activation=True).ranked]
    assert all(why.startswith("activation") for why in whys)
    conn.close()
    told = [line for line in lines_of(start(home, "/src/calc", activation=True)) if "Met" in line]
    assert len(told) == 2
    assert start(home, "/src/calc", activation=True) == start(home, "/src/calc", activation=True)


def test_no_activation_reaches_a_pin_or_the_running_session() -> None:
    often = activation.level(samples.NOON, [TODAY - n for n in range(400)], now=samples.NOON)
    most = often * max(select.WEIGHTS.values()) * select.BRANCH * select.FILES
    assert most < select.OWN < select.PIN
