"""The log beside a database file, read without SQLite, which stops at the first damage in it.

Every frame holds a page and a sum over all that stands before it, so each can be held against the
one in front alone: what lies behind a damaged place, or behind a damaged head, is as good as it
was. What counts is what was committed. Frames of an earlier use of the file have other salts.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

SIZES = tuple(2**power for power in range(9, 17))
_HEAD = 32
_FRAME = 24
_ORDERS = {0x377F0682: "<", 0x377F0683: ">"}


class Log(NamedTuple):
    """``size`` of a page, 0 where there is no log; ``newer``: page number to the place of its
    newest committed state; ``last``: how many pages the file has by it; ``damaged``: SQLite does
    not see all of that."""

    size: int = 0
    newer: dict[int, int] = {}  # noqa: RUF012 - never changed
    last: int = 0
    damaged: bool = False


class _Frame(NamedTuple):
    number: int
    pages: int
    salts: tuple[int, int]
    sums: tuple[int, int]
    sound: bool
    at: int


def read(log: int, page_size: int) -> Log:
    """The log that is open as ``log``, of a file with pages of ``page_size`` as far as is known."""
    head = os.pread(log, _HEAD, 0)
    total = os.fstat(log).st_size
    if total < _HEAD + _FRAME + SIZES[0]:
        return Log()
    told = _head(head)
    if told is not None:
        order, size, salts, sums = told
        return _committed(list(_frames(log, order, size, sums=sums)), size, salts=salts)
    for order in "<>":
        frames = list(_frames(log, order, page_size, sums=None))
        sound = [one for one in frames if one.sound]
        if len(sound) > len(frames) // 2:
            found = _committed(frames, page_size, salts=sound[-1].salts)
            return found._replace(damaged=True)
    return Log(damaged=True)


def is_damaged(path: str, page_size: int) -> bool:
    """Whether the log of the database ``path`` has what SQLite does not see any more. Others may
    write meanwhile, so it is looked at twice."""
    for _ in range(2):
        try:
            log = os.open(path + "-wal", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            if not read(log, page_size).damaged:
                return False
        finally:
            os.close(log)
    return True


def _head(head: bytes) -> tuple[str, int, tuple[int, int], tuple[int, int]] | None:
    magic, _version, size, _sequence, one, two = struct.unpack(">6I", head[:_FRAME])
    order = _ORDERS.get(magic, "")
    if not order or size not in SIZES:
        return None
    sums = _sum(order, head[:_FRAME], (0, 0))
    return (order, size, (one, two), sums) if sums == struct.unpack(">2I", head[_FRAME:]) else None


def _frames(log: int, order: str, size: int, *, sums: tuple[int, int] | None) -> Iterator[_Frame]:
    """Every frame; ``sums`` is what the head says, None for not known: then the first counts as
    sound, because nothing says that it is not."""
    at = _HEAD
    while True:
        frame = os.pread(log, _FRAME + size, at)
        if len(frame) < _FRAME + size:
            return
        number, pages, one, two, *rest = struct.unpack(">6I", frame[:_FRAME])
        told = (rest[0], rest[1])
        sound = sums is None or _sum(order, frame[:8] + frame[_FRAME:], sums) == told
        yield _Frame(number, pages, (one, two), told, sound and number > 0, at + _FRAME)
        sums = told
        at += _FRAME + size


def _committed(frames: list[_Frame], size: int, *, salts: tuple[int, int]) -> Log:
    newer: dict[int, int] = {}
    pending: dict[int, int] = {}
    last = 0
    seen, damaged = True, False  # by SQLite, which stops at the first that does not fit
    for one in frames:
        fits = one.sound and one.salts == salts
        seen = seen and fits
        if not fits:
            continue
        pending[one.number] = one.at
        if one.pages:
            newer |= pending
            pending, last = {}, one.pages
            damaged = damaged or not seen
    return Log(size, newer, last, damaged)


def _sum(order: str, data: bytes, sums: tuple[int, int]) -> tuple[int, int]:
    one, two = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for first, second in zip(words[::2], words[1::2], strict=True):
        one = (one + first + two) & 0xFFFFFFFF
        two = (two + second + one) & 0xFFFFFFFF
    return one, two
