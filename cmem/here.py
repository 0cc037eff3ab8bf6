"""The project of a directory as it is now: the same answer that capture gives.

Effects of ``project``: reads ``.git`` files and ``.cmem.toml``, and resolves links. Part of the session-start
path, so nothing but hot modules is imported.
"""

import os

from cmem import project, repo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from cmem.model import ProjectIdentity
    from cmem.project import Identity


SUB_PROJECT = ".cmem.toml"
_MAX_FILE = 65_537  # one more than is parsed


def identity_of(cwd: str, env: "Mapping[str, str]") -> "ProjectIdentity":
    """The identity of ``cwd``, links resolved, CMEM_PROJECT of ``env`` first."""
    from cmem.model import ProjectIdentity

    return ProjectIdentity(*parts_of(cwd, env))


def parts_of(cwd: str, env: "Mapping[str, str]") -> "Identity":
    """``identity_of`` as a plain tuple, for commands that must not import ``model``."""
    place = os.path.realpath(cwd)
    return parts_at(place, repo.read_repo(place), env)


def parts_at(cwd: str, found: "tuple[str, str, str, str]", env: "Mapping[str, str]") -> "Identity":
    """``parts_of`` where the repository of ``cwd`` has been read already."""
    return locate(
        cwd,
        found,
        remote=repo.read_remote(found[1]) if found[1] else "",
        project_env=_named(env.get("CMEM_PROJECT", "")),
        user_home=env.get("HOME") or os.path.expanduser("~"),
        temp_dir=env.get("TMPDIR") or env.get("TEMP") or env.get("TMP") or "/tmp",  # noqa: S108
    )


def locate(
    cwd: str,
    found: "tuple[str, str, str, str]",
    *,
    remote: str,
    project_env: str,
    user_home: str,
    temp_dir: str,
) -> "Identity":
    """``project.identify_parts`` with every path resolved first: capture and context must
    not differ by a link."""
    root, common_dir, branch, commit = found
    place, root, common_dir = _real(cwd), _real(root), _real(common_dir)
    asked = bool(common_dir) and not project_env
    spelling = Spelling()
    return project.identify_parts(
        cwd=place,
        repo=(root, common_dir, branch, commit),
        remote=remote,
        project_env=project_env,
        user_home=_real(user_home),
        temp_dir=_real(temp_dir),
        sub_project=sub_project(place, root, common_dir)[0] if asked else "",
        spell=spelling,
    )


class Spelling:
    """One spelling for each folder: a name is folded where the folder that it is in does not tell
    case apart. The folders themselves are asked, each once, because any of them can be of another
    file system."""

    __slots__ = ("_folds",)

    def __init__(self) -> None:
        self._folds: dict[str, bool] = {"": False}

    def __call__(self, path: str) -> str:
        if path[:1] != "/":
            return path
        place, told = "", []
        for name in path.split("/")[1:]:
            above, place = place, f"{place}/{name}"
            if place not in self._folds:
                self._folds[place] = _folds(above, name, before=self._folds[above])
            told.append(name.casefold() if self._folds[place] else name)
        return "/" + "/".join(told)


def _folds(folder: str, name: str, *, before: bool) -> bool:
    """Whether the name is another spelling of itself in the other case. What is not there any
    more, and what has no case, is as the folder above it is."""
    other = name.swapcase()
    if other == name or "\0" in name:
        return before
    try:
        found = os.lstat(f"{folder}/{other}")
        own = os.lstat(f"{folder}/{name}")
    except OSError:
        return before and not os.path.lexists(f"{folder}/{name}")
    return (found.st_dev, found.st_ino) == (own.st_dev, own.st_ino)


def _named(project_env: str) -> str:
    if not project_env:
        return ""
    from cmem import privacy

    return privacy.project_name(project_env)


def sub_project(cwd: str, root: str, common_dir: str) -> tuple[str, str]:
    """(name, folder) of the sub-project that the nearest ``.cmem.toml`` from ``cwd`` up to the
    root of its repository names, ("", "") for none. Paths come in resolved.

    A worktree that has been removed says what the main one says."""
    if not os.path.isdir(root):
        main = project.main_root(root, common_dir)
        cwd, root = main + cwd[len(root) :] if _within(cwd, root) else main, main
    place = cwd
    while _within(place, root):
        name = _named_in(place + "/" + SUB_PROJECT)
        if name:
            return name, place
        place = place.rpartition("/")[0]
    return "", ""


def _within(place: str, root: str) -> bool:
    return place == root or place.startswith(root + "/")


def _named_in(path: str) -> str:
    """``project`` of a small file of flat keys, "" where there is none."""
    try:
        if os.lstat(path).st_mode & 0o170000 != 0o100000:
            return ""
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    try:
        raw = os.read(fd, _MAX_FILE)
    except OSError:
        return ""
    finally:
        os.close(fd)
    from cmem import config

    name = config.parse(raw).get("project", "")
    return name if isinstance(name, str) else ""


def _real(path: str) -> str:
    """The path without links; a text that can be no absolute path stays as it is."""
    if not path.startswith("/") or "\0" in path:
        return path
    return os.path.realpath(path)
