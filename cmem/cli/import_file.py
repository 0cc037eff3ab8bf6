"""``cmem import FILE``: what ``cmem export`` has written."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Any, cast

from cmem import packed
from cmem.cli import bringing
from cmem.errors import CmemError
from cmem.importers import jsonl

if TYPE_CHECKING:
    from io import BufferedReader


def run(values: Mapping[str, Any]) -> int:
    """Import a file; 1 when nothing in it could be read."""
    name = str(values["file"])
    with _open(name) as raw:
        if not raw.peek(1):
            raise CmemError(f"{_named(name)} is empty; `cmem export` writes such a file")
        stream = packed.reading(cast("IO[bytes]", raw))
        brought = bringing.run(jsonl.items(stream), dry_run=values["dry_run"])
    return bringing.told(brought, source=_named(name), what=":", values=dict(values))


def _named(name: str) -> str:
    return "standard input" if name == "-" else name


def _open(name: str) -> BufferedReader:
    if name == "-":
        return cast("BufferedReader", sys.stdin.buffer)
    try:
        return open(name, "rb")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a file name"
        raise CmemError(f"could not read {name}: {reason.lower()}") from error
