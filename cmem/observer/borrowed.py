"""What a turn's own calls repeat of what the turn has read from outside before. Pure.

An edit or a command after a page was read is the agent's own deed, but the text in it may be the
page's. A text is borrowed when a run of it stands in an earlier outside answer of the turn: four
words, eight characters of a script that is written without spaces, or 24 letters of a code such
as base64. Case, spaces, quotes, escapes and marks between words count for nothing. After an answer
that was not kept whole anything may be a run of it. Of a borrowed text the deed is kept, not the
words: the file's name, the beginning of the command.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from cmem.model import Evidence, ObservationDraft, Observed, TurnUnit
from cmem.observer import text as texts
from cmem.observer.evidence import (
    PATCH_FILE,
    PATH_KEYS,
    Call,
    parse_json,
    paths_of,
    read_call,
    relative,
    strings,
)
from cmem.observer.extract_commands import HEREDOC, bare, category_of

# In halves of a word: a word counts for two, a character of a wide script for one.
ENOUGH = 8
LONG_WORD = 24
DEEPEST = 60
LEFT_OUT = "…"
MOST_NAMES = 200
INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]")
WIDE = texts.WIDE.pattern.strip("[]")
TOKEN = re.compile(
    r"\\u([0-9a-fA-F]{4})|\\[nrtfvb]|&#?\w{1,8};|([" + WIDE + r"])|([^\W_" + WIDE + r"]+)"
)
# What stands before the lines of a file that a tool shows.
NUMBERED = re.compile(r"^[ \t]{0,8}\d{1,7}(?:→|\t|\||:)[ \t]?", re.M)
# What stands for a part that was not kept.
CUT = re.compile(r"\[… \d{1,12} characters cut by cmem …\]|\[not kept by cmem: ")
CODED = re.compile(r"[A-Za-z0-9+/_-]{24,}")
DRESS = re.compile(r"<[^<>]{0,300}>|\]\([^()\n]{0,300}\)")
QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'([^']*)'", re.S)
HEAD = re.compile(r"[\w./-]{1,60}(?:[ ]-m)?(?:[ ][a-z][a-z0-9-]{0,30}(?=\s|$))?")
COMMANDS = ("command", "cmd", "script")
PATCHES = ("command", "patch", "input")


class Token(NamedTuple):
    word: str
    start: int
    end: int
    size: int


def _tokens(text: str) -> list[Token]:
    found = []
    for one in TOKEN.finditer(text):
        word = (chr(int(one[1], 16)) if one[1] else one[2] or one[3] or "").casefold()
        if word.strip():
            wide = bool(one[2]) or texts.WIDE.match(word) is not None
            size = 1 if wide else ENOUGH if len(word) >= LONG_WORD else 2
            found.append(Token(word, one.start(), one.end(), size))
    return found


def _runs(tokens: list[Token]) -> Iterator[tuple[int, int, int]]:
    """(key, start, end) of the shortest run that is long enough, from each token."""
    end = size = 0
    for at, first in enumerate(tokens):
        while end < len(tokens) and size < ENOUGH:
            size += tokens[end].size
            end += 1
        if size < ENOUGH:
            return
        yield hash(tuple(one.word for one in tokens[at:end])), first.start, tokens[end - 1].end
        size -= first.size


class Outside:
    """What was read from outside so far. ``names`` are files of the project's own: they may stand
    in both without being anybody's words."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        chosen = sorted({one for one in names if len(one) > 1}, key=len, reverse=True)
        every = "|".join(map(re.escape, chosen[:MOST_NAMES]))
        self._names = re.compile(rf"(?<![\w/.-])(?:{every})(?![\w-])") if every else None
        self._runs: set[int] = set()
        self._allowed: set[int] = set()
        self._codes: set[str] = set()
        self._cut = False  # a part that was not kept may have anything

    def __bool__(self) -> bool:
        return bool(self._runs or self._codes)

    def _has(self, key: int) -> bool:
        return (self._cut or key in self._runs) and key not in self._allowed

    def add(self, text: str) -> None:
        plain = self.plain(text)
        self._cut = self._cut or CUT.search(text) is not None
        for shown in dict.fromkeys((plain, DRESS.sub(" ", plain))):
            self._runs.update(key for key, _start, _end in _runs(_tokens(shown)))
        for one in CODED.findall(plain):
            code = one.casefold()
            ends = range(LONG_WORD, len(code) + 1, LONG_WORD)
            self._codes.update(code[end - LONG_WORD : end] for end in ends)

    def allow(self, text: str) -> None:
        """What is somebody else's words too, who may be told."""
        self._allowed.update(key for key, _start, _end in _runs(_tokens(self.plain(text))))

    def plain(self, text: str) -> str:
        """The text as it is compared: without signs that nobody sees and names of own files."""
        text = NUMBERED.sub("", INVISIBLE.sub("", text))
        return self._names.sub(" ", text) if self._names else text

    def spans(self, plain: str) -> list[tuple[int, int]]:
        """Where a plain text repeats what was read, in order."""
        return sorted(self._found(plain))

    def _found(self, plain: str) -> Iterator[tuple[int, int]]:
        yield from ((a, b) for key, a, b in _runs(_tokens(plain)) if self._has(key))
        for one in CODED.finditer(plain) if self._codes else ():
            code = one[0].casefold()
            for at in range(len(code) - LONG_WORD + 1):
                if code[at : at + LONG_WORD] in self._codes:
                    yield one.start() + at, one.start() + at + LONG_WORD

    def holds_together(self, value: Any) -> bool:
        """Do the texts of a value hold, side by side or those of the same name, a run that none
        of them holds alone?"""
        named: dict[str, list[str]] = {}
        for key, text in _values(value):
            named.setdefault(key, []).append(text)
        every = [text for group in named.values() for text in group]
        joined = {"\n".join(group) for group in (every, *named.values()) if len(group) > 1}
        return any(self.holds(one) for one in joined)

    def holds(self, text: str) -> bool:
        return any(self._found(self.plain(text))) if self else False

    def without(self, text: str) -> str:
        """The lines of an output, each up to where it begins to repeat what was read."""
        if not self.holds(text):
            return text
        plain = self.plain(text)
        spans = self.spans(plain)
        starts = [start for start, _end in spans]
        kept, at = [], 0
        for line in plain.splitlines(keepends=True):
            end = at + len(line.rstrip("\r\n"))
            near = spans[max(0, bisect_right(starts, at) - ENOUGH) : bisect_right(starts, end - 1)]
            cut = min((max(a, at) for a, b in near if b > at), default=-1)
            kept.append(plain[at:end] if cut < 0 else f"{plain[at:cut].rstrip()} {LEFT_OUT}")
            at += len(line)
        less = "\n".join(kept)
        return LEFT_OUT if self.holds(less) else less


