"""Ingest: what hooks have put into the mailbox becomes raw evidence in the store.

No model, no clock in the way: entries are decoded outside any transaction, taken in by short
ones, and leave the mailbox only after their commit. A run killed in between finds them again
and knows them by their identity.
"""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cmem import here, hooklog, hosts, spill, spool_repair, spooled, turn_rules
from cmem.failpoint import FailpointError, hit
from cmem.hosts import values
from cmem.model import Entry, Event, Origin, ProjectIdentity, Unreadable
from cmem.repo import read_remote
from cmem.sift import Sieve
from cmem.store import connection, evidence, projects, sessions, turns
from cmem.store.connection import transaction
from cmem.take import close_turn, leaves_trace, request_summary, take

if TYPE_CHECKING:
    import apsw

# One transaction: about 75 ms of lock for tool events of 5 kB (measured), 250 ms is the limit.
BATCH_EVENTS = 25
BATCH_BYTES = 128 * 1024
SPILL_FILES = 16  # one may hold 8 MiB
DAY_MS = 86_400_000
SANE_MS = 1_577_836_800_000  # 2020: a clock that says less was never set
IDLE_MS = 10 * 60_000  # a session without a running turn is summarised then
# A running turn is silent through a long build, a question to the person, a night: only what is
# silent for much longer was ended by something that no hook heard of.
TURN_IDLE_MS = 6 * 3_600_000


class Ingested(NamedTuple):
    """``events``: distinct events taken in, of every kind, the ``unreadable`` ones among
    them. ``duplicates``: entries whose event the store had already. ``lost``: the
    unreadable ones of which no row could be made. ``trouble``: what the user should know."""

    events: int = 0
    duplicates: int = 0
    unreadable: int = 0
    lost: int = 0
    trouble: str = ""


def ingest(home: str, conn: apsw.Connection, *, now: int) -> Ingested:
    """Take in all that the spool and the spill directory of ``home`` hold."""
    locate, sieve = Locator(), Sieve(home)
    drain, trouble = spool_repair.open_drain(home)
    total = Ingested(trouble=trouble)
    try:
        for batch, paths in _batches(home, drain):
            wanted, total = _sifted(home, sieve, batch, total=total)
            for part in _parts(wanted):
                total = _add(total, _take_part(home, conn, part, locate=locate, now=now))
                hit("ingest_after_commit")
            if drain is not None:
                spooled.delete(drain, [entry.id for entry in batch if entry.id])
            hit("ingest_after_delete")
            spill.remove(paths)
    finally:
        if drain is not None:
            spooled.finish(drain)
    return total


def _batches(home: str, drain: apsw.Connection | None) -> Iterator[tuple[list[Entry], list[str]]]:
    """Entries in the order of their capture, spilled ones among the spooled, and the files
    the spilled ones lie in. Each entry comes once, whether or not it could be removed."""
    after, spilled = 0, _Spilled(home)
    while True:
        rows: list[Entry] = []
        if drain is not None:
            rows = spooled.read_batch(
                drain, after_id=after, limit=BATCH_EVENTS, max_bytes=BATCH_BYTES
            )
        after = rows[-1].id if rows else after
        due = spilled.due(max((entry.captured_at for entry in rows), default=None))
        if not rows and not due:
            return
        batch = [*rows, *(entry for _path, entry in due)]
        yield sorted(batch, key=_order), [path for path, _entry in due]


