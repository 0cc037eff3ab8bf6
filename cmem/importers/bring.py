"""Records of any source into the store: checked, scrubbed, in short transactions, counted.

One bad record is told and left out, the others go in. Killed at any moment, the same again
completes it.
"""

from __future__ import annotations

import functools
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from cmem import scan
from cmem.failpoint import hit
from cmem.importers import own_folders
from cmem.privacy import second
from cmem.store import drafts, fields, load, load_projects, stored_text, titles, told
from cmem.store.connection import transaction
from cmem.store.fields import Row, Unfit
from cmem.store.portable import PROJECT, SESSION, TOMBSTONE, Record

if TYPE_CHECKING:
    import apsw

# A transaction ends when it has lasted this long, so that no hook's reader or writer waits.
SLICE_MS = 100
GATHER = 200
MAX_TOLD = 100
# What rows are known by; nothing of it is a person's words.
_IDENTITIES = frozenset(
    ("uid", "host", "content_session_id", "tool_use_id", "content_hash", "title_norm_key")
    + ("native_prompt_id", "native_prompt_hash", "origin_device_id", "reinforcement_dates")
)
_SCRUBBED_AS = {"session": "N", "turn": "turn"}


class Item(NamedTuple):
    """What a source found at a place: a record, or why there is none. ``newer``: what follows is
    of a version that is not known here."""

    place: int | str
    record: object = None
    trouble: str = ""
    newer: bool = False


class Trouble(NamedTuple):
    place: int | str
    reason: str


class Brought(NamedTuple):
    """What came of it: counts by (type, new | known | forgotten), and what could not be read;
    the first ``MAX_TOLD`` of these are told."""

    counts: Counter[tuple[str, str]]
    troubles: list[Trouble]
    bad: int

    def total(self, result: str) -> int:
        return sum(count for (_, found), count in self.counts.items() if found == result)


class _Work:
    """A run: what is gathered, and what has come of the rest."""

    def __init__(self, conn: apsw.Connection, *, now: int, dry_run: bool) -> None:
        self._conn, self._now, self._dry_run = conn, now, dry_run
        self._shapes = fields.shapes(conn)
        self._loader = load.Loader(conn)
        self._gathered: list[tuple[int | str, Row | Record]] = []
        self._type = ""
        self._late = 0
        self.counts: Counter[tuple[str, str]] = Counter()
        self.troubles: list[Trouble] = []
        self.bad = 0

    def take(self, item: Item) -> None:
        if item.trouble:
            self._complain(item.place, item.trouble)
            return
        try:
            if isinstance(item.record, dict) and item.record.get("record") == SESSION:
                self._late = fields.lateness(item.record, now=self._now)
            made = fields.read(item.record, self._shapes, now=self._now, late=self._late)
        except Unfit as error:
            self._complain(item.place, str(error))
            return
        kind = made["record"] if isinstance(made, dict) else "row"
        if kind == PROJECT and isinstance(made, dict):
            made = own_folders.of(_project(made), load_projects.look(self._conn, made))
        # Projects go in together: a merge is made with the project it belongs to or never.
        if kind != self._type or (kind == "row" and len(self._gathered) >= GATHER):
            self.flush()
        self._type = kind
        self._gathered.append((item.place, self._fit(made) if isinstance(made, Row) else made))

    def _fit(self, given: Row) -> Row:
        """The row scrubbed; as it is where it will not be put in, because it is there."""
        lettered = given.kind is not None and given.kind.letter
        known = lettered and load.look(self._conn, given) == load.KNOWN
        return given if known or self._dry_run else scrubbed(given)

    def flush(self) -> None:
        """Put in what is gathered."""
        gathered, self._gathered = self._gathered, []
        if self._type == "row":
            self._put_rows([(at, one) for at, one in gathered if isinstance(one, Row)])
            return
        records = [one for _, one in gathered if isinstance(one, dict)]
        for one, result in zip(records, self._put_records(records), strict=True):
            self.counts[one["record"], result] += 1

    def end(self) -> Brought:
        self.flush()
        if not self._dry_run:
            self._loader.settle()
        return Brought(self.counts, self.troubles, self.bad)

    def _put_records(self, records: list[Record]) -> list[str]:
        if self._type == PROJECT:
            if self._dry_run:
                return [load_projects.look(self._conn, one) for one in records]
            with transaction(self._conn):
                return load_projects.put(self._conn, records, now=self._now)
        if self._type == TOMBSTONE:
            if self._dry_run:
                return [told.look(self._conn, one) for one in records]
            return told.put(self._conn, records, now=self._now)
        return []

    def _put_rows(self, gathered: list[tuple[int | str, Row]]) -> None:
        if self._dry_run:
            for _, one in gathered:
                self.counts[one.type, load.look(self._conn, one)] += 1
            return
        done = 0
        while done < len(gathered):
            end = time.monotonic() + SLICE_MS / 1000
            with transaction(self._conn):
                while done < len(gathered) and time.monotonic() < end:
                    self._put_row(*gathered[done])
                    done += 1
            hit("imported_slice")

    def _put_row(self, place: int | str, given: Row) -> None:
        try:
            self.counts[given.type, self._loader.put(given)] += 1
        except Unfit as error:
            self._complain(place, str(error))

    def _complain(self, place: int | str, reason: str) -> None:
        self.bad += 1
        if len(self.troubles) < MAX_TOLD:
            self.troubles.append(Trouble(place, reason))


def bring(
    conn: apsw.Connection,
    items: Iterable[Item],
    *,
    now: int,
    dry_run: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Brought:
    """Put every record of ``items`` into the store, or (``dry_run``) tell what would happen.
    ``progress`` is told how many have been read."""
    work = _Work(conn, now=now, dry_run=dry_run)
    for number, item in enumerate(items, 1):
        work.take(item)
        if progress is not None and number % GATHER == 0:
            progress(number)
    return work.end()


@functools.lru_cache(maxsize=4096)
def _label(text: str) -> str:
    """A folder, a branch, the name of a model: the same few over and over."""
    return second.scrub(text)


def _project(record: Record) -> Record:
    """A project with its words scrubbed. Its key stays, for rows name it by that."""
    aliases = [[kind, _label(str(alias)), at] for kind, alias, at in record["aliases"]]
    words = {name: _label(str(record[name])) for name in ("name", "root")}
    return {**record, **words, "aliases": aliases}


def scrubbed(given: Row) -> Row:
    """The row with today's rules for secrets applied to every text of it, and an observation's
    identity made of the text that is left."""
    kind = _SCRUBBED_AS.get(given.type) or (given.kind.letter if given.kind else "")
    plain, packed = stored_text.columns(kind)
    texts = {name: str(given.columns.get(name) or "") for name in (*plain, *packed)}
    stored = stored_text.Stored(kind, 0, 0, texts, frozenset(packed))
    clean = scan.cleaned(stored)
    for name, words in given.columns.items():
        if isinstance(words, str) and name not in texts and name not in _IDENTITIES:
            label = _label(words)
            if label != words:
                clean[name] = label
    if not clean:
        return given
    columns = given.columns | clean
    if kind == "O":
        title, narrative = str(columns["title"]), str(columns["narrative"])
        columns["content_hash"] = drafts.content_hash(given.session, title, narrative)
        columns["title_norm_key"] = titles.norm_key(title)
    return given._replace(columns=columns)
