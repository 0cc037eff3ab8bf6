"""Where a command runs: data home, time, store, current project, and the ids it was given."""

from __future__ import annotations

import os
import time

from cmem import data_home, here, settings
from cmem.errors import CmemError, UsageError
from cmem.named import NamedTuple
from cmem.store import connection, projects, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    import apsw

    from cmem.store.read import Ref

KINDS = {
    "o": "O",
    "observation": "O",
    "observations": "O",
    "s": "S",
    "summary": "S",
    "summaries": "S",
    "p": "P",
    "prompt": "P",
    "prompts": "P",
    "t": "T",
    "tool": "T",
    "tools": "T",
    "tool_use": "T",
    "tool_uses": "T",
}


class Scope(NamedTuple):
    """Which projects count: None is all of them. ``name`` is for messages."""

    projects: tuple[int, ...] | None
    name: str


def home() -> str:
    return data_home.find(settings.environment())


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def directory() -> str:
    """The working directory; "/" where it has been deleted."""
    try:
        return os.getcwdb().decode("utf-8", "replace")
    except OSError:
        return "/"


def own_directory() -> str:
    """The working directory in the system's own spelling, which may be no UTF-8."""
    try:
        return os.getcwd()
    except OSError:
        return "/"


def asked(path: str) -> str:
    """A path as it was given, without what says nothing, and in full where it leads out of the
    folder."""
    plain = os.path.normpath(path) if path else ""
    return os.path.normpath(os.path.join(directory(), path)) if plain[:2] == ".." else plain


def store() -> apsw.Connection | None:
    """The store, read-only; None while there is none. A file in the place of the data home is
    NotADirectoryError, which the boundary puts into words."""
    here = home()
    if os.path.exists(here):
        os.scandir(here).close()
    return connection.open_reader(here)


def is_project_given(values: Mapping[str, Any]) -> bool:
    """Whether ``--project`` is; UsageError where it names nothing, for an empty variable of the
    shell must not stand for another project, or for all."""
    named = values.get("project")
    if named is not None and not str(named).strip():
        raise UsageError("--project needs the name of a project")
    return named is not None


def project(conn: apsw.Connection, text: str, *, whole: bool = False) -> tuple[int, str]:
    """The one project that ``--project`` names, by its row and name.

    A merged one is the project it was merged into, unless (``whole``) all of that would be changed
    or given away. CmemError for none, with near names, and for several."""
    found = projects.find_by_name(conn, text)
    if len(found) != 1:
        from cmem.projects_admin import refusal

        raise CmemError(refusal(conn, text, [ref for ref, _name in found]))
    parts = projects.called(conn, text) if whole else [found[0][0]]
    if found[0][0] not in parts:
        ref, name = found[0]
        raise CmemError(
            f"{text.strip()} is part of {name} ({ref}); name that to mean all of it, or make "
            f"this one of its own: `cmem project unmerge {parts[0]}`"
        )
    return found[0]


def scope(conn: apsw.Connection, values: Mapping[str, Any], *, whole: bool = False) -> Scope:
    """The project that ``--project`` names (``project``), all for ``--all-projects``, else the
    current one."""
    if values.get("all_projects"):
        return Scope(None, "all projects")
    if is_project_given(values):
        named, name = project(conn, str(values["project"]), whole=whole)
        return Scope(tuple(projects.family(conn, named)), name)
    identity = here.parts_of(directory(), settings.environment())
    current = projects.find_by_identity(conn, identity)  # type: ignore[arg-type]  # same shape
    tell_namesakes(conn, identity)
    # What was noted for every project is at home here too, also before the project has a row.
    own = [] if current is None else projects.family(conn, current)
    members = [*own, *projects.everywhere(conn)]
    return Scope(tuple(dict.fromkeys(members)), identity[2])


def wide_scope(conn: apsw.Connection, text: str) -> Scope:
    """All the projects that a word of a query can mean; says which, where they are several."""
    found = projects.find_by_name(conn, text)
    if len(found) > 1:
        from cmem.cli import boundary
        from cmem.projects_admin import told_apart

        known = told_apart(conn, [ref for ref, _name in found])
        boundary.complain(f"project:{text} is several projects, and means them all: {known}")
    members = [one for ref, _name in found for one in projects.family(conn, ref)]
    return Scope(tuple(dict.fromkeys(members)), found[0][1] if found else text)


def tell_namesakes(conn: apsw.Connection, identity: tuple[Any, ...]) -> None:
    """Say that CMEM_PROJECT names a project of its own, where nothing is in that yet and another
    one has the name."""
    if identity[1] != projects.ENVIRONMENT or projects.find_by_identity(conn, identity):  # type: ignore[arg-type]  # same shape
        return
    others = projects.find_by_name(conn, identity[2])
    if others:
        from cmem.cli import boundary
        from cmem.projects_admin import told_apart

        known = told_apart(conn, [ref for ref, _name in others])
        boundary.complain(
            f"CMEM_PROJECT={identity[2]} is a project of its own, with nothing in it yet; "
            f"--project takes another one of that name: {known}"
        )


def further(scope: Scope) -> str:
    """What to do where there is nothing in the scope."""
    return "" if scope.projects is None else "; --all-projects looks in every project"


def every_project(conn: apsw.Connection) -> tuple[int, ...]:
    """All projects, the merged ones with those they were merged into."""
    roots = [ref for ref, _ in projects.names(conn)]
    return tuple(one for ref in roots for one in projects.family(conn, ref))


def kinds(words: Iterable[str]) -> list[str]:
    """``--kind`` as letters, in the order given."""
    found = []
    for word in words:
        letter = KINDS.get(word.strip().lower())
        if letter is None:
            raise UsageError(f"no such kind: {word}; known: observation, summary, prompt, tool")
        found.append(letter)
    return list(dict.fromkeys(found))


def session(conn: apsw.Connection, text: str | None) -> int | None:
    """The session that ``--session`` names; CmemError when there is none."""
    if not text:
        return None
    word = text.strip()
    ref = find(conn, f"N{word}" if word.isascii() and word.isdigit() else word)
    if ref is None or ref[0] != "N" or read.place(conn, ref) is None:
        raise CmemError(no_such_session(text))
    return ref[1]


def no_such(ids: Iterable[str]) -> str:
    """That there is no memory of these ids, and how to find some."""
    return (
        f"no such memory: {', '.join(ids)}; "
        "`cmem search`, `cmem list` and `cmem session list` show which there are"
    )


def no_such_session(text: str) -> str:
    """That there is no session of this id, and how to find one."""
    return f"no such session: {text}; `cmem session list` shows which there are"


def parse_id(text: str) -> Ref | None:
    """``O12``, ``#s3``, ``w2``, ``12``: kind and number; None for what has not that form."""
    word = text.strip().removeprefix("#").upper()
    kind, digits = (word[0], word[1:]) if word[:1] in tuple("OSPTNW") else ("O", word)
    if not (digits.isascii() and digits.isdigit() and len(digits) < 19):
        return None
    return kind, int(digits)


def find(conn: apsw.Connection, text: str) -> Ref | None:
    """The row an id names, host's session ids included; it may still not exist."""
    ref = parse_id(text)
    if ref is None or read.place(conn, ref) is None:
        found = read.find_session(conn, text.strip())
        return ref if found is None else ("N", found)
    return ref
