"""Base-level activation, as ACT-R has it, in place of mere age. HOT when the setting is on; pure.

    B = ln( sum over each time t it was met of (now - t) ** -d ),    d = 0.5

(J. R. Anderson, C. Lebiere: The Atomic Components of Thought, 1998, chapter 4.) Times are in days
and none is less than one day ago. What goes into a score is exp(B), the sum itself: 1 for what was
met today, 0.38 for once a week ago, more for each day it was met again.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

DECAY = 0.5
DAY_MS = 86_400_000
# More often than this counts no further: a pin and the running session stay above all.
MOST = 3.0


def level(at: int, met: "Sequence[int]", *, now: int) -> float:
    """exp(B) of what was made at a time and met on some days; a day counts once, and one after
    ``now`` as its day."""
    today = now // DAY_MS
    ages = {max(today - day, 0) for day in (at // DAY_MS, *met)}
    return float(min(MOST, sum([max(age, 1) ** -DECAY for age in ages])))


def days(dates: str) -> list[int]:
    """The numbers of the days in a stored list of days; what is no day of it says nothing."""
    found = []
    for part in dates.split('"')[1::2]:
        year, _, rest = part.partition("-")
        month, _, day = rest.partition("-")
        if year.isdigit() and month.isdigit() and day.isdigit():
            found.append(_number(int(year), int(month), int(day)))
    return found


def _number(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 to a day of the Gregorian calendar."""
    year -= month <= 2
    month += 9 if month <= 2 else -3
    whole = year * 365 + year // 4 - year // 100 + year // 400
    return whole + (153 * month + 2) // 5 + day - 1 - 719_468
