"""What the spool cannot take now: one file an event, needing nothing but a directory.

    cmem-spill 1 HOST EVENT MILLISECONDS
    PAYLOAD

A file appears whole or not at all, by renaming. Its name holds no byte of the payload.
"""

import os
import time

from cmem import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from cmem.intake import Taken
    from cmem.model import Entry

MAGIC = "cmem-spill 1"
# How the files end that the launcher has written without the package.
ALONE = "-alone.event"
_STALE_S = 3_600
# ENOMEM, ENFILE, EMFILE: of the process and not of the file, which can be read another time.
_TIRED = (12, 23, 24)


def write(home: str, *, host: str, event: str, captured_at: int, payload: bytes) -> None:
    """One event as a file, or OSError with nothing left behind."""
    folder = paths.spill_dir(home)
    _make(folder)
    _write(folder, f"{MAGIC} {host} {event} {captured_at}\n".encode() + payload, captured_at)


def _make(folder: str) -> None:
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        if os.path.islink(folder):
            raise


def _write(folder: str, data: bytes, captured_at: int) -> None:
    name = f"{captured_at:015d}-{time.time_ns() % 10**9:09d}-{os.getpid()}"
    temporary = f"{folder}/{name}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(temporary, flags, 0o600)
    try:
        try:
            _write_all(fd, data)
        finally:
            os.close(fd)
        os.rename(temporary, f"{folder}/{name}.event")
    except BaseException:
        os.unlink(temporary)
        raise


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def waiting(home: str) -> "list[str]":
    """The files of spilled events, oldest first; what a killed hook left half written goes."""
    folder = paths.spill_dir(home)
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    for name in names:
        if name.endswith(".tmp"):
            _drop_stale(f"{folder}/{name}")
    return [f"{folder}/{name}" for name in names if name.endswith(".event")]


def read(home: str, files: "Iterable[str]") -> "list[tuple[str, Entry]]":
    """The events of these files, with the files. What cannot be read, or breaks the reader by a
    fault of ours, is moved to spill/bad."""
    found: list[tuple[str, Entry]] = []
    for path in files:
        entry = _entry(path, home)
        if entry is None:
            _set_aside(path)
        else:
            found.append((path, entry))
    return found


def look(home: str, *, limit: int) -> "list[tuple[str, Entry]]":
    """The newest spilled events, those set aside among them, with their files; nothing moves."""
    found: list[tuple[str, Entry]] = []
    for folder in (paths.spill_dir(home), paths.spill_dir(home) + "/bad"):
        try:
            names = [name for name in os.listdir(folder) if name.endswith(".event")]
        except OSError:
            continue
        newest = [f"{folder}/{name}" for name in sorted(names, reverse=True)[:limit]]
        entries = [(path, _entry(path)) for path in newest]
        found += [(path, entry) for path, entry in entries if entry is not None]
    return found


def remove(files: "Iterable[str]") -> None:
    """Delete files that have been taken in; one that is gone already is no trouble."""
    for path in files:
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass


def _entry(path: str, home: str = "") -> "Entry | None":
    """The event in the file; None when the file is no spill, or when it cannot be taken by a
    fault of ours, which the log of ``home`` tells then."""
    try:
        return _read_entry(path, home)
    except (MemoryError, ImportError):
        raise
    except OSError as error:
        if error.errno in _TIRED:
            raise
        return None
    except Exception as error:  # noqa: BLE001 - whatever it is, the other files go on
        if home:
            from cmem import hooklog

            hooklog.note(home, "spill", error, outcome="bad")
        return None


def _read_entry(path: str, home: str) -> "Entry | None":
    """The event, named by the hook's own code."""
    from cmem import intake
    from cmem.model import Entry, Repo

    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as file:
        head = file.readline(256).decode("ascii", "replace").split(" ")
        payload = file.read(intake.MAX_STDIN * 2)
    if len(head) != 5 or f"{head[0]} {head[1]}" != MAGIC or not payload:
        return None
    host, event, at = head[2], head[3], head[4].strip()
    if not at.isdigit():
        return None
    taken = intake.take(host, event, payload, captured_at=int(at))
    if taken is None:
        return None
    wanted = not (home and path.endswith(ALONE)) or _is_wanted(home, taken)
    repo = Repo(*taken.repo)
    return Entry(0, taken.eid, host, event, int(at), taken.cwd, repo, "", taken.payload, wanted)


def _is_wanted(home: str, taken: "Taken") -> bool:
    """Whether no person has said that nothing of this place or session is to be kept: the launcher
    alone could not read all that tells."""
    from cmem import off

    why = off.reason(
        home, cwd=taken.cwd, repo=taken.repo, session=taken.session, beside=taken.beside
    )
    return not why or off.is_doubt(why)


def keep_bad(home: str, entry: "Entry") -> None:
    """Keep an entry that could not be taken in where a person can look at it; it counts as
    dropped until then."""
    folder = paths.spill_dir(home)
    _make(folder)
    _make(f"{folder}/bad")
    head = f"{MAGIC} {entry.host} {entry.event} {entry.captured_at}\n".encode()
    _write(f"{folder}/bad", head + entry.payload, entry.captured_at)


def _set_aside(path: str) -> None:
    folder, _, name = path.rpartition("/")
    _make(f"{folder}/bad")
    try:
        os.rename(path, f"{folder}/bad/{name}")
    except FileNotFoundError:  # gone meanwhile
        pass


def _drop_stale(path: str) -> None:
    """Remove what a killed hook had not finished writing."""
    try:
        if time.time() - os.lstat(path).st_mtime > _STALE_S:
            os.unlink(path)
    except FileNotFoundError:
        pass
