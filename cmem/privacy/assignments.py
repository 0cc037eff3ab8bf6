"""Secrets that show by what stands before them: ``PASSWORD=…``, ``"apiKey": "…"``, ``--token …``.

Literals find places where a name may be; from each the name is read to both sides, once, and
what follows it decides. Every step takes bounded text and goes forward only, so the time is
linear whatever the text is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from cmem.privacy import entropy, secret_names

NAME_LIMIT = 80
VALUE_LIMIT = 512


class Span(NamedTuple):
    """Text to be cut, and the rule that says so."""

    start: int
    end: int
    rule: str


class _Value(NamedTuple):
    """What is assigned to a name, and how: ``joint`` is all between the two."""

    place: _Place
    joint: re.Match[str]
    text: str
    start: int


class _Place(NamedTuple):
    """A telling name in a text. ``flag``: --name, or a word of a command that sets one."""

    text: str
    start: int
    end: int
    kind: str
    flag: bool

    @property
    def name(self) -> str:
        return self.text[self.start : self.end]


_NAME_CHARS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.")
_NAME = re.compile(r"[\w.-]{1,80}", re.ASCII)

# What may stand between a name and its value: in code, settings, tables, elements, sentences.
_JOINT = re.compile(
    r"""[\\"'\]]{0,6}(?:
        (?P<below>[ ]{0,2}:[ \t]{0,4}(?:[|>][-+]?)?[ \t]{0,4}\r?\n[-+>]?[ \t]{0,24}(?=[^\s:]{6,128}[ \t]{0,8}\r?(?:\n|$)))
      |
        [ ]{0,4}:[ ]{0,2}[A-Za-z][\w.]{0,24}(?:[ ]\|[ ][A-Za-z]{1,12}|\[[\w.]{1,24}\])?[ ]{0,2}=(?!=)
      | [ \t]{0,16}(?:=>|:=|\?=|:(?!:)|=(?!=))
      | [ \t]{0,4},?\s{0,40}(?:(?<=\n)[-+][ \t]{0,40})?\\{0,2}["']?(?:value|Value|VALUE)\\{0,2}["']?[ ]{0,2}[:=]
      | (?P<tag>>)(?=[^<>\s])
      | (?P<argued>[ ]{0,1}\((?=["'`])|(?<=["'])[ ]{0,2},[ ]{0,2}(?=["']))
      | (?P<told>[ ]{1,2}(?:is|was|ist|lautet|to|=)[ ]{0,1}:?[ ]{1,2}|[ \t]{0,24}\|[ \t]{1,4})
      | (?P<beside>[ ]{1,2}(?:--body[ ])?(?=["'`]?[A-Za-z0-9+/_.-]{20}))
      )[ \t]{0,4}(?:[A-Za-z_][\w:.]{0,30}\((?=["'])|[bfru]{1,2}(?=["']))?(?P<quote>\\{0,3}["'`])?""",
    re.VERBOSE,
)
_AFTER_FLAG = re.compile(
    r"(?:=|[ \t]{1,4})(?P<quote>\\{0,3}[\"'])?(?P<tag>(?!))?(?P<told>(?!))?(?P<beside>(?!))?(?P<argued>(?!))?(?P<below>(?!))?"
)
_SETS = ("ENV ", "ARG ", "setx ", "set -x ", "set -gx ", "set -Ux ", "setenv ")
# A bare value: to where code, a shell or a list would go on; and what a password may hold besides.
_BARE = re.compile(r"[^\s\"'`<>;&|(){}\[\],\\]{1,512}")
_LOOSE = re.compile(r"\S{1,512}")
_WIDE = re.compile(r"[^\s\"'`]{1,512}")
_SHOUT = re.compile(r"[A-Z][A-Z0-9_]{1,79}")
# Of a variable's name, where a key is that of a thing and no secret.
_OF_A_THING = re.compile(
    r"(?:^|_)(?:GPG|PGP|COMMIT|HASH|SHA\d*|MD5|OBJECT|S3|FILE|REDIS|REGISTRY|INDEX|ROUTING|TRANSLATION)_"
)
_PROMPT = re.compile(r"[ \t]{0,40}(?:[-+>#*][ \t]{0,4}){0,2}(?:[A-Za-z]{1,12} ){0,3}")
_LINE = re.compile(
    r"[ \t]{0,40}(?:[-+>][ \t]{0,4}){0,2}(?:export |set |env |const |local |declare -x )?$"
)
# Names inside one long value would each have the rest of it looked at.
_TRIES = 3
_WORK = 2_000
_LONG = 128
_KEY_LENGTH = 16
# What passwords seldom hold and other arguments of a call often do.
_SIGNS = re.compile(r"[\\:=]")
_CALLS = "([{"


class TooMuchError(ValueError):
    """The text is made of names and values; to look at all of them would take too long."""


def find(text: str, folded: str) -> Iterator[Span]:
    """Every value to be cut, from left to right; ``folded`` is the text in lower case, of the
    same length. Values cut already (``[REDACTED:…]``) are none.

    Raises TooMuchError for a text with more names than an honest one has."""
    done = word_end = tries = 0
    work = _WORK + len(text) // 16
    for at in _candidates(folded):
        if at < done:
            continue
        work -= 1
        if work < 0:
            raise TooMuchError
        place, done = _place(text, at, done)
        found = _value(place) if place is not None else None
        if found is None:
            continue
        work -= 2 * (found.place.kind != secret_names.KEY)
        end = found.start + len(found.text)
        if _counts(found):
            done = end
            yield Span(found.start, end, found.place.kind)
        elif len(found.text) >= _LONG:
            done = end
        elif end != word_end:
            word_end, tries = end, 1
        elif (tries := tries + 1) >= _TRIES:
            done = word_end


def _candidates(folded: str) -> list[int]:
    found: list[int] = []
    for literal in secret_names.LITERALS:
        at = folded.find(literal)
        while at >= 0:
            found.append(at)
            at = folded.find(literal, at + len(literal))
    found.sort()
    return found


def _place(text: str, at: int, done: int) -> tuple[_Place | None, int]:
    """The name around ``at``, if it tells of a secret, and where it ends."""
    start = at
    lowest = max(done, at - NAME_LIMIT)
    while start > lowest and text[start - 1] in _NAME_CHARS:
        start -= 1
    match = _NAME.match(text, at)
    end = match.end() if match else at + 1
    if end - start > NAME_LIMIT:
        return None, end
    name = text[start:end]
    bare = name.rstrip(".-")
    kind = secret_names.kind(bare)
    if not kind:
        return None, end
    flag = name.startswith("--") or text.endswith(_SETS, max(0, start - 8), start)
    return _Place(text, start, start + len(bare), kind, flag), end


def _value(place: _Place) -> _Value | None:
    text, end = place.text, place.end
    joint = _AFTER_FLAG.match(text, end) if place.flag else None
    if joint is None:
        joint = _JOINT.match(text, end)
        if joint is None:
            return None
    quote = joint["quote"]
    start = joint.end()
    if joint["below"] and not quote:
        match = _LOOSE.match(text, start)
        value = match[0] if match else ""
    elif quote:
        close = closing(text, quote, start)
        if close < 0:
            return None
        value = text[start:close]
    else:
        value = _bare(place, joint)
    if not value or "[REDACTED:" in value or "\n" in value:
        return None
    return _Value(place, joint, value, start)


def closing(text: str, quote: str, start: int) -> int:
    """Where a quoted value ends, -1 if it does not within its line and limit."""
    at = text.find(quote, start, start + VALUE_LIMIT)
    while at > start and len(quote) == 1 and text[at - 1] == "\\" and text[at - 2] != "\\":
        at = text.find(quote, at + 1, start + VALUE_LIMIT)
    return at


def _bare(place: _Place, joint: re.Match[str]) -> str:
    """The value without quotes; of what starts a line all of it, brackets and commas too."""
    text, start = place.text, joint.end()
    if joint["tag"]:
        stop = text.find("<", start, start + VALUE_LIMIT)
        return text[start:stop] if stop > 0 else ""
    match = _BARE.match(text, start)
    if match is None:
        return ""
    value = match[0]
    following = text[match.end() : match.end() + 1]
    if following in _CALLS and following and entropy.is_name(value.replace(".", "_")):
        return ""
    if following and not following.isspace() and _setting(place, joint):
        wide = _WIDE.match(text, start)
        value = wide[0].rstrip(",;") if wide else value
    return value if _setting(place, joint) else value.rstrip(".:!?")


def _setting(place: _Place, joint: re.Match[str]) -> str:
    """How surely nothing but a value can stand here: "sure" (NAME=value, a flag, an element),
    "likely" (name: value or name=value at the start of a line), or ""."""
    text, start = place.text, place.start
    between = text[place.end : joint.end()]
    if joint.re is _AFTER_FLAG or joint["tag"]:
        return "sure"
    if between == "=" and _SHOUT.fullmatch(text, start, place.end):
        return "sure"
    line = text.rfind("\n", max(0, start - 60), start) + 1
    if line == 0 and start > 60:
        return ""
    begins = _LINE.fullmatch(text, line, start) is not None
    return "likely" if begins and between in ("=", ": ", ":", " = ") else ""


def _counts(found: _Value) -> bool:
    """Whether the value is a secret: the less sure the place, the more it has to look like one."""
    place, joint, value, _start = found
    kind = place.kind
    if joint["below"]:
        return _is_below(place, value)
    if kind == secret_names.KEY:
        if entropy.is_key(value):
            return True
        return _is_variable(place, joint) and is_variable_key(place.name, value)
    if kind == secret_names.AUTH:
        return is_basic(value)
    if kind == secret_names.SIGNATURE:
        return place.text[place.start - 1 : place.start] in ("?", "&") and len(value) >= 24
    if joint["beside"]:
        return entropy.is_key(value)
    if joint["argued"]:
        return entropy.is_random_word(value) and not _SIGNS.search(value)
    if joint["quote"]:
        return is_quoted(kind, value)
    setting = _setting(place, joint)
    if setting == "sure":
        return is_given(kind, value)
    if setting and not (joint[0].endswith(" = ") and entropy.is_name(value)):
        return is_given(kind, value) and not value.isalpha()
    if joint["told"] and kind == secret_names.PASSWORD and entropy.has_digit(value):
        return len(value) >= 6 and is_quoted(kind, value)
    return entropy.is_random_word(value)


def _is_variable(place: _Place, joint: re.Match[str]) -> bool:
    """Whether the name is set as that of a variable of the environment is."""
    return bool(_SHOUT.fullmatch(place.name)) and joint[0].strip("\"'`\\") in ("=", ": ")


def is_variable_key(name: str, value: str) -> bool:
    """Whether a variable of this name holds a key: ``STRIPE_KEY``, but no ``GPG_KEY``."""
    if entropy.is_key(value):
        return True
    if "_" not in name or _OF_A_THING.search(name) or len(value) < _KEY_LENGTH:
        return False
    if entropy.is_commit(value) or ("/" in value and value == value.lower()):
        return False
    return entropy.is_random_word(value)


def _is_below(place: _Place, value: str) -> bool:
    """Whether a secret stands in the line below its name, which begins a line as a prompt does."""
    line = place.text.rfind("\n", max(0, place.start - 80), place.start) + 1
    if not _PROMPT.fullmatch(place.text, line, place.start) or not entropy.has_digit(value):
        return False
    if place.kind == secret_names.PASSWORD:
        return is_given(place.kind, value) and value[-1] not in "(){}[],;:"
    return place.kind in (secret_names.SECRET, secret_names.TOKEN) and entropy.is_random_word(value)


def is_given(kind: str, value: str) -> bool:
    """Whether the value is a secret where nothing but one can stand. A password may be a
    word then; METAVARS of a help text are none."""
    if not entropy.is_written(value):
        return False
    if kind == secret_names.PASSWORD:
        return not value.replace("_", "").replace("-", "").isupper() or not entropy.is_name(value)
    return len(value) >= 8 and not entropy.is_name(value)


def is_quoted(kind: str, value: str) -> bool:
    """Whether a quoted value beside a telling name, in code as well, is a secret."""
    if entropy.is_random(value):
        return True
    if kind != secret_names.PASSWORD or not entropy.is_written(value) or len(value) < 6:
        return False
    return not value.isalpha() and entropy.bits(value) >= 2.5 and not entropy.is_phrase(value)


def is_basic(value: str) -> bool:
    """Whether the value is base64 of ``user:password``."""
    import base64
    import binascii

    if not 8 <= len(value) <= VALUE_LIMIT or len(value) % 4:
        return False
    try:
        plain = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return False
    user, colon, password = plain.partition(b":")
    return bool(user and colon and password) and all(32 <= char < 127 for char in plain)
