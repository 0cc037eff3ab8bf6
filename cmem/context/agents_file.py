"""The block inside a file that an agent reads by itself, such as AGENTS.md. Pure.

What is put between two marks is taken out again without a trace: a line break of ours stands
before the first mark unless the file was made for the block.
"""

from __future__ import annotations

from cmem.errors import CmemError

BEGIN = b"<!-- cmem begin: written by `cmem context --write`; changes here are overwritten -->"
END = b"<!-- cmem end -->"
_BEGIN, _END = b"<!-- cmem begin", b"<!-- cmem end -->"


def put(raw: bytes | None, text: str) -> bytes:
    """The file with the block: in its old place, or at the end. CmemError for a file that is no
    UTF-8, in which the block could not be read."""
    if raw is not None and not _is_text(raw):
        raise CmemError("it is not UTF-8 text")
    block = b"\n".join((BEGIN, text.encode("utf-8", "replace"), END))
    if raw is None:
        return block + b"\n"
    span = _span(raw)
    if span is None:
        end = b"\r\n" if b"\r\n" in raw else b"\n"
        return raw + end + block.replace(b"\n", end) + end
    return raw[: span[0]] + block.replace(b"\n", _line_end(raw, span[0])) + raw[span[1] :]


def take_out(raw: bytes | None) -> bytes | None:
    """The file as it was before ``put``; None where nothing but the block was in it. Line ends
    that were changed since, as git changes them, are taken out as they are now."""
    span = None if raw is None else _span(raw)
    if raw is None or span is None:
        return raw
    end = _line_end(raw, span[0])
    head, tail = raw[: span[0]], raw[span[1] :].removeprefix(end)
    return None if not head and not tail else head.removesuffix(end) + tail


def _is_text(raw: bytes) -> bool:
    try:
        return "\0" not in raw.decode("utf-8")
    except UnicodeDecodeError:
        return False


def _line_end(raw: bytes, start: int) -> bytes:
    """How the line of the first mark ends."""
    return b"\r\n" if raw[start:].partition(b"\n")[0].endswith(b"\r") else b"\n"


def _span(raw: bytes) -> tuple[int, int] | None:
    """Where the block is; CmemError where one of its marks is missing or stands twice."""
    counts = raw.count(_BEGIN), raw.count(_END)
    if counts == (0, 0):
        return None
    start, end = raw.find(_BEGIN), raw.find(_END)
    if counts != (1, 1) or end < start:
        raise CmemError("its marks of cmem are not one pair; take them out by hand")
    return start, end + len(_END)
