"""The loose markup models answer in: blocks and fields, no XML.

Only the five predefined entities and character references are decoded; CDATA is taken as
text; a stray ``&`` or ``<`` is itself. Nothing here raises, and nothing is looked up.
"""

from __future__ import annotations

import re
from typing import NamedTuple

ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6}));")
NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
CDATA, CDATA_END = "<![CDATA[", "]]>"
FENCE = re.compile(r"^```[\w-]*[ \t]*\n(.*?)\n?```\s*$", re.S)
TAG = re.compile(r"</?[a-z_]{1,32}(?:\s[^<>]{0,200})?/?>", re.I)
ATTRIBUTE = re.compile(r"\b(type|reason)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.I)
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
LONGEST = 262_144


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


def prepare(text: str) -> str:
    """A reply ready for reading: bounded, a single code fence unwrapped, CDATA made inert."""
    text = text[:LONGEST].replace("\r\n", "\n").strip()
    fenced = FENCE.match(text)
    text = fenced[1] if fenced else text
    return _inert_cdata(text)


def _inert_cdata(text: str) -> str:
    """Every closed CDATA section as escaped text; one that never ends is left as it is."""
    parts = []
    at = 0
    while (start := text.find(CDATA, at)) >= 0:
        end = text.find(CDATA_END, start)
        if end < 0:
            break
        parts += [text[at:start], _escape(text[start + len(CDATA) : end])]
        at = end + len(CDATA_END)
    return "".join(parts) + text[at:]


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def attributes(tag: str) -> dict[str, str]:
    return {
        found[1].lower(): decode(found[2] if found[2] is not None else found[3])
        for found in ATTRIBUTE.finditer(tag)
    }


def blocks(text: str, name: str) -> tuple[list[Block], int]:
    """(complete blocks of that name, how many began and never ended). A tag in the middle of
    a sentence opens nothing."""
    opening = re.compile(rf"<{name}(\s[^<>]{{0,200}})?>(?=\s*<|[^\S\n]*\n|\s*[^\s<])", re.I)
    closing = re.compile(rf"</{name}\s*>", re.I)
    found: list[Block] = []
    lost = 0
    at = 0
    while start := opening.search(text, at):
        end = closing.search(text, start.end())
        if end is None:
            lost += sum(1 for _ in opening.finditer(text, start.start()))
            break
        inner = _last_start(text, name, start=start, end=end.start())
        lost += inner is not start
        found.append(Block(attributes(inner[0]), text[inner.end() : end.start()]))
        at = end.end()
    return found, lost


def _last_start(text: str, name: str, *, start: re.Match[str], end: int) -> re.Match[str]:
    """The opening tag that belongs to a closing one: a later one that begins a line of its own
    and is followed by a field means the earlier was cut off."""
    again = re.compile(rf"^[ \t]*<{name}(\s[^<>]{{0,200}})?>(?=\s*<[a-z_]+>)", re.I | re.M)
    last = start
    for one in again.finditer(text, start.end(), end):
        last = one
    return last


def fields(body: str, names: tuple[str, ...]) -> dict[str, str]:
    """The raw text of each field, first one wins, read in order: a tag inside a field's text
    is text. A field that is not closed ends where the next one begins."""
    opening = re.compile(rf"<({'|'.join(names)})(?:\s[^<>]{{0,100}})?>", re.I)
    found: dict[str, str] = {}
    unclosed: set[str] = set()
    at = 0
    while start := opening.search(body, at):
        name = start[1].lower()
        closing = None
        if name not in unclosed:
            closing = re.compile(rf"</{name}\s*>", re.I).search(body, start.end())
        if closing is None:
            unclosed.add(name)
            following = opening.search(body, start.end())
            end = following.start() if following else len(body)
        else:
            end = closing.start()
        found.setdefault(name, body[start.end() : end])
        at = max(end, start.end())
    return found


def items(raw: str, name: str) -> list[str]:
    """The items of a list field: its tags, else one a line, bullets gone."""
    tagged = re.findall(
        rf"<{name}(?:\s[^<>]{{0,100}})?>(.*?)(?:</{name}\s*>|(?=<{name}\b)|$)", raw, re.S | re.I
    )
    if tagged:
        return [one for one in (line(item) for item in tagged) if one]
    lines = [re.sub(r"^\s*(?:[-*•]|\d+[.)])\s+", "", one) for one in bare(raw).splitlines()]
    return [one for one in (line(decode(item)) for item in lines) if one]


def bare(raw: str) -> str:
    """The text without anything that looks like a tag of ours."""
    return TAG.sub(" ", raw)


def line(raw: str) -> str:
    return " ".join(decode(raw).split())


def paragraph(raw: str) -> str:
    """Decoded text with its line breaks, without blank runs at the ends of lines."""
    lines = [" ".join(one.split()) for one in decode(raw).strip().split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))
