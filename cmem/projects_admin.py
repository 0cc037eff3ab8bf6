"""Sorting projects out: what there is, what belongs together, what it is called.

Functions that change take an open writer, check everything first, and change in one
transaction; with ``dry_run`` they only check.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from cmem import here, project, repo
from cmem.errors import CmemError
from cmem.store import project_rows, projects
from cmem.store.connection import transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import apsw

    from cmem.store.project_rows import Alias, Project, SessionRow

SHOWN_SESSIONS = 20


class Listed(NamedTuple):
    """A project in the list. ``gone``: its folder is. ``resembles``: the id of a project of
    the same name whose folder is gone, so that this one may be what became of it."""

    project: Project
    gone: bool
    resembles: int | None


class Shown(NamedTuple):
    """Everything about one project; ``counts`` are those of all its ``members``."""

    project: Project
    gone: bool
    counts: dict[str, int]
    members: list[int]
    aliases: list[Alias]
    sessions: list[SessionRow]


def listing(conn: apsw.Connection, *, exists: Callable[[str], bool]) -> list[Listed]:
    """All projects, the one used last first."""
    found = project_rows.every(conn)
    gone = {one.id for one in found if one.root and not exists(one.root)}
    listed = [Listed(one, one.id in gone, _resembled(one, found, gone)) for one in found]
    return sorted(listed, key=lambda one: (-(one.project.last_used_at or 0), one.project.id))


def _resembled(one: Project, others: Sequence[Project], gone: set[int]) -> int | None:
    """The newest vanished project that this one, which is there, has the name of."""
    if one.id in gone or not one.root or one.merged_into is not None:
        return None
    same = [
        other.id
        for other in others
        if other.id in gone
        and other.merged_into is None
        and other.id < one.id
        and other.name.casefold() == one.name.casefold()
    ]
    return max(same, default=None)


def show(conn: apsw.Connection, project_id: int, *, exists: Callable[[str], bool]) -> Shown:
    """One project, with all that was merged into it."""
    by_id = {one.id: one for one in project_rows.every(conn)}
    found = by_id[project_id]
    family = projects.family(conn, project_id) if found.merged_into is None else [project_id]
    return Shown(
        project=found,
        gone=bool(found.root) and not exists(found.root),
        counts={name: sum(by_id[one].counts[name] for one in family) for name in found.counts},
        members=family[1:],
        aliases=project_rows.aliases(conn, family),
        sessions=project_rows.sessions(conn, family, SHOWN_SESSIONS),
    )


def find(conn: apsw.Connection, text: str, *, merged: bool = False) -> Project:
    """The one project that the text names, itself where it is merged into another: by number,
    name, key or alias (``projects.called``). Raises CmemError for none, and for several."""
    ids = projects.called(conn, text, merged=merged)
    if len(ids) != 1:
        raise CmemError(refusal(conn, text, ids))
    return next(one for one in project_rows.every(conn) if one.id == ids[0])


def refusal(conn: apsw.Connection, text: str, ids: Sequence[int]) -> str:
    """Why the text does not name one project, where it can mean these."""
    if not ids:
        return unknown(conn, text)
    word = text.strip()
    number = f"'#{word}' for the number" if word.isdigit() else "the number"
    return f"{word} can be several projects: {told_apart(conn, ids)}; give {number} or the key"


def told_apart(conn: apsw.Connection, ids: Sequence[int]) -> str:
    """The projects by number and key, so that each can be named."""
    keys = project_rows.keys(conn)
    return ", ".join(f"{one} ({keys[one]})" for one in ids)


def unknown(conn: apsw.Connection, name: str) -> str:
    """That there is no such project, with those that have a name like it."""
    from difflib import get_close_matches

    known = sorted({one for _, one in projects.names(conn)})
    folded = {one.casefold(): one for one in known}
    near = [folded[one] for one in get_close_matches(name.casefold(), folded, n=3, cutoff=0.5)]
    near += [one for one in known if name.casefold() in one.casefold() and one not in near]
    if not near:
        return f"no such project: {name}; known: {', '.join(known[:10]) or 'none yet'}"
    return f"no such project: {name}; did you mean {', '.join(near[:5])}?"


# --- aliases -------------------------------------------------------------------------


def aliases_of(
    text: str, *, cwd: str, env: Mapping[str, str], gone: bool = False
) -> list[tuple[str, str]]:
    """What a folder or a remote is recognised by; CmemError for a place that can be nobody's, and
    for a word that is neither.

    Something that could be both is a folder if there is one. A folder that is not there yet may
    become a repository. ``gone``: all that it may have been recognised by, whatever is there now."""
    folder = _folder(text, cwd)
    remote = "" if folder else _remote(text)
    if remote:
        return [("remote", remote.casefold())]
    if not (folder or gone):
        raise CmemError(
            f"{text} is no folder here, and no remote's address; "
            f"./{text} is a folder that is yet to come"
        )
    place = os.path.realpath(folder or os.path.join(cwd, text))
    is_there = os.path.isdir(place)
    states = [] if is_there and not gone else [(place, place + "/.git", "", "")]
    states += [repo.read_repo(place)] if is_there else []
    found = [here.parts_at(place, one, {**env, "CMEM_PROJECT": ""}) for one in states]
    aliases = [alias for one in found if one[1] != project.UNSORTED for alias in one[4]]
    if not aliases:
        raise CmemError(f"{text} cannot be a project: name a folder of its own, or a repository")
    return list(dict.fromkeys(aliases))


def missing(text: str, *, cwd: str) -> str:
    """The folder that the text names, where it is not there; else ""."""
    folder = _folder(text, cwd)
    return "" if os.path.isdir(folder) else folder


def _folder(text: str, cwd: str) -> str:
    """The folder in full; "" for a word that is a remote or nothing."""
    folder = os.path.normpath(os.path.join(cwd, os.path.expanduser(text)))
    is_path = text.startswith(("/", "~", ".")) or os.path.isdir(folder)
    return folder if is_path else ""


def _remote(text: str) -> str:
    """The remote in its one spelling: an address, or what ``project list`` shows of it."""
    found = repo.normalise_remote(text)
    host, slash, _path = text.partition("/")
    if not found and slash and "." in host:
        found = repo.normalise_remote("https://" + text)
    return found


def add_aliases(
    conn: apsw.Connection,
    target: Project,
    wanted: Iterable[tuple[str, str]],
    *,
    now: int,
    dry_run: bool = False,
) -> list[tuple[str, str]]:
    """Let the aliases stand for the project; those that did not yet. Raises CmemError when
    one stands for another project."""
    added = []
    with transaction(conn):
        for kind, alias in wanted:
            known = project_rows.owner(conn, kind, alias)
            if known is None:
                added.append((kind, alias))
            elif projects.root(conn, known) != projects.root(conn, target.id):
                raise CmemError(
                    f"{alias} belongs to project {known} already; "
                    f"`cmem project merge {known} {target.id}` makes them one"
                )
        if not dry_run:
            for one in added:
                project_rows.add_alias(conn, target.id, one, now=now)
    return added


def remove_aliases(
    conn: apsw.Connection,
    target: Project,
    wanted: Iterable[tuple[str, str]],
    *,
    dry_run: bool = False,
) -> list[tuple[str, str]]:
    """Let those of the aliases that stand for the project, or for what was merged into it, stand
    for nothing; which."""
    is_part = target.merged_into is not None
    family = [target.id] if is_part else projects.family(conn, target.id)
    with transaction(conn):
        found = [one for one in wanted if project_rows.owner(conn, *one) in family]
        if not dry_run:
            for one in found:
                project_rows.remove_alias(conn, one)
    return found


# --- merging and naming --------------------------------------------------------------


def merge(conn: apsw.Connection, source: Project, into: Project, *, dry_run: bool = False) -> None:
    """Let ``source`` count as ``into``; CmemError where that makes no sense."""
    for one in (source, into):
        if one.source == projects.UNSORTED:
            raise CmemError("unsorted is what belongs to no project, so it cannot be merged")
    with transaction(conn):
        if projects.root(conn, source.id) == projects.root(conn, into.id):
            raise CmemError(f"{_told(source)} and {_told(into)} are one project already")
        if source.merged_into is not None:
            raise CmemError(
                f"{_told(source)} is part of project {source.merged_into}; "
                f"`cmem project unmerge {source.id}` first, or merge that one"
            )
        if not dry_run:
            project_rows.point(conn, source.id, projects.root(conn, into.id))


def unmerge(conn: apsw.Connection, source: Project, *, dry_run: bool = False) -> int:
    """Let a merged project count as itself again; the id of the one it was part of."""
    if source.merged_into is None:
        raise CmemError(f"{_told(source)} is not merged into another project")
    if not dry_run:
        with transaction(conn):
            project_rows.point(conn, source.id, None)
    return source.merged_into


def rename(conn: apsw.Connection, target: Project, name: str, *, dry_run: bool = False) -> str:
    """Give the project another name; the name as it is stored."""
    wanted = project.one_line(name)
    if not wanted or wanted.casefold() == projects.UNSORTED:
        raise CmemError(f"{name!r} cannot be the name of a project")
    if target.source == projects.UNSORTED:
        raise CmemError("unsorted is what belongs to no project, so it keeps its name")
    with transaction(conn):
        for other in project_rows.every(conn):
            same = projects.folded(other.name) == projects.folded(wanted)
            taken = same and other.merged_into is None
            if taken and projects.root(conn, target.id) != other.id:
                raise CmemError(
                    f"project {other.id} ({other.key}) has that name; choose another, or make "
                    f"them one: `cmem project merge {target.id} {other.id}`"
                )
        if not dry_run:
            project_rows.rename(conn, target.id, wanted)
    return wanted


def _told(one: Project) -> str:
    return f"{one.name} ({one.id})"
