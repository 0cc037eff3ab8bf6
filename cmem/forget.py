"""Looking for what is left of a forgotten text, the way a thief of the disk would."""

from __future__ import annotations

import os
from collections.abc import Iterable

# A piece that lies across two reads is found because the reads overlap.
_CHUNK = 1 << 20


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
