"""What waits in the spool: reading it, and taking it out. HOT where a session goes on."""

import os

import apsw

from cmem import paths, spool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from cmem.hosts.wire import Wire
    from cmem.model import Entry

    # its host's id, when its first event was captured and where: cwd, repository, CMEM_PROJECT
    Session = tuple[str, int, str, tuple[str, str, str, str], str]

DRAIN_WAIT_MS = 5_000

_BATCH = """SELECT id, eid, host, event, captured_at, cwd, repo_root, repo_common_dir, branch,
    commit_sha, project_env, payload FROM spool WHERE id > ? ORDER BY id LIMIT ?"""

# Sessions with the place of their first event.
_SESSIONS = """SELECT s.session, s.captured_at, s.cwd, s.repo_root, s.repo_common_dir, s.branch,
        s.commit_sha, s.project_env
    FROM (SELECT min(id) AS first
        FROM (SELECT id, session, host, event, captured_at FROM spool ORDER BY id DESC LIMIT 5000)
        WHERE session <> '' AND {} GROUP BY session HAVING {}) f
        JOIN spool s ON s.id = f.first ORDER BY s.id"""
# Something but a start waits.
_BEGAN = "max(event NOT IN ({starts}))"
# A turn of theirs ended in a time.
_ENDED = "max(captured_at BETWEEN ?1 AND ?2 AND event IN ({ends}))"
# One was captured by then and another thereafter or, where the last one ends no turn, not long
# before.
_IN_A_TURN = """min(CASE WHEN event NOT IN ({starts}) THEN captured_at END) <= ?2
    AND max(captured_at) >= min(?1, CASE WHEN max(captured_at)
        > coalesce(max(CASE WHEN event IN ({ends}) THEN captured_at END), 0)
        THEN ?1 - ?3 ELSE ?1 END)"""
# As bytes: half of a character, which JSON can spell, is no text.
_TEXTS = """WITH places(host, event, path) AS (VALUES {})
    SELECT captured_at, CAST(substr(CASE WHEN NOT json_valid(told) THEN ''
        WHEN json_type(told, path) = 'text' THEN told ->> path END, 1, ?) AS BLOB)
    FROM (SELECT s.id, s.captured_at, p.path, CAST(s.payload AS TEXT) AS told
        FROM spool s CROSS JOIN places p ON p.host = s.host AND p.event = s.event
        WHERE s.session = ? ORDER BY s.id DESC LIMIT ?) ORDER BY id DESC"""


def prepare(home: str) -> None:
    """Make the spool before the first hook needs it; a hook makes what this one could not."""
    try:
        finish(spool.open_file(home, DRAIN_WAIT_MS))
    except (apsw.Error, OSError):
        pass


def open_drain(home: str) -> apsw.Connection | None:
    """A connection to empty the spool with; None when there is none yet."""
    if not os.path.lexists(paths.spool_db(home)):
        return None
    return spool.open_file(home, DRAIN_WAIT_MS)


def create(home: str) -> apsw.Connection:
    """A new and empty spool, open."""
    return spool.open_file(home, DRAIN_WAIT_MS)


def read_batch(
    conn: apsw.Connection, *, after_id: int, limit: int, max_bytes: int
) -> "list[Entry]":
    """The next entries after a row, oldest first: at most ``limit`` and, beyond the first,
    ``max_bytes`` of payload."""
    from cmem.model import Entry, Repo

    batch: list[Entry] = []
    size = 0
    for row in conn.execute(_BATCH, (after_id, limit)):
        size += len(row[11])
        if batch and size > max_bytes:
            break
        row_id, eid, host, event, captured_at, cwd = row[:6]
        repo = Repo(*row[6:10])
        entry = Entry(row_id, eid, host, event, captured_at, cwd, repo, row[10], bytes(row[11]))
        batch.append(entry)
    return batch


def delete(conn: apsw.Connection, ids: "Iterable[int]") -> None:
    """Take entries out, in one short transaction."""
    conn.execute("BEGIN IMMEDIATE")
    try:
        conn.executemany("DELETE FROM spool WHERE id = ?", [(row,) for row in ids])
    except BaseException:
        conn.execute("ROLLBACK")
        raise
    conn.execute("COMMIT")


def finish(conn: apsw.Connection) -> None:
    """Leave a log without events behind where no reader is in the way, and close. The log is
    begun anew at once, because whoever begins one has to sync, and that is not a hook's work."""
    try:
        conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        conn.execute(f"PRAGMA user_version = {spool.VERSION}")
    except apsw.BusyError:
        pass
    conn.close()


