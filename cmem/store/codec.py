"""How a long text lies in a column: plain TEXT when it is short, else a zlib BLOB.

Raw tool payloads are most of the file and compress to a fifth; short ones would only grow.
The type of the stored value says which of the two it is.
"""

from __future__ import annotations

PLAIN_CHARACTERS = 512


def pack(text: str) -> str | bytes:
    """Return the stored form of any text; ``unpack`` gives the same text back."""
    if len(text) < PLAIN_CHARACTERS and "\0" not in text and _is_storable(text):
        return text
    import zlib

    return zlib.compress(text.encode("utf-8", "surrogatepass"))


def unpack(value: str | bytes | None) -> str:
    """Return the text of a stored value; the empty text for NULL."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    import zlib

    return zlib.decompress(value).decode("utf-8", "surrogatepass")


def is_whole(value: bytes) -> bool:
    """Whether a BLOB that begins like a packed text is one to its end; any other BLOB is."""
    import zlib

    if value[:1] != b"\x78":
        return True
    try:
        zlib.decompress(value)
    except zlib.error:
        return False
    return True


def _is_storable(text: str) -> bool:
    """Tell whether SQLite takes the text as TEXT: it refuses lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
