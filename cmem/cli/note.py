"""``cmem note``: a memory written by hand, or by an agent that was asked to remember."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from cmem import here, repo, settings
from cmem.cli import output, place
from cmem.cli.writing import beside, known_to_its_session
from cmem.errors import UsageError
from cmem.model import Repo
from cmem.privacy.sanitise import clean
from cmem.store import notes

if TYPE_CHECKING:
    from collections.abc import Mapping

    import apsw

    from cmem.store.notes import Added, Note


def run(values: Mapping[str, Any]) -> int:
    """Store the text as a note of the current, the named or every project."""
    if place.is_project_given(values) and values["everywhere"]:
        raise UsageError("choose one of --global and --project")
    note = notes.clean(_note(values, _text(values["text"])))
    with beside() as conn:
        added = _add(conn, note, values)
    known_to_its_session(f"O{added.id}")
    if values["json"]:
        output.write_json(added._asdict() | {"id": f"O{added.id}", "type": note.type})
    else:
        output.write_lines([output.plain(_told(added))])
    return 0


def _text(words: list[str]) -> str:
    """The words as one text; a lone minus is standard input."""
    if words == ["-"]:
        raw = sys.stdin.buffer.read(notes.MAX_CHARS * 4 + 1)
        return raw.decode("utf-8", "replace").removeprefix("\ufeff")
    if not words:
        raise UsageError("say what to remember, or - to read it from standard input")
    return " ".join(words)


def _note(values: Mapping[str, Any], text: str) -> Note:
    folder = place.directory()
    root, common_dir, branch, commit = repo.read_repo(folder)
    paths = [
        os.path.normpath(os.path.join(folder, path)) for path in values["file"] if path.strip()
    ]
    return notes.Note(
        text=text,
        title=values["title"] or "",
        type=values["type"] or notes.TYPE,
        concepts=tuple(values["concept"]),
        files=tuple(paths),
        pinned=bool(values["pin"]),
        repo=Repo(root, common_dir, clean(branch, one_line=True), commit),
        cwd=folder,
    )


def _add(conn: apsw.Connection, note: Note, values: Mapping[str, Any]) -> Added:
    now = place.now_ms()
    if values["everywhere"]:
        everywhere = note._replace(repo=Repo("", "", "", ""), cwd="")
        return notes.add(conn, everywhere, identity=notes.GLOBAL, now=now)
    if values["project"] is not None:
        named, _name = place.project(conn, values["project"])
        return notes.add_to(conn, note, project=named, now=now)
    identity = here.identity_of(place.directory(), settings.environment())
    place.tell_namesakes(conn, identity)
    return notes.add(conn, note, identity=identity, now=now)


def _told(added: Added) -> str:
    if added.new:
        return f"Noted as O{added.id} in {added.project}: {added.title}"
    return f"O{added.id} in {added.project} says that already; it was counted once more."
