"""What other machines have told, taken into the store: whatever is later than what is known.

In passes, because what is named comes before what names it, and may stand in another file:
projects and what is forgotten, sessions, turns, evidence, memories, then what is decided of them.
A record that names what is not there yet waits: its file is read again from there next time.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from cmem.importers.bring import SLICE_MS, scrubbed
from cmem.store import fields, load, load_projects, mirrored, mirrored_projects, pairs, registers
from cmem.store.connection import transaction
from cmem.store.fields import Row, Unfit
from cmem.store.portable import OBSERVATION, PROJECT, SESSION, TURN, WORK, Record
from cmem.store.registers import CONTENT, TOLD, UNTOLD, Register
from cmem.sync import content, gone, scan
from cmem.sync.clock import Clock, is_sound
from cmem.sync.content import ALIAS, GONE, MARK, MERGED, PAIRS, PINNED, SEEN, SUPERSEDED

if TYPE_CHECKING:
    import apsw

    from cmem.sync.folder import Source
    from cmem.sync.gone import Purge

PASSES: tuple[frozenset[str], ...] = (
    frozenset((PROJECT, GONE)),
    frozenset((SESSION,)),
    frozenset((TURN.type,)),
    frozenset(("prompt", "tool_use")),
    frozenset((OBSERVATION.type, "summary", WORK.type)),
    frozenset((WORK.type, MARK)),
)
_BATCH = 200


class Merge:
    """Taking in: what has come of it so far. ``stale``: words that this machine has told are
    outdone. ``edited``: rows whose words of before are to leave the copies too."""

    def __init__(
        self,
        conn: apsw.Connection,
        clock: Clock,
        machines: Sequence[str],
        *,
        now: int,
        purge: Purge,
        dry_run: bool,
    ) -> None:
        self._conn, self._clock, self._machines = conn, clock, machines
        self._now, self._purge, self._dry_run = now, purge, dry_run
        self._shapes = fields.shapes(conn)
        self._loader = load.Loader(conn)
        self._gone: list[Register] = []
        self._turns: list[Row] = []
        self.taken: Counter[str] = Counter()
        self.stale = False
        self.edited: list[Row] = []

    def run(self, sources: Sequence[Source], progress: Callable[[int], None] | None) -> None:
        """Read every source, pass by pass."""
        for number, kinds in enumerate(PASSES):
            for source in sources:
                self._read(source, kinds, number)
                if progress is not None:
                    progress(number)
            if number == 0:
                self._forget()
        if not self._dry_run:
            self.settle()

    def _read(self, source: Source, kinds: frozenset[str], number: int) -> None:
        todo = iter(self._fit(source, kinds, number))
        more = True
        while more:
            batch = [one for _, one in zip(range(_BATCH), todo, strict=False)]
            more = bool(batch)
            while batch:
                with self._writing():
                    end = time.monotonic() + SLICE_MS / 1000
                    while batch and time.monotonic() < end:
                        self._take(source, *batch.pop(0))

    def _writing(self) -> AbstractContextManager[object]:
        return nullcontext() if self._dry_run else transaction(self._conn)

    def _fit(
        self, source: Source, kinds: frozenset[str], number: int
    ) -> Iterator[tuple[int, Record]]:
        """The records of this pass that have a sound revision."""
        for place, record in source.records(kinds, first=number == 0):
            late = record["record"] == WORK.type and record.get("item") != record.get("uid")
            if record["record"] == WORK.type and late != (number == len(PASSES) - 1):
                continue
            if not is_sound(record.get("rev"), now=self._now):
                source.complain(place, "no sound revision")
                continue
            yield place, record

    def _take(self, source: Source, place: int, record: Record) -> None:
        takes = {GONE: self._take_gone, MARK: self._take_mark, PROJECT: self._take_project}
        self._clock.see(record["rev"])
        try:
            if takes.get(record["record"], self._take_row)(record):
                self.taken[record["record"]] += 1
        except Unfit as error:
            if record.get("forgotten"):
                return  # what was forgotten and never came needs no place
            if source.is_waiting(str(error)):
                source.wait(place)
            else:
                source.complain(place, str(error))

    @property
    def _latest(self) -> int:
        """The time of the machine whose clock is furthest ahead: one that is behind must not take
        what others tell for the future, and correct it for all."""
        return max(self._now, self._clock.newest_ms)

    # --- what is forgotten ---

    def _take_gone(self, record: Record) -> bool:
        key, value = record.get("key"), record.get("value")
        if not isinstance(key, str) or not gone.is_key(key):
            raise Unfit("no hash of a row")
        if not isinstance(value, str) or gone.verdict(value) is None:
            raise Unfit("nothing that can have become of a row")
        told = Register(GONE, key, CONTENT, record["rev"], value, TOLD)
        known = registers.get(self._conn, GONE, key)
        waiting = [one for one in self._gone if one.key == key]
        if gone.join(waiting[-1] if waiting else known, told) is None:
            return False
        self._gone = [one for one in self._gone if one.key != key] + [told]
        return True

    def _forget(self) -> None:
        """All at once, because looking for a row by its hash reads a whole table."""
        if self._gone and not self._dry_run:
            gone.apply(self._conn, self._gone, now=self._now, purge=self._purge)
            with transaction(self._conn):
                registers.put(self._conn, self._gone)
        self._gone = []

    # --- projects ---

    def _take_project(self, record: Record) -> bool:
        made = fields.read(content.plain(record), self._shapes, now=self._latest)
        assert isinstance(made, dict)
        known = registers.get(self._conn, PROJECT, made["key"])
        told = self._content(PROJECT, made["key"], record)
        if not _outdoes(told, known):
            return False
        if not self._dry_run:
            if not load_projects.find(self._conn, made["key"]):
                mirrored_projects.add_project(self._conn, made)
            mirrored_projects.update_project(self._conn, made)
            registers.put(self._conn, [told])
        return True

    # --- rows ---

    def _take_row(self, record: Record) -> bool:
        given = fields.read(content.plain(record), self._shapes, now=self._latest)
        if not isinstance(given, Row):
            raise Unfit(f"unknown record {str(record['record'])[:40]!r}")
        key = content.key_of(record)
        registered = registers.of(self._conn, given.type, key)
        known, told = registered.get(CONTENT), self._content(given.type, key, record)
        later, state = _outdoes(told, known), self._state(given)
        back = state == gone.ALIVE
        # Any words of a row that was brought back and is not here are better than none.
        missing = back and not later and not mirrored.is_there(self._conn, given)
        if state not in ("", gone.ALIVE) or not (later or missing):
            return False
        if self._dry_run:
            return known is None or known.value != told.value
        given = scrubbed(given)
        if mirrored.is_hidden(self._conn, given):
            self._turns.append(given)  # when all its rows are there
        changed = mirrored.put(self._conn, self._loader, given, back=back, now=self._now)
        if changed is None:
            return False
        if changed:
            self.edited.append(given)
        if not later:
            return True  # the words it had here are lost; these are told as the newest by the scan
        if known is not None:
            mine = known.is_of(self._machines) and known.state == TOLD
            self.stale |= mine and not content.is_worded_alike(known.value, told.value)
        registers.put(self._conn, [told])
        for one in registered.values():
            if one.name:
                self._set(one)
        return known is None or known.value != told.value

    def _content(self, kind: str, key: str, record: Record) -> Register:
        return Register(kind, key, CONTENT, record["rev"], content.digest(record), TOLD)

    def _state(self, given: Row) -> str:
        """What was decided that has become of the row, "" where nobody decided anything."""
        if given.kind is None or not given.kind.letter:
            return ""
        key = gone.key(given.kind.letter, str(given.columns["uid"]))
        known = registers.get(self._conn, GONE, key)
        was = gone.verdict(known.value) if known else None
        return was.state if was else ""

    # --- what is decided beside ---

    def _take_mark(self, record: Record) -> bool:
        told = _mark(record)
        known = registers.get(self._conn, told.type, told.key, told.name)
        if not _outdoes(told, known):
            return False
        if not self._dry_run:
            registers.put(self._conn, [told])
            self._set(told)
            if told.type == ALIAS and known is not None:
                self._join(known, told)
        return known is None or known.value != told.value

    def _join(self, known: Register, told: Register) -> None:
        """Two machines knew one remote as two projects before they met: they are one."""
        met = known.rev[:16] == told.rev[:16] == "0" * 16 and known.value != told.value
        if met and known.value and registers.get(self._conn, PROJECT, known.value, MERGED) is None:
            rev = self._clock.tick(self._now)
            into = content.told(told.value)
            registers.put(self._conn, [Register(PROJECT, known.value, MERGED, rev, into, UNTOLD)])

    def _set(self, told: Register) -> None:
        if told.name == PINNED:
            mirrored.set_columns(self._conn, told.key, {"pinned": int(json.loads(told.value))})
        elif told.name == SEEN:
            columns = content.seen_columns(json.loads(told.value))
            mirrored.set_columns(self._conn, told.key, columns or {})
        elif told.name == PAIRS and mirrored.has_observation(self._conn, told.key):
            pairs.put(self._conn, told.key, pairs.read(json.loads(told.value)) or ())

    def settle(self) -> None:
        """What counts as what, worked out from all decisions."""
        with transaction(self._conn):
            for given in self._turns:
                mirrored.put(self._conn, self._loader, given, back=False, now=self._now)
            for one in registers.named(self._conn, ALIAS, CONTENT):
                kind, alias = json.loads(one.key)
                mirrored_projects.set_alias(
                    self._conn, (kind, alias), one.value or None, now=self._now
                )
            wanted, here = (
                scan.effective(self._conn, PROJECT, MERGED),
                mirrored_projects.merged(self._conn),
            )
            for key in sorted(wanted.keys() | here.keys()):
                if wanted.get(key) != here.get(key):
                    mirrored_projects.merge_project(self._conn, key, wanted.get(key))
            self._supersede()
            gone.settle_sessions(self._conn)

    def _supersede(self) -> None:
        wanted = scan.effective(self._conn, OBSERVATION.type, SUPERSEDED)
        here = mirrored.superseded(self._conn)
        for uid in sorted(wanted.keys() | here.keys()):
            by = wanted.get(uid)
            if by is not None and not mirrored.has_observation(self._conn, by):
                by = uid
            if here.get(uid) == by:
                continue
            if registers.get(self._conn, OBSERVATION.type, uid) is not None:
                mirrored.supersede(self._conn, uid, by)


def _outdoes(told: Register, known: Register | None) -> bool:
    """Whether the told one is later; of two at once, made by two of one name, the greater."""
    return known is None or (told.rev, told.value) > (known.rev, known.value)


def _mark(record: Record) -> Register:
    kind, key, name = (record.get(one) for one in ("of", "key", "name"))
    value: Any = record.get("value")
    if not isinstance(key, str) or not isinstance(name, str) or not isinstance(kind, str):
        raise Unfit("a mark of nothing")
    good = {
        (OBSERVATION.type, PINNED): value in (0, 1),
        (OBSERVATION.type, SEEN): content.seen_columns(value) is not None,
        (OBSERVATION.type, PAIRS): pairs.read(value) is not None,
        (OBSERVATION.type, SUPERSEDED): value is None or isinstance(value, str),
        (PROJECT, MERGED): value is None or isinstance(value, str),
        (ALIAS, CONTENT): isinstance(value, str) and _is_alias(key),
    }
    if not good.get((kind, name), False):
        raise Unfit(f"a mark {name[:40]!r} that cannot be")
    kept = value if kind == ALIAS else content.told(value)
    return Register(kind, key, name, record["rev"], kept, TOLD)


def _is_alias(key: str) -> bool:
    try:
        found = json.loads(key)
    except (ValueError, RecursionError):
        return False
    return (
        isinstance(found, list)
        and len(found) == 2
        and found[0] in content.ALIASES
        and isinstance(found[1], str)
    )