class _Spilled:
    """The spilled events of a run, oldest first, a few at a time. The folder is listed anew only
    when all that was in it has been read; each file comes once, whether or not it could be
    removed."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._files: list[str] = []  # not read yet, the oldest last
        self._listed: set[str] = set()
        self._read: list[tuple[str, Entry]] = []

    def due(self, newest: int | None) -> list[tuple[str, Entry]]:
        """The next events with their files: those captured by ``newest``, with None any."""
        while not self._read and self._more():
            pass
        due = [item for item in self._read if newest is None or item[1].captured_at <= newest]
        self._read = [item for item in self._read if item not in due]
        return due

    def _more(self) -> bool:
        """Read the next files; whether there were any."""
        if not self._files:
            new = [path for path in spill.waiting(self._home) if path not in self._listed]
            self._listed.update(new)
            self._files = new[::-1]
        some = [self._files.pop() for _ in range(min(SPILL_FILES, len(self._files)))]
        self._read = spill.read(self._home, some)
        return bool(some)


def _order(entry: Entry) -> tuple[int, int]:
    return entry.captured_at, entry.id


def _sifted(
    home: str, sieve: Sieve, batch: Sequence[Entry], *, total: Ingested
) -> tuple[list[Entry], Ingested]:
    """The entries that are wanted. One whose judgement fails by a fault of ours is set aside."""
    wanted: list[Entry] = []
    for entry in batch:
        try:
            if sieve.keeps(entry):
                wanted.append(entry)
        except (*connection.ENVIRONMENT_ERRORS, FailpointError):
            raise
        except Exception as error:  # noqa: BLE001 - any fault of ours, and nothing is swallowed
            total = _add(total, _set_aside(home, entry, error))
    return wanted, total


def _set_aside(home: str, entry: Entry, error: Exception) -> Ingested:
    """Keep the entry where a person can look at it, and say so in the log."""
    spill.keep_bad(home, entry)
    hooklog.note(home, entry.event, error, size=len(entry.payload), outcome="bad")
    return Ingested(events=1, unreadable=1)


def _parts(batch: Sequence[Entry]) -> Iterator[list[Entry]]:
    """The batch in pieces of one transaction each: a spilled entry can be of any size."""
    part: list[Entry] = []
    size = 0
    for entry in batch:
        size += len(entry.payload)
        if part and (len(part) == BATCH_EVENTS or size > BATCH_BYTES):
            yield part
            part, size = [], len(entry.payload)
        part.append(entry)
    if part:
        yield part


def _take_part(
    home: str, conn: apsw.Connection, part: Sequence[Entry], *, locate: Locator, now: int
) -> Ingested:
    """One transaction. Should an entry break it by a fault of ours, the others go in one by
    one and that entry is set aside, so that it never holds up what was captured after it."""
    try:
        taken = _commit(conn, part, locate=locate, now=now)
    except (*connection.ENVIRONMENT_ERRORS, FailpointError):
        raise
    except Exception as error:  # noqa: BLE001 - any fault of ours, and nothing is swallowed
        if len(part) == 1:
            return _set_aside(home, part[0], error)
        done = (_take_part(home, conn, [one], locate=locate, now=now) for one in part)
        return functools.reduce(_add, done)
    for _ in range(taken.lost):
        hooklog.drop(home)
    return taken


def _commit(conn: apsw.Connection, part: Sequence[Entry], *, locate: Locator, now: int) -> Ingested:
    events = [decode(_in_time(entry, now)) for entry in part]
    taken = Ingested()
    with transaction(conn):
        for event in events:
            taken = _add(taken, take_event(conn, event, locate=locate, now=now))
        hit("ingest_before_commit")
    return taken


def _in_time(entry: Entry, now: int) -> Entry:
    """The entry at a time that can have been: one of the far future would stay the newest for
    ever. A clock that stands at its beginning says nothing of others."""
    late = now >= SANE_MS and entry.captured_at > now + DAY_MS
    return entry._replace(captured_at=now) if late else entry


def decode(entry: Entry) -> Event:
    decoder = hosts.DECODERS.get(entry.host)
    if decoder is not None:
        # Whoever makes a repository names its branch.
        repo = entry.repo._replace(branch=values.line(entry.repo.branch))
        payload = values.without_known(entry.payload)
        return decoder(entry._replace(payload=payload, repo=repo))
    origin = Origin(
        eid=entry.eid,
        host=entry.host,
        event=entry.event,
        session="",
        at=entry.captured_at,
        cwd=entry.cwd,
        repo=entry.repo,
        project_env=entry.project_env,
        prompt_id="",
        agent_id="",
        agent_type="",
    )
    return Unreadable(origin, "unknown host")


def take_event(conn: apsw.Connection, event: Event, *, locate: Locator, now: int) -> Ingested:
    origin = event.origin
    if evidence.seen(conn, origin.eid):
        return Ingested(duplicates=1)
    evidence.remember(conn, origin.eid, at=now)
    if isinstance(event, Unreadable):
        if leaves_trace(event):
            take(conn, event, _session(conn, origin, locate=locate, now=now), now=now)
            return Ingested(events=1, unreadable=1)
        return Ingested(events=1, unreadable=1, lost=int(_is_loss(event)))
    if take(conn, event, _session(conn, origin, locate=locate, now=now), now=now):
        return Ingested(events=1)
    return Ingested(duplicates=1)


def _is_loss(event: Unreadable) -> bool:
    """An event that a hook was registered for and that could not be read; not one that
    merely means nothing to us."""
    return not event.reason.startswith(("unknown event", "unknown host"))


def _session(
    conn: apsw.Connection, origin: Origin, *, locate: Locator, now: int
) -> sessions.Session:
    """The event's session; the first event makes it, in the project it came from."""
    found = sessions.find(conn, origin.host, origin.session)
    if found is not None:
        return found
    identity = locate(origin)
    return sessions.insert(
        conn,
        origin,
        project_id=projects.resolve(conn, identity, now=now),
        project_key_source=identity.source,
    )


class Locator:
    """Projects by where an event came from, each remote read once in a run."""

    def __init__(self) -> None:
        self._remotes: dict[str, str] = {}
        self._user_home = os.path.expanduser("~")
        self._temp_dir = tempfile.gettempdir()

    def __call__(self, origin: Origin) -> ProjectIdentity:
        common_dir = origin.repo.common_dir
        if common_dir and common_dir not in self._remotes:
            self._remotes[common_dir] = read_remote(common_dir)
        return ProjectIdentity(
            *here.locate(
                origin.cwd,
                origin.repo,
                remote=self._remotes.get(common_dir, ""),
                project_env=origin.project_env,
                user_home=self._user_home,
                temp_dir=self._temp_dir,
            )
        )


def _add(left: Ingested, right: Ingested) -> Ingested:
    return Ingested(
        left.events + right.events,
        left.duplicates + right.duplicates,
        left.unreadable + right.unreadable,
        left.lost + right.lost,
        left.trouble or right.trouble,
    )


def sweep(conn: apsw.Connection, *, now: int, close_open: bool, session: str | None) -> int:
    """Close the turns that nothing will come to (all open ones if ``close_open``) and ask for
    the summaries of sessions that went idle; return how many turns were closed.

    ``session`` (a host's session id or ``N4``) narrows both to one session."""
    with transaction(conn):
        stale = turns.stale(conn, idle_before=now - TURN_IDLE_MS, session=session)
        for turn_id, session_id in stale:
            close_turn(conn, turn_id, session_id, turn_rules.STALE, now=now)
        asked = turns.stale(conn, idle_before=None, session=session) if close_open else []
        for turn_id, session_id in asked:
            close_turn(conn, turn_id, session_id, turn_rules.ASKED, now=now)
        for session_id in sessions.idle_unsummarised(
            conn, idle_before=now - IDLE_MS, session=session
        ):
            request_summary(conn, session_id, reason="idle", now=now)
    return len(stale) + len(asked)