# --- the turn's own calls ------------------------------------------------------------


def cleared(unit: TurnUnit) -> TurnUnit:
    """The unit, its own calls without the texts that they have from outside. What was read from
    outside itself stays whole; of a command that fetched, the command is the agent's own."""
    if all(one.taint != "external" for one in unit.evidence):
        return unit
    outside = Outside(_names(unit))
    kept = []
    for one in unit.evidence:
        foreign = one.taint == "external"
        call = read_call(one)
        own = bool(outside) and (not foreign or call.kind == "command")
        kept.append(_cleared(call, outside, answered=not foreign) if own else one)
        if foreign:
            outside.add("\n".join(strings(call.answer)))
    return unit._replace(evidence=tuple(kept))


def _names(unit: TurnUnit) -> Iterator[str]:
    """The folders of the project, and the files of it that the turn's own calls name."""
    yield from (*unit.roots, *(one.cwd for one in unit.evidence))
    for call in (read_call(one) for one in unit.evidence if one.taint != "external"):
        if call.kind in ("read", "edit"):
            for path in paths_of(call):
                yield path
                yield relative(path, roots=unit.roots, cwd=call.evidence.cwd)


def _cleared(call: Call, outside: Outside, *, answered: bool) -> Evidence:
    given = parse_json(call.evidence.tool_input)
    answer = call.answer
    if call.kind == "command":
        given = _command_given(given, outside)
        answer = _mapped(answer, outside.without) if answered else answer
    elif call.kind == "edit":
        given = _edit_given(given, outside)
        answer = _own(answer, outside)
    elif call.kind in ("read", "search"):
        given = _own(given, outside)
    else:
        given, answer = _own(given, outside), _own(answer, outside)
    evidence = call.evidence
    if given != parse_json(evidence.tool_input):
        evidence = evidence._replace(tool_input=json.dumps(given, ensure_ascii=False))
    if answer != call.answer:
        evidence = evidence._replace(tool_response=json.dumps(answer, ensure_ascii=False))
    return evidence


def _mapped(value: Any, change: Callable[[str], Any], depth: int = 0) -> Any:
    """The value with every text of it changed, but for paths; too deep a part is nothing."""
    if isinstance(value, str):
        return change(value)
    if depth > DEEPEST:
        return None
    if isinstance(value, list):
        return [_mapped(one, change, depth + 1) for one in value]
    if isinstance(value, dict):
        return {
            key: one
            if key in PATH_KEYS and isinstance(one, str)
            else _mapped(one, change, depth + 1)
            for key, one in value.items()
            if change(key) == key
        }
    return value


def _own(value: Any, outside: Outside) -> Any:
    """The value, None for each of its texts that is borrowed; none of them where they are
    borrowed together."""
    less = _mapped(value, lambda text: None if outside.holds(text) else text)
    if outside.holds_together(less):
        return _mapped(value, lambda text: text if len(_tokens(text)) < 2 else None)
    return less


