"""``cmem state``: what is still to be done in a project."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from cmem import here, repo, settings
from cmem.cli import boundary, output, place
from cmem.cli.writing import beside, known_to_its_session
from cmem.errors import CmemError, UsageError
from cmem.privacy.sanitise import clean
from cmem.store import cleaning, notes, projects, state
from cmem.store.connection import transaction

if TYPE_CHECKING:
    from collections.abc import Mapping

    import apsw

MAX_CHARS = 2_000


def run_add(values: Mapping[str, Any]) -> int:
    """Open an item in the current or the named project."""
    text = _text(values["text"])
    place.is_project_given(values)
    folder = place.directory()
    branch = clean(repo.read_repo(folder)[2], one_line=True)
    now = place.now_ms()
    with beside() as conn, transaction(conn):
        project, source = _project(conn, values["project"], folder, now)
        session = notes.session_of(conn, project, source=source, cwd=folder, now=now)
        # The same may be to be done in several folders of no project.
        within = session.id if source == projects.UNSORTED else None
        known = state.standing(conn, text, project=project, session=within)
        if known is None:
            uid = os.urandom(32).hex()
            item = state.add(
                conn, text, uid=uid, project=project, session=session.id, branch=branch, now=now
            )
        else:
            item = known
    known_to_its_session(f"W{item}")
    if values["json"]:
        new = known is None
        output.write_json({"id": f"W{item}", "state": state.OPEN, "text": text, "new": new})
    else:
        word = "open" if known is None else "open already"
        output.write_lines([output.plain(f"W{item} is {word}: {text}")])
    return 0


def run_list(values: Mapping[str, Any]) -> int:
    """List the open items, with --done the others too."""
    conn = place.store()
    found: list[state.Item] = []
    name = ""
    if conn is not None:
        try:
            scope = place.scope(conn, values)
            name = scope.name
            chosen = scope.projects if scope.projects is not None else place.every_project(conn)
            found = state.items(conn, chosen, done=bool(values["done"]))
        finally:
            conn.close()
    if values["json"]:
        output.write_json({"items": [_document(one) for one in found]})
        return 0
    if not found:
        boundary.complain(f"nothing is open in {name}" if name else "nothing is open")
    output.write_lines([_line(one, several=values["all_projects"]) for one in found])
    return 0


def run_done(values: Mapping[str, Any]) -> int:
    """Close items, or with --undo open them again; 1 when an id is unknown."""
    wanted = state.OPEN if values["undo"] else state.DONE
    changed: list[str] = []
    known: list[str] = []
    unknown: list[str] = []
    with beside() as conn, transaction(conn):
        for text in dict.fromkeys(values["ids"]):
            item = parse_id(text)
            uid = os.urandom(32).hex()
            moved = (
                None
                if item is None
                else state.move(conn, item, state=wanted, uid=uid, now=place.now_ms())
            )
            if moved is None:
                unknown.append(text)
                continue
            known.append(f"W{item}")
            changed += [f"W{item}"] if moved else []
    if not known:
        raise CmemError(f"no such item: {', '.join(unknown)}; `cmem state list` shows them")
    if values["json"]:
        output.write_json({"ids": known, "state": wanted, "changed": changed})
    else:
        output.write_lines(
            [output.plain(f"{'Open again' if values['undo'] else 'Done'}: {' '.join(known)}.")]
        )
    if unknown:
        boundary.complain(f"no such item: {', '.join(unknown)}")
        return 1
    return 0


def parse_id(text: str) -> int | None:
    """``W3``, ``#w3`` or ``3`` as a number."""
    word = text.strip().removeprefix("#").upper().removeprefix("W")
    return int(word) if word.isascii() and word.isdigit() and len(word) < 19 else None


def _text(words: list[str]) -> str:
    raw = " ".join(words)
    if words == ["-"]:
        raw = sys.stdin.buffer.read(MAX_CHARS * 4 + 1).decode("utf-8", "replace")
    if not words:
        raise UsageError("say what is to be done, or - to read it from standard input")
    if len(raw) > MAX_CHARS:
        raise CmemError(f"an item takes at most {MAX_CHARS} characters; `cmem note` takes more")
    text = cleaning.line(raw).strip()
    if not text:
        raise CmemError("the item is empty; say what is to be done")
    return text


def _project(conn: apsw.Connection, named: str | None, folder: str, now: int) -> tuple[int, str]:
    """The project's row and how it was recognised."""
    if named is not None:
        chosen, _name = place.project(conn, named)
        return chosen, notes.source_of(conn, chosen)
    identity = here.identity_of(folder, settings.environment())
    place.tell_namesakes(conn, identity)
    return projects.resolve(conn, identity, now=now), identity.source


def _document(one: state.Item) -> dict[str, Any]:
    item, current, opened, changed, branch, text, project = one
    return {
        "id": f"W{item}",
        "state": current,
        "text": text,
        "project": project,
        "branch": branch,
        "created_at": opened,
        "changed_at": changed,
    }


def _line(one: state.Item, *, several: bool) -> output.Line:
    item, current, opened, _changed, branch, text, project = one
    where = f" ({project})" if several else ""
    aside = f" [{branch}]" if branch else ""
    return [
        (f"W{item}", "yellow"),
        (f"  {output.when(opened)}  ", "dim"),
        (f"{current}  ", "dim" if current == state.DONE else ""),
        (clean(text, one_line=True), "dim" if current == state.DONE else "bold"),
        (" " + clean(aside + where, one_line=True) if aside or where else "", "dim"),
    ]
