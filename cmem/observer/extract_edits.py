"""Edits by rules: what changed in a file, in a line a colleague can read."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from cmem.observer.evidence import Call, patched_files, paths_of, relative, text_given
from cmem.observer.text import one_line, shorten

DEFINITION = re.compile(
    r"^[ \t]*(?:export\s+)?(?:default\s+)?(?:pub(?:\([\w ]+\))?\s+|public\s+|private\s+|static\s+|"
    r"abstract\s+|async\s+)*(?:def|class|func|fn|function|interface|struct|enum|trait|impl|type|"
    r"module|CREATE TABLE|CREATE INDEX|ALTER TABLE)\s+(?:\([^)]*\)\s*)?([A-Za-z_]\w*(?:(?:::|\.)\w+)*)",
    re.M,
)
CLOSED_LINE = re.compile(r"^[\s{}()\[\];,]*$")
PATCH_HEAD = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: .+$", re.M)
DOCS = (".md", ".rst", ".txt", ".adoc")
MANIFESTS = re.compile(
    r"(?:^|/)(?:pyproject\.toml|setup\.(?:py|cfg)|requirements[\w.-]*\.txt|package\.json|go\.mod|"
    r"Cargo\.toml|Gemfile|composer\.json|pom\.xml|build\.gradle(?:\.kts)?|Pipfile|"
    r"Dockerfile[\w.-]*|docker-compose[\w.-]*\.ya?ml|compose\.ya?ml|Makefile|tsconfig[\w.]*\.json|"
    r"\.github/workflows/[^/]+|\.gitlab-ci\.yml|\.env\.example|[\w.-]+\.(?:ini|cfg|toml|ya?ml|tfvars))$"
)
DEPENDENCIES = re.compile(
    r"(?:^|/)(?:pyproject\.toml|setup\.(?:py|cfg)|requirements[\w.-]*\.txt|package\.json|go\.mod|"
    r"Cargo\.toml|Gemfile|composer\.json|pom\.xml|build\.gradle(?:\.kts)?|Pipfile)$"
)
VERSION = re.compile(r"\d+\.\d+|[<>=~^]=?\s?\d")
MAX_LINES = 400
NEW = ("new_string", "new_str", "newString", "new_source")


class Change(NamedTuple):
    """One edit of one file. ``verb``: created | rewrote | edited | deleted; ``facts`` say
    what changed, most telling first."""

    path: str
    verb: str
    facts: tuple[str, ...]
    source: int


def is_docs(path: str) -> bool:
    return path.lower().endswith(DOCS)


def is_manifest(path: str) -> bool:
    return MANIFESTS.search(path) is not None


def is_dependency(change: Change) -> bool:
    """Did the change set what the project depends on, and which version of it?"""
    named = DEPENDENCIES.search(change.path) is not None
    return named and any(VERSION.search(fact) for fact in change.facts)


def facts_of(changes: Iterable[Change], limit: int) -> list[str]:
    """What the changes say, one fact of every file before the second of any; the same change
    in several files is one fact."""
    places: dict[str, list[str]] = {}
    ranks: dict[str, int] = {}
    seen: dict[str, int] = {}
    for change in changes:
        for fact in change.facts:
            _path, parted, said = fact.partition(f"{change.path}: ")
            key = said if parted and not _path else fact
            ranks.setdefault(key, seen.get(change.path, 0))
            seen[change.path] = seen.get(change.path, 0) + 1
            paths = places.setdefault(key, [])
            if key is said and change.path not in paths:
                paths.append(change.path)
    order = {key: at for at, key in enumerate(ranks)}
    kept = sorted(sorted(ranks, key=ranks.__getitem__)[:limit], key=order.__getitem__)
    return [_in_places(said, places[said]) for said in kept]


def _in_places(said: str, paths: list[str]) -> str:
    if len(paths) < 3:
        return f"{', '.join(paths)}: {said}" if paths else said
    more = f" and {len(paths) - 5} more" if len(paths) > 5 else ""
    return f"{said} in {len(paths)} files: {', '.join(paths[:5])}{more}"


def changes(calls: Iterable[Call], roots: Sequence[str]) -> tuple[Change, ...]:
    """Every edit that worked, in order."""
    found: list[Change] = []
    for call in calls:
        if call.kind == "edit" and call.ok:
            found.extend(_changes_of(call, roots))
    return tuple(found)


def _changes_of(call: Call, roots: Sequence[str]) -> list[Change]:
    patched = patched_files(call)
    if patched:
        return _patch_changes(call, patched, roots)
    paths = paths_of(call)
    if not paths:
        return []
    path = relative(paths[0], roots=roots, cwd=call.evidence.cwd)
    source = call.evidence.id
    content = text_given(call, "content", "file_text")
    pairs = _pairs(call)
    if not pairs and content:
        return [Change(path, _write_verb(call), (written(path, content),), source)]
    if any(key in call.given and call.given[key] is None for key in ("content", "file_text")):
        return [Change(path, _write_verb(call), (), source)]
    if not pairs and any(key in call.given for key in (*NEW, "edits")):
        return [Change(path, "edited", (), source)]
    facts = [fact for old, new in pairs for fact in diff_facts(path, old, new)]
    if call.given.get("replace_all") is True and facts:
        facts = [f"{fact} (everywhere in the file)" for fact in facts]
    return [Change(path, "edited", tuple(facts) or (f"{path}: edited",), source)]


def _write_verb(call: Call) -> str:
    answer: Any = call.answer if isinstance(call.answer, dict) else {}
    return "rewrote" if answer.get("type") == "update" or answer.get("originalFile") else "created"


def _pairs(call: Call) -> list[tuple[str, str]]:
    """The (old, new) texts of an edit, in any spelling of the parameters."""
    many = call.given.get("edits")
    given = (
        [one for one in many if isinstance(one, dict)] if isinstance(many, list) else [call.given]
    )
    pairs = []
    for one in given:
        old = next((one[k] for k in ("old_string", "old_str", "oldString") if k in one), None)
        new = next((one[key] for key in NEW if key in one), None)
        if old is None and isinstance(call.answer, dict):
            old = call.answer.get("old_source", "")
        if isinstance(new, str):
            pairs.append((old if isinstance(old, str) else "", new))
    return pairs


def _patch_changes(
    call: Call, patched: list[tuple[str, str]], roots: Sequence[str]
) -> list[Change]:
    bodies = PATCH_HEAD.split(text_given(call, "command", "patch", "input"))[1:]
    verbs = {"Add": "created", "Update": "edited", "Delete": "deleted"}
    found = []
    for (verb, name), body in zip(patched, bodies, strict=False):
        path = relative(name, roots=roots, cwd=call.evidence.cwd)
        lines = body.splitlines()
        old = "\n".join(line[1:] for line in lines if line[:1] in ("-", " "))
        new = "\n".join(line[1:] for line in lines if line[:1] in ("+", " "))
        if verb == "Delete":
            facts = [f"Deleted {path}"]
        elif verb == "Add":
            facts = [written(path, new)] if new else []
        else:
            facts = diff_facts(path, old, new)
        found.append(Change(path, verbs[verb], tuple(facts), call.evidence.id))
    return found


def definitions(text: str) -> list[str]:
    """The names a piece of code defines, in order."""
    return list(dict.fromkeys(one[1] for one in DEFINITION.finditer(text)))


def written(path: str, content: str) -> str:
    """A written file in one line: all of it if small, else what it defines or how it starts."""
    lines = [line for line in content.splitlines() if line.strip()]
    size = f"{len(content.splitlines())} lines"
    flat = one_line(" / ".join(line.strip() for line in lines))
    if len(flat) <= 200 and len(lines) <= 6:
        return f"{path} (written whole): {_code(flat)}" if flat else f"{path}: empty file"
    names = definitions(content)
    if names and not is_docs(path):
        more = f" and {len(names) - 8} more" if len(names) > 8 else ""
        return f"{path} ({size}) defines {', '.join(names[:8])}{more}"
    return f"{path} ({size}) starts: {_code(shorten(flat, 160))}"


def _code(text: str) -> str:
    return f"`{text}`" if "`" not in text else f"“{text}”"


def diff_facts(path: str, old: str, new: str) -> list[str]:
    """What differs between two texts, as at most three facts."""
    old_lines, new_lines = old.splitlines(), new.splitlines()
    if len(old_lines) > MAX_LINES or len(new_lines) > MAX_LINES:
        return [_large(path, old, new)]
    matcher = difflib.SequenceMatcher(None, old_lines, new_lines, autojunk=False)
    facts = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            facts += _hunk_facts(path, old_lines[i1:i2], new_lines[j1:j2])
    if len(facts) > 3:
        return [*facts[:2], _large(path, old, new)]
    return facts


def _telling(lines: list[str]) -> list[str]:
    return [line.strip() for line in lines if not CLOSED_LINE.match(line)]


def _hunk_facts(path: str, old: list[str], new: list[str]) -> list[str]:
    gone, came = _telling(old), _telling(new)
    if not gone and not came:
        return []
    if 0 < len(gone) <= 3 and len(gone) == len(came):
        pairs = [(a, b) for a, b in zip(gone, came, strict=True) if a != b]
        return [f"{path}: {_code(shorten(a, 120))} → {_code(shorten(b, 120))}" for a, b in pairs]
    names = definitions("\n".join(new))
    if not gone:
        what = _code(shorten(" / ".join(came[:4]), 180))
        more = f" ({len(came)} lines)" if len(came) > 4 else ""
        defined = f", defines {', '.join(names[:6])}" if names and len(came) > 4 else ""
        return [f"{path}: added {what}{more}{defined}"]
    if not came:
        return [f"{path}: removed {_code(shorten(' / '.join(gone[:4]), 180))}"]
    defined = f", defines {', '.join(names[:6])}" if names else ""
    a, b = shorten(" / ".join(gone[:3]), 110), shorten(" / ".join(came[:3]), 140)
    return [f"{path}: {_code(a)} → {_code(b)} ({len(gone)} → {len(came)} lines{defined})"]


def _large(path: str, old: str, new: str) -> str:
    names = [name for name in definitions(new) if name not in definitions(old)]
    defined = f", now defines {', '.join(names[:8])}" if names else ""
    return f"{path}: {len(old.splitlines())} → {len(new.splitlines())} lines{defined}"
