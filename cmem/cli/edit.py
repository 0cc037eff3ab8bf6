"""``cmem edit``: other words for an observation, by options or in an editor."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cmem import forget as everywhere
from cmem import residue, settings
from cmem.cli import asking, boundary, observations, output, place
from cmem.cli.writing import beside, writer
from cmem.errors import CmemError, UsageError
from cmem.plural import counted
from cmem.store import copies, edits, erase, forget, released
from cmem.store.rows import rows, value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import apsw

    from cmem.store.edits import Words

ONE = {"title": "title", "subtitle": "subtitle", "type": "type", "text": "narrative"}
MANY = {"fact": "facts", "concept": "concepts", "file": "files"}
EDITORS = ("sensible-editor", "nano", "vi")
# Fields that say what is remembered; the others sort it.
TELLING = ("title", "subtitle", "narrative", "facts")
HEAD = ("title", "subtitle", "type", "concept", "file", "fact")


def run(values: Mapping[str, Any]) -> int:
    """Change the observation's words; what they were is in no file afterwards."""
    with beside() as conn:
        ref = observations.one(conn, values["id"])
        old = edits.words(conn, ref)
    assert old is not None
    if _any(values):
        return _change(ref, values, old=old, new=edits.cleaned(_given(old, values)))
    with _editing(old) as edited:
        return _change(ref, values, old=old, new=edits.cleaned(edited))


def _change(ref: int, values: Mapping[str, Any], *, old: Words, new: Words) -> int:
    edits.check_length(old, new)
    telling = any(getattr(old, name) != getattr(new, name) for name in TELLING)
    doomed: tuple[str, ...] = ()
    if values["dry_run"] or new == old:
        if telling:
            with beside() as conn:
                doomed = residue.put_aside(place.home(), conn, ref)
        return _print(ref, values, old=old, new=new, removed=doomed)
    with writer(take_in=False) as conn:
        edits.check(conn, ref, old=old, new=new)
        # The copies first: whoever is interrupted then finds the old words and edits again.
        if telling:
            doomed = residue.put_aside(place.home(), conn, ref)
            residue.remove(residue.Doomed(doomed, (), ()))
        _edit_copies(conn, ref, new)
        edits.edit(conn, ref, old=old, new=new, now=place.now_ms())
        if telling:
            _remove_repeated(conn, ref)
        erase.finish(conn)
    if doomed:
        boundary.complain(
            f"{counted(len(doomed), 'folder')} of damaged files went along, for nobody can take "
            f"words out of them: {', '.join(doomed)}"
        )
    return _print(ref, values, old=old, new=new, removed=doomed)


def _remove_repeated(conn: apsw.Connection, ref: int) -> None:
    """Rows that were joined with this one as duplicates say what it said before."""
    found = released.repeated(conn, ref)
    if found:
        plan = forget.Plan(observations=tuple(sorted(found)))
        everywhere.purge(place.home(), conn, plan, now=place.now_ms())


def _any(values: Mapping[str, Any]) -> bool:
    return any(values[name] is not None for name in ONE) or any(values[name] for name in MANY)


def _given(old: Words, values: Mapping[str, Any]) -> Words:
    """The words with what the options say in the place of what was there."""
    changes: dict[str, Any] = {
        field: values[name] for name, field in ONE.items() if values[name] is not None
    }
    if changes.get("narrative") == "-":
        changes["narrative"] = sys.stdin.buffer.read().decode("utf-8", "replace")
    changes |= {field: tuple(values[name]) for name, field in MANY.items() if values[name]}
    if values["file"]:
        folder = place.directory()
        changes["files"] = tuple(
            os.path.normpath(os.path.join(folder, path)) for path in values["file"] if path.strip()
        )
    return old._replace(**changes)


def _edit_copies(conn: apsw.Connection, ref: int, new: Words) -> None:
    """The old words go from the backups too."""
    uid = str(value(conn, "SELECT uid FROM observations WHERE id = ?", (ref,)))

    def change(copy: apsw.Connection) -> None:
        for (there,) in rows(copy, "SELECT id FROM observations WHERE uid = ?", (uid,)):
            old = edits.words(copy, there)
            if old is not None:
                edits.edit(copy, there, old=old, new=new, now=place.now_ms())
        erase.finish(copy)

    copies.apply(place.home(), change)


