"""Records as somebody else may see them: memories without the evidence they were made of. Pure.

What ``extract`` makes is quotations: the prompt as subtitle and request, edits and output of
commands as facts, the last message as narrative, any of them as title. So of its observations
there is left what was done with which files, and nothing of one that names no file; its
summaries say nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from cmem.export import folders
from cmem.privacy import second
from cmem.store import stored_text, titles
from cmem.store.portable import BY_TYPE, OBSERVATION, PROJECT, PROMPT, SUMMARY, TOMBSTONE, Record

# What is left out: raw evidence, and the folders of this machine.
_EMPTIED = {
    "project": ("root",),
    "session": ("cwd",),
    "turn": ("assistant_message", "error"),
    "prompt": ("prompt_text", "cwd"),
    "tool_use": ("tool_input", "tool_response", "cwd"),
}
# Columns that name a project by its key.
_KEYS = ("project", "key", "merged_into")
# Who makes observations out of nothing but quotations, as rows name it.
_QUOTES = "extract"
_QUOTED = {"subtitle": "", "narrative": "", "facts": [], "metadata": {}}
_NAMED = 3


def records(found: Iterable[Record]) -> Iterator[Record]:
    """The records fit for somebody else; what is nobody else's concern is left out."""
    known = folders.Folders()
    for one in found:
        kind = str(one["record"])
        if kind == PROJECT:
            known.learn(str(one["root"]), str(one["name"]))
        made = None if kind == TOMBSTONE else _unquoted(_without(one, known))
        if made is not None:
            yield made


def _without(record: Record, known: folders.Folders) -> Record:
    """The record without raw evidence, secrets and folders."""
    kind = str(record["record"])
    made = {name: "" if name in _EMPTIED.get(kind, ()) else one for name, one in record.items()}
    if kind == PROJECT:
        made["aliases"] = [one for one in made["aliases"] if one[0] in ("env", "remote")]
    else:
        letter = BY_TYPE[kind].letter or "turn" if kind in BY_TYPE else "N"
        for name in (one for part in stored_text.columns(letter) for one in part):
            made[name] = second.scrub_document(made[name])
    if kind == PROMPT.type:
        # A hash of few words lets them be guessed.
        made["native_prompt_hash"] = str(made["uid"])[:16]
    named = {name: folders.key(made[name]) for name in _KEYS if isinstance(made.get(name), str)}
    made = {name: known.without(one) for name, one in (made | named).items()}
    if kind == OBSERVATION.type:
        made["title_norm_key"] = titles.norm_key(str(made["title"]))
    return made


def _unquoted(record: Record) -> Record | None:
    """The record; of one that only quotes, what it says besides, None for nothing."""
    if record.get("generated_by_model") != _QUOTES:
        return record
    title = _deed(record) if record["record"] == OBSERVATION.type else ""
    if record["record"] == SUMMARY.type or not title:
        return None
    return {**record, **_QUOTED, "title": title, "title_norm_key": titles.norm_key(title)}


def _deed(record: Record) -> str:
    """What was done with which files; "" where no file is named."""
    for verb, name in (("Edited", "files_modified"), ("Read", "files_read")):
        if record[name]:
            return f"{verb} {_listed(record[name])}"
    return ""


def _listed(names: Sequence[object]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(map(str, names[:_NAMED])) + more
