"""What was lost or put right when replies became drafts, as counts that may be kept: the notes of
the parser hold pieces of the reply itself, which forgetting would not find. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

CUT = "reply cut at the token limit"
# The beginning of a note, and what is counted of it: one or many. Others tell of no loss.
KINDS = (
    (re.compile(CUT), CUT, "replies cut at the token limit"),
    (re.compile(r"(\d+) incomplete"), "incomplete record left out", "incomplete records left out"),
    (re.compile(r"(\d+) observation\(s\) over"), "record over the limit", "records over the limit"),
    (re.compile(r"fact left out"), "fact left out", "facts left out"),
    (re.compile(r"file not in"), "file left out", "files left out"),
    (re.compile(r"not in the events, marked"), "invented part marked", "invented parts marked"),
    (re.compile(r"quoted but not"), "doubtful quotation marked", "doubtful quotations marked"),
    (re.compile(r"unknown type|type not"), "unknown type", "unknown types"),
)


def counted(notes: Iterable[str]) -> tuple[str, ...]:
    """``("1 reply cut at the token limit", "3 facts left out")`` of the notes, in a fixed order."""
    found: Counter[str] = Counter()
    for note in notes:
        for sign, one, _many in KINDS:
            if match := sign.match(note):
                found[one] += int(match[1]) if match.groups() else 1
                break
    return tuple(
        f"{found[one]} {one if found[one] == 1 else many}"
        for _sign, one, many in KINDS
        if found[one]
    )
