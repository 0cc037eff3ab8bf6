"""``cmem project list|show|alias|merge|unmerge|rename``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cmem import here, projects_admin, settings
from cmem.cli import boundary, output, place
from cmem.errors import CmemError
from cmem.plural import counted, named
from cmem.store import connection, projects

if TYPE_CHECKING:
    import apsw

    from cmem.cli.output import Line
    from cmem.projects_admin import Listed, Shown
    from cmem.store.project_rows import Project


def run_list(values: Mapping[str, Any]) -> int:
    """Print every project."""
    conn = place.store()
    found = []
    if conn is not None:
        try:
            found = projects_admin.listing(conn, exists=os.path.isdir)
        finally:
            conn.close()
    if values["json"]:
        output.write_json({"projects": [_listed(one) for one in found]})
        return 0
    if not found:
        output.write_lines([output.plain("no projects yet")])
        return 0
    names = {one.project.id: one.project.name for one in found}
    output.write_lines(_list_line(one, names) for one in found)
    return 0


def run_show(values: Mapping[str, Any]) -> int:
    """Print everything about one project, the current one without a name."""
    with _reader() as conn:
        target = _named_or_current(conn, str(values["project"]))
        found = projects_admin.show(conn, target, exists=os.path.isdir)
    if values["json"]:
        output.write_json(_shown(found))
    else:
        output.write_lines(_show_lines(found))
    return 0


def run_alias(values: Mapping[str, Any]) -> int:
    """Let a folder or a remote stand for a project, or no longer."""
    text, cwd, gone = str(values["path_or_remote"]), place.directory(), bool(values["remove"])
    wanted = projects_admin.aliases_of(text, cwd=cwd, env=settings.environment(), gone=gone)
    dry_run = bool(values["dry_run"])
    with _writer() as conn:
        target = projects_admin.find(conn, values["project"])
        if gone:
            done = projects_admin.remove_aliases(conn, target, wanted, dry_run=dry_run)
        else:
            done = projects_admin.add_aliases(
                conn, target, wanted, now=place.now_ms(), dry_run=dry_run
            )
    missing = "" if gone else projects_admin.missing(text, cwd=cwd)
    if missing:
        boundary.complain(
            f"there is no folder {missing} yet; what comes there will be of {target.name}"
        )
    word = ("Not its any more" if gone else "Added") if done else "Nothing to change"
    told = ", ".join(f"{kind} {alias}" for kind, alias in done)
    _say(
        values,
        {"project": target.id, "aliases": [{"kind": kind, "alias": one} for kind, one in done]},
        f"{word}: {told or text} ({target.name}).",
    )
    return 0


def run_merge(values: Mapping[str, Any]) -> int:
    """Let one project count as another."""
    with _writer() as conn:
        source = projects_admin.find(conn, values["source"])
        into = projects_admin.find(conn, values["into"])
        projects_admin.merge(conn, source, into, dry_run=bool(values["dry_run"]))
    _say(
        values,
        {"merged": source.id, "into": into.id},
        f"Merged {_told(source)} with {_counted(source.counts)} into {_told(into)}. "
        f"`cmem project unmerge {source.id}` takes it back.",
    )
    return 0


def run_unmerge(values: Mapping[str, Any]) -> int:
    """Let a merged project count as itself again."""
    with _writer() as conn:
        source = projects_admin.find(conn, values["project"], merged=True)
        was = projects_admin.unmerge(conn, source, dry_run=bool(values["dry_run"]))
    text = f"{_told(source)} is a project of its own again, no longer part of {was}."
    _say(values, {"unmerged": source.id, "was_in": was}, text)
    return 0


def run_rename(values: Mapping[str, Any]) -> int:
    """Give a project another name."""
    with _writer() as conn:
        target = projects_admin.find(conn, values["project"])
        dry_run = bool(values["dry_run"])
        name = projects_admin.rename(conn, target, values["name"], dry_run=dry_run)
    _say(
        values,
        {"project": target.id, "name": name, "was": target.name},
        f"{_told(target)} is called {name} now.",
    )
    return 0


# --- the store -----------------------------------------------------------------------


@contextmanager
def _reader() -> Iterator[apsw.Connection]:
    conn = place.store()
    if conn is None:
        raise CmemError(
            "no memories yet, so there are no projects; they come with the first session"
        )
    try:
        yield conn
    finally:
        conn.close()


@contextmanager
def _writer() -> Iterator[apsw.Connection]:
    with _reader():
        conn = connection.open_writer(place.home(), now=place.now_ms())
    try:
        yield conn
    finally:
        conn.close()


def _named_or_current(conn: apsw.Connection, name: str) -> int:
    if name:
        return projects_admin.find(conn, name).id
    identity = here.identity_of(place.directory(), settings.environment())
    found = projects.find_by_identity(conn, identity)
    if found is None:
        place.tell_namesakes(conn, identity)
        raise CmemError(f"nothing remembered for {identity.name} yet; `cmem project list` has all")
    return found


# --- output --------------------------------------------------------------------------


def _say(values: Mapping[str, Any], document: dict[str, Any], text: str) -> None:
    dry_run = bool(values["dry_run"])
    if values["json"]:
        output.write_json(document | {"dry_run": dry_run})
    else:
        output.write_lines([output.plain(("Would be: " if dry_run else "") + text)])


def _row(one: Project, *, gone: bool) -> dict[str, Any]:
    return one._asdict() | {"gone": gone}


def _listed(one: Listed) -> dict[str, Any]:
    return _row(one.project, gone=one.gone) | {"resembles": one.resembles}


def _shown(found: Shown) -> dict[str, Any]:
    return _row(found.project, gone=found.gone) | {
        "counts": found.counts,
        "members": found.members,
        "aliases": [
            {"kind": one.kind, "alias": one.alias, "project": one.project_id}
            for one in found.aliases
        ],
        "sessions": [one._asdict() | {"id": f"N{one.id}"} for one in found.sessions],
    }


def _list_line(one: Listed, names: Mapping[int, str]) -> Line:
    row = one.project
    line = [
        (f"{row.id:<4}", "yellow"),
        (_text(row.name), "bold"),
        (" (CMEM_PROJECT)" if row.source == projects.ENVIRONMENT else "", "dim"),
        (f"  {_used(row.last_used_at)}  {_counted(row.counts)}  {_text(row.root)}", ""),
    ]
    if one.gone:
        line.append((" (gone)", "red"))
    if row.merged_into is not None:
        merged = f"  part of {row.merged_into} {_text(names.get(row.merged_into, ''))}"
        line.append((merged, "dim"))
    if one.resembles is not None:
        hint = (
            f"  maybe what became of {one.resembles}: `cmem project merge {one.resembles} {row.id}`"
        )
        line.append((hint, "yellow"))
    return line


def _show_lines(found: Shown) -> list[Line]:
    row = found.project
    by_name = row.source == projects.ENVIRONMENT
    source = f"{row.source}: CMEM_PROJECT, in any folder" if by_name else row.source
    lines = [
        _pair("project", _told(row)),
        _pair("recognised", f"{row.key} ({source})"),
        _pair("folder", row.root + (" (gone)" if found.gone else "") if row.root else "none"),
        _pair("last used", _used(row.last_used_at)),
        _pair("stored", _counted(found.counts)),
    ]
    if row.merged_into is not None:
        lines.append(_pair("part of", str(row.merged_into)))
    if found.members:
        lines.append(_pair("merged", ", ".join(map(str, found.members))))
    lines += [_pair("alias", f"{one.kind} {one.alias}") for one in found.aliases]
    for one in found.sessions:
        title = one.title or one.cwd
        text = f"N{one.id}  {output.when(one.last_event_at)}  {counted(one.prompts, 'prompt')}  {title}"
        lines.append(_pair("session", text))
    return lines


def _pair(label: str, text: str) -> Line:
    return [(f"{label + ':':<12}", "bold"), (_text(text), "")]


def _text(text: str) -> str:
    return output.plain(text)[0][0]


def _told(one: Project) -> str:
    return f"{one.name} ({one.id})"


def _used(at: int | None) -> str:
    return "never" if at is None else output.when(at)


def _counted(counts: Mapping[str, int]) -> str:
    shown = [named(count, name) for name, count in counts.items() if count]
    return ", ".join(shown) or "nothing"
