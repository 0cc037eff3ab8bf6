"""A text as a reader takes it: without what shows nothing, and with its escapes read.

A secret or a tag can be written so that a pattern sees none in it: split by a character of no
width, by a colour of the terminal, by an HTML entity for one, or with letters as JSON escapes.
The bytes' side of the same is in ``gates.py``.
"""

from cmem.privacy import rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

_MAX_NESTED = 3


def shown(text: str) -> str:
    """The text as it looks. Quotes and backslashes stay escaped, so that JSON in a string
    stays JSON; every line stays a line."""
    for _ in range(_MAX_NESTED):
        if "\\u" not in text:
            break
        text = rules.compiled(rules.ESCAPE).sub(_character, text)
    if "\x1b" in text or "\x9b" in text:
        text = rules.compiled(rules.TERMINAL).sub("", text)
    unseen = rules.compiled(rules.UNSEEN)
    if unseen.search(text):
        text = unseen.sub(_letter, text)
    if "&" in text:
        text = rules.compiled(rules.ENTITY).sub(_entity, text)
    if "<" in text:
        text = rules.compiled(rules.WORD_BREAK_TAG).sub("", text)
    return text


def is_unseen(code: int) -> bool:
    """Whether the character shows nothing."""
    return code < 0x110000 and rules.compiled(rules.INVISIBLE).match(chr(code)) is not None


def _character(match: "re.Match[str]") -> str:
    char = chr(int(match[1], 16))
    if char in '"\\\x7f' or char < " " or "\ud800" <= char <= "\udfff":
        return "\x1b" if char == "\x1b" else "" if char < " " and is_unseen(ord(char)) else match[0]
    return char


def _letter(match: "re.Match[str]") -> str:
    char = match[0]
    return chr(ord(char) - 0xFEE0) if "\uff21" <= char <= "\uff5a" else ""


def _entity(match: "re.Match[str]") -> str:
    if match["name"]:
        return ""
    code = int(match["hex"] or "0", 16) if match["hex"] is not None else int(match["dec"] or "0")
    return "" if is_unseen(code) else match[0]
