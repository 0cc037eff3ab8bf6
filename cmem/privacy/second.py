"""All that must not be stored, by every rule there is: for what becomes memory or meets a model.

The hook's tier (``scrub``) has microseconds and knows secrets by their form alone. This one
runs at ingest and on everything an observer says: it knows more formats, and secrets by the
name, the option or the header in front of them. It is total, and idempotent like the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from cmem.privacy import assignments, entropy, environment, lists, rules, second_rules, secret_names
from cmem.privacy.assignments import Span
from cmem.privacy.reading import shown
from cmem.privacy.scrub import scrub_text, without_spans

# What a text of twice a payload's limit takes is known; beyond that nothing is promised.
MAX_TEXT = 1024 * 1024
# A value this long that an assignment gave away is looked for in the rest of its event.
KNOWN_LENGTH = 8
MAX_KNOWN = 64
DEPTH = 100

MARK = re.compile(r"\[REDACTED:([a-z0-9-]{1,32})\]")
_MIN = 8
_COMMAND = 400


class Finding(NamedTuple):
    """A place where something is cut: by which rule, in which line of the text as given."""

    rule: str
    line: int


def scrub(text: str) -> str:
    """The text without anything that a rule of either tier knows.

    A text too long to be read in time becomes a note of its size."""
    if len(text) < _MIN:
        return text
    if len(text) > MAX_TEXT:
        return _unscanned(text)
    clean = _known(scrub_text(text))
    plain = shown(clean)
    if plain == clean:
        return clean
    # What only shows when the text is read as a reader does is cut from the text so read.
    read = _known(plain)
    return clean if read == plain else read


def _known(text: str) -> str:
    known = _formats(text)
    known = _cut(known, _settings(known, _fold(known)))
    try:
        return environment.without(_cut(known, assignments.find(known, _fold(known))))
    except assignments.TooMuchError:
        return _unscanned(text)


def scrub_value(name: str, text: str) -> str:
    """The text, scrubbed; a value that stands under a telling name in a document goes whole."""
    clean = scrub(text)
    if clean != text or not name:
        return clean
    rule = named(name, text)
    return f"[REDACTED:{rule}]" if rule else clean


def named(name: str, value: str) -> str:
    """The rule by which a value under this name in a document is a secret, "" if it is none."""
    if len(value) > assignments.VALUE_LIMIT or "\n" in value or "[REDACTED:" in value:
        return ""
    kind = secret_names.kind(name)
    if kind == secret_names.AUTH:
        return kind if assignments.is_basic(value) else ""
    if kind == secret_names.KEY:
        return kind if entropy.is_key(value) else ""
    if kind in ("", secret_names.SIGNATURE):
        return ""
    return kind if assignments.is_given(kind, value) else ""


def scrub_document(value: object) -> object:
    """A JSON value with every text in it scrubbed, keys too."""
    return _scrubbed(across(value), name="", depth=0)


def across(value: object) -> object:
    """A JSON value without what only shows when the texts of a list are read as one: for who
    scrubs each of its texts besides."""
    value = lists.across(without_spans(value), _without_settings)
    return lists.commands(value, _without_arguments)


def _without_settings(pieces: list[str]) -> list[str]:
    """The pieces without secrets whose name or command stands in another piece."""
    whole = "\n".join(pieces)
    if len(whole) > MAX_TEXT:
        return pieces
    spans = [*_settings(whole, _fold(whole))]
    try:
        spans += assignments.find(whole, _fold(whole))
    except assignments.TooMuchError:
        return pieces  # each of them is read by itself
    return _cut_pieces(pieces, spans)


def _without_arguments(words: list[str]) -> list[str]:
    """The words of a command without what is given to an option for a secret."""
    made = list(words)
    for at, (option, value) in enumerate(pairwise(words)):
        if option.startswith("-") and not value.startswith("-") and "=" not in option:
            rule = named(option.lstrip("-"), value)
            made[at + 1] = f"[REDACTED:{rule}]" if rule else made[at + 1]
    line = " ".join(made)
    if len(line) > MAX_TEXT or "\n" in line:
        return made
    return _cut_pieces(made, _settings(line, _fold(line)))


def _cut_pieces(pieces: list[str], spans: list[Span]) -> list[str]:
    """The pieces, joined by one character each where the spans were found, without those that
    lie in one of them; a secret is never in two."""
    made: list[str] = []
    base = 0
    left = sorted(spans, reverse=True)
    for piece in pieces:
        end = base + len(piece)
        inside: list[Span] = []
        while left and left[-1].start < end:
            span = left.pop()
            if span.end <= end:
                inside.append(Span(span.start - base, span.end - base, span.rule))
        made.append(_cut(piece, inside))
        base = end + 1
    return made


def _scrubbed(value: object, *, name: str, depth: int) -> object:
    if isinstance(value, str):
        return scrub_value(name, value)
    if depth >= DEPTH:
        return value if not isinstance(value, (dict, list)) else None
    if isinstance(value, list):
        return [_scrubbed(item, name=name, depth=depth + 1) for item in value]
    if isinstance(value, dict):
        pair = pair_name(value)
        return {
            scrub(key): _scrubbed(item, name=pair_key(key, pair), depth=depth + 1)
            for key, item in value.items()
        }
    return value


def pair_name(value: dict[str, object]) -> str:
    """The name in ``{"name": "DB_PASSWORD", "value": "…"}``, "" where there is none."""
    told = value.get("name", value.get("key"))
    return told if isinstance(told, str) and "value" in value and len(told) <= 80 else ""


def pair_key(key: str, pair: str) -> str:
    return pair if pair and key == "value" else key


def findings(text: str) -> tuple[str, list[Finding]]:
    """The scrubbed text, and each mark in it that was not in the text as given.

    The stretches that were kept stand in both texts in the same order; between them lies what
    was cut, and that tells the line."""
    clean = scrub(text)
    if clean.startswith("[UNSCANNED ") and clean != text:
        return clean, [Finding("unscanned", 1)]
    found: list[Finding] = []
    at = done = 0
    for match in MARK.finditer(clean):
        at = _follow(text, clean[done : match.start()], at)
        done = match.end()
        if text.startswith(match[0], at):
            at += len(match[0])
            continue
        found.append(Finding(match[1], text.count("\n", 0, at) + 1))
        if match[1] in ("private-key", "putty-key"):
            block = rules.BLOCK_END if match[1] == "private-key" else rules.PUTTY_END
            end = re.compile(block).search(text, at)
            at = end.end() if end else at
    return clean, found


def rule_names(before: str, after: str) -> list[str]:
    """The rules whose marks are in ``after`` and were not, or less often, in ``before``."""
    old = MARK.findall(before)
    new = MARK.findall(after)
    return sorted({name for name in new if new.count(name) > old.count(name)})


def known_values(texts: Iterable[tuple[str, str]]) -> list[str]:
    """The values that assignments in these (name, text) give away and that are odd enough to
    be cut wherever they stand; longest first."""
    found: set[str] = set()
    for name, text in texts:
        if name and named(name, text):
            found.add(text)
        if len(found) < MAX_KNOWN:
            found.update(_given_away(text))
    odd = [one for one in found if len(one) >= KNOWN_LENGTH and entropy.is_random(one)]
    return sorted(odd, key=lambda one: (-len(one), one))[:MAX_KNOWN]


def without(text: str, known: Iterable[str]) -> str:
    """The text without these values, wherever they stand."""
    for value in known:
        if value in text:
            text = text.replace(value, "[REDACTED:known-value]")
    return text


def _unscanned(text: str) -> str:
    return f"[UNSCANNED {len(text.encode('utf-8', 'surrogatepass'))} bytes]"


def _given_away(text: str) -> list[str]:
    """The values that assignments in the text give away."""
    if len(text) > MAX_TEXT:
        return []
    try:
        return [text[span.start : span.end] for span in assignments.find(text, _fold(text))]
    except assignments.TooMuchError:
        return []


def _follow(text: str, piece: str, at: int) -> int:
    found = text.find(piece, at)
    return at if found < 0 else found + len(piece)


def _fold(text: str) -> str:
    """In lower case and of the same length: one capital has a small form of two characters."""
    return text.replace("\u0130", "I").lower()


def _formats(text: str) -> str:
    for name, literals, pattern in second_rules.FORMATS:
        literal = literals[0]
        at = text.find(literal)
        if at < 0:
            continue
        spans: list[Span] = []
        while at >= 0:
            match = rules.compiled(pattern).match(text, at)
            if match is not None:
                spans.append(Span(at, match.end(), name))
            at = text.find(literal, match.end() if match else at + 1)
        text = _cut(text, spans)
    return text


def _settings(text: str, folded: str) -> list[Span]:
    spans: list[Span] = []
    for name, literals, pattern, check in second_rules.SETTINGS:
        if not any(literal in folded for literal in literals):
            continue
        for match in rules.compiled(pattern).finditer(text):
            if _CHECKS[check](match["secret"]):
                spans.append(Span(match.start("secret"), match.end("secret"), name))
    for tools, option in second_rules.TOOLS:
        for tool in tools:
            if tool in folded:
                spans += _commands(text, folded, tool=tool, option=option)
    return spans


def _commands(text: str, folded: str, *, tool: str, option: str) -> list[Span]:
    """Passwords given to a tool in a command, which ends with its line or with the next one."""
    spans: list[Span] = []
    at = folded.find(tool)
    while at >= 0:
        end = _command_end(text, at)
        if not at or not (text[at - 1].isalnum() or text[at - 1] in "_-."):
            pattern = rules.compiled(r"(?<=[ \t])" + option)
            for match in pattern.finditer(text, at + len(tool) - 1, end):
                if _is_password(match["secret"]):
                    spans.append(Span(match.start("secret"), match.end("secret"), "cli-password"))
        at = folded.find(tool, end)
    return spans


def _command_end(text: str, at: int) -> int:
    """Where the command ends that begins here: lines that end in a backslash go on."""
    limit = min(len(text), at + _COMMAND)
    end = at
    while True:
        end = text.find("\n", end, limit)
        if end < 0:
            return limit
        if text[end - 1] != "\\":
            return end
        end += 1


def _is_password(value: str) -> bool:
    return assignments.is_given(secret_names.PASSWORD, value) and not value.isdigit()


def _is_odd(value: str) -> bool:
    return _is_password(value) and entropy.has_digit(value)


def _is_cookie(value: str) -> bool:
    values = (pair.partition("=")[2] for pair in value.split(";"))
    return any(len(one) >= 16 and entropy.is_random_word(one) for one in values)


def _is_credential(value: str) -> bool:
    """Whether this stands after the name of a scheme: one text, or parameters with one."""
    if "=" in value.rstrip("="):
        values = (part.partition("=")[2].strip(' "\\') for part in value.split(","))
        return any(len(one) >= _MIN and entropy.is_random_word(one) for one in values)
    if entropy.is_placeholder(value) or entropy.is_name(value):
        return False
    return len(value) >= _MIN and entropy.has_digit(value)


def _always(value: str) -> bool:
    return True


_CHECKS = {
    "": _always,
    "basic": assignments.is_basic,
    "cookie": _is_cookie,
    "credential": _is_credential,
    "given": _is_password,
    "odd": _is_odd,
}


def _cut(text: str, spans: Iterable[Span]) -> str:
    """The text with a mark for each span; of those that overlap, the first. What holds a mark
    or lies in one has been cut before."""
    kept: list[str] = []
    done = 0
    for span in sorted(spans):
        if span.start < done or "[REDACTED:" in text[span.start : span.end]:
            continue
        mark = text.rfind("[REDACTED:", max(0, span.start - 44), span.start)
        if mark >= 0 and text.find("]", mark, span.start) < 0:
            continue
        kept += [text[done : span.start], f"[REDACTED:{span.rule}]"]
        done = span.end
    return "".join(kept) + text[done:] if kept else text
