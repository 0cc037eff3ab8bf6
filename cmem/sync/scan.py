"""What has changed in this store since the last time, as registers with revisions.

Every record is held against the hash it was known by. A row that no machine has told is as old
as it says, or as what was decided of it since; a change of one that was told is later than all that this machine has seen.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cmem.store import dump, load_projects, mirrored, mirrored_gone, registers
from cmem.store import touched as touched_sessions
from cmem.store.connection import transaction
from cmem.store.portable import OBSERVATION, PROJECT, SESSION, TURN, WORK, Record
from cmem.store.registers import ABSENT, CONTENT, TOLD, UNTOLD, Register
from cmem.sync import content, gone
from cmem.sync.content import ALIAS, GONE, MERGED, SUPERSEDED

if TYPE_CHECKING:
    import apsw

    from cmem.sync.clock import Clock

_BATCH = 500
Progress = Callable[[int], None]


class Scanned(NamedTuple):
    """``changed``: how many registers have a new value. ``stale``: words that were told are no
    longer what is said, so the own file is to be written anew. ``sessions``: rows of sessions in
    which something is to be told."""

    changed: int
    stale: bool
    sessions: frozenset[int]


class _Scan:
    def __init__(
        self,
        conn: apsw.Connection,
        clock: Clock,
        machines: Sequence[str],
        *,
        now: int,
        dry_run: bool,
    ) -> None:
        self._conn, self._clock, self._machines = conn, clock, machines
        self._now, self._dry_run = now, dry_run
        self._found: list[Register] = []
        self._back: set[tuple[str, str]] = set()
        self.changed, self.stale = 0, False
        self.sessions: set[int] = set()

    def gone(self) -> None:
        found = gone.look(self._conn, self._clock, self._machines, now=self._now)
        self._known_gone = found.back
        self._note(*found.changed)
        self.stale |= bool(found.changed)
        if not self._dry_run:
            for key, was in found.late:
                undone = was.state == gone.ALIVE
                mirrored_gone.bury(self._conn, key[0], key[1:], was.at, undone=undone)

    def projects(self) -> None:
        """Names, aliases that are no folder, and what counts as what."""
        merged = effective(self._conn, PROJECT, MERGED)
        aliases: dict[str, str] = {}
        for record in dump.projects(self._conn):
            born = int(record["created_at"])
            before = registers.of(self._conn, PROJECT, str(record["key"]))
            self._content(record, before.get(CONTENT), first=born)
            aliases |= {
                content.told([kind, alias]): str(record["key"])
                for kind, alias, _at in record["aliases"]
                if kind in content.ALIASES
            }
            into = record[MERGED]
            if into != merged.get(record["key"]):
                self._decide(
                    (PROJECT, str(record["key"])),
                    MERGED,
                    into,
                    first=None if MERGED in before else born,
                )
        known = {one.key: one for one in registers.named(self._conn, ALIAS, CONTENT)}
        for key, project in aliases.items():
            if key not in known:
                self._note(Register(ALIAS, key, CONTENT, self._clock.first(0), project, UNTOLD))
            elif known[key].value != project:
                self._decide((ALIAS, key), CONTENT, project)
        for key, one in known.items():
            if one.value and key not in aliases and load_projects.find(self._conn, one.value):
                self._decide((ALIAS, key), CONTENT, "")

    def session(self, ref: int, shapes: dump.Shapes) -> None:
        """A session with all in it, but for turns that still go on."""
        going_on = mirrored.open_turns(self._conn, ref)
        before = len(self._found) + self.changed
        for record in told(self._conn, ref, shapes, going_on):
            self._record(record)
        if len(self._found) + self.changed != before:
            self.sessions.add(ref)

    def unshown(self, ref: int, shapes: dump.Shapes) -> None:
        """A session of which nothing is left to see: others are told so of its turns."""
        before = len(self._found) + self.changed
        for record, known in unshown(self._conn, ref, shapes):
            self._content(record, known, first=int(record["opened_at"]))
        if len(self._found) + self.changed != before:
            self.sessions.add(ref)

    def _record(self, record: Record) -> None:
        letter = content.letter(record)
        if letter and self._known_gone:
            key = gone.key(letter, str(record["uid"]))
            if key in self._known_gone:
                self._bring_back(key, record)
        times = (record.get(name) for name in ("created_at", "opened_at", "started_at"))
        at = next((int(time) for time in times if time is not None), 0)
        known = registers.of(self._conn, str(record["record"]), content.key_of(record))
        self._content(record, known.get(CONTENT), first=at)
        if record["record"] == OBSERVATION.type:
            self._marks(record, known, first=None if CONTENT in known else at)

    def _content(self, record: Record, known: Register | None, *, first: int) -> None:
        """Note the words of a record, ``known`` by this until now: None where no machine has told
        it."""
        kind, key, digest = str(record["record"]), content.key_of(record), content.digest(record)
        if (kind, key) in self._back:  # whoever erased it meanwhile has to hear it anew
            rev = self._clock.tick(self._now)
            self._note(Register(kind, key, CONTENT, rev, digest, UNTOLD))
            return
        if known is None:
            told_at = max(first, _decided_at(record, self._now))
            self._note(Register(kind, key, CONTENT, self._clock.first(told_at), digest, UNTOLD))
            return
        mine = known.is_of(self._machines)
        if known.value != digest and not content.is_pruned(record):
            self.stale |= (
                mine and known.state == TOLD and not content.is_worded_alike(known.value, digest)
            )
            rev = self._clock.tick(_changed_at(record, self._now))
            self._note(Register(kind, key, CONTENT, rev, digest, UNTOLD))
        elif known.state == ABSENT and mine:
            self._note(known._replace(state=UNTOLD))

    def _marks(self, record: Record, known: Mapping[str, Register], *, first: int | None) -> None:
        """Note what is decided of an observation; ``first``: when it was made, where it is new."""
        key = str(record["uid"])
        for name, value in content.marks(record).items():
            before = known.get(name)
            if before is None and content.is_usual(name, record):
                continue
            if before is None or before.value != value:
                since = first if before is None else None
                self._decide((OBSERVATION.type, key), name, json.loads(value), first=since)
        by = record.get(SUPERSEDED)
        if by != self._superseded.get(key):
            self._supersede(key, by, first=None if SUPERSEDED in known else first)

    def _supersede(self, key: str, by: str | None, *, first: int | None) -> None:
        """A row that stands for itself hidden, because what stands for it is not here, is no
        decision."""
        known = self._superseded.get(key)
        if not known or by != key or mirrored.has_observation(self._conn, known):
            self._decide((OBSERVATION.type, key), SUPERSEDED, by, first=first)

    def _decide(
        self, of: tuple[str, str], name: str, value: object, *, first: int | None = None
    ) -> None:
        """Note a decision; as old as ``first`` where it is the first of its kind and nobody knows
        when it was made."""
        kind, key = of
        kept = str(value) if kind == ALIAS else content.told(value)
        rev = self._clock.tick(self._now) if first is None else self._clock.first(first)
        self._note(Register(kind, key, name, rev, kept, UNTOLD))

    def _bring_back(self, key: str, record: Record) -> None:
        """A row that was forgotten is told anew, and with it the turn and session it is of."""
        known = registers.get(self._conn, GONE, key)
        was = gone.verdict(known.value) if known else None
        at = was.at if was else self._now
        rev = self._clock.tick(self._now)
        self._note(Register(GONE, key, CONTENT, rev, gone.Verdict(gone.ALIVE, at).told, UNTOLD))
        if not self._dry_run:
            mirrored_gone.bury(self._conn, key[0], key[1:], at, undone=True)
        self._back.add((str(record["record"]), content.key_of(record)))
        self._again(SESSION, str(record["session"]))
        if record["record"] != WORK.type:
            self._again(TURN.type, f"{record['session']}/{record['turn']}")

    def _again(self, kind: str, key: str) -> None:
        if (kind, key) not in self._back:
            self._back.add((kind, key))
            self.flush()
            known = registers.get(self._conn, kind, key)
            if known is not None:
                self._note(known._replace(rev=self._clock.tick(self._now), state=UNTOLD))

    def _note(self, *found: Register) -> None:
        self._found += found
        if len(self._found) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        self.changed += len(self._found)
        if self._found and not self._dry_run:
            with transaction(self._conn):
                registers.put(self._conn, self._found)
        self._found.clear()

    def prepare(self) -> None:
        self._superseded = effective(self._conn, OBSERVATION.type, SUPERSEDED)


def scan(
    conn: apsw.Connection,
    clock: Clock,
    machines: Sequence[str],
    *,
    now: int,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Scanned:
    """Note all that has changed in the store; with ``dry_run`` only count it."""
    work = _Scan(conn, clock, machines, now=now, dry_run=dry_run)
    work.prepare()
    work.gone()
    work.projects()
    shapes, refs = dump.shapes(conn), dump.sessions(conn, dump.Chosen())
    touched = touched_sessions.take_up(conn)
    for count, ref in enumerate(refs, 1):
        if touched is None or ref in touched:
            work.session(ref, shapes)
        if progress is not None:
            progress(count)
    for ref in mirrored.unshown_sessions(conn, refs):
        if touched is None or ref in touched:
            work.unshown(ref, shapes)
    work.flush()
    return Scanned(work.changed, work.stale, frozenset(work.sessions))


def told(
    conn: apsw.Connection, ref: int, shapes: dump.Shapes, going_on: frozenset[int]
) -> Iterator[Record]:
    """The session's records, but for turns that still go on; nothing where that is all."""
    head: Record | None = None
    for record in dump.of_session(conn, ref, shapes):
        if record["record"] == SESSION:
            head = record
            if not going_on:
                yield record
                head = None
            continue
        number = record.get("number" if record["record"] == TURN.type else "turn")
        if number in going_on:
            continue
        if head is not None:
            yield head
            head = None
        yield record


