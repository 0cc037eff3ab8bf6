"""Surgery on JSON text: change one member or item and leave every other byte as it is.

A person's settings file is theirs: its order, indentation, line ends and spacing stay. So nothing
is re-serialised. ``check`` admits strict JSON only; the other functions take text that passed it,
find spans, and splice. New text takes its style from what stands beside it.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_SCALAR = re.compile(r"[^\s,\]}]+")
_MARK = re.compile(r'["{}\[\]]')


class NotStrictJsonError(ValueError):
    """The text is not what RFC 8259 calls JSON, or says one thing twice."""


class Part(NamedTuple):
    """One member of an object (``key`` set) or one item of an array (``key`` empty).
    ``start`` is where its key or value begins, ``value`` where its value does."""

    key: str
    start: int
    value: int
    end: int


def check(text: str) -> object:
    """The document as a value. Comments, trailing commas and double keys are refused."""
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except NotStrictJsonError:
        raise
    except json.JSONDecodeError as error:
        raise NotStrictJsonError(f"line {error.lineno}: {error.msg.lower()}") from error
    except (ValueError, RecursionError) as error:
        raise NotStrictJsonError("nested too deeply, or a number too long") from error


def root(text: str) -> int:
    """Where the document's value begins."""
    return _skip_space(text, 0)


def members(text: str, start: int) -> list[Part]:
    """The members of the object that begins at ``start``."""
    return _parts(text, start, keyed=True)


def items(text: str, start: int) -> list[Part]:
    """The items of the array that begins at ``start``."""
    return _parts(text, start, keyed=False)


def end_of(text: str, start: int) -> int:
    """Where the value that begins at ``start`` ends."""
    if text[start] not in "{[":
        pattern = _STRING if text[start] == '"' else _SCALAR
        return _match_end(pattern, text, start)
    depth, at = 1, start + 1
    while depth:
        mark = _MARK.search(text, at)
        assert mark is not None, "the text passed check()"
        if mark.group() == '"':
            at = _match_end(_STRING, text, mark.start())
            continue
        depth += 1 if mark.group() in "{[" else -1
        at = mark.end()
    return at


def replace(text: str, part: Part, value: object) -> str:
    """``part`` holds ``value`` instead, laid out as its place asks."""
    laid_out = _render(value, text, at=part.start, inline="\n" not in text[part.value : part.end])
    return text[: part.value] + laid_out + text[part.end :]


def add_member(text: str, start: int, *, key: str, value: object) -> str:
    """The object at ``start`` has one more member, at its end."""
    return _add(text, start, members(text, start), key=json.dumps(key) + ": ", value=value)


def add_item(text: str, start: int, value: object) -> str:
    """The array at ``start`` has one more item, at its end."""
    return _add(text, start, items(text, start), key="", value=value)


def remove(text: str, parts: list[Part], index: int) -> str:
    """The container without ``parts[index]``; ``parts`` are all of its members or items."""
    part = parts[index]
    if index > 0:
        return text[: parts[index - 1].end] + text[part.end :]
    if len(parts) > 1:
        return text[: part.start] + text[parts[1].start :]
    opened = len(text[: part.start].rstrip(" \t\r\n"))
    return text[:opened] + text[_skip_space(text, part.end) :]


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise NotStrictJsonError(f"the key {key!r} stands twice in one object")
        found[key] = value
    return found


def _no_constant(name: str) -> object:
    raise NotStrictJsonError(f"{name} is not JSON")


def _parts(text: str, start: int, *, keyed: bool) -> list[Part]:
    found: list[Part] = []
    at = _skip_space(text, start + 1)
    while text[at] not in "]}":
        key, value = "", at
        if keyed:
            end = _match_end(_STRING, text, at)
            key = json.loads(text[at:end])
            value = _skip_space(text, _skip_space(text, end) + 1)
        end = end_of(text, value)
        found.append(Part(key, at, value, end))
        at = _skip_space(text, end)
        if text[at] == ",":
            at = _skip_space(text, at + 1)
    return found


def _add(text: str, start: int, parts: list[Part], *, key: str, value: object) -> str:
    if parts:
        last = parts[-1]
        gap = text[len(text[: last.start].rstrip(" \t\r\n")) : last.start]
        inline = "\n" not in gap
        lead = "," + (gap or " " if inline else _eol(text) + _indent_at(text, last.start))
        new = _render(value, text, at=last.start, inline=inline)
        return text[: last.end] + lead + key + new + text[last.end :]
    if "\n" not in text.strip() and not _is_empty_root(text):
        return (
            text[: start + 1]
            + key
            + _render(value, text, at=start, inline=True)
            + _tail(text, start)
        )
    outer = _indent_at(text, start)
    inner = outer + _unit(text)
    body = _render(value, text, at=start, inline=False, base=inner)
    eol = _eol(text)
    return text[: start + 1] + eol + inner + key + body + eol + outer + _tail(text, start)


def _tail(text: str, start: int) -> str:
    """What follows the (empty) container's inside: its closing mark and all after it."""
    return text[_skip_space(text, start + 1) :]


def _is_empty_root(text: str) -> bool:
    return text.strip().replace(" ", "").replace("\t", "") in ("{}", "[]")


def _render(value: object, text: str, *, at: int, inline: bool, base: str | None = None) -> str:
    """``value`` as JSON text: on one line, or in lines that continue the indent of ``at``."""
    if inline:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text)).split("\n")
    indent = _indent_at(text, at) if base is None else base
    return (_eol(text) + indent).join(lines)


def _indent_at(text: str, at: int) -> str:
    """The white space that begins the line of ``at``."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """One step of indentation, as the file's first indented line has it; two blanks otherwise."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found.group(1) if found else "  "


def _eol(text: str) -> str:
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def _skip_space(text: str, at: int) -> int:
    return _match_end(_SPACE, text, at)


def _match_end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    assert found is not None, "the text passed check()"
    return found.end()
