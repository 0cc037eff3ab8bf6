"""Results to stdout: one JSON document, or lines of plain or coloured text.

Whatever is stored passes the sanitiser on its way to a terminal; in JSON, what could act on a
terminal is escaped instead, so that a script reads the stored text and a ``cat`` is harmless.
"""

from __future__ import annotations

import sys
import time

from cmem import plain_json
from cmem.lazy import pattern
from cmem.privacy.sanitise import clean, is_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Sequence

    # Pieces of text with a style each; "" is plain.
    Line = Sequence[tuple[str, str]]

# Of what JSON lets stand in a string: characters that steer, hide or reorder, and halves of a
# surrogate pair, which are no UTF-8.
_ACTIVE = pattern(
    "[\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff"
    "\uffa0\ufff9-\uffff"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)

# How ids show on a terminal, by kind.
STYLES = {"O": "green", "S": "magenta", "P": "cyan", "T": "blue", "N": "yellow", "W": "yellow"}


def write_json(document: object) -> None:
    """One document and a newline, in UTF-8 whatever the locale is."""
    text = plain_json.dumps(document)
    if not is_plain(text):
        text = _ACTIVE.sub(_escape, text)
    _write(text + "\n")


def write_lines(lines: Iterable[Line]) -> None:
    """Lines of styled pieces; styles show on a terminal only. Every piece passes the sanitiser
    here, whoever made it."""
    lines = [[(clean(text), style) for text, style in line] for line in lines]
    if sys.stdout.isatty():
        from cmem.cli import terminal

        terminal.write(lines)
        return
    _write("".join("".join(text for text, _ in line) + "\n" for line in lines))


def plain(text: str) -> Line:
    """Stored text as one harmless line."""
    return [(clean(text, one_line=True), "")]


def paragraphs(text: str, indent: str = "") -> list[Line]:
    """Stored text of several lines, each harmless and indented."""
    return [[(indent + line, "")] for line in clean(text).split("\n")]


def when(at: int) -> str:
    """A moment in local time, to the minute; the number itself where no clock shows it."""
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(at / 1000))
    except (OverflowError, ValueError, OSError):
        return str(at)


def _write(text: str) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code > 0xFFFF:
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
    return f"\\u{code:04x}"
