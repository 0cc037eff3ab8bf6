"""``cmem context --write`` and ``--remove``: the block in a file of the user's."""

from __future__ import annotations

import os

from cmem.cli import output
from cmem.context import agents_file
from cmem.errors import CmemError
from cmem.install import files


def write(path: str, text: str, *, dry_run: bool, as_json: bool) -> int:
    """Put the block into the file, which is made where there is none; without a block, take an
    earlier one out."""
    target = files.read(path)
    new = _changed(path, target.raw, text)
    if target.raw is None:
        target = target._replace(mode=0o644)
    return _save(target, new, dry_run=dry_run, as_json=as_json)


def remove(path: str, *, dry_run: bool, as_json: bool) -> int:
    """Take the block out; a file that had nothing else goes."""
    target = files.read(path)
    new = _changed(path, target.raw, "")
    return _save(target, new, dry_run=dry_run, as_json=as_json)


def _changed(path: str, raw: bytes | None, text: str) -> bytes | None:
    try:
        return agents_file.put(raw, text) if text else agents_file.take_out(raw)
    except CmemError as error:
        raise CmemError(f"will not edit {path}: {error}") from error


def _save(target: files.Target, new: bytes | None, *, dry_run: bool, as_json: bool) -> int:
    name = os.path.basename(target.named) or target.named
    what = "unchanged" if new == target.raw else "removed" if new is None else "written"
    if new != target.raw and not dry_run:
        files.write(target, new)
    if as_json:
        output.write_json({"file": target.named, "result": what, "dry_run": dry_run})
        return 0
    told = "nothing to change" if what == "unchanged" else f"{'would be ' * dry_run}{what}"
    output.write_lines([output.plain(f"{name}: {told}")])
    return 0