def texts(
    home: str, session: str, places: "Sequence[tuple[str, str, str]]", *, size: int, limit: int
) -> list[tuple[int, str]]:
    """When the newest waiting events of a session were captured and how that begins which they say
    at one of the places (host, event, path), newest first; [] where the spool cannot be read at
    once."""
    query = _TEXTS.format(", ".join(["(?, ?, ?)"] * len(places)))
    asked = [part for place in places for part in place]
    found = _read(home, query, [*asked, size, session, limit])
    said = [(at, one.decode("utf-8", "replace")) for at, one in found if isinstance(one, bytes)]
    return [one for one in said if one[1]]


def session(home: str, hosts: "Mapping[str, Wire]", name: str) -> "Session | None":
    """The session of that id as far as it waits, of the newest 5,000 events; None where nothing but
    its start does, or the spool cannot be read at once."""
    return next(iter(_sessions(home, hosts, _BEGAN, which="session = ?1", bindings=[name])), None)


def ended(home: str, hosts: "Mapping[str, Wire]", *, since: int, until: int) -> "list[Session]":
    """The waiting sessions of some hosts of which a turn ended in that time."""
    return _sessions(home, hosts, _ENDED, bindings=[since, until])


def in_a_turn(
    home: str, hosts: "Mapping[str, Wire]", *, since: int, until: int, silent: int
) -> "list[Session]":
    """The waiting sessions that were in a turn then, which lasts, if nobody has ended it, for so
    many ms after its last event."""
    return _sessions(home, hosts, _IN_A_TURN, bindings=[since, until, silent])


def _sessions(
    home: str,
    hosts: "Mapping[str, Wire]",
    having: str,
    *,
    which: str = "1",
    bindings: "Sequence[str | int]",
) -> "list[Session]":
    starts = {name for wire in hosts.values() for name in wire.injects}
    ends = {name for wire in hosts.values() for name in wire.always_drain} - starts
    those = f"host IN ({_quoted(hosts)}) AND {which}"
    such = having.format(starts=_quoted(starts), ends=_quoted(ends))
    found = _read(home, _SESSIONS.format(those, such), bindings)
    return [(row[0], row[1], row[2], (row[3], row[4], row[5], row[6]), row[7]) for row in found]


def _quoted(names: "Iterable[str]") -> str:
    """Our own names of hosts and events as SQL."""
    return ", ".join([f"'{name}'" for name in sorted(names)])


def _read(home: str, query: str, bindings: "Sequence[str | int]") -> "list[tuple[Any, ...]]":
    """The rows of the spool that are to be had at once."""
    path = paths.spool_db(home)
    try:
        if not os.path.exists(path) or not os.path.getsize(path):
            return []
        conn = spool.connect(path, apsw.SQLITE_OPEN_READONLY)
        try:
            return conn.execute(query, bindings).fetchall()
        finally:
            conn.close()
    except (apsw.Error, OSError, UnicodeError):
        return []


def counts(home: str) -> tuple[int, int, int]:
    """(rows waiting, spilled files, events dropped). Raises apsw.Error when the spool cannot
    be read. Files that were set aside as unreadable count as dropped."""
    waiting = _look(paths.spool_db(home), "SELECT count(*) FROM spool") or 0
    spilled = sum(1 for name in _names(paths.spill_dir(home)) if name.endswith(".event"))
    bad = len(_names(paths.spill_dir(home) + "/bad"))
    try:
        dropped = os.stat(paths.dropped_file(home)).st_size
    except OSError:
        dropped = 0
    return waiting, spilled, dropped + bad


def oldest(home: str) -> int | None:
    """When the first waiting row was captured; None where none waits. Raises apsw.Error when the
    spool cannot be read."""
    return _look(paths.spool_db(home), spool.OLDEST)


def _look(path: str, query: str) -> int | None:
    """The number that a query gives, without writing anything; None where there is none."""
    if not os.path.exists(path) or not os.path.getsize(path):
        return None
    try:
        if paths.is_shared_memory_fatal(path):
            return _number(path, query, "mode=rw")
        return _number(path, query, "mode=ro")
    except (apsw.FullError, apsw.IOError):
        return _number(path, query, "mode=rw")
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        # A directory nobody can write to cannot hold the shared memory a WAL needs.
        return _number(path, query, "immutable=1")


def _number(path: str, query: str, how: str) -> int | None:
    from urllib.parse import quote

    alone = how == "mode=rw"  # nothing is shared then, so a full disk needs no room for it
    flags = apsw.SQLITE_OPEN_READWRITE if alone else apsw.SQLITE_OPEN_READONLY
    conn = apsw.Connection(f"file:{quote(path)}?{how}", flags=flags | apsw.SQLITE_OPEN_URI)
    try:
        if alone:
            conn.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            conn.execute("PRAGMA locking_mode = EXCLUSIVE")
        conn.set_busy_timeout(spool.HOOK_WAIT_MS)
        if not conn.execute("SELECT 1 FROM sqlite_schema WHERE name = 'spool'").get:
            return None
        found = conn.execute(query).get
        return None if found is None else int(found)
    finally:
        conn.close()


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
