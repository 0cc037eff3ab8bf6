"""Globs over folders and names. HOT: a hook loads them where something is excluded or filtered.

The launcher carries its source: this module needs nothing of ours.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


def excluded_by(globs: str, folders: "Iterable[str]") -> str:
    """The first of the globs, separated by ":", that one of the folders matches; "" for none.

    ``*`` and ``?`` stay within a name, ``**`` is any number of folders; a glob that begins
    with neither ``/`` nor ``~`` may match anywhere in the path. Case does not count."""
    return first_match(filter(None, map(str.strip, globs.split(":"))), folders)


def first_match(globs: "Iterable[str]", folders: "Iterable[str]") -> str:
    """The first of the globs that one of the folders matches; "" for none."""
    names = [_names(folder.casefold()) for folder in folders]
    for glob in globs:
        path = os.path.expanduser(glob).casefold()
        parts = _names(path)
        if path[:1] != "/":
            parts = ["**", *parts] if parts else [""]
        if any(_matches(parts, one, star="**", same=matches) for one in names):
            return glob
    return ""


def _names(path: str) -> list[str]:
    """The names in a path, whatever of ``//``, ``.`` and ``..`` stands between them."""
    return [name for name in os.path.normpath(path).split("/") if name not in ("", ".")]


def matches(pattern: str, text: str) -> bool:
    """Whether the whole text matches, where ``*`` is any text and ``?`` one character."""
    return _matches(pattern, text, star="*", same=lambda p, c: p in ("?", c))


def _matches(
    pattern: "Sequence[str]",
    text: "Sequence[str]",
    *,
    star: str,
    same: "Callable[[str, str], bool]",
) -> bool:
    """Whether the whole text matches, where ``star`` stands for any number of its items. Only
    the last star is ever tried again, so no pattern is slow."""
    at = met = retry = 0
    last = -1
    while met < len(text):
        if at < len(pattern) and pattern[at] == star:
            last, retry = at, met
            at += 1
        elif at < len(pattern) and same(pattern[at], text[met]):
            at += 1
            met += 1
        elif last >= 0:
            retry += 1
            at, met = last + 1, retry
        else:
            return False
    return all(one == star for one in pattern[at:])
