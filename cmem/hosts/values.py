"""A host's free values as the store keeps them: clean, scrubbed, of bounded size.

Shared by every host's decoder. Secrets go before anything is cut, so that no half of one
survives at a cut; inline binary becomes a note of its size.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from cmem import lenient
from cmem.privacy import second
from cmem.privacy.sanitise import clean

FIELD_BYTES = 65_536
LINE_LIMIT = 1_024
PATH_LIMIT = 4_096
WORD_LIMIT = 128
DEPTH = 100
ITEMS = 2_000
MIN_STRING = 256

_BASE64 = re.compile(r"[A-Za-z0-9+/_\s-]{256,}={0,2}\s*")
# Of the names of secrets, those that are worth a second reading of the whole payload.
_TELLING = (b"pass", b"pwd", b"secret", b"token", b"apikey", b"api_key", b"api-key", b"credential")
_BINARY_KEYS = frozenset({"data", "base64"})


def text(value: object) -> str:
    """A text field: newlines kept, at most 64 KiB, "" for what is no text."""
    if not isinstance(value, str):
        return ""
    return _fit(_string(value))


def line(value: object) -> str:
    """A text field on one line, at most 1,024 characters."""
    if not isinstance(value, str):
        return ""
    return second.scrub(clean(value, one_line=True).strip())[:LINE_LIMIT]


def path(value: object) -> str:
    """A path as it is, spaces included, without what acts on a terminal."""
    return clean(value).replace("\n", " ")[:PATH_LIMIT] if isinstance(value, str) else ""


def word(value: object) -> str:
    """A name or a tag of the host's: one line, at most 128 characters."""
    return line(value)[:WORD_LIMIT]


def document(value: object) -> str:
    """Any JSON value as JSON text, keys in the host's order, at most 64 KiB.

    Over that, the longest strings are cut in the middle, all to one length; a value that is
    large without long strings becomes a string holding the head and tail of its JSON."""
    plain = _walk(second.across(value), depth=0)
    shown = _dump(plain)
    limit = FIELD_BYTES
    while _size(shown) > FIELD_BYTES and limit > MIN_STRING:
        limit //= 2
        shown = _dump(_shorten(plain, limit))
    return shown if _size(shown) <= FIELD_BYTES else _dump(_fit(shown, FIELD_BYTES // 4))


def without_known(payload: bytes) -> bytes:
    """The payload without the values that an assignment somewhere in it gives away, wherever
    they stand: a command that sets a password often prints it too.

    Itself when there is none, or when it is no JSON."""
    folded = payload.lower()
    if not any(literal in folded for literal in _TELLING):
        return payload
    try:
        value = lenient.loads(payload.removeprefix(b"\xef\xbb\xbf"))
    except ValueError:
        return payload
    known = second.known_values(_texts(value, "", 0))
    return lenient.dumps(_without(value, known, 0)) if known else payload


def _texts(value: object, key: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield key, clean(value)
    elif isinstance(value, dict) and depth < DEPTH:
        pair = second.pair_name(value)
        for name, item in value.items():
            yield from _texts(item, second.pair_key(name, pair), depth + 1)
    elif isinstance(value, list) and depth < DEPTH:
        for item in value:
            yield from _texts(item, key, depth + 1)


def _without(value: object, known: list[str], depth: int) -> object:
    if isinstance(value, str):
        return second.without(value, known)
    if isinstance(value, dict) and depth < DEPTH:
        return {
            second.without(name, known): _without(item, known, depth + 1)
            for name, item in value.items()
        }
    if isinstance(value, list) and depth < DEPTH:
        return [_without(item, known, depth + 1) for item in value]
    return value


def cut(string: str, limit: int) -> str:
    """``string`` in at most about ``limit`` characters: head and tail, and between them how
    much is missing."""
    if len(string) <= limit:
        return string
    head = limit * 2 // 3
    tail = limit - head
    return f"{string[:head]}[… {len(string) - limit} characters cut by cmem …]{string[-tail:]}"


def _fit(string: str, limit: int = FIELD_BYTES) -> str:
    shown = string
    room = limit
    while _size(shown) > limit:
        room = room * 3 // 4
        shown = cut(string, room)
    return shown


def _size(string: str) -> int:
    return len(string) if string.isascii() else len(string.encode("utf-8"))


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _walk(value: object, *, depth: int, key: str = "") -> object:
    if isinstance(value, str):
        return _binary(value) if key in _BINARY_KEYS else second.scrub_value(key, clean(value))
    if isinstance(value, (dict, list)) and depth >= DEPTH:
        return "[… nested too deep for cmem …]"
    if isinstance(value, dict):
        items = list(value.items())
        pair = second.pair_name(value)
        kept = {
            second.scrub(clean(name, one_line=True)): _walk(
                item, depth=depth + 1, key=second.pair_key(name, pair)
            )
            for name, item in items[:ITEMS]
        }
        return kept | _rest(len(items))
    if isinstance(value, list):
        walked = [_walk(item, depth=depth + 1, key=key) for item in value[:ITEMS]]
        return walked + [f"[… {len(value) - ITEMS} items cut by cmem …]"] * (len(value) > ITEMS)
    return _number(value)


def _rest(count: int) -> dict[str, object]:
    return {"…": f"[… {count - ITEMS} keys cut by cmem …]"} if count > ITEMS else {}


def _number(value: object) -> object:
    """Integers that no reader takes become a note."""
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return "[number beyond 64 bits]"
    return value


def _string(value: str) -> str:
    return second.scrub(clean(value))


def _binary(value: str) -> str:
    if _BASE64.fullmatch(value):
        return f"[base64, {len(value) * 3 // 4} bytes]"
    return _string(value)


def _shorten(value: object, limit: int) -> object:
    if isinstance(value, str):
        return cut(value, limit)
    if isinstance(value, dict):
        return {cut(key, limit): _shorten(item, limit) for key, item in value.items()}
    if isinstance(value, list):
        return [_shorten(item, limit) for item in value]
    return value