def unshown(
    conn: apsw.Connection, ref: int, shapes: dump.Shapes
) -> Iterator[tuple[Record, Register]]:
    """The turns of a session in which nothing is to be seen, as far as machines know them, and
    what they are known by."""
    for record in dump.of_session(conn, ref, shapes):
        if record["record"] == TURN.type and record.get("forgotten"):
            known = registers.get(conn, TURN.type, content.key_of(record))
            if known is not None:
                yield record, known


def effective(conn: apsw.Connection, kind: str, name: str) -> dict[str, str]:
    """Which thing counts as which: what machines have decided, without circles."""
    edges = [
        (one.rev, one.key, str(json.loads(one.value)))
        for one in registers.named(conn, kind, name)
        if one.value != "null"
    ]
    return content.acyclic(edges)


def _changed_at(record: Record, now: int) -> int:
    """When a person has changed the words, where the row knows; else now."""
    return _moment(record, "edited_at", now) or now


def _decided_at(record: Record, now: int) -> int:
    """When it was last decided what the row says, after it was made; 0 where it never was. Another
    machine may have made the same row, and decided nothing."""
    return max(_moment(record, name, now) for name in ("edited_at", "superseded_at"))


def _moment(record: Record, name: str, now: int) -> int:
    known = record.get("metadata")
    at = known.get(name) if isinstance(known, dict) else None
    return at if isinstance(at, int) and 0 < at <= now else 0
