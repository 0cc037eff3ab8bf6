"""Install and uninstall of one settings file: plan, back up, record, write.

The record is written before the file: a run killed in between leaves the file as it was and a
record that describes no file, which the next run replaces. One lock in the data home, held for
the whole of it, keeps two installs apart.
"""

from __future__ import annotations

import difflib
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from cmem import lock, paths
from cmem.errors import BusyError, CmemError
from cmem.install import claude_code, files, record
from cmem.install.host import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from cmem.install.host import Host

KEPT_BACKUPS = 5
BOM = "\ufeff"
WAIT_MS = 5_000


class Plan(NamedTuple):
    """What an install or uninstall would leave in the file; ``record`` is None for none."""

    host: str
    target: files.Target
    new: bytes | None
    record: record.Record | None
    warnings: tuple[str, ...]

    @property
    def changes(self) -> bool:
        return self.new != self.target.raw


class Done(NamedTuple):
    """One finished edit. ``backup`` is "" when nothing had to change or nothing was there."""

    plan: Plan
    backup: str


def plan_install(
    home: str, path: str, wanted: Mapping[str, dict[str, object]], *, host: Host = claude_code
) -> Plan:
    """The file with our hooks in it; RefusedError when it cannot be edited safely."""
    target = files.read(path)
    launcher = _launcher(home)
    bom, text = _decode(target.raw)
    old = record.load(home).get(target.path)
    original, created = _without_us(target, old, host=host, launcher=launcher)
    new = _encode(bom, host.add(text, wanted, launcher=launcher))
    kept = old.written if old is not None and old.original == original else ()
    written = tuple(one for one in kept if one != record.digest(new)) + (record.digest(new),)
    after = record.Record(
        host=host.HOST,
        path=target.path,
        original=original,
        written=written[-record.KEPT_WRITES :],
        created=tuple(created),
        folder=old.folder if old is not None else "",
    )
    warnings = host.warnings(_decode(new)[1], launcher=launcher)
    return Plan(host.HOST, target, new, after, tuple(warnings))


def plan_uninstall(home: str, path: str, *, host: Host = claude_code) -> Plan:
    """The file without our hooks: the very bytes from before if nobody else edited it since."""
    target = files.read(path)
    old = record.load(home).get(target.path)
    original, _ = _without_us(target, old, host=host, launcher=_launcher(home))
    return Plan(host.HOST, target, original, None, ())


def install(
    home: str,
    path: str,
    wanted: Mapping[str, dict[str, object]],
    *,
    now: int,
    host: Host = claude_code,
) -> Done:
    """Our hooks are registered in the file at ``path``, once each."""
    return _twice(lambda: _carry_out(home, plan_install(home, path, wanted, host=host), now=now))


def uninstall(home: str, path: str, *, now: int, host: Host = claude_code) -> Done:
    """No hook of ours is in the file at ``path``."""
    return _twice(lambda: _carry_out(home, plan_uninstall(home, path, host=host), now=now))


def everywhere(home: str) -> list[tuple[str, str]]:
    """(host, file) of each file that an install into this data home has edited."""
    return [(one.host, one.path) for one in record.load(home).values()]


def diff(plan: Plan) -> str:
    """The change as a unified diff."""
    old, new = (_decode(raw)[1] if raw else "" for raw in (plan.target.raw, plan.new))
    name = plan.target.named
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), name, name
    )
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)


@contextmanager
def locked(home: str) -> Iterator[None]:
    """No other install or uninstall of this data home runs meanwhile."""
    held = lock.acquire(os.path.join(home, "install.lock"), wait_ms=WAIT_MS)
    if held is None:
        raise BusyError("another cmem install or uninstall is running; try again")
    try:
        yield
    finally:
        lock.release(held)


def _carry_out(home: str, plan: Plan, *, now: int) -> Done:
    records = record.load(home)
    path = plan.target.path
    backup = _back_up(home, plan, now=now) if plan.changes and plan.target.raw is not None else ""
    old = records.get(path)
    if plan.record is not None:
        folder = files.make_folder(os.path.dirname(path)) or plan.record.folder
        records[path] = plan.record._replace(folder=folder)
        record.save(home, records)
    if plan.changes:
        files.write(plan.target, plan.new)
    if plan.record is None:
        if plan.new is None and old is not None:
            _remove_folders(os.path.dirname(path), old.folder)
        records.pop(path, None)
        record.save(home, records)
    return Done(plan, backup)


def _twice(attempt: Callable[[], Done]) -> Done:
    """One more try, from the start, when another program wrote the file meanwhile."""
    try:
        return attempt()
    except files.ChangedError:
        return attempt()


def _without_us(
    target: files.Target, old: record.Record | None, *, host: Host, launcher: str
) -> tuple[bytes | None, list[str]]:
    """The file's bytes as if we had never been there, and the containers we must then make."""
    if target.raw is None:
        return None, host.created_by("")
    if old is not None and record.digest(target.raw) in old.written:
        return old.original, list(old.created)
    bom, text = _decode(target.raw)
    created = old.created if old is not None else None
    bare = host.take_out(text, launcher=launcher, created=created)
    ours = old is not None and old.original is None
    if bare is None or (ours and bare.strip() == "{}"):
        return None, host.created_by("")
    needed = host.created_by(bare)
    return target.raw if bare == (text or "{}\n") else _encode(bom, bare), needed


def _decode(raw: bytes | None) -> tuple[str, str]:
    """(byte order mark or "", the text)."""
    try:
        text = (raw or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise RefusedError("not UTF-8") from error
    bom = BOM if text.startswith(BOM) else ""
    return bom, text.removeprefix(BOM)


def _encode(bom: str, text: str) -> bytes:
    try:
        return (bom + text).encode("utf-8")
    except UnicodeEncodeError as error:
        raise CmemError(
            "could not install: the path of the data home or of Python is not valid UTF-8, "
            "which settings cannot hold; set CMEM_HOME to another place"
        ) from error


def _back_up(home: str, plan: Plan, *, now: int) -> str:
    folder = os.path.join(home, "backups")
    files.make_folder(folder)
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now // 1000))
    prefix = plan.host + "-settings-"
    ending = os.path.splitext(plan.target.path)[1]
    name = f"{prefix}{stamp}{now % 1000:03d}Z{ending}"
    files.save_private(os.path.join(folder, name), plan.target.raw or b"")
    kept = sorted(one for one in os.listdir(folder) if one.startswith(prefix))
    for one in kept[:-KEPT_BACKUPS]:
        os.unlink(os.path.join(folder, one))
    return os.path.join(folder, name)


def _remove_folders(folder: str, topmost: str) -> None:
    """The folders we made, as far as they are empty."""
    while topmost and (folder == topmost or folder.startswith(topmost + os.sep)):
        try:
            os.rmdir(folder)
        except OSError:
            return
        folder = os.path.dirname(folder)


def _launcher(home: str) -> str:
    return os.path.abspath(paths.launcher(home))
