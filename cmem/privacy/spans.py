"""What reaches over lines: private text, wrappers of the host, blocks of a key.

A text may lie in pieces (the lines of a diff, the blocks of an answer): it is read as if each
began a new line, and what is cut is cut from each piece that holds a part of it.
"""

from cmem.privacy import rules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    # From, to, and whether a note stands in its place.
    Span = tuple[int, int, bool]

_MAX_NESTED = 3
_OPENINGS = ("private", *rules.WRAPPERS, "putty-user-key")
_SELF_CLOSED = tuple(slash + closer for slash in "/／" for closer in rules.CLOSERS)


def opens(text: str) -> bool:
    """Whether anything may begin in the text that reaches over lines."""
    folded = text.lower()
    return any(opening in folded for opening in _OPENINGS)


def without(pieces: "Sequence[str]") -> list[str]:
    """As many pieces, without what reaches over lines."""
    whole = "\n".join(pieces)
    made = list(pieces)
    folded = whole.lower()
    private = "private" in folded
    if private:
        made = _without_private(made)
    for name in rules.WRAPPERS if "<" in whole else ():
        if name in folded:
            pattern = rules.WRAPPER_TAG.format(name=name)
            made = _cut(made, tag_spans("\n".join(made), pattern), "")
    if private and "PRIVATE KEY" in whole:
        spans = _block_spans("\n".join(made), rules.BLOCK_BEGIN, rules.BLOCK_END)
        made = _cut(made, spans, "[REDACTED:private-key]")
    if "PuTTY-User-Key" in whole:
        spans = _block_spans("\n".join(made), rules.PUTTY_BEGIN, rules.PUTTY_END)
        made = _cut(made, spans, "[REDACTED:putty-key]")
    return made


def without_private(text: str) -> str:
    """The text without private spans."""
    return _without_private([text])[0]


def _without_private(pieces: list[str]) -> list[str]:
    """With a mark where something private stood, so that what is left still reads as a sentence
    with a gap; nothing but blanks where all of it was private."""
    bare = _cut(pieces, tag_spans("\n".join(pieces), rules.PRIVATE_TAG), "")
    if not any(piece.strip() for piece in bare):
        return bare
    for _ in range(_MAX_NESTED):
        spans = tag_spans("\n".join(pieces), rules.PRIVATE_TAG)
        if not spans:  # else a stray closer may have stood inside another tag
            break
        pieces = _cut(pieces, spans, "[private]")
    return pieces


def tag_spans(text: str, pattern: str) -> "list[Span]":
    """From each opening tag to its closing one; nested ones counted, an unclosed one reaches
    to the end. What stands alone is a span by itself."""
    spans: list[Span] = []
    depth = start = 0
    for match in rules.compiled(pattern).finditer(text):
        if match["slash"]:
            if depth == 1:
                spans.append((start, match.end(), True))
            elif not depth:
                spans.append((match.start(), match.end(), False))
            depth = max(0, depth - 1)
        elif match[0].endswith(_SELF_CLOSED):
            if not depth:
                spans.append((match.start(), match.end(), False))
        else:
            start = start if depth else match.start()
            depth += 1
    if depth:
        spans.append((start, len(text), True))
    return spans


def _block_spans(text: str, begin: str, end: str) -> "list[Span]":
    """Key blocks; one without an end reaches as far as the text does, unless nothing that looks
    like a key follows (a heading in code or prose)."""
    spans: list[Span] = []
    at = 0
    ends = True  # where no end follows, none follows later: looking again would take n² steps
    while head := rules.compiled(begin).search(text, at):
        tail = rules.compiled(end).search(text, head.end()) if ends else None
        ends = tail is not None
        if tail is not None:
            at = tail.end()
        elif rules.compiled(r"[A-Za-z0-9+/=]{20}").search(text, head.end(), head.end() + 160):
            at = len(text)
        else:
            at = head.end()
        spans.append((head.start(), at, True))
    return spans


def _cut(pieces: "Sequence[str]", spans: "Sequence[Span]", note: str) -> list[str]:
    """The pieces outside the spans; ``note`` stands where a marked one began."""
    if not spans:
        return list(pieces)
    made: list[str] = []
    base = index = 0
    for piece in pieces:
        end = base + len(piece)
        kept: list[str] = []
        at = base
        while index < len(spans) and spans[index][0] < end:
            start, stop, marked = spans[index]
            if start >= base:
                kept += [piece[at - base : start - base], note if marked else ""]
            at = min(stop, end)
            if stop > end:
                break
            index += 1
        made.append("".join(kept) + piece[at - base :])
        base = end + 1
    return made
