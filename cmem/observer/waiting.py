"""When a run merely waits for an answer. What ends it then, a person or a machine out of memory,
has nothing against the unit it is at; what ends it at work may be the unit.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

_told: list[tuple[Callable[[], object], Callable[[], object]]] = []


@contextlib.contextmanager
def tell(begins: Callable[[], object], ends: Callable[[], object]) -> Iterator[None]:
    """Within this every waiting is told when it begins and when it ends."""
    _told.append((begins, ends))
    try:
        yield
    finally:
        _told.pop()


@contextlib.contextmanager
def outside() -> Iterator[None]:
    """Round a call that another program or machine answers."""
    begins, ends = _told[-1] if _told else (_nothing, _nothing)
    begins()
    try:
        yield
    finally:
        ends()


def _nothing() -> None:
    return
