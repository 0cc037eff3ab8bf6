"""JSON as hosts really send it: NaN, infinities, endless integers, lone surrogates, depth.

Only for payloads that cannot be stored as they came; loading ``json`` costs more than
storing one.
"""

import json

MAX_DEPTH = 100
TOO_DEEP = "[cut: nested too deeply]"


def loads(data: bytes) -> object:
    """The document; ValueError when it is none, too deep ones included."""
    text = data.decode("utf-8", "replace")
    try:
        return json.loads(
            text, parse_constant=lambda _name: None, parse_float=_float, parse_int=_int
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None


def dumps(value: object) -> bytes:
    """Strict JSON in UTF-8; a lone surrogate becomes "?"."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "replace")


def at(document: object, path: str) -> object:
    """The value at a path as SQLite takes it (``$.a.b[0]``); None where there is none."""
    value = document
    for step in path.replace("[", ".[").split(".")[1:]:
        if step.startswith("["):
            place = int(step[1:-1])
            value = value[place] if isinstance(value, list) and place < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def _float(digits: str) -> float | None:
    number = float(digits)
    return number if number - number == 0 else None


def _int(digits: str) -> int | str:
    return int(digits) if len(digits) < 300 else digits[:300]
