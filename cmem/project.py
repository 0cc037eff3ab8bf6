"""Which project a directory belongs to: the repository, not the path.

A person's CMEM_PROJECT wins, then git's common directory (one for all worktrees) together
with its remote, then the folder. A file of the repository can only name a part of it. The home
directory, ``/``, the temp directory and folders below it that are no repository are nobody's
project. Pure: paths come in resolved. Part of the session-start path, so nothing is imported
at module level.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Identity = tuple[str, str, str, str, tuple[tuple[str, str], ...]]

UNSORTED = "unsorted"
# Known everywhere besides the environment's own, so that a process started with another
# environment (a hook's, a schedule's) gives the same answer.
TEMP_DIRS = frozenset({
    "/tmp", "/var/tmp", "/var/folders",  # noqa: S108
    "/private/tmp", "/private/var/tmp", "/private/var/folders",
})  # fmt: skip
NAME_LIMIT = 120


def identify_parts(
    *,
    cwd: str,
    repo: "tuple[str, str, str, str]",
    remote: str,
    project_env: str,
    user_home: str,
    temp_dir: str,
    sub_project: str = "",
    spell: "Callable[[str], str]" = str,
) -> "Identity":
    """(key, source, name, root, aliases), in the order of ``ProjectIdentity``, whose module costs a
    hot command 10 ms.

    ``sub_project`` is what a file of the repository calls the part that ``cwd`` is in. It can
    only ever name a part of that repository: a folder without one has none. ``spell``: the one
    spelling of a path, where a folder does not tell case apart."""
    root, common_dir = _trim(repo[0]), _trim(repo[1])
    temps = TEMP_DIRS | {_trim(temp_dir)}
    nowhere = {"", "/", _trim(user_home)} | temps
    place = root if common_dir and root not in nowhere else _trim(cwd)
    named = one_line(project_env)
    if named:
        key = "env:" + named.casefold()
        return key, "environment", named, place, (("env", named.casefold()),)
    if common_dir and root not in nowhere:
        whole = _of_repository(root, common_dir, remote.strip(), spell=spell)
        part = one_line(sub_project)
        return _part_of(whole, part) if part else whole
    if place in nowhere or place[0] != "/" or _below_any(place, temps):
        return UNSORTED, UNSORTED, UNSORTED, "", ()
    key = spell(place)
    return key, "path", _last(place), place, (("path", key),)


def _of_repository(
    root: str, common_dir: str, remote: str, *, spell: "Callable[[str], str]"
) -> "Identity":
    home = main_root(root, common_dir)
    key = spell(common_dir)
    aliases = [("git", key)]
    if remote:
        aliases.append(("remote", remote.casefold()))
    aliases.append(("path", spell(root)))
    if remote:
        return remote.casefold(), "git-remote", _last(remote), home, tuple(aliases)
    name = _last(home).removesuffix(".git")
    return key, "path", name, home, tuple(aliases)


def _part_of(whole: "Identity", part: str) -> "Identity":
    """A project of its own, known by everything but the path that its repository is known by."""
    key, source, name, root, aliases = whole
    mark = "#" + part.casefold()
    own = tuple((kind, alias + mark) for kind, alias in aliases if kind != "path")
    return key + mark, source, f"{name}/{part}", root, own


def main_root(root: str, common_dir: str) -> str:
    """The folder that names a repository: the main one's for every worktree, the bare
    directory's own where there is no main one, the working tree's for a submodule."""
    parent, _, last = common_dir.rpartition("/")
    if "/modules/" in common_dir:
        return root
    return parent if last.startswith(".") and parent else common_dir


def _below_any(path: str, folders: "frozenset[str]") -> bool:
    return any(path.startswith(folder + "/") for folder in folders if len(folder) > 1)


def _trim(path: str) -> str:
    return path.rstrip("/") or path[:1]


def _last(path: str) -> str:
    return one_line(path.rstrip("/").rpartition("/")[2])


def one_line(text: str) -> str:
    """The text as a project's name: printable, on one line, of a bounded length."""
    shown = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(shown.split())[:NAME_LIMIT]
