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
    half = (MAX_FIELD - _ROOM) // 2
    head = data[:half].decode("utf-8", "ignore")
    tail = data[-half:].decode("utf-8", "ignore")
    missing = len(text) - len(head) - len(tail)
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
