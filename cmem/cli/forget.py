"""``cmem forget``: show what goes, ask, then hide it or remove it for good."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cmem import forget as everywhere
from cmem import residue
from cmem.cli import asking, boundary, forget_rows, output, place
from cmem.cli.writing import writer
from cmem.errors import CmemError, UsageError
from cmem.plural import counted
from cmem.privacy.sanitise import clean
from cmem.store import forget as core
from cmem.store import selecting, stored_text

if TYPE_CHECKING:
    from collections.abc import Callable

    import apsw

    from cmem.cli.forget_rows import Asked
    from cmem.store.forget import Hidden, Plan

NAMES = {
    "observations": ("observation", "observations"),
    "summaries": ("summary", "summaries"),
    "prompts": ("prompt", "prompts"),
    "tool_uses": ("tool use", "tool uses"),
    "states": ("entry of open work", "entries of open work"),
}
LISTED = 8


def run(values: Mapping[str, Any]) -> int:
    """Forget what is named and what follows from it; 1 when an id is unknown."""
    if values["undo"] and not forget_rows.is_anything_asked(values):
        return _list_undoable(values)
    forget_rows.check(values)
    conn = place.store()
    if conn is None:
        raise CmemError("no memories yet, so there is nothing to forget")
    try:
        with _reading(conn, values) as progress:
            asked = forget_rows.resolve(conn, values, progress)
        plan = forget_rows.plan(conn, asked)
        doomed = _doomed(conn, plan, values)
        found = _document(conn, asked, plan, hard=bool(values["hard"]))
    finally:
        conn.close()
    if not (asked.refs or asked.titles or doomed):
        raise CmemError(asked.nothing)
    document = (
        _undo(asked, values) if values["undo"] else _forget(asked, found, values, doomed=doomed)
    )
    _print(document, values)
    if asked.unknown:
        boundary.complain(f"no such memory: {', '.join(asked.unknown)}")
        return 1
    return 0


def _doomed(conn: apsw.Connection, plan: Plan, values: Mapping[str, Any]) -> tuple[str, ...]:
    """The files that go along as a whole."""
    if not values["hard"]:
        return ()
    return residue.find(place.home(), conn, plan, word=values["match"] or "").told


def _forget(
    asked: Asked, found: dict[str, Any], values: Mapping[str, Any], *, doomed: tuple[str, ...]
) -> dict[str, Any]:
    """Do it, unless a person says no to what was ``found``; what came of it."""
    hard = bool(values["hard"])
    if values["dry_run"]:
        return found | {"dry_run": True, "removed_files": list(doomed)}
    if not values["yes"]:
        _ask(found, named=asked.one_by_one, files=len(doomed))
    removed: tuple[str, ...] = ()
    with writer(take_in=True) as conn:
        # What came in meanwhile, and what still lay in the mailbox, goes along.
        if not asked.one_by_one:
            asked = forget_rows.resolve(conn, values, None)
        plan = forget_rows.plan(conn, asked)
        document = _document(conn, asked, plan, hard=hard)
        if hard:
            with _progress(plan.total) as progress:
                removed = everywhere.purge(
                    place.home(),
                    conn,
                    plan,
                    now=place.now_ms(),
                    progress=progress,
                    word=values["match"] or "",
                )
        else:
            core.hide(conn, plan, now=place.now_ms())
        named = selecting.projects_with(conn, values["match"]) if values["match"] else []
    if named:
        boundary.complain(
            f"the name, folder or alias of a project holds it still: {', '.join(named)}"
        )
    _tell_removed(removed)
    return document | {"done": True, "removed_files": list(removed)}


def _undo(asked: Asked, values: Mapping[str, Any]) -> dict[str, Any]:
    if values["dry_run"]:
        raise UsageError("--undo takes no --dry-run")
    with writer(take_in=True) as conn:
        shown = core.unhide(conn, asked.refs)
    if not shown:
        raise CmemError("nothing of that is hidden, so there is nothing to undo")
    return {"ids": _ids(asked.refs), "undone": shown}


def _list_undoable(values: Mapping[str, Any]) -> int:
    """What was hidden and can be shown again: when, until when, and how to name it."""
    conn = place.store()
    found: list[Hidden] = []
    if conn is not None:
        try:
            found = core.undoable(conn)
        finally:
            conn.close()
    items = [
        {
            "at": one.at,
            "until": one.at + core.UNDO_MS,
            "counts": _counts(one.rows),
            "ids": _ids([(kind, ref) for kind, refs in one.rows.rows.items() for ref in refs]),
        }
        for one in found
    ]
    if values["json"]:
        output.write_json({"undoable": items})
        return 0
    lines = [output.plain(_undoable_line(one)) for one in items]
    output.write_lines(lines or [output.plain("Nothing is hidden, so there is nothing to undo.")])
    return 0


def _undoable_line(one: Mapping[str, Any]) -> str:
    ids = one["ids"]
    shown = " ".join(ids[:LISTED]) + (" …" if len(ids) > LISTED else "")
    return (
        f"{output.when(one['at'])}  {_told(one['counts'])}  ({shown}); "
        f"`cmem forget {ids[0] if ids else 'ID'} --undo` until {output.when(one['until'])}"
    )


@contextmanager
def _reading(
    conn: apsw.Connection, values: Mapping[str, Any]
) -> Iterator[Callable[[int], None] | None]:
    """A sign of life while the whole store is read for a text."""
    if not values["match"] or not sys.stderr.isatty():
        yield None
        return
    from cmem.cli import terminal

    with terminal.progress("reading", stored_text.count(conn)) as advance:
        yield advance


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int, int], None] | None]:
    if total < 50 or not sys.stderr.isatty():
        yield None
        return
    from cmem.cli import terminal

    with terminal.progress("removing", total) as advance:
        yield lambda done, _total: advance(done)


def _ask(found: Mapping[str, Any], *, named: bool, files: int) -> None:
    """Show the counts and the projects and let a person decide; CmemError for a no. Where nobody can be asked,
    rows named by id go as the caller said, and anything wider needs ``--yes``."""
    told = _told(found["counts"]) + _where(found["projects"])
    if files:
        told += f" and {counted(files, 'file')} put aside unread"
    if not asking.person():
        if named:
            return
        raise CmemError(f"nothing was forgotten: that would be {told}; add --yes to do it")
    what = "Remove for good" if found["hard"] else "Hide"
    if not asking.agrees(f"{what}: {told}. Go on?"):
        raise CmemError("nothing was forgotten")


def _tell_removed(files: Sequence[str]) -> None:
    if files:
        count = counted(len(files), "file that was", "files that were")
        boundary.complain(
            f"{count} put aside unread went along, for nobody can take a row out of them: "
            f"{', '.join(files)}"
        )


def _document(conn: apsw.Connection, asked: Asked, plan: Plan, *, hard: bool) -> dict[str, Any]:
    inside = selecting.projects_in(conn, plan)
    return {
        "ids": _ids(asked.refs),
        "projects": [{"id": ref, "name": name, "root": root} for ref, name, root in inside],
        "counts": _counts(plan),
        "total": plan.total,
        "hard": hard,
        "dry_run": False,
        "done": False,
        "removed_files": [],
    }


def _ids(refs: Sequence[core.Ref]) -> list[str]:
    return [f"{kind}{number}" for kind, number in refs if kind != "turn"]


def _counts(plan: Plan) -> dict[str, int]:
    return {name: len(getattr(plan, name)) for name in NAMES}


def _told(counts: Mapping[str, int]) -> str:
    parts = [counted(count, *NAMES[name]) for name, count in counts.items() if count]
    return ", ".join(parts) or "nothing"


def _where(inside: Sequence[Mapping[str, Any]]) -> str:
    """In which projects that is: two can have one name."""
    told = [
        clean(f"{one['name']} ({one['id']}{one['root'] and ', '}{one['root']})", one_line=True)
        for one in inside[:LISTED]
    ]
    more = len(inside) - len(told)
    told += [counted(more, "other project")] if more else []
    return f" in {', '.join(told)}" if told else ""


def _print(document: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    if values["json"]:
        output.write_json(document)
        return
    ids = document["ids"]
    told = "" if "undone" in document else _told(document["counts"]) + _where(document["projects"])
    if "undone" in document:
        rows = document["undone"]
        text = f"Shown again: {counted(rows, 'row')}."
    elif document["dry_run"]:
        text = f"Would {'remove' if document['hard'] else 'hide'}: {told}."
    elif document["hard"]:
        text = f"Removed for good: {told}."
    else:
        name = " ".join(ids) if len(ids) <= LISTED else ids[0]
        text = f"Hidden: {told}. `cmem forget {name} --undo` brings them back within a day."
    output.write_lines([output.plain(text)])
