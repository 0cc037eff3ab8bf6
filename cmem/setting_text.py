"""A setting's text as it stands in config.toml, where a wrong reading would cost privacy. HOT.

Loaded where config.toml may name such a setting. The launcher carries its source, as that of
``off``: beside it this module needs nothing of ours.
"""

from cmem.off import MAX_CONFIG, may_name


def setting(raw: bytes, name: str) -> str | None:
    """The text of a setting that stands for privacy, "" where it is not set, None where it is no
    plain text or may be there and cannot be read: whoever asks then takes the careful way."""
    if not may_name(raw, name):
        return ""
    sure = _by_line(raw, name)
    return _by_parser(raw, name) if sure is None else sure


def line_of(raw: bytes, name: str) -> str | None:
    """A setting's text by its own line of config.toml, so that a mistake in another line does
    not matter; "" where there is none, None when it is there but is no plain text."""
    if name.encode() not in raw:
        return ""
    for line in raw.decode("utf-8", "replace").split("\n"):
        key, equals, rest = line.partition("=")
        if equals and key.strip(" \t\"'\ufeff") == name:
            return _quoted(rest.strip())
    return ""


def _by_line(raw: bytes, name: str) -> str | None:
    """The text where one line sets it and no other can mean it; None for every doubt."""
    if b"\\" in raw or b"\0" in raw or len(raw) > MAX_CONFIG:
        return None
    found = None
    for line in raw.decode("utf-8", "replace").removeprefix("\ufeff").split("\n"):
        bare = line.strip(" \t\r")
        if bare[:1] == "#" and "\r" not in bare:
            continue
        if bare[:1] == "[" or '"""' in bare or "'''" in bare:
            return None
        if name in bare.lower():
            key, _, rest = bare.partition("=")
            text = _quoted(rest.strip(" \t")) if key.strip(" \t\"'") == name else None
            if text is None or found is not None or not text.isprintable():
                return None
            found = text
    return found or ""


def _by_parser(raw: bytes, name: str) -> str | None:
    import tomllib  # costs more than the whole hook: only for a file that needs it

    try:
        document = tomllib.loads(raw.decode() if len(raw) <= MAX_CONFIG else "=")
    except (ValueError, RecursionError):
        return None if _may_set(raw, name) else ""
    value = document.pop(name, "")
    plain = isinstance(value, str) and value.strip().isprintable()
    return value if plain and not _is_key(document, name) else None


def _may_set(raw: bytes, name: str) -> bool:
    """Whether a file that is no TOML may set it: by a line with its name, or with a name that is
    escaped."""
    if b"\0" in raw or len(raw) > MAX_CONFIG:
        return True
    lines = raw.decode("utf-8", "replace").lower().splitlines()
    return any(
        name in line or "\\" in line.partition("=")[0] for line in lines if line.strip()[:1] != "#"
    )


def _is_key(value: object, name: str) -> bool:
    """Whether a key in the document, at any depth, is the name in some case."""
    if isinstance(value, dict):
        inner = value.values()
        return any(key.casefold() == name for key in value) or any(_is_key(v, name) for v in inner)
    return isinstance(value, list) and any(_is_key(one, name) for one in value)


def _quoted(text: str) -> str | None:
    mark = text[:1]
    if mark not in ('"', "'") or not mark:
        return None
    inner, end, rest = text[1:].partition(mark)
    plain = end and (mark == "'" or "\\" not in inner) and (inner or rest[:1] != mark)
    return inner if plain and rest.strip()[:1] in ("", "#") else None
