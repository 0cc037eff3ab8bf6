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
    from collections.abc import Callable, Iterable, Sequence

MARKER = ".cmem-off"
_MAX_FILE = 65_536
_MAX_PATH = 4_096  # no longer one can be opened
_NO_REPO = ("", "", "", "")
UNREADABLE = 'exclude in config.toml cannot be read: write exclude = "~/one:/two/*"'


def reason(
    home: str,
    *,
    cwd: str,
    repo: tuple[str, str, str, str] = _NO_REPO,
    session: str = "",
    exclude: str = "",
) -> str:
    """Why nothing of this folder and session is to be stored or shown; "" when memory is on.

    ``session`` is the host's id as the spool has it. ``exclude``: globs beside those of
    config.toml. Where ``cwd`` is not known, the process's own stands for it."""
    if _is_there(global_file(home)):
        return "off everywhere; `cmem on --global` turns it on"
    if session and session in sessions(home):
        return f"off for this session; `cmem on --session {session}` turns it on"
    folders = places(cwd, repo)
    for folder in folders:
        if _is_there(marker(folder)):
            return f"off by {marker(folder)}; `cmem on --here` or deleting it turns it on"
    return _excluded(home, folders, exclude)


def global_file(home: str) -> str:
    return home + "/off"


def sessions_file(home: str) -> str:
    return home + "/off-sessions"


def marker(folder: str) -> str:
    return folder.rstrip("/") + "/" + MARKER


def sessions(home: str) -> list[str]:
    """The ids of the sessions that are off."""
    text = _read(sessions_file(home)).decode("ascii", "replace")
    return [line for line in text.split("\n") if line]


def places(cwd: str, repo: tuple[str, str, str, str] = _NO_REPO) -> list[str]:
    """The folder and all above it, as it is spelled and without links; for a linked worktree
    also the main one, because they are one project."""
    usable = cwd[:1] == "/" and len(cwd) <= _MAX_PATH and "\0" not in cwd
    starts = [cwd if usable else _directory()]
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


def excluded_by(globs: str, folders: "Iterable[str]") -> str:
    """The first of the globs, separated by ":", that one of the folders matches; "" for none.

    ``*`` and ``?`` stay within a name, ``**`` is any number of folders; a glob that begins
    with neither ``/`` nor ``~`` may match anywhere in the path. Case does not count."""
    return first_match(filter(None, map(str.strip, globs.split(":"))), folders)


def first_match(globs: "Iterable[str]", folders: "Iterable[str]") -> str:
    """The first of the globs that one of the folders matches; "" for none."""
    names = [folder.casefold().split("/")[1:] for folder in folders]
    for glob in globs:
        path = os.path.expanduser(glob).casefold().rstrip("/")
        parts = path.split("/")[1:] if path[:1] == "/" else ["**", *path.split("/")]
        if any(_matches(parts, one, star="**", same=matches) for one in names):
            return glob
    return ""


def matches(pattern: str, text: str) -> bool:
    """Whether the whole text matches, where ``*`` is any text and ``?`` one character."""
    return _matches(pattern, text, star="*", same=lambda p, c: p in ("?", c))


def config_text(home: str) -> bytes:
    """The head of config.toml as it stands; b"" where there is none."""
    return _read(home + "/config.toml")


def line_of(raw: bytes, name: str) -> str | None:
    """A setting's text by its own line of config.toml, so that a mistake in another line does
    not matter; "" where there is none, None when it is there but is no plain text."""
    if name.encode() not in raw:
        return ""
    for line in raw.decode("utf-8", "replace").split("\n"):
        key, equals, rest = line.partition("=")
        if equals and key.strip(" \t\"'\ufeff") == name:
            return _quoted(rest.strip())
    return ""


def _excluded(home: str, folders: list[str], exclude: str) -> str:
    configured = line_of(config_text(home), "exclude")
    if configured is None:
        return UNREADABLE
    glob = excluded_by(f"{configured}:{exclude}", folders) if configured or exclude else ""
    return f"excluded by {glob} (setting exclude)" if glob else ""


def _quoted(text: str) -> str | None:
    mark = text[:1]
    if mark not in ('"', "'") or not mark:
        return None
    inner, end, rest = text[1:].partition(mark)
    plain = end and (mark == "'" or "\\" not in inner) and (inner or rest[:1] != mark)
    return inner if plain and rest.strip()[:1] in ("", "#") else None


def _matches(
    pattern: "Sequence[str]",
    text: "Sequence[str]",
    *,
    star: str,
    same: "Callable[[str, str], bool]",
) -> bool:
    """Whether the whole text matches, where ``star`` stands for any number of its items. Only
    the last star is ever tried again, so no pattern is slow."""
    at = met = retry = 0
    last = -1
    while met < len(text):
        if at < len(pattern) and pattern[at] == star:
            last, retry = at, met
            at += 1
        elif at < len(pattern) and same(pattern[at], text[met]):
            at += 1
            met += 1
        elif last >= 0:
            retry += 1
            at, met = last + 1, retry
        else:
            return False
    return all(one == star for one in pattern[at:])


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


def _read(path: str) -> bytes:
    """The head of a small file, b"" where there is none. Never waits on a pipe."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return b""
    try:
        return os.read(fd, _MAX_FILE)
    except OSError:
        return b""
    finally:
        os.close(fd)
