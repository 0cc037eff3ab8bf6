"""The one sanitiser: stored text can do nothing to a terminal, a line, or a reader's eye.

Used when text comes in and again whenever it goes out. What is taken away: terminal control
sequences with what they carry, control characters but tab and newline, characters that
reorder or hide text, surrogates. Joiners stay, since emoji, Persian and Indic text need them.
"""

from cmem.lazy import pattern

# Printable as Python sees it, and yet seen as nothing, or put where something was lost.
_BLANK = "\u115f\u1160\u3164\uffa0\ufffc\ufffd"
_SUSPECT = pattern(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffc\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
# OSC, DCS, SOS, PM and APC carry a text of their own; one without an end takes its line along.
_SEQUENCE = pattern(
    "(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\r\n]*(?:\x07|\x1b\\\\|\x9c)?"
    "|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?"
    "|\x1b[ -/]*[0-~]?"
)
_LINE_BREAK = pattern("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")


def clean(text: str, *, one_line: bool = False) -> str:
    """Return ``text`` without anything that acts on its reader; NUL becomes U+FFFD.

    Every sort of line break becomes a newline; with ``one_line`` all white space is single
    spaces. Cleaning twice changes nothing more."""
    if not is_plain(text.replace("\n", "").replace("\t", "")) and _SUSPECT.search(text):
        text = _LINE_BREAK.sub("\n", _SEQUENCE.sub("", text)).replace("\0", "\ufffd")
        text = _SUSPECT.sub("", text)
    return " ".join(text.split()) if one_line else text


def is_plain(text: str) -> bool:
    """Whether there is nothing in ``text`` to look at closely, as in nearly all there is."""
    if not text.isprintable():
        return False
    # The last are the tags and selectors from U+E0000 on.
    return text.isascii() or not (
        any(char in text for char in _BLANK) or b"\xf3\xa0" in text.encode()
    )
