"""The loose markup models answer in: blocks and fields, no XML.

Only the five predefined entities and character references are decoded; CDATA is taken as
text; a stray ``&`` or ``<`` is itself. Nothing here raises, and nothing is looked up. Every walk
goes forward only, so that the time is linear in the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6}));")
NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
CDATA, CDATA_END = "<![CDATA[", "]]>"
FENCE = re.compile(r"^```[\w-]*[ \t]*\n(.*?)\n?```\s*$", re.S)
THOUGHT = re.compile(r"<(think|thinking|thought|reasoning)>", re.I)
THOUGHT_END = re.compile(
    r"^[ \t]*</(?:think|thinking|thought|reasoning)>[ \t]*$|"
    r"</(?:think|thinking|thought|reasoning)>(?=\s*<(?:observation|summary|skip_summary)\b)",
    re.I | re.M,
)
FENCE_LINE = re.compile(r"-{5} (?:data|end) [0-9a-f]{16} -{5}")
FIELDS = (
    *("type", "title", "subtitle", "facts", "fact", "narrative", "text", "concepts", "concept"),
    *("files_read", "files_modified", "events"),
)
SUMMARY_FIELDS = ("request", "investigated", "learned", "completed", "next_steps", "notes")
ITEMS = ("item", "li", "br", "p")
DRESS = ("observation", "observations", "summary", "file", "files_edited", "ul", "ol", *ITEMS)
TAG = re.compile(
    rf"</?({'|'.join((*FIELDS, *SUMMARY_FIELDS, *DRESS))})(?:\s[^<>]{{0,200}})?/?>", re.I
)
ATTRIBUTE = re.compile(r"\b(type|reason)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.I)
CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")
LONGEST = 262_144
QUOTES = " \t`'\"“”„‘’«»「」"
ENDS = tuple(".。!！?？")


class Block(NamedTuple):
    """A complete block: the attributes of its opening tag and what stands inside."""

    attributes: dict[str, str]
    body: str


def decode(text: str) -> str:
    """Entities decoded once; what they would smuggle in as control characters is dropped."""

    def one(found: re.Match[str]) -> str:
        if found[1]:
            return NAMED[found[1]]
        code = int(found[2]) if found[2] else int(found[3], 16)
        legal = code in (9, 10) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0x10FFFF
        return chr(code) if legal else ""

    return CONTROL.sub("", ENTITY.sub(one, text))


# --- the reply as a whole ------------------------------------------------------------


def prepare(text: str) -> str:
    """A reply ready for reading: bounded, without what was only thought, a single code fence
    unwrapped, CDATA made inert, our own fence lines out."""
    text = text[:LONGEST].replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff").strip()
    text = _without_thought(text)
    fenced = FENCE.match(text)
    text = fenced[1] if fenced else text
    return FENCE_LINE.sub("", _inert_cdata(text))


def _without_thought(text: str) -> str:
    """What comes after the thinking a reply begins with. Thinking that never ends is all there
    is, and drafts in it are no records."""
    at = 0
    while opened := THOUGHT.match(text, at):
        end = re.compile(rf"</{opened[1]}>\s*", re.I).search(text, opened.end())
        at = end.end() if end else len(text)
    text = text[at:]
    ends = [found.end() for found in THOUGHT_END.finditer(text)]
    return text[ends[-1] :].lstrip() if ends else text


def _inert_cdata(text: str) -> str:
    """Every closed CDATA section as escaped text; one that never ends is text like any other."""
    parts = []
    at = 0
    while (start := text.find(CDATA, at)) >= 0:
        end = text.find(CDATA_END, start)
        if end < 0:
            break
        parts += [text[at:start], _escape(text[start + len(CDATA) : end])]
        at = end + len(CDATA_END)
    return "".join(parts) + text[at:].replace(CDATA, "")


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def attributes(tag: str) -> dict[str, str]:
    return {
        found[1].lower(): decode(found[2] if found[2] is not None else found[3])
        for found in ATTRIBUTE.finditer(tag)
    }


# --- blocks --------------------------------------------------------------------------


class _Ahead:
    """The first match at or after a place, for places that only move forward: each stretch of
    the text is searched once."""

    def __init__(self, pattern: re.Pattern[str], text: str) -> None:
        self._matches: Iterator[re.Match[str]] = pattern.finditer(text)
        self._next: re.Match[str] | None = next(self._matches, None)

    def at(self, place: int) -> re.Match[str] | None:
        while self._next is not None and self._next.start() < place:
            self._next = next(self._matches, None)
        return self._next


def blocks(text: str, name: str) -> tuple[list[Block], int]:
    """(complete blocks of that name, how many began and never ended). A tag in the middle of a
    sentence opens nothing, and a block that a sentence goes on around is only spoken of; a closing
    tag inside a closed field closes nothing."""
    names = SUMMARY_FIELDS if name == "summary" else FIELDS
    reader = _Reader(text, name, names)
    found: list[Block] = []
    lost = 0
    at = 0
    while start := reader.opening(at):
        end, at = reader.end(start)
        if end is None:
            lost += 1
        elif not _is_spoken_of(text, start.start(), end.end()):
            found.append(Block(attributes(start[0]), text[start.end() : end.start()]))
    return found, lost


def _is_spoken_of(text: str, begin: int, end: int) -> bool:
    """Does a sentence go on from the one side of the block to the other, on its lines?"""
    before = text[max(0, begin - 200) : begin].rpartition("\n")[2].rstrip(QUOTES)[-1:]
    after = text[end : end + 200].partition("\n")[0].lstrip(QUOTES)[:1]
    return _goes_on(before) and (_goes_on(after) or after in ENDS)


def _goes_on(char: str) -> bool:
    return char.isalnum() or char in tuple(",;，、；(（)）")


class _Reader:
    """Finds where blocks begin and end."""

    def __init__(self, text: str, name: str, names: tuple[str, ...]) -> None:
        tag = rf"<{name}(?:\s[^<>]{{0,200}})?>"
        field = rf"<(?:{'|'.join(names)})(?:\s[^<>]{{0,100}})?>"
        # Where a block may begin: on a line of its own or right after another tag; or anywhere,
        # if a field follows.
        edge = r"(?:^[ \t]*|(?<=>)[ \t]*)"
        self._text = text
        self._openings = _Ahead(re.compile(rf"{edge}{tag}|{tag}(?=\s*{field})", re.I | re.M), text)
        self._barriers = _Ahead(re.compile(rf"{edge}{tag}(?=\s*{field})", re.I | re.M), text)
        self._steps = re.compile(rf"<({'|'.join(names)})(?:\s[^<>]{{0,100}})?>|</{name}\s*>", re.I)
        self._closings = {one: _Ahead(re.compile(rf"</{one}\s*>", re.I), text) for one in names}

    def opening(self, at: int) -> re.Match[str] | None:
        return self._openings.at(at)

    def end(self, start: re.Match[str]) -> tuple[re.Match[str] | None, int]:
        """The closing tag of the block, None where another begins before it or the text ends;
        and where to go on."""
        at = start.end()
        barrier = self._barriers.at(at)
        limit = barrier.start() if barrier else len(self._text)
        while step := self._steps.search(self._text, at, limit):
            if not step[1]:
                return step, step.end()
            closing = self._closings[step[1].lower()].at(step.end())
            at = closing.end() if closing and closing.end() <= limit else step.end()
        return None, limit


def fields(body: str, names: tuple[str, ...]) -> dict[str, str]:
    """The raw text of each field, first one wins, read in order: a tag inside a field's text
    is text. A field that is not closed ends where the next one begins. Facts and concepts that
    stand there without their list are a list."""
    opening = re.compile(rf"<({'|'.join(names)})(?:\s[^<>]{{0,100}})?>", re.I)
    closings = {name: _Ahead(re.compile(rf"</{name}\s*>", re.I), body) for name in names}
    found: dict[str, str] = {}
    loose: dict[str, list[str]] = {"fact": [], "concept": []}
    at = 0
    while start := opening.search(body, at):
        name = start[1].lower()
        closing = closings[name].at(start.end())
        if closing is None:
            following = opening.search(body, start.end())
            end = following.start() if following else len(body)
        else:
            end = closing.start()
        value = body[start.end() : end]
        if name in loose:
            loose[name].append(f"<{name}>{value}</{name}>")
        else:
            found.setdefault(name, value)
        at = max(end, start.end())
    return {f"{name}s": "".join(one) for name, one in loose.items() if one} | found


def items(raw: str, name: str) -> list[str]:
    """The items of a list field: its tags, else one a line, bullets gone."""
    tagged = re.findall(
        rf"<{name}(?:\s[^<>]{{0,100}})?>(.*?)(?:</{name}\s*>|(?=<{name}\b)|$)", raw, re.S | re.I
    )
    if tagged:
        return [one for one in (line(item) for item in tagged) if one]
    if listed := _json_list(raw):
        return [one for one in (line(item) for item in listed) if one]
    lines = [re.sub(r"^\s*(?:[-*•·]|\d+[.)、])\s+", "", one) for one in bare(raw).splitlines()]
    return [one for one in (line(item) for item in lines) if one]


def _json_list(raw: str) -> list[str]:
    """The texts of a list written as JSON; [] for anything else."""
    text = raw.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return []
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return value if all(isinstance(one, str) for one in value) else []


def bare(raw: str) -> str:
    """The text without anything that is a tag of ours; an item begins a line."""
    return TAG.sub(lambda found: "\n" if found[1].lower() in ITEMS else " ", raw)


def line(raw: str) -> str:
    return " ".join(decode(raw).split())


def paragraph(raw: str) -> str:
    """Decoded text with its line breaks, without blank runs at the ends of lines."""
    lines = [" ".join(one.split()) for one in decode(raw).strip().split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))
