"""The memory as a folder of Markdown: one file for each session, in a folder for its project.

A file's name comes from the session alone, its text from the session's rows alone, so an export
repeated changes only what has changed. Each file says in its head which session it is; by that,
and never by its name, a file of a session that is gone is known and taken away.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from cmem.export import jsonl, whole
from cmem.privacy.sanitise import clean
from cmem.store.dump import Chosen
from cmem.store.portable import PROJECT, SESSION, TOMBSTONE, Record

if TYPE_CHECKING:
    import apsw

_MARK = "---\ncmem_session: "
_HEAD_BYTES = 300
_UNFIT = re.compile(r"[^\w.+-]+")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_BLOCK = re.compile(r"^(\s{0,3})(#{1,6}\s|[-*_]{3,}\s*$|={3,}\s*$)", re.MULTILINE)
_PROSE = ("request", "investigated", "learned", "completed", "next_steps", "notes")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Written(NamedTuple):
    """How many files there are, were written, and were taken away."""

    files: int
    changed: int
    removed: int


def write(conn: apsw.Connection, chosen: Chosen, folder: str, *, redacted: bool) -> Written:
    """Bring the folder to what the memory says. Files of sessions that are gone are taken away
    when everything is exported."""
    known: dict[str, Record] = {}
    names: dict[str, str] = {}
    folders: dict[str, str] = {}
    paths: set[str] = set()
    changed = 0
    os.makedirs(folder, mode=0o700, exist_ok=True)
    found = jsonl.records(conn, chosen, redacted=redacted)
    for session in _sessions(found, known):
        if not folders:
            folders = folder_names(known.values())
            names = {key: str(one["name"]) for key, one in known.items()}
        path = os.path.join(folder, file_name(session[0], folders))
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        changed += whole.replace_text(path, render(session, names))
        paths.add(path)
    removed = _remove_others(folder, paths) if chosen == Chosen() else 0
    return Written(len(paths), changed, removed)


def folder_names(known: Collection[Record]) -> dict[str, str]:
    """A folder for each project by its key. Where several have a name, in any case, it is the
    oldest one's, and the others' with a sign of their key; what is merged into another of the name
    goes with it."""
    into = {one["key"]: one["merged_into"] for one in known}
    found: dict[str, str] = {}
    owners: dict[str, str] = {}
    for one in sorted(known, key=lambda one: (one.get("created_at", 0), one["key"])):
        plain = _UNFIT.sub("-", str(one["name"])).strip("-.")[:60] or "unsorted"
        whole_key = one["key"]
        for _ in into:
            whole_key = into.get(whole_key) or whole_key
        sign = hashlib.sha256(whole_key.encode("utf-8", "replace")).hexdigest()[:8]
        is_first = owners.setdefault(plain.casefold(), whole_key) == whole_key
        found[one["key"]] = plain if is_first else f"{plain}-{sign}"
    return found


def file_name(session: Record, folders: dict[str, str]) -> str:
    """Where the session's file is below the folder."""
    project = folders.get(session["project"], "unsorted")
    uid = _UNFIT.sub("", str(session["uid"]))[-8:]
    return os.path.join(project, f"{_time(session['started_at'])[:10]}-{uid}.md")


def render(session: list[Record], names: dict[str, str]) -> str:
    """The file of a session: its own record and then all in it."""
    head, rest = session[0], session[1:]
    by_type: dict[str, list[Record]] = {}
    for one in rest:
        by_type.setdefault(str(one["record"]), []).append(one)
    parts = [_front(head, names), f"# {_title(head, by_type)}"]
    parts += [_summary(one) for one in by_type.get("summary", [])]
    turns = sorted({int(one["turn"]) for one in rest if "turn" in one})
    for number in turns:
        parts += _turn(number, by_type)
    return "\n\n".join(part for part in parts if part) + "\n"


def _sessions(found: Iterable[Record], known: dict[str, Record]) -> Iterator[list[Record]]:
    """The records session by session; the projects, which come first, are noted on the way."""
    held: list[Record] = []
    for one in found:
        if one["record"] == PROJECT:
            known[one["key"]] = one
        elif one["record"] == SESSION:
            if held:
                yield held
            held = [one]
        elif one["record"] == "tool_use":
            held.append({"record": "tool_use", "turn": one["turn"]})
        elif one["record"] != TOMBSTONE:
            held.append(one)
    if held:
        yield held


