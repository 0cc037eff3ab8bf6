"""A text as a reader takes it: without what shows nothing, and with its escapes read.

A secret or a tag can be written so that a pattern sees none in it: split by a character of no
width, by a colour of the terminal, by an HTML entity for one, or with letters as JSON escapes.
The bytes' side of the same is in ``seen.py``.
"""

from cmem.privacy import rules, seen

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

_MAX_NESTED = 3
_BEFORE = 400
_SHORT = 1000
# Those of rules.INVISIBLE that are ASCII.
_CONTROLS = [chr(code) for code in (*range(9), 11, 12, *range(14, 32), 127)]
# What halves of a pair begin with.
_HALVES = [b"\xed" + bytes((byte,)) for byte in range(0xA0, 0xC0)]


def shown(text: str) -> str:
    """The text as it looks. Quotes and backslashes stay escaped, so that JSON in a string
    stays JSON; every line stays a line."""
    for _ in range(_MAX_NESTED if "\\" in text else 0):
        if "\\u" not in text:
            break
        text = rules.compiled(rules.ESCAPE).sub(_character, text)
    if "\x1b" in text or "\x9b" in text:
        text = rules.compiled(rules.TERMINAL).sub("", text)
    rare = _beyond_ascii(text)
    if not _is_plain(text, rare):
        text = rules.compiled(rules.INVISIBLE).sub("", text)
    if _may_look_alike(rare) and rules.compiled(rules.ALIKE_LETTER).search(text):
        text = _with_tag_names(text)
    if "&" in text:
        text = rules.compiled(rules.ENTITY).sub(_entity, text)
    if "<" in text and ("<w" in text or "<W" in text):
        text = rules.compiled(rules.WORD_BREAK_TAG).sub("", text)
    return text


def is_unseen(code: int) -> bool:
    """Whether the character shows nothing."""
    return code < 0x110000 and rules.compiled(rules.INVISIBLE).match(chr(code)) is not None


def _beyond_ascii(text: str) -> bytes:
    """The characters of the text that are not ASCII, one behind the other."""
    return (
        b"" if text.isascii() else text.encode("utf-8", "surrogatepass").translate(None, seen.ASCII)
    )


def _is_plain(text: str, rare: bytes) -> bool:
    """Whether it is certain that every character shows something. To find that out of a megabyte
    takes the pattern as long as all the rest of a hook."""
    short = len(text) < _SHORT and text.isprintable()
    if not short and any(char in text for char in _CONTROLS):
        return False
    if not rare:
        return True
    for lead, groups in seen.UNSEEN:
        for before, last in groups if lead in rare else ():
            if before in rare and any(before + bytes((end,)) in rare for end in last):
                return False
    if b"\xed" in rare and any(half in rare for half in _HALVES):
        return False
    return seen.PLANE_14 not in rare


def _may_look_alike(rare: bytes) -> bool:
    """Whether a letter that looks like another may be among the characters beyond ASCII."""
    return seen.MATHEMATICS in rare or any(before in rare for before, _, _ in seen.ALIKE)


def _character(match: "re.Match[str]") -> str:
    char = chr(int(match[1], 16))
    if char in '"\\\x7f' or char < " " or "\ud800" <= char <= "\udfff":
        return "\x1b" if char == "\x1b" else "" if char < " " and is_unseen(ord(char)) else match[0]
    return char


def _with_tag_names(text: str) -> str:
    """The text with "private" where letters that look like its own make that word in a tag."""
    read = text.translate(_letters())
    kept: list[str] = []
    done = 0
    at = read.find("private")
    while at >= 0:
        word = text[at : at + 7]
        opened = rules.compiled(rules.OPENED).search(text, max(0, at - _BEFORE), at)
        kept += [text[done:at], "private" if opened and not word.isascii() else word]
        done = at + 7
        at = read.find("private", done)
    return "".join(kept) + text[done:]


def _letters() -> dict[int, str]:
    """Which letter each that looks like another looks like."""
    if not _alike:
        _alike.update({ord(char): letter for letter, all_ in rules.ALIKE.items() for char in all_})
        first, end = rules.MATHEMATICS
        _alike.update({code: chr(ord("a") + (code - first) % 26) for code in range(first, end)})
        _alike.update({ord(letter.upper()): letter for letter in rules.ALIKE})
    return _alike


_alike: dict[int, str] = {}


def _entity(match: "re.Match[str]") -> str:
    if match["name"]:
        return ""
    code = int(match["hex"] or "0", 16) if match["hex"] is not None else int(match["dec"] or "0")
    if code < 0x7F and (chr(code).isalnum() or chr(code) in "-_"):
        return chr(code)
    return "" if is_unseen(code) else match[0]
