"""JSON without the package ``json``, which compiles seven regular expressions when it is imported.

The same C functions do the work. What they cannot do, and every text that is no JSON, goes to
the package, whose answer or error it then is.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_WHITE = " \t\n\r"


class _Ways:
    """How the C scanner is to read; the package's own defaults."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = {
        "NaN": float("nan"),
        "Infinity": float("inf"),
        "-Infinity": float("-inf"),
    }.__getitem__


def loads(text: str) -> object:
    """The document; ValueError when the text is none, RecursionError when it is too deep."""
    try:
        from _json import make_scanner

        inner = text.strip(_WHITE)
        value, end = make_scanner(_Ways)(inner, 0)  # type: ignore[arg-type]  # it has all it needs
        if end == len(inner):
            return value
    except (ImportError, StopIteration):
        pass
    import json

    whole: object = json.loads(text)
    return whole


def dumps(value: object) -> str:
    """One line, with characters of every script as they are."""
    try:
        from _json import encode_basestring

        return _written(value, encode_basestring)
    except (ImportError, TypeError):
        import json

        return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def _written(value: object, quote: "Callable[[str], str]") -> str:
    if isinstance(value, str):
        return quote(value)
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if type(value) is int or (type(value) is float and value - value == 0):
        return repr(value)
    if isinstance(value, dict):
        pairs = [f"{_key(name, quote)}: {_written(one, quote)}" for name, one in value.items()]
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join([_written(one, quote) for one in value]) + "]"
    raise TypeError(type(value).__name__)


def _key(name: object, quote: "Callable[[str], str]") -> str:
    if not isinstance(name, str):
        raise TypeError(type(name).__name__)
    return quote(name)