def _front(session: Record, names: dict[str, str]) -> str:
    fields = {
        "project": names.get(session["project"], ""),
        "host": session["host"],
        "started": _time(session["started_at"]),
        "last_event": _time(session["last_event_at"]),
        "model": session["model"],
    }
    lines = [f"{name}: {_yaml(str(one))}" for name, one in fields.items() if one]
    return _MARK + "\n".join([_yaml(str(session["uid"])), *lines, "---"])


def _title(session: Record, by_type: dict[str, list[Record]]) -> str:
    prompts = [str(one["prompt_text"]) for one in by_type.get("prompt", [])]
    requests = [str(one["request"]) for one in by_type.get("summary", [])]
    for text in (str(session["title"]), *requests, *prompts):
        line = clean(text.strip().partition("\n")[0], one_line=True)
        line = line.removeprefix("- ").lstrip()  # the first of several points
        if line:
            return _inline(line if len(line) <= 100 else line[:99] + "…")
    return f"Session of {_time(session['started_at'])[:10]}"


def _summary(one: Record) -> str:
    parts = ["## Summary"]
    for name in _PROSE:
        if str(one[name]).strip():
            parts.append(f"**{name.replace('_', ' ').capitalize()}**\n\n{_text(str(one[name]))}")
    return "\n\n".join(parts)


def _turn(number: int, by_type: dict[str, list[Record]]) -> list[str]:
    def of(kind: str) -> list[Record]:
        return [one for one in by_type.get(kind, []) if one["turn"] == number]

    prompts, observations, tools = of("prompt"), of("observation"), len(of("tool_use"))
    told = [_quote(str(one["prompt_text"])) for one in prompts if str(one["prompt_text"]).strip()]
    if not told and not observations:
        return []
    first = min([int(one["created_at"]) for one in (*prompts, *observations)])
    parts = [f"## {_time(first)[:16].replace('T', ' ')}", *told]
    if tools:
        parts.append(f"*{tools} tool {'use' if tools == 1 else 'uses'}*")
    return parts + [_observation(one) for one in observations]


def _observation(one: Record) -> str:
    parts = [f"### {_line(one['type'])}: {_line(one['title'])}"]
    if one["subtitle"]:
        parts.append(f"*{_line(one['subtitle'])}*")
    if str(one["narrative"]).strip():
        parts.append(_text(str(one["narrative"])))
    if one["facts"]:
        parts.append("\n".join(f"- {_line(fact)}" for fact in one["facts"]))
    for name in ("files_modified", "files_read", "concepts"):
        if one[name]:
            parts.append(f"{name.replace('_', ' ').capitalize()}: {_list(one[name])}")
    if one.get("superseded_by"):
        parts.append("*(superseded)*")
    return "\n\n".join(parts)


def _list(found: Iterable[object]) -> str:
    return ", ".join("`" + clean(str(one), one_line=True).replace("`", "'") + "`" for one in found)


def _line(value: object) -> str:
    return _inline(clean(str(value), one_line=True))


def _text(text: str) -> str:
    """Stored text as paragraphs that open no heading and no tag of their own."""
    return _BLOCK.sub(r"\1\\\2", _inline(clean(text).strip()))


def _quote(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in _text(text).split("\n"))


def _inline(text: str) -> str:
    """Tags shown and not obeyed; what stands between backticks is shown as it is anyway."""
    pieces = text.split("`")
    return "`".join(
        piece if place % 2 else _TAG.sub(r"\\<", piece) for place, piece in enumerate(pieces)
    )


def _yaml(text: str) -> str:
    line = clean(text, one_line=True)
    return (
        line
        if re.fullmatch(r"[\w./+-][\w ./+-]*", line)
        else '"' + line.replace("\\", "\\\\").replace('"', '\\"') + '"'
    )


def _time(at: object) -> str:
    try:
        return (_EPOCH + timedelta(milliseconds=int(str(at)))).strftime("%Y-%m-%dT%H:%M:%SZ")
    except OverflowError:
        return str(at)


def _remove_others(folder: str, paths: set[str]) -> int:
    """Take away files of ours that are no session's any more; folders left empty go too."""
    removed = 0
    for place, _folders, files in os.walk(folder, topdown=False):
        for name in files:
            path = os.path.join(place, name)
            if name.endswith(".md") and path not in paths and _is_ours(path):
                os.unlink(path)
                removed += 1
                if not os.listdir(place) and place != folder:
                    os.rmdir(place)
    return removed


def _is_ours(path: str) -> bool:
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(_HEAD_BYTES).startswith(_MARK.encode())