# --- the editor ----------------------------------------------------------------------------


@contextmanager
def _editing(old: Words) -> Iterator[Words]:
    """What a person makes of the words in an editor. The file lies in the data home, where
    nobody else can read it, and is gone with its folder once the words are stored; when they
    cannot be, it stays, so that nothing that was written is lost."""
    if not asking.person():
        raise UsageError("say what to change, for example --title TEXT; see `cmem edit --help`")
    folder = tempfile.mkdtemp(prefix=f"edit-{os.getpid()}-", dir=place.home())
    path = os.path.join(folder, "memory.txt")
    written = False
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
            file.write(render(old))
        _edit_file(path)
        with open(path, encoding="utf-8", errors="replace") as file:
            words = parse(file.read(), old)
        written = words != old
        yield words
    except CmemError as error:
        if not written:
            raise
        raise type(error)(f"{error}; what you wrote is kept in {path}") from error
    else:
        written = False
    finally:
        if not written:
            shutil.rmtree(folder, ignore_errors=True)


def _edit_file(path: str) -> None:
    if subprocess.run([*_editor(), path], check=False).returncode:
        raise CmemError("the editor ended with an error; nothing was changed")


def _editor() -> list[str]:
    env = settings.environment()
    words = shlex.split(env.get("VISUAL") or env.get("EDITOR") or "")
    for argv in [words] if words else [[name] for name in EDITORS]:
        folders = [one for one in env.get("PATH", "").split(os.pathsep) if os.path.isabs(one)]
        found = shutil.which(argv[0], path=os.pathsep.join(folders))
        if found and os.path.isabs(found):
            return [found, *argv[1:]]
    raise CmemError("no editor found; set EDITOR, or say what to change with --title and --text")


def render(words: Words) -> str:
    """The words as a text to edit: a line for each short one, then the narrative."""
    lines = [f"title: {words.title}", f"subtitle: {words.subtitle}", f"type: {words.type}"]
    lines += [f"concept: {one}" for one in words.concepts]
    lines += [f"file: {one}" for one in words.files]
    lines += [f"fact: {one}" for one in words.facts]
    return "\n".join([*lines, "", words.narrative, ""])


def parse(text: str, old: Words) -> Words:
    """The words that the text holds. A first line that is none of ours begins the narrative,
    so that nothing that was written is lost."""
    found: dict[str, list[str]] = {name: [] for name in HEAD}
    lines = text.replace("\r\n", "\n").split("\n")
    while lines:
        name, colon, rest = lines[0].partition(":")
        if not colon or name.strip().lower() not in HEAD:
            break
        found[name.strip().lower()].append(rest.strip())
        lines.pop(0)
    single = {name: " ".join(found[name]) for name in ("title", "subtitle", "type")}
    return old._replace(
        **single,
        concepts=tuple(filter(None, found["concept"])),
        files=tuple(filter(None, found["file"])),
        facts=tuple(filter(None, found["fact"])),
        narrative="\n".join(lines).strip(),
    )


# --- what is told --------------------------------------------------------------------------


def _print(
    ref: int, values: Mapping[str, Any], *, old: Words, new: Words, removed: Sequence[str]
) -> int:
    changed = [name for name in old._fields if getattr(old, name) != getattr(new, name)]
    if values["json"]:
        done = bool(changed) and not values["dry_run"]
        document = {"id": f"O{ref}", "changed": changed, "done": done, "removed_files": removed}
        output.write_json(document | new._asdict())
        return 0
    if not changed:
        text = f"O{ref} says that already; nothing was changed."
    elif values["dry_run"]:
        text = f"Would change of O{ref}: {', '.join(changed)}."
        if removed:
            text += f" Damaged files that may hold what it says go along: {', '.join(removed)}."
    else:
        text = f"Changed of O{ref}: {', '.join(changed)}. What it said before is gone."
    output.write_lines([output.plain(text)])
    return 0