def _values(value: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """(what it is called, text) of the texts of a value, but for paths."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, list) and depth <= DEEPEST:
        for one in value:
            yield from _values(one, name, depth + 1)
    elif isinstance(value, dict) and depth <= DEEPEST:
        for key, one in value.items():
            if key not in PATH_KEYS or not isinstance(one, str):
                yield from _values(one, key, depth + 1)


def _edit_given(given: Any, outside: Outside) -> Any:
    """The old text and the new one go together: half a change would tell of another one."""
    if not isinstance(given, dict):
        return _own(given, outside)
    patches = {key: given[key] for key in PATCHES if _is_patch(given.get(key))}
    edits = given.get("edits")
    parts: dict[str, Any] = {key: _patch(one, outside) for key, one in patches.items()}
    if isinstance(edits, list):
        parts["edits"] = [_edit_given(one, outside) for one in edits]
    rest = {key: one for key, one in given.items() if key not in parts}
    if any(outside.holds(text) for _name, text in _values(rest)):
        rest = _nothing(rest)
    if outside.holds_together({**rest, **parts}):
        rest = _nothing(given)
        parts = {key: _patch(one, None) for key, one in patches.items()}
    return {**rest, **parts}


def _nothing(given: dict[str, Any]) -> dict[str, Any]:
    return {key: one if key in PATH_KEYS else None for key, one in given.items()}


def _is_patch(told: Any) -> bool:
    return isinstance(told, str) and PATCH_FILE.search(told) is not None


def _patch(patch: str, outside: Outside | None) -> str:
    """The patch, of a file whose lines are borrowed, with None of any, only its name."""
    starts = [one.start() for one in PATCH_FILE.finditer(patch)]
    kept = patch[: starts[0]] if outside else ""
    for start, end in zip(starts, [*starts[1:], len(patch)], strict=True):
        head, _nl, body = patch[start:end].partition("\n")
        kept += f"{head}\n" if outside is None or outside.holds(body) else f"{head}\n{body}"
    return kept


def _command_given(given: Any, outside: Outside) -> Any:
    if not isinstance(given, dict):
        return _own(given, outside)
    rest = _own({key: one for key, one in given.items() if key not in COMMANDS}, outside)
    for key in COMMANDS:
        told = given.get(key)
        if isinstance(told, list):
            told = " ".join(one for one in told if isinstance(one, str))
        if isinstance(told, str):
            rest[key] = given[key] if not outside.holds(told) else _command(told, outside)
    return {key: rest[key] for key in given if key in rest}


def _command(command: str, outside: Outside) -> str:
    """The command without the texts in it that are borrowed, else how it begins."""

    def document(found: re.Match[str]) -> str:
        borrowed = outside.holds(found[2])
        return f"<<{found[1]}\n{LEFT_OUT}\n{found[1]}" if borrowed else found[0]

    def quoted(found: re.Match[str]) -> str:
        sign = found[0][0]
        return f"{sign}{LEFT_OUT}{sign}" if outside.holds(found[0]) else found[0]

    less = QUOTED.sub(quoted, HEREDOC.sub(document, command))
    if not outside.holds(less):
        return less
    found = HEAD.match(bare(less))
    head = found[0] if found else ""
    head = head if category_of(head) != "other" else head.partition(" ")[0]
    return f"{head} {LEFT_OUT}".strip()


# --- what a model made of the turn ---------------------------------------------------


def bounded(found: Observed, unit: TurnUnit) -> Observed:
    """The reply, its records said to be made also of the outside events whose words they have: the
    model has seen all of the turn, whatever it names. Facts and sentences that can be left out
    are left out instead. What the user's prompt says is the user's."""
    foreign = [one for one in unit.evidence if one.taint == "external"]
    if not foreign:
        return found
    known = Outside(_names(unit))
    for one in foreign:
        known.add("\n".join(strings(parse_json(one.tool_response))))
    known.allow(unit.prompt)
    ids = {one.id for one in foreign}
    drafts = tuple(
        _bounded(one, known, ids) if one.sources and not ids & {*one.sources} else one
        for one in found.reply.observations
    )
    return found._replace(reply=found.reply._replace(observations=drafts))


def _bounded(draft: ObservationDraft, known: Outside, ids: set[int]) -> ObservationDraft:
    said = texts.sentences(draft.narrative)
    kept = [one for one in said if not known.holds(one)]
    less = draft._replace(
        subtitle="" if known.holds(draft.subtitle) else draft.subtitle,
        narrative=draft.narrative if len(kept) == len(said) else texts.join(kept),
        facts=tuple(one for one in draft.facts if not known.holds(one)),
    )
    told = "\n".join((less.title, less.subtitle, less.narrative, *less.facts))
    if known.holds(told):
        return draft._replace(sources=tuple(sorted({*(draft.sources or ()), *ids})))
    return less
