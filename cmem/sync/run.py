"""``sync``: what changed here is told, what changed elsewhere is taken in."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from cmem import forget
from cmem.errors import BusyError, CmemError
from cmem.failpoint import hit
from cmem.store import copies, dump, maintain, meta, mirrored, registers, touched
from cmem.store.registers import FileRead
from cmem.sync import folder, own, scan
from cmem.sync.clock import Clock
from cmem.sync.folder import Source, Trouble
from cmem.sync.merge import Merge

if TYPE_CHECKING:
    import apsw

    from cmem.store.fields import Row
    from cmem.store.forget import Plan


class Report(NamedTuple):
    """``told``: lines written; ``taken``: news of other machines, by kind; ``machines``: whose
    files were read; ``waiting``: records that name what is in no file yet; ``bad``: lines that
    could not be read, the first of each file in ``troubles``."""

    folder: str
    machine: str
    changed: int
    told: int
    taken: dict[str, int]
    machines: int
    waiting: int
    bad: int
    troubles: tuple[Trouble, ...]
    warnings: tuple[str, ...]
    dry_run: bool


class _Run:
    def __init__(
        self, home: str, conn: apsw.Connection, path: str, *, now: int, dry_run: bool
    ) -> None:
        self._home, self._conn, self._path, self._now = home, conn, path, now
        self._dry_run = dry_run
        self._warnings: list[str] = []
        self._left = ""  # the name that was given up in this run

    def go(self, progress: Callable[[str, int], None] | None) -> Report:
        conn, now = self._conn, self._now
        machines, anew = self._who()
        clock = Clock(machines[0], str(meta.mapping(conn, "sync_clock").get("newest", "")))
        scanned = scan.scan(
            conn,
            clock,
            machines,
            now=now,
            dry_run=self._dry_run,
            progress=progress and (lambda done: progress("looking", done)),
        )
        self._keep_clock(clock)
        hit("sync_scanned")
        with ExitStack() as stack:
            sources, troubles = self._sources(stack, machines[0])
            merge = Merge(conn, clock, machines, now=now, purge=self._purge, dry_run=self._dry_run)
            merge.run(sources, progress and (lambda done: progress("reading", done)))
            self._keep_clock(clock)
            told = 0
            if not self._dry_run:
                self._clean_copies(merge.edited)
                anew |= scanned.stale | merge.stale | self._vanished(machines)
                self._note_read(sources)
                told = self._write(machines, anew=anew, sessions=scanned.sessions)
                self._drop_copies(sources, machines[0])
                touched.put_away(conn)
            troubles += [one for source in sources for one in source.troubles]
            return Report(
                folder=self._path,
                machine=machines[0],
                changed=scanned.changed,
                told=told,
                taken=dict(sorted(merge.taken.items())),
                machines=len({source.machine for source in sources} - {machines[0]}),
                waiting=sum(source.waiting for source in sources),
                bad=sum(source.bad for source in sources),
                troubles=tuple(troubles),
                warnings=tuple(self._warnings),
                dry_run=self._dry_run,
            )

    def _who(self) -> tuple[list[str], bool]:
        """The names of this machine, the present one first, and whether its file is to be
        written anew."""
        kept = meta.mapping(self._conn, "sync_machine").get("names", [])
        machines = [str(one) for one in kept] if isinstance(kept, list) else []
        path = self._own(machines[0]) if machines else ""
        if machines and own.is_as_left(self._conn, path):
            return machines, bool(meta.mapping(self._conn, "sync_unfinished"))
        if not machines or own.is_of_another(self._conn, path, machines):
            self._left = machines[0] if machines else ""
            machines = [secrets.token_hex(4), *machines]
            if not self._dry_run:
                meta.put_json(self._conn, "sync_machine", {"names": machines})
        return machines, True

    def _own(self, machine: str) -> str:
        return os.path.join(self._path, folder.own_name(machine))

    def _sources(self, stack: ExitStack, machine: str) -> tuple[list[Source], list[Trouble]]:
        """The files of the others, opened; one that cannot be is told."""
        found, troubles = [], []
        for name in folder.names(self._path):
            path = os.path.join(self._path, name)
            if name == folder.own_name(machine):
                continue
            try:
                source = stack.enter_context(Source(path))
                source.read_head()
            except (OSError, CmemError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                troubles.append(Trouble(path, 0, reason.lower()))
                continue
            source.go_on_from(registers.read_of(self._conn, name))
            found.append(source)
        return found, troubles

    def _note_read(self, sources: Sequence[Source]) -> None:
        for one in sources:
            to = one.read_to()
            registers.note_read(self._conn, one.name, FileRead(one.generation, to, one.tail(to)))

    def _keep_clock(self, clock: Clock) -> None:
        if not self._dry_run:
            meta.put_json(self._conn, "sync_clock", {"newest": clock.newest})

    def _purge(self, plan: Plan, now: int) -> None:
        try:
            forget.purge(self._home, self._conn, plan, now=now)
        except BusyError:
            pass  # the rows are gone; a later run cleans the file
        except CmemError as error:
            self._warnings.append(str(error))

    def _clean_copies(self, edited: Sequence[Row]) -> None:
        """Words of before leave the file and the backups."""
        if not edited:
            return
        mirrored.finish(self._conn)

        def change(copy: apsw.Connection) -> None:
            for one in edited:
                mirrored.update_copy(copy, one, now=self._now)
            mirrored.finish(copy)

        try:
            copies.apply(self._home, change)
        except CmemError as error:
            self._warnings.append(str(error))

    def _vanished(self, machines: Sequence[str]) -> bool:
        """Whether rows that were told are not to be seen any more: that touches their session."""
        if not touched.are_any(self._conn):
            return False
        shown = frozenset(
            mirrored.shown_sessions(self._conn, dump.sessions(self._conn, dump.Chosen()))
        )
        return bool(registers.mark_vanished(self._conn, machines, shown))

    def _write(self, machines: Sequence[str], *, anew: bool, sessions: frozenset[int]) -> int:
        meta.put_json(self._conn, "sync_unfinished", {"at": self._now})
        path = self._own(machines[0])
        own.clean(path)
        count = own.write(self._conn, path, machines, anew=anew, sessions=sessions)
        meta.put_json(self._conn, "sync_unfinished", {})
        return count

    def _drop_copies(self, sources: Sequence[Source], machine: str) -> None:
        """What a tool has set aside of the own file is read, and would keep forgotten words; so
        would the file of a name that was given up. If another home lives under it, that one
        writes its file anew."""
        for one in sources:
            if one.machine in (machine, self._left) and not one.bad and not one.waiting:
                with contextlib.suppress(OSError):
                    os.unlink(one.path)


def sync(
    home: str,
    conn: apsw.Connection,
    path: str,
    *,
    now: int,
    dry_run: bool = False,
    progress: Callable[[str, int], None] | None = None,
) -> Report:
    """Keep the store alike with the others in the folder; under the lock of ``compress``.

    Raises CmemError where the folder cannot be read or written. What was taken in stays."""
    check(path, home)
    registers.prepare(conn, for_now=dry_run)
    if not dry_run:
        touched.prepare(conn)
    try:
        done = _Run(home, conn, path, now=now, dry_run=dry_run).go(progress)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise CmemError(f"could not sync with {path}: {reason}; try again") from error
    if not dry_run:
        meta.put_json(conn, "sync_last", {"at": now, "folder": path, "machines": done.machines})
        maintain.truncate_wal(conn)
    return done


def named(path: str) -> str:
    """The folder that a person or a setting names; "" for none."""
    return os.path.abspath(os.path.expanduser(path)) if path else ""


def check(path: str, home: str) -> None:
    """Raise the CmemError that a folder deserves which cannot be synced with."""
    if not os.path.isdir(path):
        raise CmemError(f"there is no folder {path}; make it, or wait until it is mounted")
    real, own_home = os.path.realpath(path), os.path.realpath(home)
    if real == own_home or real.startswith(own_home + os.sep):
        raise CmemError(f"{path} is in the data home; name a folder that is kept alike by itself")
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise CmemError(f"{path} may not be read and written; nothing was changed")
