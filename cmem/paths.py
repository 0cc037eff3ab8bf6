"""Where everything lies: one directory, fixed names in it.

The registered hook command carries the home, so the hot path only joins names.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def data_home(env: "Mapping[str, str]") -> str:
    """The absolute data directory for this environment. Never raises, creates nothing."""
    named = env.get("CMEM_HOME", "")
    if named:
        return _absolute(_expand(named, env))
    found = _on_linux(env) if env is os.environ else ""
    try:
        if not found:
            import platformdirs

            found = platformdirs.user_data_dir("cmem", appauthor=False)
    except Exception:  # noqa: BLE001 - it raises whatever pwd and the platform raise
        found = ""
    if os.path.isabs(found):
        return found
    home = _user_home(env)
    if home:
        return os.path.join(home, ".local", "share", "cmem")
    # A process without HOME and without a passwd entry still gets a place of its own; a
    # literal "~" in the working directory would be everybody's.
    return os.path.join("/tmp", f"cmem-{os.getuid()}")  # noqa: S108 - ensure_home checks it


def _on_linux(env: "Mapping[str, str]") -> str:
    """What ``platformdirs`` says there of this process, "" where that needs more: its import
    costs more than a search."""
    if sys.platform != "linux" or "ANDROID_DATA" in env:
        return ""
    for name, below in (("XDG_DATA_HOME", "cmem"), ("HOME", ".local/share/cmem")):
        if os.path.isabs(env.get(name, "")):
            return os.path.join(env[name], below)
    return ""


def _user_home(env: "Mapping[str, str]") -> str:
    home = env.get("HOME", "")
    if not os.path.isabs(home):
        home = os.path.expanduser("~")
    return home if os.path.isabs(home) else ""


def _expand(path: str, env: "Mapping[str, str]") -> str:
    if path == "~" or path.startswith("~/"):
        home = _user_home(env)
        return home + path[1:] if home else path
    return os.path.expanduser(path)


def _absolute(path: str) -> str:
    try:
        return os.path.abspath(path)
    except OSError:  # the working directory is gone
        return os.path.normpath(os.path.join(os.sep, path))


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
