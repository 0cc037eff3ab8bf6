"""Whether memory is off where an event comes from, and why. HOT.

Four things a person can say, and each only ever reduces what is captured and injected: a file
``off`` in the data home (everywhere), a session's id in ``off-sessions`` beside it, a
``.cmem-off`` in the folder or in any above it, a glob of the setting ``exclude``. Usually that
costs one ``lstat`` a folder: the small files are read only where they exist. At its top level
this module needs nothing of ours, for the launcher carries its source for the day when the
package is gone.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MARKER = ".cmem-off"
MAX_CONFIG = 65_536
_MAX_SESSIONS = 1_048_576
_MAX_PATH = 4_096  # no longer one can be opened
_NO_REPO = ("", "", "", "")
EVERYWHERE = "off everywhere; `cmem on --global` turns it on"
UNREADABLE = 'exclude in config.toml cannot be read: write exclude = "~/one:/two/*"'
UNREADABLE_SESSIONS = "off-sessions in the data home cannot be read: delete it, or correct it"
# Reasons that nobody gave: what a person has said cannot be read, so the careful way is taken.
_DOUBTS = tuple(f"off everywhere, because {why}" for why in (UNREADABLE, UNREADABLE_SESSIONS))
_DAMAGED = "\0"


def reason(
    home: str,
    *,
    cwd: str,
    repo: tuple[str, str, str, str] = _NO_REPO,
    session: str = "",
    exclude: str = "",
    beside: "Iterable[str]" = (),
) -> str:
    """Why nothing of this folder and session is to be stored or shown; "" when memory is on.

    ``session`` is the host's id as the spool has it. ``exclude``: globs beside those of
    config.toml. ``beside``: other folders that the event is of. Where ``cwd`` is not known, the
    process's own stands for it."""
    if is_everywhere(home):
        return EVERYWHERE
    listed = sessions(home)
    if _DAMAGED in listed:
        return _DOUBTS[1]
    if session and session in listed:
        return f"off for this session; `cmem on --session {session}` turns it on"
    folders = places(cwd, repo)
    for other in beside:
        folders += places(other) if other[:1] == "/" else []
    for folder in folders:
        if _is_there(marker(folder)):
            return f"off by {shown(marker(folder))}; `cmem on --here` or deleting it turns it on"
    return _excluded(home, folders, exclude)


def is_doubt(why: str) -> bool:
    """Whether memory is off for want of a readable setting, and not by a person's word."""
    return why in _DOUBTS


def is_everywhere(home: str) -> bool:
    """Whether a person has turned memory off for everything."""
    return _is_there(global_file(home))


def global_file(home: str) -> str:
    return home + "/off"


def sessions_file(home: str) -> str:
    return home + "/off-sessions"


def marker(folder: str) -> str:
    return folder.rstrip("/") + "/" + MARKER


def shown(path: str) -> str:
    """The path as a host tells it: bytes that are no UTF-8 become U+FFFD."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "replace")


def sessions(home: str) -> list[str]:
    """The ids of the sessions that are off; a NUL among them where they cannot be read."""
    raw = _read(sessions_file(home), _MAX_SESSIONS + 1, failed=b"\0").removeprefix(b"\xef\xbb\xbf")
    if b"\0" in raw or len(raw) > _MAX_SESSIONS:
        return [_DAMAGED]
    return raw.decode("ascii", "replace").split()


def places(cwd: str, repo: tuple[str, str, str, str] = _NO_REPO) -> list[str]:
    """The folder and all above it, as it is spelled and without links; for a linked worktree
    also the main one, because they are one project."""
    usable = cwd[:1] == "/" and len(cwd) <= _MAX_PATH and "\0" not in cwd
    starts = [cwd if usable else _directory()]
    if usable and "\ufffd" in cwd:
        # Its name is no UTF-8, so that no host can tell it; hooks run in the session's folder.
        starts.append(_directory())
    try:
        starts.append(os.path.realpath(starts[0]))
    except (OSError, ValueError):
        pass
    root, common_dir = repo[0], repo[1]
    if common_dir and common_dir != root + "/.git":
        from cmem.project import main_root

        starts.append(main_root(root, common_dir))
    found: dict[str, None] = {}
    for start in starts:
        place = start.rstrip("/") or "/"
        while place and place not in found:
            found[place] = None
            place = place.rpartition("/")[0] or "/"
    return list(found)


def config_text(home: str) -> bytes:
    """The head of config.toml as it stands, one byte more than ``MAX_CONFIG`` where it goes on;
    b"" where there is none, and what no reader takes where it cannot be opened."""
    return _read(home + "/config.toml", MAX_CONFIG + 1, failed=b"\0")


def may_name(raw: bytes, name: str) -> bool:
    """False where no spelling of the setting's name, escaped or in UTF-16, is in config.toml."""
    odd = b"\\" in raw or b"\0" in raw or len(raw) > MAX_CONFIG
    return odd or name.encode() in raw.lower()


def _excluded(home: str, folders: list[str], exclude: str) -> str:
    raw = config_text(home)
    if not exclude and not may_name(raw, "exclude"):
        return ""
    from cmem.globbing import excluded_by
    from cmem.setting_text import setting

    configured = setting(raw, "exclude")
    if configured is None:
        return _DOUBTS[0]
    glob = excluded_by(f"{configured}:{exclude}", folders)
    return f"excluded by {glob} (setting exclude)" if glob else ""


def _is_there(path: str) -> bool:
    try:
        os.lstat(path)
    except (OSError, ValueError):
        return False
    return True


def _directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it is gone
        return "/"


def _read(path: str, most: int, *, failed: bytes = b"") -> bytes:
    """The head of a small file, b"" where there is none, ``failed`` where it cannot be opened.
    Never waits on a pipe."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return b""
    except OSError:
        return failed
    try:
        return os.read(fd, most)
    except OSError:
        return failed
    finally:
        os.close(fd)
