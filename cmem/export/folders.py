"""Folders of this machine out of records that are for somebody else. Pure.

A project's own folder becomes the project's name, so that paths in it still say where in the
project they are. Of any other path in a private place only the last name is left; routes,
addresses and the system's own paths (``/usr/bin``, ``/etc``) are no folders of anybody's.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

# A key that is a path says every folder above the project.
KEY = "folder:"
_NAME = r"[^/\\\s\"'`<>|:,;()\[\]{}]+"
_HOME = (
    rf"/(?:(?:var|usr|export|nfs|net|system/volumes/data|[a-z])/)?(?:home|users)/{_NAME}"
    rf"|[a-z]:[/\\]+users[/\\]+{_NAME}|/root|~[a-z_][\w.\-]*(?=/)|~"
)
# Another drive's folders, and those of another machine.
_DRIVES = r"[a-z]:(?=\\+(?!windows|program)\w)|\\\\+[\w.$\-]{2,}(?=\\+\w)"
_OTHERS = ("mnt", "media", "srv", "opt", "volumes", "tmp", "private", "var/folders", "run/media")
_NAMES = rf"(?:[/\\]+{_NAME})*"
# A path begins where no word goes on; an option of one letter may stand right before it.
_BEFORE, _AFTER = r"(?:(?<![\w.~…\-])|(?<=[\s\"'`]-[a-zA-Z]))", r"(?![\w\-])"


class Folders:
    """What is known of the folders so far: each project's, and where on the machine they lie."""

    def __init__(self) -> None:
        self._roots: dict[str, str] = {}
        self._tops = dict.fromkeys(_OTHERS)
        self._patterns: tuple[re.Pattern[str] | None, re.Pattern[str]] | None = None

    def learn(self, root: str, name: str) -> None:
        """A project's folder."""
        root = root.rstrip("/")
        if root[:1] != "/" or root in self._roots:
            return
        self._roots[root] = name
        self._tops[re.escape(root.split("/")[1])] = None
        self._patterns = None

    def without(self, value: Any) -> Any:
        """A text, list or object without folders."""
        if isinstance(value, str):
            return self._cut(value)
        if isinstance(value, list):
            return [self.without(one) for one in value]
        if isinstance(value, dict):
            return {name: self.without(one) for name, one in value.items()}
        return value

    def _cut(self, text: str) -> str:
        if "/" not in text and "\\" not in text:
            return text
        if self._patterns is None:
            self._patterns = self._own(), self._private()
        own, private = self._patterns
        if own is not None:
            text = own.sub(lambda found: self._roots[found[0]], text)
        return private.sub(_last, text)

    def _own(self) -> re.Pattern[str] | None:
        roots = "|".join(re.escape(one) for one in sorted(self._roots, key=len, reverse=True))
        return re.compile(f"{_BEFORE}(?:{roots}){_AFTER}") if roots else None

    def _private(self) -> re.Pattern[str]:
        tops = "|".join(one for one in self._tops if one.casefold() not in ("home", "users"))
        where = rf"(?P<home>{_HOME})|/(?:{tops})(?=[/\\])"
        drives = rf"(?<![\w\\])(?P<drive>{_DRIVES})"
        return re.compile(f"(?:{_BEFORE}(?:{where})|{drives}){_NAMES}", re.IGNORECASE)


def key(project: str) -> str:
    """A project's key that tells no folder; one that is none already stays."""
    if project[:1] != "/":
        return project
    return KEY + hashlib.sha256(project.encode("utf-8", "replace")).hexdigest()[:32]


def _last(found: re.Match[str]) -> str:
    """A private path as its last name; in somebody's home also that it is there."""
    home = found["home"]
    names = [one for one in re.split(r"[/\\]", found[0][len(home or "") :]) if one]
    for place, one in enumerate(names[:-1]):
        if one.casefold() in ("home", "users"):  # on another machine, or below a mount
            home, names = one, names[place + 2 :]
            break
    if home:
        return "~" + "/…" * (len(names) > 1) + "".join("/" + one for one in names[-1:])
    # A drive with one name may as well be a word and an escape.
    return "…/" + names[-1] if len(names) > (2 if found["drive"] else 1) else found[0]
