"""The fast reader of ``config.toml``: what a hook may know about settings, in microseconds.

A file of plain ``key = value`` lines is read here; anything richer goes to ``tomllib``. Where
this reader accepts a file, its answer is the one ``tomllib`` gives. Nothing raises: a hook with
an unreadable file works with the defaults, and commands report the trouble (``settings.load``).
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    Scalar = str | int | bool | float

MAX_BYTES = 65_536
# What was read last and what it says: a start asks for its settings and whether they can be read.
_last: "list[tuple[bytes, dict[str, Scalar] | None]]" = []
_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def read(home: str) -> "dict[str, Scalar]":
    """The top-level scalars of the data home's config.toml; {} when there is none or it is bad."""
    try:
        with open(home + "/config.toml", "rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except (OSError, ValueError):
        return {}
    return parse(raw)


def is_broken(home: str) -> bool:
    """Whether there is a config.toml that is no TOML, or that cannot be read at all."""
    try:
        with open(home + "/config.toml", "rb") as file:
            raw = file.read()
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return True
    return _document(raw) is None


def parse(raw: bytes) -> "dict[str, Scalar]":
    """The top-level scalars of a TOML document; {} when it is not one."""
    return {} if len(raw) > MAX_BYTES else dict(_document(raw) or {})


def parse_simple(text: str) -> "dict[str, Scalar] | None":
    """The document when every line is blank, a comment or ``key = scalar``; None otherwise."""
    found: dict[str, Scalar] = {}
    for line in text.replace("\r\n", "\n").split("\n"):
        stripped = line.strip(" \t")
        if not stripped:
            continue
        if not stripped.isprintable():
            return None
        if stripped[0] == "#":
            continue
        key, equals, rest = stripped.partition("=")
        key = key.rstrip(" \t")
        value = _scalar(rest.lstrip(" \t"))
        if not equals or value is None or key in found or not key or not _BARE.issuperset(key):
            return None
        found[key] = value
    return found


def _scalar(text: str) -> "Scalar | None":
    """The value of one right-hand side; None for everything that is not plainly a scalar."""
    if text[:1] == '"':
        inner, quote, rest = text[1:].partition('"')
        plain = quote and "\\" not in inner and (inner or rest[:1] != '"')
        return inner if plain and rest.strip(" \t")[:1] in ("", "#") else None
    if text[:1] == "'":
        inner, quote, rest = text[1:].partition("'")
        plain = quote and (inner or rest[:1] != "'")
        return inner if plain and rest.strip(" \t")[:1] in ("", "#") else None
    word = text.partition("#")[0].rstrip(" \t")
    if word in ("true", "false"):
        return word == "true"
    digits = word[1:] if word[:1] == "-" else word
    if digits.isascii() and digits.isdigit() and len(digits) < 19:
        return int(word) if digits == "0" or digits[0] != "0" else None
    return None


def _document(raw: bytes) -> "dict[str, Scalar] | None":
    """The top-level scalars; None where it is no TOML. The same bytes are parsed once."""
    if _last and _last[0][0] == raw:
        return _last[0][1]
    try:
        text = raw.decode("utf-8")
        simple = parse_simple(text)
        found = _parse_full(text) if simple is None else simple
    except (ValueError, RecursionError):
        found = None
    _last[:] = [(raw, found)]
    return found


def _parse_full(text: str) -> "dict[str, Scalar]":
    import tomllib  # costs more than the whole hook: only for a file that needs it

    document = tomllib.loads(text)
    return {k: v for k, v in document.items() if isinstance(v, (str, int, float))}
