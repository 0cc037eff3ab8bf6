"""Forgetting for good: in the store, in its copies, in what lies beside them, and a look at what
is left.

The copies are asked by the identities of the rows, because their numbers may differ there.
``scan`` looks for a text the way a thief of the disk would.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from cmem import residue
from cmem.errors import CmemError
from cmem.store import copies, erase, identities, reasons

if TYPE_CHECKING:
    import apsw

    from cmem.store.forget import Plan
    from cmem.store.identities import Identities

# A piece that lies across two reads is found because the reads overlap.
_CHUNK = 1 << 20


def purge(
    home: str,
    conn: apsw.Connection,
    plan: Plan,
    *,
    now: int,
    progress: Callable[[int, int], None] | None = None,
    word: str = "",
) -> tuple[str, ...]:
    """Erase the rows of the plan from the store, from every copy below the home and from all that
    may hold their texts besides, ``word`` too; return the files that went as a whole.

    They are hidden first, for copies take their time; the store is erased last: a run that is
    killed in between is finished by the next upkeep, which finds the rows and knows what to look
    for. Raises BusyError like ``erase.purge``, and CmemError for a copy that cannot
    be changed, both when everything else is done."""
    erase.doom(conn, plan, now=now)
    doomed = residue.find(home, conn, plan, word=word)
    residue.remove(doomed)
    reasons.blank(conn, lambda text: residue.shares(text, lambda: residue.texts(conn, plan)))
    known = identities.of(conn, plan)
    late: CmemError | None = None
    try:
        copies.apply(home, lambda copy: _purge_copy(copy, known, now))
    except CmemError as error:
        late = error
    erase.purge(conn, plan, now=now, progress=progress)
    if late is not None:
        raise late
    return doomed.told


def _purge_copy(copy: apsw.Connection, known: Identities, now: int) -> None:
    plan = identities.known(copy, known)
    if any(plan):
        erase.purge(copy, plan, now=now, pace=erase.ALONE)
    erase.finish(copy, pace=erase.ALONE)  # what a run that was killed has left


def scan(home: str, pieces: Iterable[str]) -> list[str]:
    """Files below ``home`` that hold one of ``pieces`` as UTF-8 or UTF-16, in any case of
    letters, as sorted paths.

    Only for a process with no store open: closing a file drops SQLite's locks on it."""
    needles = {form for piece in pieces for form in _forms(piece)}
    if not needles:
        return []
    found = []
    for folder, _, names in os.walk(home):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path) and _holds(path, needles):
                found.append(path)
    return sorted(found)


def _forms(piece: str) -> Iterable[bytes]:
    for text in {piece, piece.lower(), piece.casefold()}:
        for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
            yield text.encode(encoding, "surrogatepass").lower()


def _holds(path: str, needles: set[bytes]) -> bool:
    overlap = max(map(len, needles))
    rest = b""
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            block = rest + chunk.lower()
            if any(needle in block for needle in needles):
                return True
            rest = block[-overlap:]
    return False
