"""The file of this machine: what it has decided, and nothing that it does not say any more.

It is appended to as long as that only adds to what it says, and else written anew beside itself
and put in its place, so that words which were forgotten or edited are in no line of it.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import secrets
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cmem.export import whole
from cmem.failpoint import hit
from cmem.store import dump, meta, mirrored, registers
from cmem.store.portable import PROJECT, Record
from cmem.store.registers import CONTENT, TOLD, UNTOLD, Register
from cmem.sync import content, folder, scan
from cmem.sync.content import ALIAS, GONE, MARK
from cmem.sync.folder import Source

if TYPE_CHECKING:
    import apsw


def is_as_left(conn: apsw.Connection, path: str) -> bool:
    """Whether the file is the one that was written last."""
    left = meta.mapping(conn, "sync_own")
    if not left or not os.path.isfile(path):
        return False
    with Source(path) as found:
        size = os.path.getsize(path)
        return (size, found.tail(size)) == (left.get("size"), left.get("tail"))


def is_of_another(conn: apsw.Connection, path: str, machines: Sequence[str]) -> bool:
    """Whether somebody else writes under this machine's name: a copy of this home, or this home
    as it was later. A line tells that whose revision is not known here."""
    if not os.path.lexists(path):
        return False
    with Source(path) as found:
        return any(_is_foreign(conn, record, machines) for record in found.every())


def _is_foreign(conn: apsw.Connection, record: Record, machines: Sequence[str]) -> bool:
    rev = record.get("rev")
    if not isinstance(rev, str) or rev[-8:] not in machines:
        return False
    if record["record"] in (MARK, GONE):
        kind = str(record.get("of", GONE))
        key, name = str(record.get("key")), str(record.get("name", CONTENT))
    else:
        try:
            kind, key, name = str(record["record"]), content.key_of(record), CONTENT
        except KeyError:
            return False
    known = registers.get(conn, kind, key, name)
    return known is None or known.rev < rev


def write(
    conn: apsw.Connection,
    path: str,
    machines: Sequence[str],
    *,
    anew: bool,
    sessions: frozenset[int],
) -> int:
    """Bring the file to what this machine says; how many lines were written. ``sessions``: those
    in which something is to be told."""
    if not anew and not registers.untold(conn):
        return 0
    count = _rewrite(conn, path, machines) if anew else _append(conn, path, machines, sessions)
    hit("sync_written")
    registers.mark_told(conn)
    _leave(conn, path)
    return count


def clean(path: str) -> None:
    """Take away what a run that was killed has left beside the file."""
    for one in glob.glob(glob.escape(path) + ".*.tmp"):
        with contextlib.suppress(OSError):
            os.unlink(one)


def _rewrite(conn: apsw.Connection, path: str, machines: Sequence[str]) -> int:
    generation = secrets.token_hex(8)
    head = {"record": folder.HEAD, "format": folder.FORMAT}
    count = 0
    with whole.file(path) as out:
        out.write(folder.encode({**head, "machine": machines[0], "generation": generation}))
        for record in _told(conn, machines, every=True, sessions=frozenset()):
            out.write(folder.encode(record))
            count += 1
        hit("sync_before_rename")
    return count


def _append(
    conn: apsw.Connection, path: str, machines: Sequence[str], sessions: frozenset[int]
) -> int:
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
    size = os.fstat(fd).st_size
    count = 0
    try:
        with os.fdopen(fd, "ab", buffering=1 << 18) as out:
            for record in _told(conn, machines, every=False, sessions=sessions):
                out.write(folder.encode(record))
                count += 1
            out.flush()
            os.fsync(out.fileno())
    except BaseException:
        with contextlib.suppress(OSError):
            os.truncate(path, size)
        raise
    return count


def _leave(conn: apsw.Connection, path: str) -> None:
    with Source(path) as found:
        size = os.path.getsize(path)
        meta.put_json(conn, "sync_own", {"size": size, "tail": found.tail(size)})


def _told(
    conn: apsw.Connection, machines: Sequence[str], *, every: bool, sessions: frozenset[int]
) -> Iterator[Record]:
    """What is to be told: what is forgotten, projects, every row, what is decided of them."""
    wanted = (UNTOLD, TOLD) if every else (UNTOLD,)
    marks = registers.to_tell(conn, machines, all_of_them=every)
    yield from (_mark(one) for one in marks if one.type == GONE)
    for record in dump.projects(conn):
        yield from _line(
            record, registers.get(conn, PROJECT, str(record["key"])), machines, wanted=wanted
        )
    shapes = dump.shapes(conn)
    refs = dump.sessions(conn, dump.Chosen())
    for ref in refs if every else [one for one in refs if one in sessions]:
        for record in scan.told(conn, ref, shapes, mirrored.open_turns(conn, ref)):
            known = registers.get(conn, str(record["record"]), content.key_of(record))
            yield from _line(record, known, machines, wanted=wanted)
    unshown = mirrored.unshown_sessions(conn, refs)
    for ref in unshown if every else [one for one in unshown if one in sessions]:
        for record, kept in scan.unshown(conn, ref, shapes):
            yield from _line(record, kept, machines, wanted=wanted)
    yield from (_mark(one) for one in marks if one.type != GONE)


def _line(
    record: Record, known: Register | None, machines: Sequence[str], *, wanted: Sequence[int]
) -> Iterator[Record]:
    """The record as it is told, if this machine has decided it and it is to be told."""
    if known is not None and known.is_of(machines) and known.state in wanted:
        yield {**content.plain(record), "rev": known.rev}


def _mark(one: Register) -> Record:
    if one.type == GONE:
        return {"record": GONE, "rev": one.rev, "key": one.key, "value": one.value}
    value = one.value if one.type == ALIAS else json.loads(one.value)
    named = {"of": one.type, "key": one.key, "name": one.name}
    return {"record": MARK, "rev": one.rev, **named, "value": value}
