"""The project of a directory as it is now: the same answer that capture gives.

Effects of ``project``: reads ``.git`` files and resolves links. Part of the session-start
path, so nothing but hot modules is imported.
"""

import os

from cmem import project, repo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from cmem.model import ProjectIdentity
    from cmem.project import Identity


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
        project_env=env.get("CMEM_PROJECT", ""),
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
    return project.identify_parts(
        cwd=_real(cwd),
        repo=(_real(root), _real(common_dir), branch, commit),
        remote=remote,
        project_env=project_env,
        user_home=_real(user_home),
        temp_dir=_real(temp_dir),
    )


def _real(path: str) -> str:
    """The path without links; a text that can be no absolute path stays as it is."""
    if not path.startswith("/") or "\0" in path:
        return path
    return os.path.realpath(path)
