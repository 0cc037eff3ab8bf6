"""Make an event fit: its largest texts keep their head and tail, and say what is missing."""

from cmem import lenient

MAX_FIELD = 64 * 1024
_ROOM = 64  # for the note


def shrink(payload: bytes) -> bytes:
    """The JSON document with every text of at most 64 KiB. ValueError when it is no JSON."""
    return lenient.dumps(_walk(lenient.loads(payload), 0))


def cut(text: str) -> str:
    """The text itself, or head, note and tail that together stay within the limit."""
    data = text.encode("utf-8", "replace")
    if len(data) <= MAX_FIELD:
        return text
    return joined(text, text, length=len(text))


def joined(begin: str, end: str, *, length: int) -> str:
    """As much of a text's beginning and of its end as there is room for, and how many of its
    characters are missing between."""
    half = (MAX_FIELD - _ROOM) // 2
    head = begin.encode("utf-8", "replace")[:half].decode("utf-8", "ignore")
    tail = end.encode("utf-8", "replace")[-half:].decode("utf-8", "ignore")
    missing = length - len(head) - len(tail)
    return f"{head}[… {missing} characters cut by cmem …]{tail}"


def _walk(value: object, depth: int) -> object:
    if isinstance(value, str):
        return cut(value)
    if depth >= lenient.MAX_DEPTH:
        return lenient.TOO_DEEP if isinstance(value, (dict, list)) else value
    if isinstance(value, dict):
        return {cut(key): _walk(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_walk(item, depth + 1) for item in value]
    return value
