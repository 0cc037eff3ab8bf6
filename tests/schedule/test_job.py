"""What a schedule runs and when: how times are said, and what no scheduler could hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from cmem import launcher
from cmem.errors import CmemError, UsageError
from cmem.schedule import job
from cmem.schedule.job import When


@pytest.mark.parametrize(
    ("every", "at", "when", "words"),
    [
        (None, None, When(15, 0, 0), "every 15 minutes"),
        ("15m", None, When(15, 0, 0), "every 15 minutes"),
        (" 90 Minutes ", None, When(90, 0, 0), "every 90 minutes"),
        ("2h", None, When(120, 0, 0), "every 120 minutes"),
        ("1d", None, When(1440, 0, 0), "every 1440 minutes"),
        (None, "03:00", When(0, 3, 0), "at 03:00"),
        (None, "7:05", When(0, 7, 5), "at 07:05"),
        (None, "23:59", When(0, 23, 59), "at 23:59"),
    ],
)
def test_times_are_read_and_told(every: str | None, at: str | None, when: When, words: str) -> None:
    assert job.parse(every, at) == when
    assert when.words == words
    assert job.read(f"before, {words}\nafter") == when


@pytest.mark.parametrize(
    ("every", "at"),
    [
        ("0m", None),
        ("25h", None),
        ("15", None),
        ("15s", None),
        ("", None),
        ("-5m", None),
        ("١٥m", None),
        (None, "24:00"),
        (None, "3"),
        (None, "3:5"),
        (None, ""),
        (None, "٠٣:٠٠"),
        ("15m", "03:00"),
    ],
)
def test_what_is_no_time_is_refused(every: str | None, at: str | None) -> None:
    with pytest.raises(UsageError):
        job.parse(every, at)


def test_a_text_without_a_time_tells_none() -> None:
    assert job.read("whenever it rains") is None


def test_each_home_has_a_schedule_of_its_own() -> None:
    when = When(15, 0, 0)
    one, other = job.job("/home/dev/a", when), job.job("/home/dev/b", when)
    assert one.name != other.name
    assert one == job.job("/home/dev/a", when)
    python = launcher.interpreter()
    assert one.argv == (python, "-I", "-S", "/home/dev/a/hook.py", "--compress", "/home/dev/a")


@pytest.mark.parametrize("bad", ["/home/a\nb", "/home/\x1b[2Jx", "/home/\udcff"])
def test_a_path_that_no_line_can_hold_is_refused(bad: str) -> None:
    with pytest.raises(CmemError, match="control character"):
        job.job(bad, When(15, 0, 0))


def test_the_home_may_be_any_other_path(tmp_path: Path) -> None:
    home = str(tmp_path / 'it\'s 100% "mine" $HOME ёж 記憶')
    assert job.job(home, When(1, 0, 0)).home == home
