"""One import: find the sessions, take them in one after another, and make memories of them.

A file that was read to its end is remembered by its size and time for as long as identities are
kept, so a run that was cut off goes on where it was, and a later one reads only what has grown.
Reading one twice does no harm: everything in it is known by what the host calls it.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cmem import compress, ingest, observe, paths, spool_check
from cmem.errors import CmemError
from cmem.held import Held
from cmem.importers import claude_code, codex, gemini_cli
from cmem.importers.ahead import Ahead
from cmem.importers.past import Count, Past
from cmem.importers.told import Group, Importer, Problem, Reading, in_time
from cmem.importers.wanted import Limits, Scope
from cmem.store import connection, evidence, imports, maintain
from cmem.store.connection import transaction

if TYPE_CHECKING:
    import apsw

    from cmem.settings import Settings

IMPORTERS: Mapping[str, Importer] = {one.HOST: one for one in (claude_code, codex, gemini_cli)}
# What reading and observing take on a slow core: by size, and for each session however small
# (measured: docs/import.md).
BYTES_PER_S = 1_000_000
SESSION_S = 0.03
MOST_PROBLEMS = 10_000
LOCK_WAIT_S = 10.0
DRAIN_S = 10.0
# done and all bytes, and what has come in so far
Progress = Callable[[int, int, Count], None]


class Report(NamedTuple):
    """What an import did, or with ``dry_run`` would do: then ``files`` and ``bytes`` are of what
    holds anything new. ``unchanged``: sessions whose files an earlier run has read to the end."""

    host: str
    folder: str
    dry_run: bool
    files: int
    bytes: int
    unchanged: int
    sessions: int
    prompts: int
    tool_uses: int
    held: int
    withheld: int
    faulty: int
    observations: int
    summaries: int
    problems: tuple[Problem, ...]


class Found(NamedTuple):
    """What there is to import of a host."""

    folder: str
    groups: tuple[Group, ...]
    problems: tuple[Problem, ...]

    @property
    def bytes(self) -> int:
        return sum(group.size for group in self.groups)


def seconds(size: int, sessions: int) -> float:
    """About how long an import of so many bytes and sessions takes."""
    return size / BYTES_PER_S + sessions * SESSION_S


def find(importer: Importer, root: str) -> Found:
    """The sessions below ``root``, oldest change first, so that a fork comes after what it was
    made from."""
    problems: list[Problem] = []
    groups = importer.groups(root, problems.append)
    groups.sort(key=lambda group: (group.changed_ns, group.files))
    return Found(root, tuple(groups), tuple(problems))


def waiting(home: str, importer: Importer, found: Found) -> Found:
    """Of what was found, the sessions that the store knows nothing of: neither from hooks nor by
    an import. The files themselves are not read."""
    captured = {eid.split(":")[1] for eid in spool_check.identities(home, importer.HOST)} - {""}
    left = [one for one in found.groups if importer.session(one) not in captured]
    conn = _reader(home)
    if conn is not None:
        try:
            left = [one for one in left if not _is_known(conn, importer, one)]
        finally:
            conn.close()
    return found._replace(groups=tuple(left))


def _is_known(conn: apsw.Connection, importer: Importer, group: Group) -> bool:
    if evidence.seen(conn, _name(importer.HOST, group)):
        return True
    session = importer.session(group)
    return bool(session) and imports.has_session(conn, importer.HOST, session)


def look(home: str, importer: Importer, found: Found, *, limits: Limits, now: int) -> Report:
    """What an import would take in, without writing anything."""
    problems = list(found.problems)
    new, unchanged = [], 0
    conn = _reader(home)
    try:
        ahead = Ahead(home, conn, importer.HOST, limits=limits)
        for group in _recent(found.groups, limits):
            if conn is not None and evidence.seen(conn, _name(importer.HOST, group)):
                unchanged += 1
                continue
            complete, latest = _is_complete(group, now), _latest(now)
            reading = Reading(problems.append, lambda _size: None, complete, latest)
            tale = importer.tell(group, reading)
            if ahead.take(in_time(tale, otherwise=_changed(group, now))):
                new.append(group)
    finally:
        if conn is not None:
            conn.close()
    _check(ahead.scope, importer, found, limits=limits)
    made = _report(importer, found, counts=ahead.count, problems=problems, dry_run=True)
    size, files = sum(group.size for group in new), sum(len(group.files) for group in new)
    return made._replace(unchanged=unchanged, files=files, bytes=size)


def _reader(home: str) -> apsw.Connection | None:
    return connection.open_reader(home) if os.path.isdir(home) else None


def run(
    home: str,
    importer: Importer,
    found: Found,
    *,
    settings: Settings,
    limits: Limits,
    clock: Callable[[], int],
    progress: Progress | None = None,
) -> Report:
    """Import what was found; who waits for the store's lock gets it between two sessions.
    BusyError when another run holds it for too long."""
    paths.ensure_home(home)
    held = Held(home, wait_s=LOCK_WAIT_S)
    try:
        conn = connection.open_writer(home, now=clock())
        try:
            ingest.ingest(home, conn, now=clock())
            job = _Job(home, conn, settings, importer, limits=limits, clock=clock)
            job.go(found, held, progress)
            _check(job.scope, importer, found, limits=limits)
            return job.report(found)
        finally:
            conn.close()
    finally:
        held.release()


def _check(scope: Scope, importer: Importer, found: Found, *, limits: Limits) -> None:
    if scope.is_missed:
        raise CmemError(
            f"no session of {importer.TITLE} in {found.folder} is of a project {limits.project}"
        )


class _Job:
    """A run at work: what it has come to so far."""

    def __init__(
        self,
        home: str,
        conn: apsw.Connection,
        settings: Settings,
        importer: Importer,
        *,
        limits: Limits,
        clock: Callable[[], int],
    ) -> None:
        self._home, self._conn, self._settings = home, conn, settings
        self._importer, self._limits, self._clock = importer, limits, clock
        self._past = Past(home, conn, importer.HOST, limits=limits, now=clock())
        self._tally = observe.Tally()
        self._problems: list[Problem] = []
        self._unchanged = self._read = 0
        self._drain_at = time.monotonic() + DRAIN_S

    @property
    def scope(self) -> Scope:
        return self._past.scope

    def go(self, found: Found, held: Held, progress: Progress | None) -> None:
        self._observe()  # what a run that was cut off has left
        groups = _recent(found.groups, self._limits)
        total = sum(group.size for group in groups)
        for group in groups:
            end = self._read + group.size

            def advance(size: int) -> None:
                self._read += size
                if progress is not None:
                    progress(self._read, total, self._past.count)

            self._group(group, advance)
            self._give_way(held)
            self._drain()
            self._read = end
            advance(0)
        maintain.truncate_wal(self._conn)

    def _give_way(self, held: Held) -> None:
        """Let others to the store. Between two sessions alone: within one, a turn of the past
        would be taken for one left open."""
        before = self._conn.pragma("data_version")
        if held.give_way() and self._conn.pragma("data_version") != before:
            self._past.look_again()

    def _drain(self) -> None:
        """What hooks capture meanwhile is taken in now and then; they start nothing themselves
        while the lock is held."""
        if time.monotonic() >= self._drain_at:
            ingest.ingest(self._home, self._conn, now=self._clock())
            self._drain_at = time.monotonic() + DRAIN_S

    def _group(self, group: Group, advance: Callable[[int], None]) -> None:
        name = _name(self._importer.HOST, group)
        if evidence.seen(self._conn, name):
            self._unchanged += 1
            return
        complete = _is_complete(group, self._clock())
        troubled, before = len(self._problems), self._past.count
        now = self._clock()
        reading = Reading(self._complain, advance, complete, _latest(now))
        tale = self._importer.tell(group, reading)
        self._past.take(in_time(tale, otherwise=_changed(group, now)))
        self._observe()
        fresh = self._problems[troubled:]
        after = self._past.count
        left = (after.withheld - before.withheld) + (after.faulty - before.faulty)
        all_in = not left and self._limits == Limits()
        if complete and all_in and not any(problem.line == 0 for problem in fresh):
            with transaction(self._conn):
                evidence.remember(self._conn, name, at=self._clock())

    def _complain(self, problem: Problem) -> None:
        if len(self._problems) < MOST_PROBLEMS:
            self._problems.append(problem)

    def _observe(self) -> None:
        done = compress.observe_imported(self._home, self._conn, self._settings, clock=self._clock)
        self._tally = self._tally._replace(
            observations=self._tally.observations + done.observations,
            summaries=self._tally.summaries + done.summaries,
        )

    def report(self, found: Found) -> Report:
        made = _report(
            self._importer,
            found,
            counts=self._past.count,
            problems=[*found.problems, *self._problems],
            dry_run=False,
        )
        return made._replace(
            unchanged=self._unchanged,
            observations=self._tally.observations,
            summaries=self._tally.summaries,
        )


def _report(
    importer: Importer,
    found: Found,
    *,
    counts: Count,
    problems: Sequence[Problem],
    dry_run: bool,
) -> Report:
    files = sum(len(group.files) for group in found.groups)
    bad = {problem.path for problem in problems if problem.line == 0}
    if bad and not files - len(bad & {path for group in found.groups for path in group.files}):
        first = next(problem for problem in problems if problem.line == 0)
        raise CmemError(f"nothing could be read: {first.path}: {first.detail}")
    return Report(
        host=importer.HOST,
        folder=found.folder,
        dry_run=dry_run,
        files=files,
        bytes=found.bytes,
        unchanged=0,
        **counts._asdict(),
        observations=0,
        summaries=0,
        problems=tuple(problems),
    )


def _recent(groups: Sequence[Group], limits: Limits) -> list[Group]:
    """The groups in which something may be of the time that is asked for."""
    return [group for group in groups if group.changed_ns >= limits.since * 1_000_000]


def _latest(now: int) -> int:
    """The latest time that something can have happened at, with a clock that is a bit wrong."""
    return max(now, ingest.SANE_MS) + ingest.DAY_MS


def _changed(group: Group, now: int) -> int:
    return min(group.changed_ns // 1_000_000, now)


def _is_complete(group: Group, now: int) -> bool:
    return group.changed_ns <= (now - ingest.IDLE_MS) * 1_000_000


def _name(host: str, group: Group) -> str:
    """The identity of a group as it is now: another one when a byte was added."""
    text = "\0".join((*map(os.path.realpath, group.files), str(group.size), str(group.changed_ns)))
    return f"import:{host}:{hashlib.sha256(os.fsencode(text)).hexdigest()[:32]}"
