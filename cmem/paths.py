"""Where everything lies: one directory, fixed names in it.

The registered hook command carries the home, so the hot path only joins names.
"""

import os
import sys


def interpreter() -> str:
    """The program that runs this; "" where it cannot be known. A project can set the host's
    environment, and two variables put whatever they name into ``sys.executable``."""
    named = getattr(sys.modules.get("__main__"), "PYTHON", "")  # the launcher's own knowledge
    if isinstance(named, str) and named:
        return named
    told = sys.executable or ""
    try:
        running = os.readlink("/proc/self/exe")
    except OSError:
        steered = any(os.environ.get(name) for name in ("PYTHONEXECUTABLE", "__PYVENV_LAUNCHER__"))
        return "" if steered else told
    # A link to it may be that of a virtual environment, and then says where the libraries are.
    return told if told and os.path.realpath(told) == running else running


def spool_db(home: str) -> str:
    return home + "/spool.db"


def is_shared_memory_fatal(path: str) -> bool:
    """Whether the shared memory of a database at ``path`` would end the process: SQLite makes sure
    of one block in 4 KiB of it, and on a full disk with smaller blocks the first access to another
    one is a SIGBUS."""
    try:
        found = os.statvfs(path)
    except OSError:
        return False
    return found.f_bsize < 4096 and found.f_bavail * found.f_frsize < 65_536


def is_full(place: str) -> bool:
    """Whether hardly anything can be written to the disk that a place is on."""
    try:
        found = os.statvfs(place)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < 65_536


def memory_db(home: str) -> str:
    return home + "/memory.db"


def spill_dir(home: str) -> str:
    return home + "/spill"


def lock_file(home: str) -> str:
    return home + "/compress.lock"


def hook_log(home: str) -> str:
    return home + "/hook.log"


def dropped_file(home: str) -> str:
    return home + "/dropped"


def launcher(home: str) -> str:
    return home + "/hook.py"


def config_file(home: str) -> str:
    return home + "/config.toml"


def ensure_home(home: str) -> None:
    """The home exists, is a directory of ours and nobody else can write to it, or OSError."""
    try:
        link = os.lstat(home)
    except FileNotFoundError:
        _make(home)
        link = os.lstat(home)
    place = os.stat(home) if _is(link.st_mode, 0o120000) else link
    if not _is(place.st_mode, 0o040000):
        raise NotADirectoryError(20, "the data home is not a directory", home)
    if sys.platform == "win32":
        return
    # The owner of a link can point it elsewhere at any time, so the link counts too.
    if {link.st_uid, place.st_uid} != {os.geteuid()}:
        raise PermissionError(13, "the data home belongs to somebody else", home)
    if place.st_mode & 0o022:
        raise PermissionError(13, "others can write to the data home", home)
    if place.st_mode & 0o055:
        os.chmod(home, 0o700)


def _make(home: str) -> None:
    parent = os.path.dirname(home)
    if parent and not os.path.isdir(parent):
        os.makedirs(parent, 0o700, exist_ok=True)
    try:
        os.mkdir(home, 0o700)
    except FileExistsError:  # twenty hooks may start at once; lstat judges what is there
        if os.path.islink(home):
            raise


def _is(mode: int, kind: int) -> bool:
    return mode & 0o170000 == kind
