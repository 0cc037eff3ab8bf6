"""``cmem context --write`` and ``--remove``: the block in a file of the user's."""

from __future__ import annotations

import os

from cmem.cli import output
from cmem.context import agents_file
from cmem.errors import CmemError
from cmem.install import files


def write(path: str, text: str, *, dry_run: bool) -> int:
    """Put the block into the file, which is made where there is none; without a block, take an
    earlier one out."""
    target = files.read(path)
    new = _changed(path, target.raw, text)
    return _save(target._replace(mode=0o644) if target.raw is None else target, new, dry_run)


def remove(path: str, *, dry_run: bool) -> int:
    """Take the block out; a file that had nothing else goes."""
    target = files.read(path)
    return _save(target, _changed(path, target.raw, ""), dry_run)


def _changed(path: str, raw: bytes | None, text: str) -> bytes | None:
    try:
        return agents_file.put(raw, text) if text else agents_file.take_out(raw)
    except CmemError as error:
        raise CmemError(f"will not edit {path}: {error}") from error


def _save(target: files.Target, new: bytes | None, dry_run: bool) -> int:
    name = os.path.basename(target.named) or target.named
    if new == target.raw:
        told = f"{name}: nothing to change"
    elif dry_run:
        told = f"{name}: would be {'removed' if new is None else 'written'}"
    else:
        files.write(target, new)
        told = f"{name}: {'removed' if new is None else 'written'}"
    output.write_lines([output.plain(told)])
    return 0
